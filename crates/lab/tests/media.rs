//! Links that share a medium have the rates and airtime of theory.
//! Tests cover every queue discipline and every execution mode.

use sojourn_lab::{Laws, Outcome, Simulation};
use sojourn_scenario::record::Link;
use sojourn_scenario::{Document, Record};
use sojourn_units::Time;

/// A run over a duplex link of 10 Mbit/s whose directions share a medium.
fn run(text: &str, all_events: bool) -> Record {
    let scenario = Document::from_toml("x.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
    let make = if all_events { Simulation::with_all_events } else { Simulation::new };
    let mut simulation = make(&scenario, 1, &Laws::default()).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(Time::NEVER);
    let Outcome { record, .. } = simulation.finish().unwrap_or_else(|error| panic!("{error}"));
    record
}

fn scenario(medium: &str, queue: &str, flows: &str) -> String {
    format!(
        r#"
duration = "21 s"
warmup = "1 s"
media = [{{ name = "air", {medium} }}]
[[links]]
name = "up"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
duplex = true
medium = "air"
queue = {queue}
back = {{ queue = {queue} }}
{flows}"#
    )
}

/// Datagrams of this size in bytes, more than the link can carry.
fn flood(from: &str, to: &str, size: u32) -> String {
    format!(
        r#"
[[flows]]
name = "{from}"
from = "{from}"
to = "{to}"
traffic = {{ kind = "cbr", rate = "20 Mbit/s", size = "{size} B" }}
"#
    )
}

fn both(up: u32, down: u32) -> String {
    flood("a", "b", up) + &flood("b", "a", down)
}

const QUEUE: &str = r#"{ limit = "50 packets" }"#;

/// Checks the packets per second of two links and their shares of the airtime.
/// A cycle of turns has a length in ms, and each link a part of it.
#[track_caller]
fn expect(medium: &str, flows: &str, packets: [f64; 2], parts_ms: [f64; 2]) {
    let record = run(&scenario(medium, QUEUE, flows), false);
    let cycle = parts_ms[0] + parts_ms[1];
    for ((link, packets), part) in record.links.iter().zip(packets).zip(parts_ms) {
        // With random turns, the number of one link's turns has a deviation of 1 % in 20 s; four deviations are allowed.
        let allowed = if medium.contains("random") { 0.04 } else { 0.001 };
        let near = |what: &str, got: f64, exact: f64| {
            assert!((got - exact).abs() <= allowed * exact, "{medium}: {}: {what}: {got}, theory says {exact}", link.name);
        };
        near("packets", link.departed as f64 / 20.0, packets / cycle * 1e3);
        near("airtime", link.airtime.unwrap(), part / cycle);
    }
}

#[test]
fn two_saturated_directions_have_as_many_turns_and_each_turn_costs_its_overhead() {
    let fair = r#"overhead = "200 us""#;
    expect(fair, &both(1500, 1500), [1.0, 1.0], [1.4, 1.4]);
    expect(fair, &both(1500, 500), [1.0, 1.0], [1.4, 0.6]);
    expect(r#"overhead = "200 us", turns = "random""#, &both(1500, 500), [1.0, 1.0], [1.4, 0.6]);
    expect("frames = 1", &both(1500, 500), [1.0, 1.0], [1.2, 0.4]);
    // Aggregates: as many packets per turn as allowed, or as start within its limit.
    expect(r#"overhead = "1 ms", frames = 8"#, &both(1500, 500), [8.0, 8.0], [10.6, 4.2]);
    expect(r#"overhead = "1 ms", frames = 8, longest = "3 ms""#, &both(1500, 500), [3.0, 8.0], [4.6, 4.2]);
}

#[test]
fn a_direction_alone_has_the_rate_of_the_link_less_the_overhead_of_its_turns() {
    for (medium, frames, turn_ms) in [("frames = 1", 1.0, 1.2), (r#"overhead = "600 us", frames = 4"#, 4.0, 5.4)] {
        let record = run(&scenario(medium, QUEUE, &flood("a", "b", 1500)), false);
        let [up, down]: [Link; 2] = record.links.try_into().unwrap();
        let exact = frames * 1500.0 * 8.0 / turn_ms * 1e3;
        assert!((up.throughput_bps - exact).abs() < 0.001 * exact, "{medium}: {}, theory says {exact}", up.throughput_bps);
        assert!((up.airtime.unwrap() - 1.0).abs() < 1e-6 && down.airtime == Some(0.0) && down.turns == Some(0));
    }
}

#[test]
fn a_transfer_pays_a_turn_for_each_acknowledgment_unless_they_are_aggregated() {
    let flow = "[[flows]]\nname = \"ftp\"\nfrom = \"a\"\nto = \"b\"\ntcp = { profile = \"rfc\", delayed_ack = false, mss = \"1460 B\", window = \"80 packets\" }\n";
    let goodput = |medium: &str| run(&scenario(medium, r#"{ limit = "100 packets" }"#, flow), false).total.goodput_bps;
    // A data packet of 1500 B, an ACK of 40 B, and the overhead of both.
    let exact = 1460.0 * 8.0 / (1.2e-3 + 0.032e-3 + 2.0 * 0.3e-3);
    let alone = goodput(r#"overhead = "300 us""#);
    assert!((alone - exact).abs() < 0.005 * exact, "{alone}, theory says {exact}");
    let aggregated = goodput(r#"overhead = "300 us", frames = 16"#);
    let most = 1460.0 * 8.0 / (1.2e-3 + 0.032e-3 + 2.0 * 0.3e-3 / 16.0);
    assert!(aggregated > 1.3 * exact && aggregated <= most, "{aggregated}: more than {exact}, at most {most}");
}

#[test]
fn links_of_several_stations_share_the_air() {
    let mut text = String::from("duration = \"11 s\"\nwarmup = \"1 s\"\nmedia = [{ name = \"air\", overhead = \"300 us\" }]\n");
    for station in ["s0", "s1", "s2"] {
        text += &format!(
            "[[links]]\nname = \"{station}\"\nfrom = \"{station}\"\nto = \"ap\"\nrate = \"10 Mbit/s\"\nmedium = \"air\"\nduplex = true\n"
        );
        text += &flood(station, "ap", 1500);
    }
    let record = run(&text, false);
    for link in record.links.iter().step_by(2) {
        assert!((link.airtime.unwrap() - 1.0 / 3.0).abs() < 1e-3, "{}: {:?}", link.name, link.airtime);
        assert!((link.throughput_bps - 1500.0 * 8.0 / 4.5e-3).abs() < 4e3, "{}: {}", link.name, link.throughput_bps);
    }
}

/// Tests transfers in both directions and pings under every queue discipline.
#[test]
fn every_discipline_takes_turns_and_hosts_that_run_ahead_change_nothing() {
    let group = |name: &str, from: &str, to: &str, rest: &str| {
        format!("[[flows]]\nname = \"{name}\"\ncount = 2\nfrom = \"{from}\"\nto = \"{to}\"\ntcp = {{ ecn = true }}\n{rest}\n")
    };
    let flows = group("up", "a", "b", "access = { rate = \"100 Mbit/s\", delay = \"5 ms\" }")
        + &group("down", "b", "a", "egress = { delay = \"7 ms\" }")
        + "[[flows]]\nname = \"ping\"\nfrom = \"a\"\nto = \"b\"\ntraffic = { kind = \"ping\", every = \"10 ms\" }\n";
    let flows = flows.replace("ecn = true", "profile = \"linux\", ecn = true, rtt_hint = true");
    for (number, entry) in sojourn_aqm::REGISTRY.iter().enumerate() {
        if ["external", "linux"].contains(&entry.name) {
            continue;
        }
        let turns = if number % 2 == 0 { "random" } else { "round-robin" };
        let medium = format!("overhead = \"250 us\", frames = 8, longest = \"5 ms\", turns = \"{turns}\"");
        let queue = format!("{{ aqm = \"{}\", ecn = true, limit = \"100 packets\" }}", entry.name);
        let text = scenario(&medium, &queue, &flows).replace("21 s", "6 s");
        let record = run(&text, false);
        assert!(record.audit.balances(), "{}: {:?}", entry.name, record.audit);
        assert_eq!(record, run(&text, true), "{}", entry.name);
        let airtime: f64 = record.links.iter().filter_map(|link| link.airtime).sum();
        assert!(airtime <= 1.0 && airtime > 0.4, "{}: {airtime}", entry.name);
    }
}

/// A class at its `ceil` lets packets wait while no link has the turn.
/// Some still wait at the end of the run.
#[test]
fn a_class_that_reaches_its_ceil_keeps_it_on_a_medium() {
    let class = r#"{ name = "all", rate = "2 Mbit/s", ceil = "2 Mbit/s", limit = "20 packets" }"#;
    let queue = format!("{{ scheduler = \"htb\", classes = [{class}] }}");
    let record = run(&scenario("frames = 1", &queue, &flood("a", "b", 1500)), false);
    let got = record.links[0].throughput_bps;
    assert!((got - 2e6).abs() < 0.01 * 2e6, "{got} bit/s");
}
