//! A run on several threads has the outcome of a run on one.

use sojourn_lab::{Error, Laws, Outcome, run, run_on};
use sojourn_scenario::{Checked, Document};

/// Four links in a row: one group crosses all of them, the others one each.
/// All series are traced.
const ROW: &str = r#"
duration = "6 s"
warmup = "1 s"
[trace]
queue = { links = ["*"], every = "10 ms" }
throughput = { links = ["*"], flows = ["*"], every = "50 ms" }
wait = { links = ["*"] }
signals = { links = ["*"] }
cwnd = { flows = ["*"], every = "10 ms" }
rtt = { flows = ["*"] }
retransmissions = { flows = ["*"] }
segments = { flows = ["*"] }
controller = { flows = ["*"] }
completions = { flows = ["*"] }
[[links]]
name = "l0"
from = "a"
to = "b"
rate = "8 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", limit = "60 packets", ecn = true }
duplex = true
impairments = [{ kind = "loss", probability = 0.002 }]
[[links]]
name = "l1"
from = "b"
to = "c"
rate = "10 Mbit/s"
delay = "4 ms"
queue = { aqm = "codel", limit = "80 packets" }
duplex = true
[[links]]
name = "l2"
from = "c"
to = "d"
rate = "9 Mbit/s"
delay = "6 ms"
queue = { aqm = "fq-codel", limit = "100 packets" }
duplex = true
[[links]]
name = "l3"
from = "d"
to = "e"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { aqm = "droptail", limit = "50 packets" }
duplex = true
[[flows]]
name = "long"
count = 3
from = "a"
to = "e"
tcp = { profile = "linux", ecn = true }
access = { rate = "50 Mbit/s", delay = "2 ms" }
start = { uniform = ["0 s", "1 s"] }
[[flows]]
name = "first"
count = 3
from = "a"
to = "b"
access = { rate = "50 Mbit/s", delay = "1 ms" }
traffic = { kind = "bulk", size = "150 kB" }
[[flows]]
name = "second"
count = 3
from = "b"
to = "c"
tcp = { profile = "linux", control = { cc = "bbr3" } }
[[flows]]
name = "third"
count = 3
from = "d"
to = "c"
start = "100 ms"
[[flows]]
name = "ping"
from = "e"
to = "a"
traffic = { kind = "ping", every = "20 ms" }
[[flows]]
name = "fourth"
count = 3
from = "d"
to = "e"
access = { rate = "40 Mbit/s", delay = "3 ms" }
egress = { rate = "30 Mbit/s", delay = "1 ms" }
"#;

fn checked(text: &str) -> Checked {
    Document::from_toml("x.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"))
}

fn on(scenario: &Checked, threads: usize) -> Outcome {
    run_on(scenario, None, &Laws::default(), threads, &|| false).unwrap()
}

#[test]
fn a_run_in_parts_has_the_record_and_the_series_of_a_run_as_a_whole() {
    let scenario = checked(ROW);
    let whole = run(&scenario, None, &Laws::default(), &|| false).unwrap();
    assert!(whole.series.len() > 50 && whole.record.audit.dropped > 100, "{:?}", whole.record.audit);
    for threads in 0..5 {
        let Outcome { record, series } = on(&scenario, threads);
        assert_eq!(record, whole.record, "{threads} threads");
        assert_eq!(series.keys().collect::<Vec<_>>(), whole.series.keys().collect::<Vec<_>>());
        for (name, table) in &series {
            // Values may be NaN.
            assert_eq!(format!("{table:?}"), format!("{:?}", whole.series[name]), "{name} on {threads} threads");
        }
    }
}

#[test]
fn a_run_in_parts_can_be_stopped() {
    let stopped = run_on(&checked(ROW), None, &Laws::default(), 2, &|| true);
    assert_eq!(stopped.err(), Some(Error::Stopped));
}

#[test]
fn a_run_that_has_no_parts_is_the_run_on_one_thread() {
    let sessions = r#"traffic = { kind = "transfers", every = "200 ms", sizes = [["40 kB", 1]] }"#;
    let scenario = checked(&ROW.replace(r#"traffic = { kind = "ping", every = "20 ms" }"#, sessions));
    assert_eq!(on(&scenario, 2).record, on(&scenario, 1).record);
}

/// A link that copies packets in both directions.
const COPIES: &str = r#"
duration = "2 ms"
seed = 18
[[links]]
name = "l0"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "25 us"
duplex = true
impairments = [{ kind = "duplication", probability = 0.256726721935203 }, { kind = "loss-list", packets = [] }]
[[flows]]
name = "f2"
count = 3
from = "b"
to = "a"
access = {}
start = { uniform = ["0 s", "2 ms"] }
"#;

#[test]
fn a_network_whose_impairments_do_more_than_drop_has_no_parts() {
    let scenario = checked(COPIES);
    for threads in 2..5 {
        assert_eq!(on(&scenario, threads).record, on(&scenario, 1).record, "{threads} threads");
    }
}
