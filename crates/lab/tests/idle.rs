//! A silent application does not open the window.
//! Time in which a sender does not use its window does not count (rfc9438#5.8). After a pause the sender continues with the same window, or
//! restarts from the initial window (rfc5681#4.1).

use sojourn_cc::{CongestionController, Start};
use sojourn_lab::{Laws, Outcome, Simulation};
use sojourn_scenario::Document;
use sojourn_units::Time;

/// Congestion windows in segments over time.
struct Windows {
    t: Vec<f64>,
    cwnd: Vec<f64>,
    ssthresh: Vec<f64>,
}

impl Windows {
    fn row(&self, seconds: f64) -> usize {
        self.t.partition_point(|&t| t < seconds).saturating_sub(1)
    }

    fn at(&self, seconds: f64) -> f64 {
        self.cwnd[self.row(seconds)]
    }
}

/// The windows of one flow over a link of this rate and 100 ms.
/// The flow sends for 6 s before and after a pause of `pause` seconds, if that is above 0. Its 100th packet is lost, so that it has had a
/// reduction.
fn windows(tcp: &str, rate: &str, pause: u32) -> Windows {
    let (end, duration) = (6 + pause, 12 + pause);
    let silent =
        format!("{{ kind = \"schedule\", rates = [{{ at = \"0 s\" }}, {{ at = \"6 s\", silent = true }}, {{ at = \"{end} s\" }}] }}");
    let traffic = if pause > 0 { silent } else { "{ kind = \"bulk\" }".to_string() };
    let text = format!(
        r#"
duration = "{duration} s"
[[links]]
name = "wire"
from = "a"
to = "b"
rate = "{rate}"
delay = "50 ms"
duplex = true
queue = {{ limit = "20000 packets" }}
impairments = [{{ kind = "loss-list", packets = [100] }}]
[tcp]
{tcp}
[[flows]]
name = "app"
from = "a"
to = "b"
traffic = {traffic}
[trace]
controller = {{ flows = ["app/0"] }}
"#
    );
    let scenario = Document::from_toml("x.toml", &text).unwrap().check().unwrap_or_else(|error| panic!("{tcp}: {error}"));
    let mut simulation = Simulation::new(&scenario, 1, &Laws::default()).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(Time::NEVER);
    let Outcome { mut series, .. } = simulation.finish().unwrap_or_else(|error| panic!("{error}"));
    let mut table = series.remove("controller/app/0").unwrap();
    let [t, cwnd, ssthresh] = ["t", "cwnd", "ssthresh"].map(|column| table.remove(column).unwrap());
    Windows { t, cwnd, ssthresh }
}

/// Whether the source itself counts silence.
/// CUBIC 2.1 of Linux 2.6.22 (the profiles of ns-2) does, and H-TCP of Linux, which has no `CA_EVENT_TX_START`.
fn counts_silence(cc: &str, profile: &str) -> bool {
    matches!((cc, profile), ("cubic", "ns2" | "ns2-linux") | ("htcp", "linux" | "ns2-linux"))
}

/// Every method of loss recovery.
const RECOVERIES: [&str; 6] = [
    "recovery = \"reno\"",
    "recovery = \"newreno\"",
    "recovery = \"sack\"\nsack_algorithm = \"rfc6675\"",
    "recovery = \"sack\"\nsack_algorithm = \"ns2-sack1\"",
    "recovery = \"sack\"\nsack_algorithm = \"rate-halving\"",
    "recovery = \"sack\"\nsack_algorithm = \"rack-tlp\"",
];

/// Seconds after a pause, with the window after 30 s of pause and after `pause` seconds.
fn pairs(long: &Windows, short: &Windows, pause: u32) -> [(f64, f64, f64); 6] {
    [0.3, 0.5, 1.0, 2.0, 3.0, 5.0].map(|x| (x, long.at(36.0 + x), short.at(6.0 + f64::from(pause) + x)))
}

/// Whether the window oscillates by itself, so that it depends on the time.
/// BBR cycles through states, LEDBAT++ and FLOWER+ slow down periodically, Copa's velocity doubles.
fn oscillates(cc: &str) -> bool {
    matches!(cc, "bbr" | "bbr3" | "ledbat++" | "flower+" | "rledbat" | "copa")
}

#[test]
fn no_window_is_larger_after_a_longer_silence() {
    let entries = sojourn_cc::REGISTRY.iter().filter(|entry| !["external", "linux"].contains(&entry.name));
    for entry in entries {
        let cc = entry.name;
        let start = Start::new(10.0, 1e9);
        let ecn = (entry.default)().build(start).unwrap().needs().ecn.is_strict();
        for profile in ["rfc", "linux", "ns2", "freebsd"] {
            for restart in [false, true] {
                if counts_silence(cc, profile) {
                    continue;
                }
                let options = format!("profile = \"{profile}\"\nrestart_after_idle = {restart}\ntimestamps = true\necn = {ecn}\n");
                let tcp = format!("{options}control = {{ cc = \"{cc}\" }}\n");
                let (long, short) = (windows(&tcp, "20 Mbit/s", 30), windows(&tcp, "20 Mbit/s", 3));
                let most = short.cwnd.iter().copied().fold(0.0, f64::max);
                for (x, long, short) in pairs(&long, &short, 3) {
                    let bound = 1.05 * if oscillates(cc) { most } else { short };
                    assert!(long <= bound + 2.0, "{tcp}{x} s after the pause {long} for {bound}");
                }
            }
        }
    }
}

#[test]
fn cubic_goes_on_where_it_was_with_every_recovery() {
    for recovery in RECOVERIES {
        let tcp = format!("profile = \"rfc\"\n{recovery}\nrestart_after_idle = false\ncontrol = {{ cc = \"cubic\" }}\n");
        for (x, with, without) in pairs(&windows(&tcp, "200 Mbit/s", 30), &windows(&tcp, "200 Mbit/s", 0), 0) {
            assert!((with - without).abs() <= 0.01 * without + 1.0, "{tcp}{x} s after the pause {with} for {without}");
        }
    }
}

#[test]
fn cubic_comes_back_by_slow_start_after_a_restart_and_then_by_the_cubic() {
    let tcp = "profile = \"rfc\"\nrestart_after_idle = true\ncontrol = { cc = \"cubic\" }\n";
    let (with, without) = (windows(tcp, "200 Mbit/s", 30), windows(tcp, "200 Mbit/s", 0));
    assert!(with.at(36.05) <= 10.0, "the initial window: {}", with.at(36.05));
    let ssthresh = with.ssthresh[with.row(38.0)];
    let (back, before) = (with.at(38.0), without.at(8.0));
    assert!(back >= ssthresh && back <= before, "{back}, from {ssthresh} on, for {before}");
}
