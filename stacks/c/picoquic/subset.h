/* The names of picoquic that the adapter uses, so that it can be compiled and checked without picoquic. Not picoquic's layout. */
#ifndef SOJOURN_PICOQUIC_SUBSET_H
#define SOJOURN_PICOQUIC_SUBSET_H

#include <stddef.h>
#include <stdint.h>

#define PICOQUIC_ECN_ECT_0 0x02
#define PICOQUIC_ECN_ECT_1 0x01

enum { picoquic_packet_context_application, picoquic_packet_context_handshake, picoquic_packet_context_initial, picoquic_nb_packet_context };

typedef enum {
    picoquic_congestion_notification_acknowledgement,
    picoquic_congestion_notification_repeat,
    picoquic_congestion_notification_timeout,
    picoquic_congestion_notification_spurious_repeat,
    picoquic_congestion_notification_rtt_measurement,
    picoquic_congestion_notification_ecn_ec,
    picoquic_congestion_notification_cwin_blocked,
    picoquic_congestion_notification_reset
} picoquic_congestion_notification_t;

typedef struct st_picoquic_path_t picoquic_path_t;
typedef struct st_picoquic_cnx_t picoquic_cnx_t;

typedef struct {
    uint64_t lost_packet_number;
    int pc;
} picoquic_per_ack_state_t;

typedef struct st_picoquic_packet_t {
    struct st_picoquic_packet_t *packet_next, *packet_previous;
    picoquic_path_t *send_path;
    uint64_t sequence_number, send_time;
    size_t length, checksum_overhead;
    unsigned is_evaluated : 1, is_ack_eliciting : 1, is_ack_trap : 1, delivered_app_limited : 1;
} picoquic_packet_t;

typedef struct {
    uint64_t highest_acknowledged;
    picoquic_packet_t *pending_first, *pending_last;
} picoquic_packet_context_t;

struct st_picoquic_path_t {
    picoquic_cnx_t *cnx;
    picoquic_packet_context_t pkt_ctx;
    size_t send_mtu;
    uint64_t cwin, delivered, delivered_sent_last, ecn_ce_total_remote, nb_retransmit, rtt_sample, smoothed_rtt, rtt_min;
    unsigned is_cc_data_updated : 1, is_ssthresh_initialized : 1, rtt_is_initialized : 1;
    void *congestion_alg_state;
};

struct st_picoquic_cnx_t {
    picoquic_packet_context_t pkt_ctx[picoquic_nb_packet_context];
    struct { uint8_t id[20]; } initial_cnxid;
    unsigned is_multipath_enabled : 1;
};

typedef struct {
    char const *congestion_algorithm_id;
    uint8_t congestion_algorithm_number, ecn_mark;
    void (*alg_init)(picoquic_path_t *, char const *, uint64_t);
    void (*alg_notify)(picoquic_cnx_t *, picoquic_path_t *, picoquic_congestion_notification_t, picoquic_per_ack_state_t *, uint64_t);
    void (*alg_delete)(picoquic_path_t *);
    void (*alg_observe)(picoquic_path_t *, uint64_t *, uint64_t *);
} picoquic_congestion_algorithm_t;

void picoquic_update_pacing_rate(picoquic_path_t *path, double bytes_per_second, uint64_t quantum);
void picoquic_update_pacing_data(picoquic_path_t *path, int slow_start);

#endif
