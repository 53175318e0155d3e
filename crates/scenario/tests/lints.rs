//! Warnings about valid scenarios.

use sojourn_scenario::Document;
use std::collections::BTreeSet;

const SCENARIO: &str = r#"
duration = "10 s"

[[links]]
name = "up.link"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
duplex = true
changes = [{ at = "10 s", rate = "1 Mbit/s" }]
impairments = [{ kind = "policer", rate = "5 Mbit/s", burst = "1499 B" }]
back = { queue = { aqm = "droptail", ecn = true, limit = "1499 B" } }

[links.queue]
scheduler = "drr"
classes = [
    { match = { group = "lp" }, aqm = "red", min = 21, max = 60, limit = "20 packets" },
    { match = { group = "prague" }, aqm = "codel", target = "300 ms", limit = "30 kB" },
    { match = { group = "cubic" }, aqm = "cake", bandwidth = "11 Mbit/s" },
    { match = { group = "voice" }, aqm = "step", packets = 0 },
    { aqm = "fq-codel", ce_threshold_selector = 1, ce_threshold_mask = 1 },
]

[tcp]
accecn_option = "full"
sack_algorithm = "rfc6675"

[[flows]]
name = "lp"
from = "a"
to = "b"
tcp = { control = { cc = "tcp-lp" }, f_rto = true, delayed_ack = true }

[[flows]]
name = "prague"
from = "a"
to = "b"
tcp = { control = { cc = "prague", burst = "1 ms" }, start_up = "hystart", linux_pacing = true, ecn = "l4s", peer_ecn = true }

[[flows]]
name = "cubic"
from = "a"
to = "b"
tcp = { control = { cc = "cubic" }, ecn = true }

[[flows]]
name = "voice"
from = "b"
to = "a"
traffic = { kind = "cbr", rate = "64 kbit/s", size = "200 B" }
"#;

/// The warnings about a scenario, each as its rule and its path.
fn warnings(text: &str) -> BTreeSet<(&'static str, String)> {
    let lints = Document::from_toml("all.toml", text).unwrap().lints().unwrap();
    lints.into_iter().map(|lint| (lint.rule, lint.field)).collect()
}

#[test]
fn every_rule_finds_its_setting_once() {
    let queue = "links.\"up.link\".queue";
    let expected = [
        ("after-the-end", "links.\"up.link\".changes[0].at".to_string()),
        ("small-bucket", "links.\"up.link\".impairments[0].burst".to_string()),
        ("unused-accecn-option", "tcp.accecn_option".to_string()),
        ("unused-sack-algorithm", "tcp.sack_algorithm".to_string()),
        ("unused-repair", "flows.lp.tcp.f_rto".to_string()),
        ("unused-burst", "flows.prague.tcp.control.burst".to_string()),
        ("unused-start-up", "flows.prague.tcp.start_up".to_string()),
        ("ecn-without-marks", format!("{queue}.ecn")),
        ("uncounted-marks", "flows.prague.tcp.peer_ecn".to_string()),
        ("held-acks", "flows.lp".to_string()),
        ("threshold-beyond-limit", format!("{queue}.classes[0].min")),
        ("target-beyond-limit", format!("{queue}.classes[1].target")),
        ("long-target", format!("{queue}.classes[1].target")),
        ("shaper-above-rate", format!("{queue}.classes[2].bandwidth")),
        ("selector-without-threshold", format!("{queue}.classes[4].ce_threshold_selector")),
        ("selector-without-threshold", format!("{queue}.classes[4].ce_threshold_mask")),
        ("no-threshold", format!("{queue}.classes[3].packets")),
        ("marks-of-droptail", "links.\"up.link\".back.queue.ecn".to_string()),
    ];
    assert_eq!(warnings(SCENARIO), BTreeSet::from(expected));
}

/// The limit of the reverse link is below a full packet, but only ACKs and voice cross it.
#[test]
fn a_queue_is_too_small_only_for_flows_whose_data_crosses_it() {
    let turned = SCENARIO.replace(
        "from = \"a\"\nto = \"b\"\ntcp = { control = { cc = \"cubic\"",
        "from = \"b\"\nto = \"a\"\ntcp = { control = { cc = \"cubic\"",
    );
    let small = ("small-queue", "links.\"up.link\".back.queue.limit".to_string());
    assert!(!warnings(SCENARIO).contains(&small) && warnings(&turned).contains(&small));
}

#[test]
fn a_scenario_that_is_not_valid_has_its_error_and_no_warnings() {
    let wrong = SCENARIO.replace("cc = \"cubic\"", "cc = \"cubical\"");
    let error = Document::from_toml("all.toml", &wrong).unwrap().lints().unwrap_err();
    assert!(error.to_string().contains("flows.cubic.tcp.control.cc"), "{error}");
}
