//! What does not exist yet under the names by which a user may ask for it, and what to write instead (`docs/roadmap.md`).

/// Names, and the sentence that follows the refusal of one of them.
const INSTEAD: &[(&[&str], &str)] = &[
    (&["loss", "loss_rate", "plr", "error_rate"], "random loss of a link is `impairments = [{ kind = \"loss\", probability = 0.01 }]`"),
    (&["outages", "down", "blackout", "handover"], "an outage of a link is `impairments = [{ kind = \"outage\", ... }]`"),
    (&["replay", "pcap", "capture"], "packets of a capture cannot be replayed yet; the rates of a link can: `trace = { file = \"...\" }`"),
    (&["mahimahi", "trace_file", "rate_trace"], "what a link can carry at each time is `trace = { file = \"...\" }`"),
    (
        &["jitter", "reorder", "reordering", "duplicate", "duplication", "corrupt", "corruption", "gilbert", "burst", "bursts", "outage"],
        "what a link does to packets besides queuing them is a list: `impairments = [{ kind = \"jitter\", ... }]`; \
         `sojourn list impairment` prints every kind",
    ),
    (
        &["priority", "priorities", "class", "classes", "scheduler", "prio", "htb", "drr", "sfq", "cake"],
        "priorities, classes and CAKE do not exist yet: a link has one discipline; fq-codel and fq-pie separate its flows, \
         and cobalt is what CAKE's queues run",
    ),
    (
        &["bbr", "bbr2", "bbr3", "bbrv1", "bbrv2", "bbrv3", "pacing", "pacing_rate", "rack", "tlp"],
        "pacing, RACK and BBR do not exist yet: docs/roadmap.md",
    ),
    (&["l4s", "dctcp", "prague", "dualpi2", "dualq", "dual-queue"], "L4S does not exist yet: `pi2` is the single queue that it builds on"),
];

/// What to do instead of something that does not exist yet.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    INSTEAD.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, instead)| *instead)
}
