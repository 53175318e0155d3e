//! Missing features under the names that a user may try, with alternatives.
//! See `docs/roadmap.md`.

/// Names, and the sentence that follows when one of them is rejected.
const INSTEAD: &[(&[&str], &str)] = &[
    (&["bandwidth", "bandwith", "bw"], "what a link carries is its `rate`, such as `rate = \"10 Mbit/s\"`"),
    (
        &["limit", "buffer", "queue_limit", "qlen"],
        "how much may wait for a link is the limit of its queue, `queue = { limit = \"100 packets\" }`; \
         flows' own links (`access`, `egress`) have no limit",
    ),
    (&["latency"], "a link has the `delay` of one direction, such as `delay = \"10 ms\"`"),
    (&["k"], "k of RFC 9332 is `coupling_factor`, K of RFC 8257 is `packets` of `step`, the gains of `pd` are `k1`, `k2` and `k3`"),
    (&["loss", "loss_rate", "plr", "error_rate"], "random loss of a link is `impairments = [{ kind = \"loss\", probability = 0.01 }]`"),
    (&["outages", "down", "blackout", "handover"], "an outage of a link is `impairments = [{ kind = \"outage\", ... }]`"),
    (&["replay", "pcap", "capture"], "packets of a capture cannot be replayed yet; the rates of a link can: `trace = { file = \"...\" }`"),
    (&["mahimahi", "trace_file", "rate_trace"], "what a link can carry at each time is `trace = { file = \"...\" }`"),
    (
        &[
            "jitter",
            "reorder",
            "reordering",
            "duplicate",
            "duplication",
            "corrupt",
            "corruption",
            "gilbert",
            "burst",
            "bursts",
            "outage",
            "policer",
            "police",
            "shaper",
            "shape",
            "tbf",
            "ack-thinning",
            "ack_thinning",
            "gilbert-elliott",
            "gilbert_elliott",
        ],
        "what a link does to packets besides queuing them is a list: `impairments = [{ kind = \"jitter\", ... }]`; \
         `sojourn list impairment` prints every kind",
    ),
    (
        &["priority", "priorities", "class", "classes", "scheduler", "prio", "htb", "drr", "sfq"],
        "classes of a link are `queue = { scheduler = \"strict\", classes = [{ match = { group = \"voip\" }, aqm = \"codel\" }, {}] }`; \
         or \"drr\" or \"htb\"",
    ),
    (&["bbr", "bbr3", "prague", "dctcp"], "it is a congestion controller: `control = { cc = \"bbr\" }` and so on"),
    (&["bbr1", "bbrv1", "bbrv3"], "version 1 of BBR is the controller \"bbr\", version 3 is \"bbr3\""),
    (&["bbr2", "bbrv2"], "version 2 of BBR does not exist here; version 1 is the controller \"bbr\", version 3 is \"bbr3\""),
    (&["cc", "congestion_control"], "the congestion controller of flows is `tcp = { control = { cc = \"cubic\" } }`"),
    (&["newreno", "new-reno"], "NewReno is the controller \"reno\" with `recovery = \"newreno\"` in `tcp`"),
    (&["pfifo", "bfifo", "fifo", "taildrop", "tail-drop"], "a FIFO queue is \"droptail\", with a limit in packets or bytes"),
    (&["rtt", "base_rtt"], "a round trip is the sum of delays: the `delay` of links, there and back, and that of `access` and `egress`"),
    (&["pacing_rate"], "segments are paced with `pacing = true`, or at the pace of a controller that has one"),
    (&["rack", "tlp"], "RACK-TLP is `sack_algorithm = \"rack-tlp\"`"),
    (&["accecn"], "AccECN is `ecn = \"accurate\"`"),
    (
        &["atm", "docsis", "ptm", "mpu", "stab", "linklayer"],
        "what the link layer adds to packets is `overhead = \"docsis\"`, or `overhead = { per_packet = \"18 B\", mpu = \"64 B\" }`",
    ),
    (
        &["half_duplex", "half-duplex", "airtime", "wifi", "aggregate", "aggregation", "txop", "shared", "ampdu"],
        "links that share the air have `medium = \"air\"`, and `[[media]]` says who sends: `name = \"air\"`, `overhead = \"100 us\"`, `frames = 32`; \
         what waits for a schedule and leaves together is the impairment \"bursts\"",
    ),
    (
        &["links", "stations"],
        "each link says which medium it shares: `medium = \"air\"`; and flows say by which nodes they go: `via = [\"R1\", \"R2\"]`",
    ),
    (&["sch_cake", "sqm"], "it is a queue discipline: `queue = { aqm = \"cake\" }`"),
    (&["l4s", "dualq", "dual-queue"], "the dual queue of L4S is `aqm = \"dualpi2\"`, and its senders have `ecn = \"l4s\"`"),
];

/// The alternative to a feature that does not exist yet.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    INSTEAD.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, instead)| *instead)
}
