//! Several paths: one per flow, one per packet, and route changes.

use sojourn_lab::{Laws, Outcome, Simulation, run};
use sojourn_scenario::record::Record;
use sojourn_scenario::{Checked, Document};

/// Two links of 5 Mbit/s from a to b with 5 ms and `second_ms`, and a link back.
/// `flows` completes the table of the flows.
fn parallel(second_ms: u32, flows: &str) -> Result<Checked, String> {
    let text = format!(
        "duration = \"10 s\"\n\
         [[links]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"5 ms\"\nduplex = true\n\
         queue = {{ aqm = \"droptail\", limit = \"50 packets\" }}\n\
         [[links]]\nname = \"two\"\nfrom = \"a\"\nto = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"{second_ms} ms\"\n\
         queue = {{ aqm = \"droptail\", limit = \"50 packets\" }}\n\
         [[links]]\nname = \"to-c\"\nfrom = \"a\"\nto = \"c\"\ndelay = \"20 ms\"\nduplex = true\n\
         [[links]]\nname = \"from-c\"\nfrom = \"c\"\nto = \"b\"\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nduplex = true\n\
         queue = {{ aqm = \"droptail\", limit = \"50 packets\" }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flows}\n"
    );
    Document::from_toml("x.toml", &text).and_then(|document| document.check()).map_err(|error| error.to_string())
}

/// The record, which is the same with an event at every hop.
fn record(checked: &Checked) -> Record {
    let laws = Laws::default();
    let Outcome { record, .. } = run(checked, None, &laws, &|| false).unwrap();
    let all_events = Simulation::with_all_events(checked, checked.seed, &laws).unwrap().finish().unwrap().record;
    assert_eq!(format!("{record:?}"), format!("{all_events:?}"));
    record
}

fn departed(record: &Record, link: &str) -> u64 {
    record.links.iter().find(|found| found.name == link).unwrap().departed
}

const CBR: &str = "traffic = { kind = \"cbr\", rate = \"8 Mbit/s\", size = \"1000 B\" }";

#[test]
fn without_a_choice_the_first_of_parallel_links_is_used() {
    let record = record(&parallel(5, CBR).unwrap());
    assert_eq!(departed(&record, "two"), 0);
    assert!(record.links[0].loss_ratio > Some(0.3));
}

#[test]
fn each_packet_takes_the_next_path() {
    let record = record(&parallel(5, &format!("paths = \"packet\"\n{CBR}")).unwrap());
    assert!(departed(&record, "one").abs_diff(departed(&record, "two")) <= 1);
    assert_eq!(record.total.dropped, 0, "8 Mbit/s over two links of 5 Mbit/s");
}

#[test]
fn packets_on_a_shorter_path_overtake_and_a_sender_takes_that_for_losses() {
    let sent_again = |second_ms, tcp: &str| {
        let record = record(&parallel(second_ms, &format!("paths = \"packet\"\ntcp = {{ {tcp} }}")).unwrap());
        (record.flows[0].retransmitted, record.total.dropped)
    };
    assert_eq!(sent_again(5, "window = \"10 packets\"").0, 0);
    let (again, dropped) = sent_again(25, "window = \"40 packets\", recovery = \"sack\"");
    assert!(again > 0 && dropped == 0, "{again} were sent again, {dropped} dropped");
}

#[test]
fn each_flow_takes_one_of_the_paths_by_the_seed() {
    let checked =
        parallel(5, "count = 40\npaths = \"flow\"\ntraffic = { kind = \"cbr\", rate = \"200 kbit/s\", size = \"1000 B\" }").unwrap();
    let on_two = |seed: u64| checked.plan(seed).flows.iter().filter(|flow| checked.links[flow.forward[0] as usize].name == "two").count();
    assert!((10..=30).contains(&on_two(1)) && on_two(1) == on_two(1));
    assert!((2..20).any(|seed| on_two(seed) != on_two(1)));
    let record = record(&checked);
    assert_eq!(record.total.dropped, 0);
    let share = departed(&record, "two") as f64 / (departed(&record, "one") + departed(&record, "two")) as f64;
    assert!((share - on_two(1) as f64 / 40.0).abs() < 0.01, "{share}");
}

/// Four equal links of 4 Mbit/s from a to b, and `count` transfers over one link each.
fn equal_paths(count: u32) -> Checked {
    let link = |name: u32| {
        format!(
            "[[links]]\nname = \"path{name}\"\nfrom = \"a\"\nto = \"b\"\nrate = \"4 Mbit/s\"\ndelay = \"5 ms\"\nduplex = true\n\
             queue = {{ aqm = \"fq-codel\" }}\n"
        )
    };
    let links: String = (0..4).map(link).collect();
    let flows = format!("[[flows]]\nname = \"f\"\ncount = {count}\nfrom = \"a\"\nto = \"b\"\npaths = \"flow\"\n");
    let text = format!("duration = \"20 s\"\nwarmup = \"5 s\"\n{links}{flows}");
    Document::from_toml("x.toml", &text).and_then(|document| document.check()).unwrap_or_else(|error| panic!("{error}"))
}

/// The number of flows on each path in the run with this seed.
fn flows_of_paths(checked: &Checked, seed: u64) -> [f64; 4] {
    let mut counts = [0.0; 4];
    checked.plan(seed).flows.iter().for_each(|flow| counts[flow.forward[0] as usize / 2] += 1.0);
    counts
}

#[test]
fn flows_are_thrown_on_equal_paths_as_balls_into_bins() {
    let checked = equal_paths(32);
    let counts: Vec<[f64; 4]> = (1..=200).map(|seed| flows_of_paths(&checked, seed)).collect();
    for path in 0..4 {
        let mean = counts.iter().map(|run| run[path]).sum::<f64>() / 200.0;
        // Four standard errors of the mean of 200 binomial numbers with a variance of 32 · 1/4 · 3/4 each.
        assert!((mean - 8.0).abs() < 4.0 * (6.0f64 / 200.0).sqrt(), "path {path}: {mean}");
    }
    // Pearson's statistic of a run has three degrees of freedom: mean 3 and variance 6. Evenly distributed flows would have 0.
    let chi2 = counts.iter().flatten().map(|count| (count - 8.0).powi(2) / 8.0).sum::<f64>() / 200.0;
    assert!((chi2 - 3.0).abs() < 4.0 * (6.0f64 / 200.0).sqrt(), "{chi2}");
}

#[test]
fn the_flows_of_a_path_share_its_rate_and_an_empty_path_is_lost() {
    let checked = equal_paths(6);
    for seed in 1..=3 {
        let counts = flows_of_paths(&checked, seed);
        let record = run(&checked, Some(seed), &Laws::default(), &|| false).unwrap().record;
        let used = counts.iter().filter(|&&count| count > 0.0).count() as f64;
        // Payload is 1460 of 1500 bytes.
        let most = used * 4e6 * 1460.0 / 1500.0;
        assert!(record.total.goodput_bps > 0.93 * most && record.total.goodput_bps <= most, "{counts:?}: {}", record.total.goodput_bps);
        for (flow, measured) in checked.plan(seed).flows.iter().zip(&record.flows) {
            let share = 4e6 * 1460.0 / 1500.0 / counts[flow.forward[0] as usize / 2];
            assert!((measured.goodput_bps - share).abs() < 0.1 * share, "{}: {}, its share is {share}", flow.name, measured.goodput_bps);
        }
    }
}

#[test]
fn from_a_change_of_the_route_on_packets_take_the_new_path() {
    let to_c = "reroute = [{ at = \"4 s\", via = [\"a\", \"c\", \"b\"] }]";
    let traffic = "traffic = { kind = \"cbr\", rate = \"800 kbit/s\", size = \"1000 B\" }";
    let record = record(&parallel(5, &format!("{to_c}\n{traffic}")).unwrap());
    // A hundred packets per second.
    assert!(departed(&record, "one").abs_diff(400) <= 1 && departed(&record, "from-c").abs_diff(600) <= 5);
}

#[test]
fn after_a_change_to_a_shorter_route_packets_overtake_those_on_the_old_one() {
    let back = "via = [\"a\", \"c\", \"b\"]\nreroute = [{ at = \"4 s\", via = [\"a\", \"b\"] }]\ntcp = { window = \"16 packets\", recovery = \"sack\" }";
    let record = record(&parallel(5, back).unwrap());
    assert_eq!(record.total.dropped, 0);
    assert!(record.flows[0].retransmitted > 0, "three later segments came before those on the long way");
}

#[test]
fn what_is_wrong_with_paths_is_said() {
    let said = |flows: &str| parallel(5, flows).unwrap_err();
    let via = "via = [\"a\", \"c\", \"b\"]";
    for (flows, expected) in [
        ("paths = \"each\"", "flows.f.paths"),
        (
            &format!("paths = \"packet\"\nreroute = [{{ at = \"1 s\", {via} }}]"),
            "flows.f.reroute: expected one of `paths` and `reroute`, got both",
        ),
        (&format!("reroute = [{{ at = \"0 s\", {via} }}]"), "flows.f.reroute[0].at: expected a time after 0 s, got 0 s"),
        (&format!("reroute = [{{ at = \"2 s\", {via} }}, {{ at = \"1 s\", {via} }}]"), "flows.f.reroute[1].at: expected a time after 2 s"),
        ("reroute = [{ at = \"1 s\", via = [\"a\", \"c\"] }]", "flows.f.reroute[0].via: expected the nodes"),
        ("reroute = [{ at = \"1 s\", via = [\"a\", \"x\", \"b\"] }]", "flows.f.reroute[0].via[1]"),
    ] {
        assert!(said(flows).contains(expected), "{}", said(flows));
    }
}

/// A packet takes the path whose turn it is.
/// One path has a medium in its reverse direction, another a queue that holds packets.
const TURNS: &str = r#"
duration = "10 s"
seed = 1
[[links]]
rate = "100 kbit/s"
name = "l0"
from = "n0"
to = "n1"
duplex = true
[links.back]
medium = "air"
[[links]]
delay = "1 ns"
name = "l1"
from = "n0"
to = "n1"
[[links]]
delay = "1 ns"
rate = "200 kbit/s"
from = "n0"
to = "n1"
[links.queue]
scheduler = "strict"
[[links.queue.classes]]
[[media]]
name = "air"
[[flows]]
name = "f2"
from = "n0"
to = "n1"
paths = "packet"
"#;

#[test]
fn packets_that_take_turns_on_paths_meet_the_queues_of_the_same_times_with_an_event_at_every_hop() {
    record(&Document::from_toml("x.toml", TURNS).and_then(|document| document.check()).unwrap());
}
