//! Keys: a result's key changes with every input of the run.
//! Runs share a beginning only if it is the same.

use sojourn_scenario::{Checked, Document};

const BASE: &str = r#"
duration = "50 s"
warmup = "5 s"
packet = "1000 B"
[[links]]
name = "up"
from = "A"
to = "B"
rate = "10 Mbit/s"
delay = "10 ms"
duplex = true
queue = { limit = "100 packets" }
[[flows]]
name = "early"
from = "A"
to = "B"
[[flows]]
name = "later"
from = "A"
to = "B"
start = { uniform = ["20 s", "30 s"] }
[trace]
cwnd = { flows = ["*"], every = "1 s" }
"#;

fn checked(text: &str) -> Checked {
    Document::from_toml("key.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The base with `part` replaced by `other`.
fn with(part: &str, other: &str) -> Checked {
    assert!(BASE.contains(part), "{part}");
    checked(&BASE.replacen(part, other, 1))
}

#[test]
fn every_part_of_a_scenario_changes_its_key() {
    let key = |scenario: &Checked| scenario.key(1, "engine");
    let usual = key(&checked(BASE));
    for (part, other) in [
        ("duration = \"50 s\"", "duration = \"51 s\""),
        ("warmup = \"5 s\"", "warmup = \"4 s\""),
        ("packet = \"1000 B\"", "packet = \"999 B\""),
        ("from = \"A\"\nto = \"B\"\nrate", "from = \"B\"\nto = \"A\"\nrate"),
        ("rate = \"10 Mbit/s\"", "rate = \"10000001 bit/s\""),
        ("delay = \"10 ms\"", "delay = \"10000001 ns\""),
        ("limit = \"100 packets\"", "limit = \"100 B\""),
        ("queue = {", "overhead = { per_packet = \"18 B\" }\nqueue = {"),
        ("queue = {", "changes = [{ at = \"1 s\", delay = \"1 ms\" }]\nqueue = {"),
        ("queue = {", "impairments = [{ kind = \"loss\", probability = 0.1 }]\nqueue = {"),
        ("[[flows]]", "[tcp]\nmss = \"1400 B\"\n[[flows]]"),
        ("name = \"early\"", "name = \"other\""),
        ("name = \"early\"", "name = \"early\"\ncount = 2"),
        ("name = \"early\"", "name = \"early\"\nstop = \"40 s\""),
        ("name = \"early\"", "name = \"early\"\nport = 80"),
        ("name = \"early\"", "name = \"early\"\naccess = { delay = \"1 ms\" }"),
        ("name = \"early\"", "name = \"early\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }"),
        ("\"30 s\"]", "\"31 s\"]"),
        ("every = \"1 s\"", "every = \"2 s\""),
        ("flows = [\"*\"]", "flows = [\"early/0\"]"),
    ] {
        assert_ne!(key(&with(part, other)), usual, "{part} -> {other}");
    }
}

/// The names of the beginnings of the runs with seeds 1 and 2.
fn beginnings(scenario: &Checked) -> Option<[String; 2]> {
    let both: Vec<String> = scenario.beginnings([1, 2])?.collect();
    both.try_into().ok()
}

/// Whether runs of two seeds share their beginning.
fn seeds_share(scenario: &Checked) -> bool {
    let [one, other] = beginnings(scenario).unwrap();
    one == other
}

#[test]
fn seeds_share_a_beginning_only_if_nothing_is_drawn_in_it() {
    assert!(seeds_share(&checked(BASE)));
    for (part, other) in [
        ("queue = {", "impairments = [{ kind = \"loss\", probability = 0.1 }]\nqueue = {"),
        ("name = \"early\"", "name = \"early\"\nstop = { uniform = [\"1 s\", \"2 s\"] }"),
        ("name = \"early\"", "name = \"early\"\npaths = \"flow\""),
        ("name = \"early\"", "name = \"early\"\naccess = { delay = { uniform = [\"1 ms\", \"2 ms\"] } }"),
        (
            "name = \"early\"",
            "name = \"early\"\ntraffic = { kind = \"web\", page_gap = \"1 s\", objects = 3, object_mean = 8.0, object_shape = 1.5 }",
        ),
        ("[\"20 s\", \"30 s\"]", "[\"0 s\", \"30 s\"]"),
    ] {
        assert!(!seeds_share(&with(part, other)), "{other}");
    }
    // Random numbers are drawn only after a hundredth of the run.
    assert!(seeds_share(&with("[\"20 s\", \"30 s\"]", "[\"500 ms\", \"30 s\"]")));
    assert!(!seeds_share(&with("[\"20 s\", \"30 s\"]", "[\"499 ms\", \"30 s\"]")));
}

#[test]
fn a_trace_of_a_link_with_loss_draws_from_the_start() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("keys");
    std::fs::create_dir_all(&folder).unwrap();
    let shares = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        seeds_share(&with("rate = \"10 Mbit/s\"", &format!("trace = {{ file = \"{}\" }}", path.display())))
    };
    assert!(shares("clean.csv", "t_ms, rate_kbps\n0, 10000\n1000, 5000\n"));
    assert!(!shares("lossy.csv", "t_ms, rate_kbps, loss\n0, 10000, 0.1\n1000, 5000, 0\n"));
}

#[test]
fn what_starts_later_may_differ_and_what_acts_at_its_planned_time_may_not() {
    let late = |text: &str| with("start = { uniform = [\"20 s\", \"30 s\"] }", text);
    let of = |text: &str| beginnings(&late(text)).unwrap()[0].clone();
    assert_eq!(of("start = \"20 s\""), of("start = \"21 s\"\nstop = \"40 s\"\ntcp = { mss = \"1400 B\" }"));
    assert_ne!(of("start = \"20 s\""), of("start = \"20 s\"\ncount = 2"));
    // A session is activated at its planned start.
    let web = |start: &str| {
        format!(
            "start = \"{start}\"\ntraffic = {{ kind = \"web\", page_gap = \"1 s\", objects = 3, object_mean = 8.0, object_shape = 1.5 }}"
        )
    };
    assert_ne!(of(&web("20 s")), of(&web("21 s")));
    assert!(beginnings(&late("")).is_none(), "nothing starts later");
}

/// Tests that runs with a caller's laws share no beginning.
/// The laws are not part of a scenario, so equal scenarios may differ in them.
#[test]
fn runs_with_laws_of_the_caller_share_no_beginning() {
    assert!(beginnings(&with("limit = \"100 packets\"", "aqm = \"external\", law = \"x\"")).is_none());
    assert!(
        beginnings(&with("name = \"early\"", "name = \"early\"\ntcp = { control = { cc = \"external\", controller = \"x\" } }")).is_none()
    );
}
