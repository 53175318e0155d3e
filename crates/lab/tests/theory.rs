//! The simulator against theory: queues, and windows under loss.
//! Also tests changes that must not affect a result.

use sojourn_lab::{Job, Laws, run, run_many};
use sojourn_scenario::{Checked, Document, Record};
use std::sync::{Arc, Mutex};

fn scenario(text: &str) -> Arc<Checked> {
    let document = Document::from_toml("theory.toml", text).unwrap();
    Arc::new(document.check().unwrap_or_else(|error| panic!("{error}")))
}

fn records(text: &str, seeds: u64, threads: usize) -> Vec<Record> {
    let scenario = scenario(text);
    let jobs: Vec<Job> = (1..=seeds).map(|seed| Job { scenario: scenario.clone(), seed: Some(seed), laws: Laws::default() }).collect();
    let done: Mutex<Vec<Option<Record>>> = Mutex::new(vec![None; jobs.len()]);
    run_many(&jobs, threads, &|| false, &|index, outcome| {
        done.lock().unwrap()[index] = Some(outcome.unwrap().record);
    });
    done.into_inner().unwrap().into_iter().flatten().collect()
}

/// Mean over eight seeds and half width of the 99.9 % confidence interval.
/// The interval is Student's with 7 degrees of freedom.
fn estimate(values: &[f64]) -> (f64, f64) {
    assert_eq!(values.len(), 8);
    let mean = values.iter().sum::<f64>() / 8.0;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 7.0;
    (mean, 5.408 * (variance / 8.0).sqrt())
}

fn agrees(what: &str, values: &[f64], theory: f64, allowed: f64) {
    let (mean, half) = estimate(values);
    assert!((mean - theory).abs() <= half, "{what}: {mean} ± {half}, theory says {theory}");
    assert!(half <= allowed * theory, "{what}: {mean} ± {half} says little about {theory}");
}

fn queue(load: f64, sizes: &str) -> String {
    let rate = (8e6 * load) as u64;
    format!(
        r#"
duration = "320 s"
warmup = "20 s"
[[links]]
name = "link"
from = "A"
to = "B"
rate = "8 Mbit/s"
queue = {{ limit = "100000 packets" }}
[[flows]]
name = "poisson"
from = "A"
to = "B"
traffic = {{ kind = "poisson", rate = "{rate} bit/s", size = "1000 B", sizes = "{sizes}" }}
"#
    )
}

/// Tests Pollaczek and Khinchine: the mean queue is rho²(1 + c²)/2(1 - rho) packets.
/// c is the coefficient of variation of their sizes. The wait is the queue divided by the arrival rate (Little). A packet needs 1 ms, so
/// the wait in ms is the queue divided by rho.
#[test]
#[ignore = "5 s: `make slow-test`"]
fn queues_of_poisson_arrivals_are_as_long_as_pollaczek_and_khinchine_say() {
    for (sizes, variation) in [("constant", 0.0), ("exponential", 1.0)] {
        for load in [0.3, 0.6, 0.8] {
            let runs = records(&queue(load, sizes), 8, 2);
            let waiting = load * load * (1.0 + variation) / (2.0 * (1.0 - load));
            let of = |value: fn(&Record) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
            let name = |what: &str| format!("{what} at load {load} with {sizes} sizes");
            agrees(&name("packets waiting"), &of(|run| run.links[0].queue.mean), waiting, 0.15);
            agrees(&name("wait"), &of(|run| run.links[0].wait_ms.unwrap().mean), waiting / load, 0.15);
            agrees(&name("utilization"), &of(|run| run.links[0].utilization.unwrap()), load, 0.03);
        }
    }
}

fn lossy(p: f64, stack: &str, seconds: u32) -> String {
    format!(
        r#"
duration = "{seconds} s"
warmup = "20 s"
[[links]]
name = "link"
from = "A"
to = "B"
rate = "1 Gbit/s"
delay = "50 ms"
duplex = true
queue = {{ limit = "100000 packets" }}
impairments = [{{ kind = "loss", probability = {p} }}]
[tcp]
{stack}
mss = "1000 B"
window = "10000 packets"
delayed_ack = false
handshake = "none"
[[flows]]
name = "ftp"
count = 4
from = "A"
to = "B"
"#
    )
}

/// Padhye, Firoiu, Towsley and Kurose 1998, eq. 30, with one ACK per segment.
/// The result is in segments per second.
fn padhye(p: f64, rtt: f64, rto: f64) -> f64 {
    let timeouts = rto * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * (2.0 * p / 3.0).sqrt() + timeouts)
}

/// Tests the formula for Reno of RFC 2581, without limited transmit.
/// Limited transmit carries a quarter more at p = 0.1.
#[test]
fn throughput_under_heavy_loss_follows_padhye_with_timeouts() {
    for p in [0.01, 0.02, 0.05, 0.1] {
        let runs = records(&lossy(p, "recovery = \"reno\"\nlimited_transmit = false", 400), 8, 2);
        let segments: Vec<f64> = runs.iter().map(|run| run.total.goodput_bps / 4.0 / 8_000.0).collect();
        let (mean, half) = estimate(&segments);
        let theory = padhye(p, 0.1, 1.0);
        assert!((mean / theory - 1.0).abs() < 0.1, "p = {p}: {mean} ± {half} segments/s, theory says {theory}");
    }
}

const MIXED: &str = r#"
duration = "20 s"
warmup = "2 s"
[[links]]
name = "link"
from = "A"
to = "B"
rate = "5 Mbit/s"
delay = "10 ms"
duplex = true
queue = { aqm = "red", limit = "60 packets", min = 5, max = 15 }
[[flows]]
name = "ftp"
count = 5
from = "A"
to = "B"
start = { uniform = ["0 s", "1 s"] }
access = { rate = "20 Mbit/s", delay = { uniform = ["1 ms", "30 ms"] } }
[[flows]]
name = "web"
count = 3
from = "A"
to = "B"
traffic = { kind = "web", page_gap = "1 s", objects = 3, object_mean = 10, object_shape = 1.3 }
"#;

#[test]
fn the_number_of_threads_changes_nothing() {
    assert_eq!(records(MIXED, 4, 1), records(MIXED, 4, 2));
}

/// Tests that a flow over its own links leaves every number of the others unchanged.
/// Random streams are named by role.
#[test]
fn a_flow_that_shares_nothing_moves_nobody_elses_numbers() {
    let stranger = r#"
[[links]]
name = "elsewhere"
from = "X"
to = "Y"
rate = "1 Mbit/s"
delay = "5 ms"
duplex = true
[[flows]]
name = "stranger"
from = "X"
to = "Y"
start = { uniform = ["0 s", "1 s"] }
"#;
    let (alone, beside) = (records(MIXED, 2, 2), records(&format!("{MIXED}{stranger}"), 2, 2));
    for (alone, beside) in alone.iter().zip(&beside) {
        assert_eq!(alone.links[..2], beside.links[..2]);
        assert_eq!(alone.flows[..], beside.flows[..alone.flows.len()]);
        assert_eq!(alone.groups[..], beside.groups[..2]);
    }
}

#[test]
fn a_seed_gives_the_same_record_again_and_another_seed_another() {
    let checked = scenario(MIXED);
    let again = |seed| run(&checked, Some(seed), &Laws::default(), &|| false).unwrap().record;
    assert_eq!(again(5), again(5));
    assert_ne!(again(5).fingerprint, again(6).fingerprint);
}

/// Tests that a link with random loss can have any queue, and counts losses by cause.
#[test]
fn a_lossy_link_counts_what_it_loses_apart_from_what_its_queue_drops() {
    for place in ["before-queue", "after-queue"] {
        let text = queue(0.5, "constant").replace(
            "queue = { limit = \"100000 packets\" }",
            &format!("queue = {{ aqm = \"red\" }}\nimpairments = [{{ kind = \"loss\", probability = 0.02, place = \"{place}\" }}]"),
        );
        let record = records(&text, 1, 1).remove(0);
        let link = &record.links[0];
        let lost = link.dropped.impaired.unwrap();
        assert_eq!(link.dropped_total, lost + link.dropped.early + link.dropped.forced + link.dropped.tail);
        assert!((lost as f64 / link.arrived as f64 - 0.02).abs() < 0.002, "{place}: {lost} of {}", link.arrived);
        assert_eq!(record.audit.sent, record.audit.delivered + record.audit.dropped + record.audit.in_flight);
        assert!(record.audit.dropped >= link.dropped_total);
    }
}
