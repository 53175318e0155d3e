//! The plan for a kernel, and the record of its log.
//! The kernel of these tests is a few lines that send arbitrary packets.

use sojourn_aqm::{DualClass, DualFilter, Ecn, Rule};
use sojourn_capture::wire::{self, Endpoint, Ip, Tcp};
use sojourn_lab::{CapturePoints, Logs, Outcome, replay_captured, wiring};
use sojourn_link::trace::{Builder, Row, Service};
use sojourn_linux::{Fate, Guest, Header, Packet, Wiring, WrittenTrace, flag};
use sojourn_scenario::Document;
use sojourn_scenario::plan::Plan;
use sojourn_spec::tcp::EcnChoice;
use sojourn_units::Duration;

const SCENARIO: &str = r#"
duration = "2 s"
warmup = "500 ms"
links = [{ name = "wire", from = "a", to = "b", rate = "1 Mbit/s", delay = "10 ms", duplex = true, queue = { limit = "10 packets" } }]
[[flows]]
name = "f"
from = "a"
to = "b"
access = { delay = "5 ms" }
tcp = { profile = "linux" }
[trace]
queue = { links = ["wire"], every = "100 ms" }
"#;

fn plan(text: &str) -> Plan {
    Document::from_toml("x.toml", text).unwrap().check().unwrap().plan(1)
}

/// The record of a log without headers.
fn replay(plan: &Plan, log: &[u8]) -> Result<Outcome, sojourn_lab::Error> {
    sojourn_lab::replay(plan, &Logs { log, headers: &[] })
}

/// Sends a packet of 1000 B every 4 ms, twice the rate of the link, and reads arrivals.
/// Every third packet is sent twice.
fn log(plan: &Plan) -> Vec<u8> {
    let mut guest = Guest::new(wiring(plan).unwrap().to_toml().unwrap().as_bytes(), &mut |_| Err("no queue of a kernel".into())).unwrap();
    let millisecond = Duration::from_millis(1).as_nanos();
    for number in 0..400u32 {
        let now = u64::from(number) * 4 * millisecond;
        let again = if number % 3 == 2 { flag::AGAIN } else { 0 };
        guest.send(now, Packet { handle: 1, seq: number, size: 1000, payload: 948, flags: flag::ECT | again, ..Packet::default() });
        while let Some((arrived, fate)) = guest.settled() {
            if fate == Fate::Delivered {
                guest.on_read(now, arrived.flow, u64::from(arrived.payload));
            }
        }
        if number.is_multiple_of(10) {
            guest.on_rtt(now, 0, 25_000 + u64::from(number));
            guest.on_window(now, 0, number, 100);
        }
    }
    guest.on_loss(1_700 * millisecond, 0, true);
    guest.on_loss(1_700 * millisecond, 0, false);
    guest.on_completed(1_800 * millisecond, 0, 300 * millisecond, 400 * 948);
    guest.on_end(2_000 * millisecond);
    guest.log().to_vec()
}

#[test]
fn the_record_has_what_the_kernel_did_in_the_window() {
    let plan = plan(SCENARIO);
    let outcome = replay(&plan, &log(&plan)).unwrap();
    let (link, flow) = (&outcome.record.links[0], &outcome.record.flows[0]);
    // A packet arrives at the link 5 ms after it was sent, so one more arrives in the window than is sent in it.
    assert_eq!((link.arrived, outcome.record.audit.sent, outcome.record.audit.in_flight), (276, 400, 0));
    // The link is busy until ten packets of 8 ms are sent after the last arrival.
    assert!((link.utilization.unwrap() - 1.189 / 1.5).abs() < 0.006, "{link:?}");
    assert_eq!((flow.sent, flow.retransmitted, flow.dropped), (275, 92, link.dropped_total));
    assert_eq!((flow.timeouts, flow.fast_retransmits, flow.completed), (1, 1, 1));
    let rtt = flow.rtt_ms.unwrap();
    assert_eq!(((rtt.min * 1e3).round(), (rtt.max * 1e3).round()), (25_130.0, 25_390.0));
    assert_eq!(outcome.record.groups[0].completion_s.unwrap().mean, 1.5);
    assert_eq!(outcome.series["queue/wire"]["t"].len(), 21);
}

#[test]
fn drops_and_marks_are_traced_one_by_one() {
    for queue in ["limit = \"10 packets\"", "aqm = \"codel\", ecn = true, target = \"1 ms\", interval = \"20 ms\", limit = \"10 packets\""]
    {
        let asked = SCENARIO.replace("limit = \"10 packets\"", queue).replace("[trace]", "[trace]\nsignals = { links = [\"wire\"] }");
        let plan = plan(&asked);
        let outcome = replay(&plan, &log(&plan)).unwrap();
        let (link, signals) = (&outcome.record.links[0], &outcome.series["signals/wire"]);
        let counted = |mark: bool| {
            let inside = signals["t"].iter().zip(&signals["cause"]).filter(|&(&t, &cause)| t >= 0.5 && (cause == 4.0) == mark);
            inside.count() as u64
        };
        assert_eq!((counted(false), counted(true)), (link.dropped_total, link.marked), "{queue}");
        assert!(link.dropped_total > 0 && signals["flow"].iter().all(|&flow| flow == 0.0));
        assert_eq!(link.marked > 0, queue.contains("ecn"));
    }
}

#[test]
fn a_log_that_is_cut_or_changed_gives_no_record() {
    let plan = plan(SCENARIO);
    let whole = log(&plan);
    let refused = |log: &[u8]| replay(&plan, log).unwrap_err().to_string();
    assert!(refused(&whole[..whole.len() - 32]).starts_with("the audit failed: the log is damaged at byte "));
    assert!(refused(&whole[..whole.len() - 1]).starts_with("the audit failed: the log is damaged at byte "));
    assert!(refused(&[]).starts_with("the audit failed: the log is damaged at byte 0"));
    let changed = |at: usize, to: u8| {
        let mut log = whole.clone();
        log[at] = to;
        refused(&log)
    };
    assert_eq!(changed(8, 99), "the audit failed: the log is damaged at byte 0", "no such kind");
    assert_eq!(changed(12, 1), "the audit failed: the log is damaged at byte 0", "no such flow");
    assert!(changed(10, 1).contains("the kernel has a network of other code"), "a packet of another size");
}

#[test]
fn what_linux_cannot_do_is_named() {
    let refused = |more: &str| wiring(&plan(&SCENARIO.replace("tcp = {", more))).unwrap_err().to_string();
    assert_eq!(
        refused("traffic = { kind = \"ping\", size = \"30 B\" }\n#"),
        "flows.f.traffic.size: expected 36 B or more on a Linux host, got 30 B"
    );
    assert_eq!(
        refused("tcp = { control = { cc = \"rledbat\" },"),
        "flows.f.tcp.control.cc: expected a controller of the sender on a Linux host, got rledbat"
    );
}

#[test]
fn classes_traces_and_requests_are_what_the_kernel_is_told() {
    let of = |text: &str| Wiring::from_toml(&wiring(&plan(text)).unwrap().to_toml().unwrap()).unwrap();
    let classes = "queue = { scheduler = \"strict\", classes = [{ match = { group = \"f\" } }, {}] }";
    let told = of(&SCENARIO.replace("queue = { limit = \"10 packets\" }", classes));
    let rules: Vec<&Rule> = told.classes[0].rules.iter().map(|packets| &packets.rule).collect();
    assert_eq!(rules, [&Rule { groups: Some(vec![0]), ecn: None }, &Rule::default()]);
    let filters = "queue = { aqm = \"dualpi2\", filters = [{ match = { ecn = \"not-ect\" }, class = \"low-latency\" }] }";
    let told = of(&SCENARIO.replace("queue = { limit = \"10 packets\" }", filters));
    let rule = Rule { groups: None, ecn: Some(vec![Ecn::NotEct]) };
    assert_eq!(told.classes[0].rules[0].filters, [DualFilter { rule, class: DualClass::LowLatency }]);
    let told = of(&SCENARIO.replace("[[flows]]", "[[flows]]\ntraffic = { kind = \"web\", page_gap = \"1 s\", object_gap = \"10 ms\", object_mean = 10, object_shape = 1.2, request = \"300 B\" }"));
    let guest = Guest::new(told.to_toml().unwrap().as_bytes(), &mut |_| unreachable!("a queue of a kernel")).unwrap();
    assert_eq!((guest.flow(0).requests, guest.flow(0).session), (1, 1));

    let plan = plan(SCENARIO);
    let mut told = wiring(&plan).unwrap();
    let mut rows = Builder::new(Service::Rates);
    let row = |service, delay, loss| Row { span: Duration::from_millis(100), service, delay: Duration::from_millis(delay), loss };
    (0..3000).for_each(|number| rows.push(row(1_000_000 + number, number % 7, (number % 11) as u32)));
    let rows = rows.finish().unwrap();
    told.traces = vec![WrittenTrace::of(0, &rows)];
    let read = Wiring::from_toml(&told.to_toml().unwrap()).unwrap();
    assert_eq!(read.links[0].trace.as_ref().map(|trace| &*trace.rows), Some(&rows));
    told.traces[0].rows.push('5');
    assert_eq!(Wiring::from_toml(&told.to_toml().unwrap()).unwrap_err(), "links.wire.trace: expected rows of four numbers each");
}

#[test]
fn a_controller_that_counts_marks_is_told_which_feedback_it_has() {
    let tcp = |control: &str| {
        let plan = plan(&format!("host = \"linux\"\n{SCENARIO}").replace("tcp = {", &format!("tcp = {{ ecn = true, control = {control},")));
        wiring(&plan).unwrap().flows.remove(0).tcp.unwrap()
    };
    let asked = ["{ cc = \"reno\" }", "{ cc = \"dctcp\" }", "{ cc = \"prague\" }", "{ linux = \"dctcp\" }"].map(|control| tcp(control).ecn);
    assert_eq!(asked, [EcnChoice::On, EcnChoice::Dctcp, EcnChoice::L4s, EcnChoice::On]);
}

#[test]
fn the_kernels_own_reno_and_cubic_are_taken_unless_they_have_other_parameters() {
    let controller = |control: &str| {
        let scenario = SCENARIO.replace("tcp = {", &format!("tcp = {{ control = {control},"));
        let plan = plan(&format!("host = \"linux\"\n{scenario}"));
        wiring(&plan).unwrap().flows.remove(0).tcp.unwrap().controller
    };
    assert_eq!(controller("{ cc = \"cubic\" }"), "cubic");
    assert_eq!(controller("{ cc = \"cubic\", fast_convergence = false }"), "sojourn");
    assert_eq!(controller("{ cc = \"flower\" }"), "sojourn");
    assert_eq!(controller("{ linux = \"bbr\" }"), "bbr");
}

/// The log and headers of a run in which the receiver sends 40 ACKs at once, 1 kB apart.
/// The ACKs cross a slow link with an ACK filter.
fn acks(plan: &Plan) -> (Vec<u8>, Vec<u8>) {
    let mut guest = Guest::new(wiring(plan).unwrap().to_toml().unwrap().as_bytes(), &mut |_| Err("no queue of a kernel".into())).unwrap();
    let ends = [[10, 0, 0, 2], [10, 0, 0, 1]].map(|address| Endpoint { address, port: 1024 });
    for number in 0..40u32 {
        let ip = Ip { source: ends[0], destination: ends[1], dscp: 0, ecn: 0, id: number as u16 };
        // The sequence numbers wrap among them.
        let ack = Tcp { ack: (number * 1000).wrapping_sub(20_000), flags: wire::flag::ACK, window: 7, ..Tcp::default() };
        let headers = wire::tcp(&ip, &ack, 0);
        guest.send(0, Packet { handle: 1, seq: 5, size: 40, flags: flag::BACK, header: Header::new(headers.bytes()), ..Packet::default() });
    }
    guest.on_end(2_000_000_000);
    (guest.log().to_vec(), guest.headers().to_vec())
}

#[test]
fn an_ack_filter_reads_the_headers_of_the_kernel_and_a_capture_has_them() {
    let back = "duplex = true, back = { rate = '64 kbit/s', queue = { ack_filter = 'filter' } }";
    let plan = plan(&SCENARIO.replace("duplex = true", back).replace("warmup = \"500 ms\"", "warmup = \"0 s\""));
    let (log, headers) = acks(&plan);
    let mut file = Vec::new();
    let points = CapturePoints { links: vec!["wire:back".into()], hosts: vec!["f/0:sender".into()] };
    let logs = Logs { log: &log, headers: &headers };
    let captured = replay_captured(&plan, &logs, &points, &mut file).unwrap();
    assert_eq!(captured.record, sojourn_lab::replay(&plan, &logs).unwrap().record, "a capture changes nothing");
    // The first is in transmission, one waits for it, and the newest waits. Each of the others makes the first waiting ACK redundant.
    let back = &captured.record.links[1];
    assert_eq!((back.arrived, back.dropped.ack_filter, back.departed), (40, Some(37), 3));
    let has = |text: &[u8]| file.windows(text.len()).filter(|part| *part == text).count();
    assert_eq!(has(b"dropped: a newer ACK says the same"), 37);
    // Addresses and ports of 40 ACKs at the link and of 3 that reach the sender of data.
    assert_eq!(has(&[10, 0, 0, 2, 10, 0, 0, 1, 4, 0, 4, 0]), 43);

    let cut = Logs { log: &log, headers: &headers[..headers.len() - 1] };
    assert_eq!(sojourn_lab::replay(&plan, &cut).unwrap_err().to_string(), "the audit failed: the file of headers is damaged at byte 1599");
    assert!(replay(&plan, &log).unwrap_err().to_string().contains("the kernel has a network of other code"), "without headers");
    let unknown = CapturePoints { links: vec!["up".into()], hosts: Vec::new() };
    assert!(unknown.check(&plan).unwrap_err().to_string().starts_with("pcap_links: expected links with a rate (wire, wire:back)"));
}
