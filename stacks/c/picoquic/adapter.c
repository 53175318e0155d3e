/* picoquic's table of congestion control has no call for sent packets, and reports the bytes of an ACK, not its packets. Both follow from
   picoquic's lists of packets in flight: a packet that is new in a list was sent, and one that has left it without a report of its loss
   was acknowledged. The lists are read at each call of the table.

   This leaves out:
   - packets that are sent and acknowledged between two calls. Their bytes are reported as one packet, sent when the newest one was. A
     sender that its window limits has none, because picoquic calls the table when the window blocks it.
   - the window saved from an earlier connection (seed_cwin), lost feedback, and one-way delays.
   - timeouts as picoquic's own controllers take them: a timeout counts as a loss, and the third one without an ACK as persistent
     congestion (rfc9002#7.6). picoquic also reports a timeout for a packet that needs no ACK; it is not a loss. */
#include "adapter.h"
#include "sojourn.h"
#include <stdlib.h>
#include <string.h>

enum { NS = 1000, INITIAL = 14720, TIMEOUTS = 3 };

struct packet {
    struct packet *next;
    uint64_t number, at_ns, bytes, length;
    bool limited;
};

struct flight {
    struct packet *first, **end;
    uint64_t next_number;
};

struct state {
    struct SojournController *controller;
    struct flight flights[picoquic_nb_packet_context];
    char const *name;
    /* Of acknowledged packets, without headers that picoquic does not count; marks; the size of a full packet. */
    uint64_t delivered, marks, packet;
};

static picoquic_packet_context_t *context_of(picoquic_path_t *path, int pc) {
    int own = pc == picoquic_packet_context_application && path->cnx->is_multipath_enabled;
    return own ? &path->pkt_ctx : &path->cnx->pkt_ctx[pc];
}

static struct SojournController *start(struct state *state, picoquic_path_t *path) {
    uint64_t seed = 0, packet = path->send_mtu;
    memcpy(&seed, path->cnx->initial_cnxid.id, sizeof(seed));
    state->packet = packet;
    return sojourn_cc_new(state->name, packet, 10 * packet < INITIAL ? 10 * packet : INITIAL, seed);
}

/* Window and pace for picoquic. */
static void publish(struct state *state, picoquic_path_t *path) {
    uint64_t rate = sojourn_cc_pacing_rate(state->controller);
    path->cwin = sojourn_cc_window(state->controller);
    path->is_ssthresh_initialized = sojourn_cc_ssthresh(state->controller) != UINT64_MAX;
    path->is_cc_data_updated = 1;
    if (rate > 0) picoquic_update_pacing_rate(path, (double)rate, sojourn_cc_send_quantum(state->controller));
    else picoquic_update_pacing_data(path, path->cwin < sojourn_cc_ssthresh(state->controller));
}

static void forget(struct flight *flight, struct packet **link) {
    struct packet *gone = *link;
    *link = gone->next;
    if (!*link) flight->end = link;
    free(gone);
}

static void clear(struct state *state) {
    for (int pc = 0; pc < picoquic_nb_packet_context; pc++)
        while (state->flights[pc].first) forget(&state->flights[pc], &state->flights[pc].first);
    sojourn_cc_free(state->controller);
}

/* Reports packets that are new in the list of packets in flight. */
static void report_sent(struct state *state, picoquic_path_t *path, int pc) {
    struct flight *flight = &state->flights[pc];
    picoquic_packet_t *packet = context_of(path, pc)->pending_last, *oldest = NULL;
    for (; packet && packet->sequence_number >= flight->next_number; packet = packet->packet_previous) oldest = packet;
    for (packet = oldest; packet; packet = packet->packet_next) {
        flight->next_number = packet->sequence_number + 1;
        struct packet *sent = packet->send_path == path && !packet->is_ack_trap ? malloc(sizeof(*sent)) : NULL;
        if (!sent) continue;
        *sent = (struct packet){ .number = packet->sequence_number, .at_ns = packet->send_time * NS,
            .bytes = packet->length + packet->checksum_overhead, .length = packet->length, .limited = packet->delivered_app_limited };
        *flight->end = sent, flight->end = &sent->next;
        sojourn_cc_on_sent(state->controller, sent->at_ns, sent->bytes);
    }
}

/* Reports packets that have left the list. Returns whether the newest of them was limited by the application; -1 if there is none. */
static int report_acked(struct state *state, picoquic_path_t *path, int pc, uint64_t now_ns) {
    struct flight *flight = &state->flights[pc];
    picoquic_packet_context_t *context = context_of(path, pc);
    picoquic_packet_t *packet = context->pending_first;
    int limited = -1;
    for (struct packet **link = &flight->first; *link && context->highest_acknowledged != UINT64_MAX;) {
        struct packet *sent = *link;
        if (sent->number > context->highest_acknowledged) break;
        while (packet && packet->sequence_number < sent->number) packet = packet->packet_next;
        if (packet && packet->sequence_number == sent->number) {
            link = &sent->next;
            continue;
        }
        sojourn_cc_on_ack(state->controller, now_ns, sent->at_ns, sent->bytes);
        state->delivered += sent->length, limited = sent->limited;
        forget(flight, link);
    }
    return limited;
}

/* Reports what has happened since the last call. */
static void update(struct state *state, picoquic_path_t *path, uint64_t now_ns) {
    int limited = -1;
    if (path->send_mtu != state->packet) sojourn_cc_on_packet_size(state->controller, state->packet = path->send_mtu);
    for (int pc = 0; pc < picoquic_nb_packet_context; pc++) report_sent(state, path, pc);
    for (int pc = 0; pc < picoquic_nb_packet_context; pc++) {
        int newest = report_acked(state, path, pc, now_ns);
        limited = newest >= 0 ? newest : limited;
    }
    if (path->delivered > state->delivered) {
        uint64_t bytes = path->delivered - state->delivered, sent_ns = path->delivered_sent_last * NS;
        sojourn_cc_on_sent(state->controller, sent_ns, bytes);
        sojourn_cc_on_ack(state->controller, now_ns, sent_ns, bytes);
        limited = limited < 0 ? 1 : limited;
    }
    state->delivered = path->delivered;
    if (limited < 0) return;
    bool measured = path->rtt_is_initialized;
    struct SojournAcks acks = { .rtt_ns = measured ? path->rtt_sample * NS : 0, .srtt_ns = measured ? path->smoothed_rtt * NS : 0,
        .rtt_min_ns = measured ? path->rtt_min * NS : 0, .marked = path->ecn_ce_total_remote - state->marks, .app_limited = limited > 0 };
    state->marks = path->ecn_ce_total_remote;
    sojourn_cc_on_acks_end(state->controller, now_ns, &acks);
}

/* Returns whether a packet that needs an ACK was lost. */
static bool report_lost(struct state *state, picoquic_path_t *path, picoquic_per_ack_state_t const *lost, uint64_t now_ns) {
    struct flight *flight = &state->flights[lost->pc];
    picoquic_packet_t *packet = context_of(path, lost->pc)->pending_first;
    struct packet **link = &flight->first;
    while (packet && packet->sequence_number < lost->lost_packet_number) packet = packet->packet_next;
    while (*link && (*link)->number < lost->lost_packet_number) link = &(*link)->next;
    if (!*link || (*link)->number != lost->lost_packet_number) return false;
    bool silent = packet && packet->sequence_number == lost->lost_packet_number && packet->is_evaluated && !packet->is_ack_eliciting;
    if (!silent) sojourn_cc_on_loss(state->controller, now_ns, (*link)->at_ns, (*link)->bytes);
    forget(flight, link);
    return !silent;
}

static void notify(picoquic_cnx_t *cnx, picoquic_path_t *path, picoquic_congestion_notification_t what,
    picoquic_per_ack_state_t *report, uint64_t now) {
    struct state *state = path->congestion_alg_state;
    (void)cnx;
    if (!state) return;
    /* Marks are reported in the middle of an ACK, whose RTT is not known yet. */
    if (what != picoquic_congestion_notification_ecn_ec) update(state, path, now * NS);
    bool timeout = what == picoquic_congestion_notification_timeout;
    bool lost = (timeout || what == picoquic_congestion_notification_repeat) && report_lost(state, path, report, now * NS);
    if (lost && timeout && path->nb_retransmit == TIMEOUTS - 1) sojourn_cc_on_persistent_congestion(state->controller, now * NS);
    if (what == picoquic_congestion_notification_spurious_repeat) sojourn_cc_on_spurious_loss(state->controller);
    if (what == picoquic_congestion_notification_reset) {
        sojourn_cc_free(state->controller);
        state->controller = start(state, path);
    }
    publish(state, path);
}

static void init(picoquic_path_t *path, char const *name, uint64_t now) {
    struct state *state = calloc(1, sizeof(*state));
    (void)now;
    path->congestion_alg_state = NULL;
    if (!state) return;
    state->name = name ? name : "cubic";
    state->delivered = path->delivered, state->marks = path->ecn_ce_total_remote;
    for (int pc = 0; pc < picoquic_nb_packet_context; pc++) state->flights[pc].end = &state->flights[pc].first;
    state->controller = start(state, path);
    if (!state->controller) {
        free(state); /* sojourn_error() has the reason, and picoquic sends without congestion control. */
        return;
    }
    path->congestion_alg_state = state;
    publish(state, path);
}

static void end(picoquic_path_t *path) {
    struct state *state = path->congestion_alg_state;
    if (!state) return;
    clear(state);
    free(state);
    path->congestion_alg_state = NULL;
}

static void observe(picoquic_path_t *path, uint64_t *cc_state, uint64_t *cc_param) {
    struct state *state = path->congestion_alg_state;
    uint64_t ssthresh = state ? sojourn_cc_ssthresh(state->controller) : UINT64_MAX;
    *cc_state = path->cwin < ssthresh ? 0 : 1;
    *cc_param = ssthresh == UINT64_MAX ? 0 : ssthresh;
}

/* Numbers that picoquic's own algorithms do not use. */
picoquic_congestion_algorithm_t sojourn_classic = { "sojourn", 200, PICOQUIC_ECN_ECT_0, init, notify, end, observe };
picoquic_congestion_algorithm_t sojourn_l4s = { "sojourn-l4s", 201, PICOQUIC_ECN_ECT_1, init, notify, end, observe };
