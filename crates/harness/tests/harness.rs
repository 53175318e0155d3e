//! Endpoints over a network: what they see, what a script does, and what ends a run.

use sojourn_harness::{Datagram, Dumbbell, Ecn, Endpoint, Fate, FlowInfo, Harness, PacketKind, Pair, Run, State, scenario};
use std::time::Duration;

const PAYLOAD: usize = 972; // 1000 B on the wire

/// Keeps `window` datagrams in flight; the other end answers each with an empty one.
#[derive(Default)]
struct Window {
    window: u64,
    flying: u64,
    writes: bool,
    answers: u64,
    received: u64,
    marked: u64,
}

impl Endpoint for Window {
    fn write(&mut self, _: Duration, _: Option<u64>, _: bool) {
        self.writes = true;
    }

    fn stop(&mut self, _: Duration) {
        self.writes = false;
    }

    fn receive(&mut self, _: Duration, datagram: Datagram) {
        self.marked += u64::from(datagram.ecn == Ecn::Ce);
        self.received += datagram.payload.len() as u64;
        match self.window {
            0 => self.answers += 1,
            _ => self.flying = self.flying.saturating_sub(1),
        }
    }

    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        if self.answers > 0 {
            self.answers -= 1;
            return Some(Datagram { payload: Vec::new(), ecn: Ecn::NotEct });
        }
        (self.writes && self.flying < self.window).then(|| {
            self.flying += 1;
            Datagram { payload: vec![0; PAYLOAD], ecn: Ecn::Ect0 }
        })
    }

    fn timeout(&mut self) -> Option<Duration> {
        None
    }

    fn on_timeout(&mut self, _: Duration) {}

    fn state(&self) -> State {
        State { delivered: self.received, window: (self.window > 0).then_some(self.window * 1000), ..State::default() }
    }
}

fn fixed(window: u64) -> impl FnMut(&FlowInfo) -> Pair {
    move |_| Pair { sender: Box::new(Window { window, ..Window::default() }), receiver: Box::new(Window::default()) }
}

fn goodput(run: &Run, flow: &str) -> f64 {
    run.record.flows.iter().find(|of| of.name == flow).unwrap().goodput_bps
}

#[test]
fn a_fixed_window_has_the_goodput_of_window_over_round_trip() {
    // Ten packets of 972 B each 40 ms and their transmission time of 0.8 ms at 10 Mbit/s.
    let network = Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "fixed");
    let run = Harness::new(network.check().unwrap()).host("fixed", fixed(10)).run().unwrap();
    let expected = 10.0 * PAYLOAD as f64 * 8.0 / 0.0408;
    assert!((goodput(&run, "a/0") / expected - 1.0).abs() < 0.01, "{} against {expected}", goodput(&run, "a/0"));
    assert_eq!(run.log.windows["a/0"], [(Duration::ZERO, 10_000)]);
}

#[test]
fn a_foreign_flow_and_the_simulators_tcp_share_a_bottleneck() {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").queue("fq").flow("a", "fixed").tcp("tcp", "cubic").duration("20 s");
    let run = Harness::new(network.check().unwrap()).host("fixed", fixed(400)).run().unwrap();
    // A queue for each flow gives each half of the link.
    for flow in ["a/0", "tcp/0"] {
        assert!((4.3e6..=5.1e6).contains(&goodput(&run, flow)), "{flow}: {}", goodput(&run, flow));
    }
}

#[test]
fn every_packet_arrives_or_is_dropped_and_a_run_repeats_to_the_byte() {
    let run = || {
        let network = Dumbbell::new("2 Mbit/s", "20 ms").limit("20 packets").flow("a", "fixed").flow("b", "fixed");
        Harness::new(network.check().unwrap()).host("fixed", fixed(15)).run().unwrap()
    };
    let (first, second) = (run(), run());
    assert_eq!(first.log, second.log);
    let count = |kind: PacketKind| first.log.packets.iter().filter(|packet| packet.kind == kind).count();
    let left = count(PacketKind::Sent) - count(PacketKind::Arrived) - count(PacketKind::Dropped);
    assert!(count(PacketKind::Dropped) > 0, "30 packets do not fit a queue of 20");
    assert!(left <= 30, "at most both windows are in the network at the end, got {left}");
}

#[test]
fn a_script_drops_marks_and_delays_the_packets_that_it_names() {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "fixed").duration("1 s");
    let harness = Harness::new(network.check().unwrap()).host("fixed", fixed(4));
    let harness = harness.on_data("a/0", 1..=1, Fate::Drop).on_data("a/0", 2..=2, Fate::Mark);
    let run = harness.on_data("a/0", 3..=3, Fate::Delay(Duration::from_millis(100))).run().unwrap();
    let of = |number: u64, kind: PacketKind| run.log.packets.iter().find(|packet| packet.number == number && packet.kind == kind);
    assert!(of(1, PacketKind::Dropped).is_some() && of(1, PacketKind::Arrived).is_none());
    assert!(of(2, PacketKind::Arrived).unwrap().is_marked() && !of(4, PacketKind::Arrived).unwrap().is_marked());
    let late = of(3, PacketKind::Arrived).unwrap().at;
    assert!(late >= Duration::from_millis(120), "100 ms of the script and 20 ms of the path, got {late:?}");
}

/// Breaks one rule at its first write.
struct Broken(&'static str);

impl Endpoint for Broken {
    fn write(&mut self, _: Duration, _: Option<u64>, _: bool) {
        assert!(self.0 != "panics", "an index out of bounds");
    }
    fn receive(&mut self, _: Duration, _: Datagram) {}
    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        let size = match self.0 {
            "too large" => 70_000,
            "never stops" => 10,
            _ => return None,
        };
        Some(Datagram { payload: vec![0; size], ecn: Ecn::NotEct })
    }
    fn timeout(&mut self) -> Option<Duration> {
        (self.0 == "timer in the past").then_some(Duration::ZERO)
    }
    fn on_timeout(&mut self, _: Duration) {}
    fn state(&self) -> State {
        assert!(self.0 != "panics when it is asked", "no state");
        State::default()
    }
    fn fault(&self) -> Option<String> {
        (self.0 == "loses the connection").then(|| "the connection is lost".into())
    }
}

#[test]
fn an_endpoint_that_breaks_a_rule_ends_the_run_in_one_line_with_place_and_rule() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for (fault, rule) in [
        ("panics", "expected a return, got a panic: an index out of bounds"),
        ("panics when it is asked", "expected a return, got a panic: no state"),
        ("loses the connection", "the connection is lost"),
        ("too large", "expected a datagram of at most 65507 bytes, got 70000"),
        ("never stops", "expected at most 100000 datagrams at one time, got more"),
        ("timer in the past", "expected a timer after this time, got the same 1000 times"),
    ] {
        let network = Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "broken");
        let pair = |_: &FlowInfo| Pair { sender: Box::new(Broken(fault)), receiver: Box::new(Window::default()) };
        let error = Harness::new(network.check().unwrap()).host("broken", pair).run().unwrap_err();
        assert_eq!(error.to_string(), format!("a/0 sender (broken) at 0.000000 s: {rule}"));
    }
    std::panic::set_hook(hook);
}

#[test]
fn a_host_that_nobody_supplies_is_named() {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "quin");
    let error = Harness::new(network.check().unwrap()).host("quinn", fixed(1)).run().unwrap_err();
    assert_eq!(error.to_string(), "flow a/0: expected a host that the harness supplies (quinn), got \"quin\"");
}

#[test]
fn a_wrong_value_of_a_network_has_its_place() {
    let error = Dumbbell::new("10 Mbits", "40 ms").check().unwrap_err();
    assert!(error.to_string().contains("rate") && error.to_string().contains("10 Mbits"), "{error}");
}

#[test]
fn a_foreign_flow_without_a_harness_is_an_error_of_the_simulator() {
    let checked = scenario(&Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "quinn").to_toml()).unwrap();
    let error = sojourn_lab::run(&checked, None, &sojourn_lab::Laws::default(), &|| false).unwrap_err();
    let expected = "flows.a.host: expected none, because only a program with the crate sojourn-harness has such endpoints, got \"quinn\"";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_script_holds_a_packet_behind_later_ones_and_acts_at_times() {
    let network = Dumbbell::new("10 Mbit/s", "40 ms").flow("a", "fixed").duration("1 s");
    let harness = Harness::new(network.check().unwrap()).host("fixed", fixed(4)).on_data("a/0", 1..=1, Fate::Behind(2));
    let (half, silent) = (Duration::from_millis(500), Duration::from_millis(700)..Duration::from_millis(800));
    let run = harness.on_data_from("a/0", half, 1, Fate::Drop).on_data_during("a/0", silent.clone(), Fate::Drop).run().unwrap();
    let forward = run.log.packets.iter().filter(|packet| !packet.back);
    let of = |kind: PacketKind| forward.clone().filter(move |packet| packet.kind == kind);
    let arrived: Vec<u64> = of(PacketKind::Arrived).take(4).map(|packet| packet.number).collect();
    assert_eq!(arrived, [2, 3, 1, 4]);
    let dropped: Vec<Duration> = of(PacketKind::Dropped).map(|packet| packet.at).collect();
    let first = of(PacketKind::Sent).find(|packet| packet.at >= half).unwrap().at;
    assert_eq!(dropped[0], first);
    assert!(dropped.len() > 1 && dropped[1..].iter().all(|at| silent.contains(at)), "{dropped:?}");
}
