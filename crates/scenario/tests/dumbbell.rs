//! The scenario of the documentation, from text to plan.

use sojourn_scenario::{Document, Plan};
use sojourn_spec::link::{DelayChange, RateChange};
use sojourn_traffic::Traffic;
use sojourn_units::{Duration, Rate, Time};

const DUMBBELL: &str = r#"
duration = "50 s"
warmup = "10 s"
packet = "1000 B"

[[links]]
name = "bottleneck"
from = "R0"
to = "R1"
rate = "10 Mbit/s"
delay = "11 ms"
queue = { aqm = "droptail", limit = "100 packets", ecn = false }
duplex = true
back = { rate = "20 Mbit/s", queue = { limit = "52.2 kB" } }
changes = [{ at = "20 s", rate = "5 Mbit/s" }, { at = "30 s", delay = "41 ms" }, { at = "40 s", delay = "11 ms" }]

[tcp]
profile = "ns2"
control = { cc = "reno" }
mss = "1000 B"
window = "20 packets"

[[flows]]
name = "ftp"
count = 3
from = "R0"
to = "R1"
access = { rate = "45 Mbit/s", delay = { spread = ["5 ms", "15 ms"] } }
egress = { delay = "1 ms" }
start = { uniform = ["0 s", "1 s"] }
tcp = { ecn = true }

[[flows]]
name = "noise"
from = "R1"
to = "R0"
traffic = { kind = "cbr", rate = "1 Mbit/s" }

[trace]
queue = { links = ["*"], every = "10 ms" }
cwnd = { flows = ["ftp/1", "*"], every = "10 ms" }
throughput = { flows = ["noise/0"], links = ["bottleneck:back"], every = "1 s" }
"#;

fn plan(seed: u64) -> Plan {
    let document = Document::from_toml("papers/x/dumbbell.toml", DUMBBELL).unwrap();
    document.check().unwrap_or_else(|error| panic!("{error}")).plan(seed)
}

#[test]
fn every_flow_has_its_links_and_its_ways() {
    let plan = plan(1);
    assert_eq!(plan.name, "dumbbell");
    assert_eq!((plan.nodes.len(), plan.hosts, plan.links.len(), plan.access_links.len()), (2, 6, 2, 3 * 4));
    let names = |links: &[u32]| links.iter().map(|&link| plan.link(link).name.clone()).collect::<Vec<_>>();
    let flow = &plan.flows[1];
    assert_eq!(flow.name, "ftp/1");
    assert_eq!(names(&flow.forward), ["ftp/1:access", "bottleneck", "ftp/1:egress"]);
    assert_eq!(names(&flow.back), ["ftp/1:egress:back", "bottleneck:back", "ftp/1:access:back"]);
    for way in [&flow.forward, &flow.back] {
        let ends: Vec<_> = way.iter().map(|&link| (plan.link(link).from, plan.link(link).to)).collect();
        assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ends:?}");
    }
    assert_eq!(plan.link(flow.forward[0]).delay, Duration::from_millis(10));
    assert_eq!(plan.link(flow.back[0]).rate, None);
    let tcp = plan.tcp(flow).unwrap();
    assert_eq!((tcp.ecn.is_on(), tcp.mss), (true, 1000));
    assert_eq!(tcp.control.name(), "reno");
}

#[test]
fn the_reverse_link_has_its_own_values_where_the_scenario_gives_some() {
    let plan = plan(1);
    let (forward, reverse) = (&plan.links[0], &plan.links[1]);
    assert_eq!(forward.rate_changes, [RateChange { at: Time::from_secs_f64(20.0), rate: Rate::from_bps(5_000_000).unwrap() }]);
    let delays = [(30.0, 41), (40.0, 11)].map(|(at, ms)| DelayChange { at: Time::from_secs_f64(at), delay: Duration::from_millis(ms) });
    assert_eq!(forward.delay_changes, delays);
    assert_eq!((reverse.rate.unwrap().as_bps(), reverse.delay, reverse.rate_changes.len()), (20_000_000, Duration::from_millis(11), 0));
    assert_eq!(reverse.queue.as_ref().unwrap().options.limit.to_string(), "52200 B");
}

#[test]
fn udp_has_no_reverse_path_and_no_window() {
    let plan = plan(1);
    let noise = &plan.flows[3];
    assert!(noise.back.is_empty() && noise.stack.is_none());
    assert!(matches!(noise.traffic, Traffic::Cbr(_)));
    assert_eq!(plan.trace.cwnd.as_ref().unwrap().flows, [0, 1, 2]);
    assert_eq!(plan.trace.throughput.as_ref().unwrap().flows, [3]);
    assert_eq!(plan.trace.queue.as_ref().unwrap().links, [0, 1]);
}

#[test]
fn a_plan_is_a_function_of_the_seed() {
    assert_eq!(plan(1), plan(1));
    assert_ne!(plan(1).flows[0].start, plan(2).flows[0].start);
    assert!(plan(1).flows[0].start < Time::from_secs_f64(1.0));
}

#[test]
fn another_group_moves_nobody_elses_numbers() {
    let more =
        DUMBBELL.replace("[[flows]]\nname = \"ftp\"", "[[flows]]\nname = \"new\"\nfrom = \"R0\"\nto = \"R1\"\n[[flows]]\nname = \"ftp\"");
    let document = Document::from_toml("x.toml", &more).unwrap();
    let other = document.check().unwrap().plan(1);
    assert_eq!(other.flows[1].name, "ftp/0");
    assert_eq!(other.flows[1].start, plan(1).flows[0].start);
}

#[test]
fn what_was_read_is_written_back_as_it_was() {
    for text in [DUMBBELL, include_str!("valid.toml")] {
        let written = Document::from_toml("x.toml", text).unwrap().written().unwrap();
        let json = serde_json::to_string(&written).unwrap();
        assert_eq!(Document::from_json("x.json", &json).unwrap().written().unwrap(), written);
        let again = Document::from_toml("x.toml", &toml::to_string(&written).unwrap()).unwrap();
        assert_eq!(again.written().unwrap(), written);
    }
}

#[test]
fn the_examples_of_the_documents_are_right() {
    let text = [include_str!("../../../docs/scenario.md"), include_str!("../../../docs/links.md")].concat();
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [minimal, scenario, moved, schedule, tables, trace, sweep, limits, shared, classes, impairments, radio] = blocks[..] else {
        panic!("the documents have twelve blocks: seven about scenarios, then five about links")
    };
    let document = Document::from_toml("minimal.toml", minimal).unwrap_or_else(|error| panic!("{error}"));
    document.check().unwrap_or_else(|error| panic!("{error}"));
    let document = Document::from_toml("scenario.md", &format!("{scenario}\n{trace}")).unwrap_or_else(|error| panic!("{error}"));
    document.check().unwrap_or_else(|error| panic!("{error}"));
    let link = |from: &str, to: &str| format!("[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mbit/s\"\nduplex = true\n");
    let triangle = ["left far", "far right", "left right"].map(|ends| ends.split_once(' ').unwrap()).map(|(from, to)| link(from, to));
    let checked = Document::from_toml("scenario.md", &format!("duration = \"1 s\"\n{}{moved}", triangle.concat()));
    checked.and_then(|document| document.check()).unwrap_or_else(|error| panic!("{error}"));
    for traffic in tables.lines().chain([schedule]) {
        let flow = format!("[[flows]]\nname = \"call\"\nfrom = \"left\"\nto = \"far\"\n{traffic}");
        let checked = Document::from_toml("scenario.md", &format!("duration = \"1 s\"\n{}{flow}", triangle.concat()));
        checked.and_then(|document| document.check()).unwrap_or_else(|error| panic!("{error}"));
    }
    let ends = "duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nduplex = true";
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";
    let checked = Document::from_toml("scenario.md", &format!("{ends}\n{limits}{flow}")).and_then(|document| document.check());
    let planned = checked.unwrap_or_else(|error| panic!("{error}")).links.into_iter().filter_map(|link| link.queue);
    assert_eq!(planned.map(|queue| queue.options.limit.to_string()).collect::<Vec<_>>(), ["17 packets", "125 packets"]);
    let checked = Document::from_toml("scenario.md", &format!("duration = \"1 s\"\n{shared}")).and_then(|document| document.check());
    assert!(checked.unwrap_or_else(|error| panic!("{error}")).links.iter().all(|link| link.medium.is_some()));
    let flow = "[[flows]]\nname = \"voip\"\nfrom = \"a\"\nto = \"b\"\n";
    let link = format!("duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\nduplex = true\n{classes}{flow}");
    let checked = Document::from_toml("scenario.md", &link).and_then(|document| document.check());
    checked.unwrap_or_else(|error| panic!("{error}"));
    let link = format!("duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\n{impairments}");
    let checked = Document::from_toml("scenario.md", &link).and_then(|document| document.check());
    assert_eq!(checked.unwrap_or_else(|error| panic!("{error}")).links[0].impairments.len(), 10);
    let absent = Document::from_toml("scenario.md", &format!("duration = \"1 s\"\n{radio}")).and_then(|document| document.check());
    assert!(absent.unwrap_err().to_string().contains("lte.up"), "all is right but for the file, which is not there");
    let sweep = sojourn_scenario::Sweep::from_toml("scenario.md", sweep).unwrap_or_else(|error| panic!("{error}"));
    let runs: Vec<_> = sweep.runs(&document).collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(runs.len(), 2 * 2 * 3 * 5);
}
