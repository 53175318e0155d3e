/* A sender with the simulator's CUBIC. Each arrival is acknowledged, and a packet is lost if one sent 3 later is acknowledged.
   cc cubic.c -I target/stacks/release target/stacks/release/libsojourn.a -lm -lpthread -ldl */
#include "sojourn.h"
#include <stdio.h>

enum { DATA = 1500, ACK = 40, PACKETS = 100000, REORDERING = 3 };

static const char *SCENARIO =
    "duration = '30 s'\n"
    "links = [\n"
    "  { name = 'up', from = 'a', to = 'b', rate = '10 Mbit/s', delay = '20 ms', queue = { limit = '40 packets' } },\n"
    "  { name = 'down', from = 'b', to = 'a', delay = '20 ms' },\n"
    "]\n"
    "flows = [{ name = 'mine', from = 'a', to = 'b', host = 'c' }]\n";

static uint64_t sent_at[PACKETS];

int main(void) {
    struct SojournNetwork *network = sojourn_network_new(SCENARIO, 1);
    struct SojournController *cubic = sojourn_cc_new("cubic", DATA, 10 * DATA, 1);
    if (!network || !cubic) return fprintf(stderr, "%s\n", sojourn_error()), 1;
    struct SojournAcks acks = { 0 };
    struct SojournEvent event;
    uint64_t next = 0, first = 0, srtt = 0, least = UINT64_MAX;
    while (sojourn_network_next(network, UINT64_MAX, &event) == 1) {
        uint64_t now = event.at_ns, token = event.packet.token;
        if (event.kind == SOJOURN_KIND_DROP) continue; /* A sender does not see drops. */
        if (event.kind == SOJOURN_KIND_ARRIVE && !event.packet.back) {
            struct SojournPacket ack = { .flow = event.flow, .size = ACK, .back = true, .token = token };
            sojourn_network_deliver(network, now, event.flow, event.packet.size - 40);
            sojourn_network_send(network, now, &ack);
            continue;
        }
        if (event.kind == SOJOURN_KIND_ARRIVE && token >= first) {
            uint64_t rtt = now - sent_at[token];
            srtt = srtt ? (7 * srtt + rtt) / 8 : rtt;
            least = rtt < least ? rtt : least;
            sojourn_cc_on_ack(cubic, now, sent_at[token], DATA);
            acks.rtt_ns = rtt, acks.srtt_ns = srtt, acks.rtt_min_ns = least;
            sojourn_cc_on_acks_end(cubic, now, &acks);
            /* The path keeps the order: packets before this one are lost. */
            if (token > first) sojourn_cc_on_loss(cubic, now, sent_at[token - 1], (token - first) * DATA);
            first = token + 1;
        }
        while ((next - first) * DATA + DATA <= sojourn_cc_window(cubic) && next < PACKETS) {
            struct SojournPacket data = { .flow = event.flow, .size = DATA, .token = next };
            sent_at[next++] = now;
            sojourn_cc_on_sent(cubic, now, DATA);
            sojourn_network_send(network, now, &data);
        }
    }
    char *record = sojourn_network_finish(network);
    if (record) puts(record);
    sojourn_string_free(record);
    sojourn_cc_free(cubic);
    return record ? 0 : 1;
}
