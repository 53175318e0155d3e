//! What is wrong with a scenario is said in one line: file, place, field, what was given, what is taken.

use sojourn_scenario::Document;

const BASE: &str = r#"duration = "50 s"
warmup = "10 s"

[[links]]
name = "up"
from = "A"
to = "B"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { aqm = "droptail", limit = "100 packets" }

[[links]]
from = "B"
to = "A"
delay = "10 ms"

[[links]]
from = "B"
to = "C"

[tcp]
profile = "ns2"
control = { cc = "reno" }

[[flows]]
name = "ftp"
count = 3
from = "A"
to = "B"
access = { delay = "1 ms" }
traffic = { kind = "bulk" }
start = "0 s"
"#;

/// The message that the scenario gives after `old` became `new`.
fn message(old: &str, new: &str) -> String {
    assert_eq!(BASE.matches(old).count(), 1, "{old} is there once");
    match Document::from_toml("x.toml", &BASE.replace(old, new)).and_then(|document| document.check()) {
        Ok(_) => panic!("{new} is taken"),
        Err(error) => error.to_string(),
    }
}

/// After `old` became `new` the message points at the text `at` and says something that begins as `expected` does.
#[track_caller]
fn says(old: &str, new: &str, at: &str, expected: &str) {
    let message = message(old, new);
    let text = BASE.replace(old, new);
    let parts: Vec<&str> = message.splitn(4, ':').collect();
    let [line, column] = [1, 2].map(|i| parts[i].parse::<usize>().unwrap_or_else(|_| panic!("no place in {message}")));
    let rest: String = text.lines().nth(line - 1).unwrap().chars().skip(column - 1).collect();
    assert!(rest.starts_with(at), "{message}\npoints at {rest}");
    assert!(parts[3].trim_start().starts_with(expected), "{message}\ninstead of {expected}");
}

#[test]
fn the_base_is_right() {
    Document::from_toml("x.toml", BASE).unwrap().check().unwrap();
}

#[test]
fn a_number_or_a_wrong_unit_for_a_quantity() {
    let rate = "a rate above zero such as \"10 Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)";
    for (given, shown) in [
        ("10", "10"),
        ("nan", "NaN"),
        ("\"10 MB/s\"", "\"10 MB/s\""),
        ("\"-1 Mbit/s\"", "\"-1 Mbit/s\""),
        ("\"nan bit/s\"", "\"nan bit/s\""),
    ] {
        says("\"10 Mbit/s\"", given, given, &format!("links.up.rate: given {shown}, taken is {rate}"));
    }
    says("\"1 ms\"", "1", "1 }", "flows.ftp.access.delay: given 1, taken is a time such as \"50 ms\"");
    let amount = "a number of packets or a size such as \"100 packets\" or \"52.2 kB\"";
    says("\"100 packets\"", "100", "100", &format!("links.up.queue.limit: given 100, taken is {amount}"));
    says("\"100 packets\"", "\"100 s\"", "\"100 s\"", &format!("links.up.queue.limit: given \"100 s\", taken is {amount}"));
}

#[test]
fn keys_and_names_that_nobody_knows() {
    let keys = "name, from, to, rate, delay, queue, duplex, back, changes";
    let old = "delay = \"10 ms\"\nq";
    let expected = format!("links.up: given key \"dealy\", taken is one of {keys}; did you mean \"delay\"?");
    says(old, "dealy = \"10 ms\"\nq", "[[links]]", &expected);
    let expected = "links.up.queue: given key \"limits\", taken is one of aqm, limit, ecn, hints; did you mean \"limit\"?";
    says("limit =", "limits =", "{ aqm", expected);
    let expected = "links.up.queue.hints: given \"routers\", taken is one of senders, router; did you mean \"router\"?";
    says("limit =", "hints = \"routers\", limit =", "\"routers\"", expected);
    let names: Vec<&str> = sojourn_aqm::REGISTRY.iter().map(|entry| entry.name).collect();
    let expected = format!("links.up.queue.aqm: given \"drptail\", taken is one of {}; did you mean \"droptail\"?", names.join(", "));
    says("\"droptail\"", "\"drptail\"", "\"drptail\"", &expected);
    let expected =
        "flows.ftp.traffic.kind: given \"bulky\", taken is one of bulk, cbr, poisson, onoff, ping, web, transfers; did you mean \"bulk\"?";
    says("\"bulk\"", "\"bulky\"", "\"bulky\"", expected);
    says("{ kind = \"bulk\" }", "{ kind = \"cbr\" }", "{ kind", "flows.ftp.traffic: `rate` is missing");
    says(
        "\"ns2\"",
        "\"ns3\"",
        "\"ns3\"",
        "tcp.profile: given \"ns3\", taken is one of rfc, ns2, ns2-linux, linux, freebsd; did you mean \"ns2\"?",
    );
    says("profile =", "profil =", "[tcp]", "tcp: given key \"profil\", taken is one of profile, control,");
    says(
        "kind = \"bulk\"",
        "kind = \"bulk\", sise = \"1 kB\"",
        "{ kind",
        "flows.ftp.traffic: given key \"sise\", taken is one of size, kind; did",
    );
    assert_eq!(message("duration = \"50 s\"\n", ""), "x.toml: `duration` is missing");
}

#[test]
fn parameters_of_an_algorithm_out_of_range() {
    let old = "cc = \"reno\"";
    let decrease = "tcp.control.decrease: given 1.5, taken is a fraction above 0 and below 1";
    says(old, "cc = \"reno\", decrease = 1.5", "1.5", decrease);
    says(old, "cc = \"reno\", increase = \"x\"", "\"x\"", "tcp.control.increase: given \"x\", taken is a number");
    says(old, "cc = \"reno\", increase = nan", "nan", "tcp.control.increase: given NaN, taken is a number of segments above 0");
    says("{ cc = \"reno\" }", "{ }", "{ }", "tcp.control: `cc` is missing");
}

#[test]
fn topologies_that_cannot_be() {
    says("to = \"B\"\nrate", "to = \"A\"\nrate", "\"A\"", "links.up.to: given \"A\", where it starts, taken is another node");
    says("to = \"B\"\naccess", "to = \"Z\"\naccess", "\"Z\"", "flows.ftp.to: given node \"Z\", taken is one of A, B, C");
    says("to = \"B\"\naccess", "to = \"A\"\naccess", "\"A\"", "flows.ftp.to: given \"A\", where it starts, taken is another node");
    let old = "from = \"A\"\nto = \"B\"\naccess";
    says(old, "from = \"C\"\nto = \"B\"\naccess", "[[flows]]", "flows.ftp: there is no way there from C to B");
    says("to = \"B\"\naccess", "to = \"C\"\naccess", "[[flows]]", "flows.ftp: there is no way back from C to A");
    let old = "start = \"0 s\"";
    says(old, "via = [\"A\", \"C\", \"B\"]", "[\"A\"", "flows.ftp.via: there is no link from A to C");
    says(old, "via = [\"A\"]", "[\"A\"", "flows.ftp.via: given [A], taken is the nodes from the group's `from` to its `to`");
    says(old, "via = [\"A\", \"Q\", \"B\"]", "\"Q\"", "flows.ftp.via[1]: given node \"Q\", taken is one of A, B, C");
    says(old, "via = [\"A\", \"B\", \"A\", \"B\"]", "[\"A\"", "flows.ftp.via: given [A, B, A, B], taken is every node once");
    let new = "name = \"up\"\nfrom = \"B\"\nto = \"C\"";
    says("from = \"B\"\nto = \"C\"", new, "\"up\"", "links[2].name: given \"up\", taken is a name that no other link has");
    says("to = \"C\"", "to = \"A\"", "[[links]]", "links[2].name: given \"B->A\", taken is a name that no other link has");
    says("to = \"C\"", "to = \"C\"\nback = {}", "{}", "links[2].back: given for a link one way, taken is beside duplex = true");
    says("to = \"C\"", "to = \"C\"\nqueue = {}", "{}", "links[2].queue: given for a link without rate");
    says("name = \"ftp\"", "name = \"a/b\"", "\"a/b\"", "flows[0].name: given \"a/b\", taken is a group's name, without");
}

#[test]
fn numbers_beyond_all_measure() {
    says("count = 3", "count = 0", "0", "flows.ftp.count: given 0, taken is a whole number above zero");
    says("count = 3", "count = 1000001", "1000001", "flows.ftp.count: given 1000001, taken is");
    says("count = 3", "count = -1", "-1", "flows.ftp.count: given -1, taken is a whole number, 0 to 4294967295");
    says("\"50 s\"", "\"1000001 s\"", "\"1000001 s\"", "duration: given 1000001 s, taken is a time of at most 1000000 s");
    says("\"50 s\"", "\"0 s\"", "\"0 s\"", "duration: given 0 s, taken is a time above zero");
    says("\"10 s\"", "\"50 s\"", "\"50 s\"", "warmup: given 50 s, taken is a time before the end of the run (50 s)");
    says("\"100 packets\"", "\"0 packets\"", "\"0 p", "links.up.queue.limit: given 0 packets, taken is a limit above zero");
    let expected = "tcp.mss: given a packet of 65595 B with its header, taken is at most 65535 B";
    says("\"ns2\"", "\"ns2\"\nmss = \"65535 B\"", "\"65535 B\"", expected);
    says("warmup = \"10 s\"", "packet = \"70 kB\"", "\"70 kB\"", "packet: given 70000 B, taken is a size of 1 B to 65535 B");
    let changes = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\", rate = \"1 Mbit/s\" }, { at = \"1 s\", rate = \"2 Mbit/s\" }]";
    says("rate = \"10 Mbit/s\"", changes, "\"1 s\"", "links.up.changes[1].at: given 1 s, taken is a time after 2 s, the change before");
    let nothing = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\" }]";
    says("rate = \"10 Mbit/s\"", nothing, "{ at", "links.up.changes[0]: given neither, taken is a rate, a delay, or both");
    let late = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\", delay = \"1000001 s\" }]";
    says("rate = \"10 Mbit/s\"", late, "\"1000001 s\"", "links.up.changes[0].delay: given 1000001 s, taken is a time of at most 1000000 s");
}

#[test]
fn values_that_differ_inside_a_group() {
    let start = |new: &str, at: &str, expected: &str| says("start = \"0 s\"", &format!("start = {new}"), at, expected);
    start("{ uniform = [\"2 s\", \"1 s\"] }", "[\"2 s\"", "flows.ftp.start.uniform: given [2 s, 1 s], taken is the lower value first");
    start("{ uniform = [\"2 s\"] }", "[\"2 s\"", "flows.ftp.start.uniform: ");
    start("{ step = \"1000000 s\" }", "\"1000000 s\"", "flows.ftp.start.step: given 1000000 s, so that the last of 3 flows passes");
    start("{ first = \"1 s\" }", "{ first", "flows.ftp.start: taken is a single value, a list, or a table with one of");
    start("{ unifrom = [\"1 s\", \"2 s\"] }", "{ unifrom", "flows.ftp.start: given key \"unifrom\", taken is one of uniform");
    start(
        "{ lognormal = { median = \"1 s\", sigma = inf } }",
        "inf",
        "flows.ftp.start.lognormal.sigma: given inf, taken is a number, 0 to 10",
    );
    start("[]", "[]", "flows.ftp.start: given an empty list, taken is at least one value");
    start("[\"1 s\", 2]", "2]", "flows.ftp.start[1]: given 2, taken is a time such as");
    start("\"1 s\"\nstop = \"1 s\"", "", "flows.ftp.stop: given 1 s, taken is a time after the start (1 s)");
}

#[test]
fn what_udp_has_no_use_for() {
    let old = "traffic = { kind = \"bulk\" }";
    let udp = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    says(old, &format!("{udp}\ntcp = {{ ecn = true }}"), "{ ecn", "flows.ftp.tcp: given for cbr traffic over UDP, taken is beside TCP");
    let fast = "traffic = { kind = \"cbr\", rate = \"1000 Gbit/s\", size = \"1 B\" }";
    says(
        old,
        &fast.replace("1000 G", "9000 G"),
        "\"9000",
        "flows.ftp.traffic.rate: given 9000 Gbit/s, taken is a rate at which a packet takes",
    );
    let jitter = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", jitter = 1.5 }";
    says(old, jitter, "1.5", "flows.ftp.traffic.jitter: given 1.5, taken is a number, 0 to 1");
    let shape = "traffic = { kind = \"transfers\", every = \"1 s\", size_mean = \"1 kB\", size_shape = 1 }";
    says(old, shape, "1 }", "flows.ftp.traffic.size_shape: given 1, taken is a number above 1");
}

#[test]
fn traces_of_what_is_not_there() {
    let trace = |new: &str, at: &str, expected: &str| says("start = \"0 s\"", &format!("[trace]\n{new}"), at, expected);
    let queue = "queue = { links = [\"upp\"], every = \"1 s\" }";
    trace(queue, "\"upp\"", "trace.queue.links[0]: given link \"upp\", taken is one of up, B->A, B->C, *; did you mean \"up\"?");
    trace(
        "queue = { links = [\"B->A\"], every = \"1 s\" }",
        "\"B->A\"",
        "trace.queue.links[0]: given \"B->A\", taken is a link with a rate",
    );
    trace("rtt = { flows = [\"ftp/3\"] }", "\"ftp/3\"", "trace.rtt.flows[0]: given \"ftp/3\", taken is ftp/0 to ftp/2");
    trace("rtt = { flows = [\"web/0\"] }", "\"web/0\"", "trace.rtt.flows[0]: given flow \"web/0\", taken is one of ftp/*, *");
    let (bulk, cbr) = ("traffic = { kind = \"bulk\" }\nstart = \"0 s\"", "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n[trace]\n");
    for (kind, taken) in [
        ("rtt = { flows = [\"ftp/0\"] }", "flows over TCP, or ping"),
        ("cwnd = { flows = [\"ftp/0\"], every = \"1 s\" }", "flows over TCP"),
    ] {
        let expected = format!("trace.{}.flows[0]: given \"ftp/0\", taken is {taken}", &kind[..kind.find(' ').unwrap()]);
        says(bulk, &format!("{cbr}{kind}"), "\"ftp/0\"", &expected);
    }
    trace("cwnd = { flows = [\"*\"], every = \"1 ns\" }", "\"1 ns\"", "trace.cwnd.every: given 1 ns, taken is a span of which at most");
}

#[test]
fn text_that_is_no_toml() {
    assert!(message("[tcp]", "[tcp").starts_with("x.toml:21:5: "), "{}", message("[tcp]", "[tcp"));
    assert!(message("warmup =", "duration =").starts_with("x.toml:2:1: "), "{}", message("warmup =", "duration ="));
}

#[test]
fn a_field_set_by_path_is_named_without_a_place_in_the_text() {
    let mut document = Document::from_toml("x.toml", BASE).unwrap();
    document.set("links.up.rate", sojourn_scenario::value("10 MB/s")).unwrap();
    assert!(document.check().unwrap_err().to_string().starts_with("x.toml: links.up.rate: given \"10 MB/s\""));
}
