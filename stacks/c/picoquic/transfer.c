/* A connection of picoquic over the simulated network, in virtual time. It needs picoquic, picotls and OpenSSL.
   Usage: transfer CERTIFICATE KEY [CONTROLLER]. Prints the record as JSON. CONTROLLER is a name of ours, or picoquic's own with "picoquic:". */
#include <picotls.h>
#include "adapter.h"
#include "picoquic_crypto_provider_api.h"
#include "sojourn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tls_api.h"

enum { HEADERS = 28, LARGEST = 1536, MAX_PACKETS = 1 << 18, SEED = 1 };

static const uint64_t END_NS = 30000000000;
static const char *SCENARIO =
    "duration = '30 s'\n"
    "links = [\n"
    "  { name = 'up', from = 'a', to = 'b', rate = '10 Mbit/s', delay = '20 ms', queue = { limit = '100 packets' } },\n"
    "  { name = 'down', from = 'b', to = 'a', delay = '20 ms' },\n"
    "]\n"
    "flows = [{ name = 'mine', from = 'a', to = 'b', host = 'picoquic' }]\n";

static struct { uint8_t *bytes; size_t length; } wire[MAX_PACKETS];
static uint64_t packets, now_us, now_ns;
static struct SojournNetwork *network;
static struct sockaddr_in addresses[2];

static int fail(char const *what, char const *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* picoquic's random numbers follow from the seed, so that equal runs have equal packets. Keys of OpenSSL do not, and have constant sizes. */
static void fill_random(void *buffer, size_t length) {
    static uint64_t state = SEED;
    for (size_t at = 0; at < length; at++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)buffer)[at] = (uint8_t)(state >> 56);
    }
}

/* The application of both ends: the client sends without end, and the server counts. */
static int on_stream(picoquic_cnx_t *cnx, uint64_t id, uint8_t *bytes, size_t length, picoquic_call_back_event_t event, void *app, void *stream) {
    (void)id, (void)app, (void)stream;
    if (event == picoquic_callback_prepare_to_send) {
        uint8_t *buffer = picoquic_provide_stream_data_buffer(bytes, length, 0, 1);
        if (buffer) memset(buffer, 0, length);
    } else if ((event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin) && !picoquic_is_client(cnx)) {
        sojourn_network_deliver(network, now_ns, 0, length);
    }
    return 0;
}

/* Sends what an end has to send now. */
static void transmit(picoquic_quic_t *quic, bool back, uint8_t ecn) {
    struct sockaddr_storage to, from;
    int interface = 0;
    for (;;) {
        uint8_t *bytes = malloc(LARGEST);
        size_t length = 0;
        if (picoquic_prepare_next_packet(quic, now_us, bytes, LARGEST, &length, &to, &from, &interface, NULL, NULL) != 0 || length == 0) {
            free(bytes);
            return;
        }
        if (packets == MAX_PACKETS) fail("transmit", "too many packets");
        wire[packets].bytes = bytes, wire[packets].length = length;
        struct SojournPacket packet = { .flow = 0, .size = (uint16_t)(length + HEADERS), .ecn = ecn, .back = back, .token = packets++ };
        if (sojourn_network_send(network, now_ns, &packet) != 0) fail("send", sojourn_error());
    }
}

static void receive(picoquic_quic_t *quic, struct SojournPacket const *packet) {
    struct sockaddr *to = (struct sockaddr *)&addresses[!packet->back], *from = (struct sockaddr *)&addresses[packet->back];
    picoquic_incoming_packet(quic, wire[packet->token].bytes, wire[packet->token].length, from, to, 0, packet->ecn, now_us);
}

static picoquic_quic_t *end(char const *certificate, char const *key) {
    static uint8_t const zeros[16];
    picoquic_quic_t *quic = picoquic_create(1, certificate, key, NULL, "sojourn", certificate ? on_stream : NULL, NULL, NULL, NULL, NULL, 0, &now_us, NULL, zeros, sizeof(zeros));
    if (!quic) fail("picoquic_create", "no context");
    return quic;
}

static uint8_t choose(picoquic_quic_t *client, char const *name) {
    picoquic_congestion_algorithm_t const *algorithm = &sojourn_classic;
    static char const own[] = "picoquic:";
    if (strncmp(name, own, sizeof(own) - 1) == 0) {
        picoquic_register_all_congestion_control_algorithms();
        algorithm = picoquic_get_congestion_algorithm(name += sizeof(own) - 1);
        if (!algorithm) fail("picoquic has no controller", name);
    } else if (strcmp(name, "prague") == 0 || strcmp(name, "dctcp") == 0) {
        algorithm = &sojourn_l4s;
    }
    picoquic_set_default_congestion_algorithm_ex(client, algorithm, name);
    return algorithm->ecn_mark;
}

int main(int count, char **given) {
    if (count < 3) fail("usage", "transfer CERTIFICATE KEY [CONTROLLER]");
    for (int side = 0; side < 2; side++)
        addresses[side] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4433 + side), .sin_addr = { htonl(0x0a000001 + side) } };
    network = sojourn_network_new(SCENARIO, SEED);
    if (!network) fail("network", sojourn_error());
    picoquic_tls_api_init();
    picoquic_register_crypto_random_provider_fn(fill_random);
    picoquic_quic_t *ends[2] = { end(NULL, NULL), end(given[1], given[2]) };
    picoquic_public_random_seed_64(SEED, 1);
    picoquic_set_null_verifier(ends[0]);
    uint8_t ecn = choose(ends[0], count > 3 ? given[3] : "cubic");
    picoquic_cnx_t *client = NULL;
    while (now_ns < END_NS) {
        uint64_t wake = UINT64_MAX;
        for (int side = 0; side < 2; side++) {
            uint64_t next = picoquic_get_next_wake_time(ends[side], now_us);
            wake = next < wake ? next : wake;
        }
        uint64_t until = wake > END_NS / 1000 ? END_NS : wake * 1000;
        struct SojournEvent event;
        int found = sojourn_network_next(network, until > now_ns ? until : now_ns, &event);
        if (found < 0) fail("next", sojourn_error());
        if (found && event.kind == SOJOURN_KIND_DROP) continue; /* A sender does not see drops. */
        now_ns = found ? event.at_ns : until > now_ns ? until : now_ns;
        now_us = (now_ns + 999) / 1000;
        if (found && event.kind == SOJOURN_KIND_WRITE) {
            client = picoquic_create_client_cnx(ends[0], (struct sockaddr *)&addresses[1], now_us, 0, "sojourn", "sojourn", on_stream, NULL);
            if (!client || picoquic_mark_active_stream(client, 0, 1, NULL) != 0) fail("client", "no connection");
            if (!client->path[0]->congestion_alg_state) fail("controller", sojourn_error());
        } else if (found && event.kind == SOJOURN_KIND_ARRIVE) {
            receive(ends[!event.packet.back], &event.packet);
        }
        transmit(ends[0], false, ecn);
        transmit(ends[1], true, ecn);
    }
    char *record = sojourn_network_finish(network);
    if (!record) fail("finish", sojourn_error());
    puts(record);
    fprintf(stderr, "window %llu bytes, RTT %llu us\n", (unsigned long long)picoquic_get_cwin(client), (unsigned long long)picoquic_get_rtt(client));
    sojourn_string_free(record);
    picoquic_free(ends[0]);
    picoquic_free(ends[1]);
    return 0;
}
