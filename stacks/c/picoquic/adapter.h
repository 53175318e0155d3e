/* Congestion controllers of the simulator for picoquic.
   picoquic_set_default_congestion_algorithm_ex(quic, &sojourn_classic, "bbr3") makes connections use bbr3. */
#ifndef SOJOURN_PICOQUIC_ADAPTER_H
#define SOJOURN_PICOQUIC_ADAPTER_H

#ifdef SOJOURN_PICOQUIC_SUBSET
#include "subset.h"
#else
#include "picoquic_internal.h"
#endif

/* Packets are ECT(0). The option string is the controller's name; without one it is CUBIC. */
extern picoquic_congestion_algorithm_t sojourn_classic;
/* Packets are ECT(1), for controllers such as prague and dctcp (rfc9331#4.1). */
extern picoquic_congestion_algorithm_t sojourn_l4s;

#endif
