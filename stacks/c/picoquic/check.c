/* The adapter under lists of packets that are changed by hand, as picoquic changes its own. Prints the window in bytes after each step. */
#include "adapter.h"
#include <stdio.h>

enum { MTU = 1200, OVERHEAD = 16, RTT = 50000, PACKETS = 64 };

static picoquic_packet_t packets[PACKETS];
static picoquic_cnx_t cnx;
static picoquic_path_t path = { .cnx = &cnx, .send_mtu = MTU, .rtt_sample = RTT, .smoothed_rtt = RTT, .rtt_min = RTT };
static double rate;

void picoquic_update_pacing_rate(picoquic_path_t *on, double bytes_per_second, uint64_t quantum) {
    (void)on, (void)quantum;
    rate = bytes_per_second;
}

void picoquic_update_pacing_data(picoquic_path_t *on, int slow_start) { (void)on, (void)slow_start; }

static void call(picoquic_congestion_notification_t what, uint64_t number, uint64_t now) {
    picoquic_per_ack_state_t report = { .lost_packet_number = number, .pc = picoquic_packet_context_application };
    sojourn_classic.alg_notify(&cnx, &path, what, &report, now);
}

static void send(int number, uint64_t now) {
    picoquic_packet_context_t *list = &cnx.pkt_ctx[picoquic_packet_context_application];
    packets[number] = (picoquic_packet_t){ .send_path = &path, .sequence_number = number, .send_time = now, .length = MTU - OVERHEAD,
        .checksum_overhead = OVERHEAD, .packet_previous = list->pending_last };
    *(list->pending_last ? &list->pending_last->packet_next : &list->pending_first) = &packets[number];
    list->pending_last = &packets[number];
}

static void take(int number) {
    picoquic_packet_context_t *list = &cnx.pkt_ctx[picoquic_packet_context_application];
    picoquic_packet_t *packet = &packets[number];
    *(packet->packet_previous ? &packet->packet_previous->packet_next : &list->pending_first) = packet->packet_next;
    *(packet->packet_next ? &packet->packet_next->packet_previous : &list->pending_last) = packet->packet_previous;
}

static void acknowledge(int from, int to, uint64_t now) {
    for (int number = from; number < to; number++) {
        take(number);
        path.delivered += packets[number].length, path.delivered_sent_last = packets[number].send_time;
    }
    cnx.pkt_ctx[picoquic_packet_context_application].highest_acknowledged = to - 1;
    path.rtt_is_initialized = 1;
    call(picoquic_congestion_notification_rtt_measurement, 0, now);
    call(picoquic_congestion_notification_acknowledgement, 0, now);
}

static void tell(char const *step) { printf("%s %llu\n", step, (unsigned long long)path.cwin); }

int main(int count, char **names) {
    for (int pc = 0; pc < picoquic_nb_packet_context; pc++) cnx.pkt_ctx[pc].highest_acknowledged = UINT64_MAX;
    sojourn_classic.alg_init(&path, count > 1 ? names[1] : NULL, 0);
    tell("start");
    for (int number = 0; number < 10; number++) send(number, number);
    call(picoquic_congestion_notification_cwin_blocked, 0, 10);
    acknowledge(0, 10, RTT);
    tell("acknowledged");
    /* One ACK for packets that the adapter has not seen. */
    for (int number = 10; number < 14; number++) send(number, RTT + number);
    acknowledge(10, 14, 2 * RTT + 20);
    tell("unseen");
    for (int number = 14; number < 24; number++) send(number, 2 * RTT + 20 + number);
    call(picoquic_congestion_notification_cwin_blocked, 0, 2 * RTT + 60);
    acknowledge(15, 20, 3 * RTT + 60);
    tell("gap");
    call(picoquic_congestion_notification_repeat, 14, 3 * RTT + 60);
    take(14);
    tell("lost");
    call(picoquic_congestion_notification_spurious_repeat, 14, 3 * RTT + 90);
    tell("spurious");
    path.ecn_ce_total_remote = 1;
    call(picoquic_congestion_notification_ecn_ec, 20, 3 * RTT + 100);
    acknowledge(20, 21, 3 * RTT + 100);
    tell("marked");
    packets[21].is_evaluated = 1;
    call(picoquic_congestion_notification_timeout, 21, 6 * RTT);
    take(21);
    tell("silent");
    packets[22].is_evaluated = packets[22].is_ack_eliciting = 1, path.nb_retransmit = 2;
    call(picoquic_congestion_notification_timeout, 22, 9 * RTT);
    take(22);
    tell("persistent");
    call(picoquic_congestion_notification_reset, 0, 9 * RTT);
    tell("reset");
    printf("rate %.0f\n", rate);
    sojourn_classic.alg_delete(&path);
    sojourn_classic.alg_init(&path, "none", 0);
    printf("unknown %d\n", path.congestion_alg_state == NULL);
    return 0;
}
