/* A sender with a constant window of 20 packets: each arrival is acknowledged, and each ACK releases the next packet.
   cc window.c -I target/stacks/release target/stacks/release/libsojourn.a -lm -lpthread -ldl */
#include "sojourn.h"
#include <stdio.h>

enum { WINDOW = 20, DATA = 1500, ACK = 40, HEADERS = 40 };

static const char *SCENARIO =
    "duration = '10 s'\n"
    "links = [\n"
    "  { name = 'up', from = 'a', to = 'b', rate = '10 Mbit/s', delay = '20 ms' },\n"
    "  { name = 'down', from = 'b', to = 'a', delay = '20 ms' },\n"
    "]\n"
    "flows = [{ name = 'mine', from = 'a', to = 'b', host = 'c' }]\n";

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sojourn_error());
    return 1;
}

int main(void) {
    struct SojournNetwork *network = sojourn_network_new(SCENARIO, 1);
    if (!network) return fail("new");
    struct SojournEvent event;
    uint64_t token = 0;
    int found;
    while ((found = sojourn_network_next(network, UINT64_MAX, &event)) == 1) {
        struct SojournPacket packet = { .flow = event.flow, .size = DATA };
        int to_send = 0;
        if (event.kind == SOJOURN_KIND_WRITE) to_send = WINDOW;
        if (event.kind == SOJOURN_KIND_ARRIVE) {
            to_send = 1;
            packet.back = !event.packet.back;
            if (packet.back) {
                packet.size = ACK;
                sojourn_network_deliver(network, event.at_ns, event.flow, event.packet.size - HEADERS);
            }
        }
        for (int n = 0; n < to_send; n++) {
            packet.token = ++token;
            if (sojourn_network_send(network, event.at_ns, &packet) != 0) return fail("send");
        }
    }
    if (found < 0) return fail("next");
    char *record = sojourn_network_finish(network);
    if (!record) return fail("finish");
    puts(record);
    sojourn_string_free(record);
    return 0;
}
