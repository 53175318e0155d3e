//! An error of a scenario is one line: file, position, field, expectation and value.

use sojourn_scenario::{Document, Error};

/// A valid scenario, which each test changes in one place.
pub const BASE: &str = r#"duration = "50 s"
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

/// The message of the scenario after `old` is replaced by `new`.
/// The same scenario in JSON must have the same message without the place. JSON has no NaN, which becomes null.
fn message(old: &str, new: &str) -> String {
    assert_eq!(BASE.matches(old).count(), 1, "{old} is there once");
    let document = match Document::from_toml("x.toml", &BASE.replace(old, new)) {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    let json = serde_json::to_string(document.table()).unwrap();
    let Err(error) = document.check() else { panic!("{new} is accepted") };
    if !json.contains("null") {
        let of_json = Document::from_text("x.toml", &json).unwrap().check().unwrap_err();
        assert_eq!(of_json.to_string(), Error { position: None, ..error.clone() }.to_string());
    }
    error.to_string()
}

/// Checks the message after `old` is replaced by `new`.
/// It must point at the text `at`, and begin as `expected` does.
#[track_caller]
fn says(old: &str, new: &str, at: &str, expected: &str) {
    let message = message(old, new);
    let text = BASE.replace(old, new);
    let parts: Vec<&str> = message.splitn(4, ':').collect();
    let [line, column] = [1, 2].map(|i| parts[i].parse::<usize>().unwrap_or_else(|_| panic!("no place in {message}")));
    let rest: String = text.lines().nth(line - 1).unwrap().chars().skip(column - 1).collect();
    assert!(rest.starts_with(at), "{message}\npoints at {rest}");
    let (start, got) = expected.split_once(", got ").unwrap_or((expected, ""));
    assert!(parts[3].trim_start().starts_with(start), "{message}\ninstead of {expected}");
    assert!(got.is_empty() || parts[3].contains(&format!(", got {got}")), "{message}\ninstead of {expected}");
}

/// The expectation for a key of `tcp`: the profile or an option.
fn keys_of_tcp() -> String {
    format!("tcp: expected one of {} names, such as profile, mss, header", 1 + sojourn_spec::tcp::OPTIONS.len())
}

#[test]
fn the_base_is_right() {
    Document::from_toml("x.toml", BASE).unwrap().check().unwrap();
}

#[test]
fn a_number_or_a_wrong_unit_for_a_quantity() {
    let rate =
        "a rate with its unit such as \"10 Mbit/s\" (bit/s, bps, b/s or bit, with k, M, G or T before it), above zero, at most 10 Tbit/s";
    for (text, shown) in [
        ("10", "10"),
        ("nan", "NaN"),
        ("\"10 MB/s\"", "\"10 MB/s\""),
        ("\"-1 Mbit/s\"", "\"-1 Mbit/s\""),
        ("\"nan bit/s\"", "\"nan bit/s\""),
    ] {
        says("\"10 Mbit/s\"", text, text, &format!("links.up.rate: expected {rate}, got {shown}"));
    }
    says("\"1 ms\"", "1", "1 }", "flows.ftp.access.delay: expected a time with its unit such as \"50 ms\", got 1");
    let amount =
        "packets, bytes, a time or a BDP with its unit such as \"100 packets\" (at most 4294967295), \"52.2 kB\", \"20 ms\" or \"1.5 BDP\"";
    says("\"100 packets\"", "100", "100", &format!("links.up.queue.limit: expected {amount}, got 100"));
    says("\"100 packets\"", "\"9 bit/s\"", "\"9 bit/s\"", &format!("links.up.queue.limit: expected {amount}, got \"9 bit/s\""));
}

#[test]
fn keys_and_names_that_nobody_knows() {
    let keys = "name, from, to, rate, trace, path, delay, queue, duplex, back, overhead, medium, changes, impairments";
    let old = "delay = \"10 ms\"\nq";
    let expected = format!("links.up: expected one of {keys}, got key \"dealy\"; did you mean \"delay\"?");
    says(old, "dealy = \"10 ms\"\nq", "dealy", &expected);
    let expected = "links.up.queue: expected one of aqm, limit, ecn, hints, got key \"limits\"; did you mean \"limit\"?";
    says("limit =", "limits =", "limits", expected);
    let expected = "links.up.queue.hints: expected one of senders, router, got \"routers\"; did you mean \"router\"?";
    says("limit =", "hints = \"routers\", limit =", "\"routers\"", expected);
    let expected = "links.up.queue: expected one of aqm, limit, ecn, hints, got key \"lmt\"; did you mean \"limit\"?";
    says("limit =", "lmt =", "lmt", expected);
    let expected = format!("links.up: expected one of {keys}, got key \"bandwith\"; what a link carries is its `rate`");
    says("rate = \"10", "bandwith = \"10", "bandwith", &expected);
    let expected =
        "flows.ftp.access: expected one of rate, delay, got key \"limit\"; how much may wait for a link is the limit of its queue";
    says("delay = \"1 ms\"", "limit = \"1 ms\"", "limit", expected);
    let names: Vec<&str> = sojourn_aqm::REGISTRY.iter().map(|entry| entry.name).collect();
    let some = format!("{} names, such as {}", names.len(), names[..24].join(", "));
    let expected = format!("links.up.queue.aqm: expected one of {some}, got \"drptail\"; did you mean \"droptail\"?");
    says("\"droptail\"", "\"drptail\"", "\"drptail\"", &expected);
    let names: Vec<&str> = sojourn_traffic::REGISTRY.iter().map(|entry| entry.name).collect();
    let expected = format!("flows.ftp.traffic.kind: expected one of {}, got \"bulky\"; did you mean \"bulk\"?", names.join(", "));
    says("\"bulk\"", "\"bulky\"", "\"bulky\"", &expected);
    says("{ kind = \"bulk\" }", "{ kind = \"cbr\" }", "{ kind", "flows.ftp.traffic: expected a key `rate`, got none");
    let names: Vec<&str> = sojourn_spec::tcp::PROFILES.iter().map(|entry| entry.name).collect();
    let expected = format!("tcp.profile: expected one of {}, got \"ns3\"; did you mean \"ns2\"?", names.join(", "));
    says("\"ns2\"", "\"ns3\"", "\"ns3\"", &expected);
    says("profile =", "profil =", "profil", &format!("{}, got key \"profil\"; did you mean \"profile\"?", keys_of_tcp()));
    says(
        "kind = \"bulk\"",
        "kind = \"bulk\", sise = \"1 kB\"",
        "sise",
        "flows.ftp.traffic: expected one of size, kind, got key \"sise\"; did",
    );
    let web = "flows.ftp.traffic: expected keys `page_gap`, `object_mean`, `object_shape`, got none";
    says("{ kind = \"bulk\" }", "{ kind = \"web\" }", "{ kind", web);
    let link = message("[[links]]\nfrom = \"B\"\nto = \"C\"", "[[links]]");
    assert_eq!(link, "x.toml:17:1: links[2]: expected keys `from`, `to`, got none");
    assert_eq!(message("duration = \"50 s\"\n", ""), "x.toml: expected a key `duration`, got none");
}

#[test]
fn what_is_no_text_where_a_name_is_expected() {
    for (text, shown) in [("1", "1"), ("true", "true"), ("[\"router\"]", "a list"), ("{ }", "a table"), ("1.5", "1.5")] {
        let expected = format!("links.up.queue.hints: expected one of senders, router, got {shown}");
        says("limit =", &format!("hints = {text}, limit ="), text, &expected);
    }
    for (field, names) in [
        ("flows.ftp.paths", "first, flow, packet"),
        ("tcp.recovery", "reno, newreno, sack"),
        ("links.up.queue.aqm", ""),
        ("tcp.profile", ""),
    ] {
        let mut document = Document::from_toml("x.toml", BASE).unwrap();
        document.set(field, sojourn_scenario::value("3")).unwrap();
        let said = document.check().unwrap_err().to_string();
        assert!(said.starts_with(&format!("x.toml: {field}: expected one of {names}")), "{said}");
        assert!(said.ends_with(", got 3"), "{said}");
    }
}

#[test]
fn parameters_of_an_algorithm_out_of_range() {
    let old = "cc = \"reno\"";
    let decrease = "tcp.control.decrease: expected a fraction above 0 and below 1, got 1.5";
    says(old, "cc = \"reno\", decrease = 1.5", "1.5", decrease);
    says(old, "cc = \"reno\", increase = \"x\"", "\"x\"", "tcp.control.increase: expected a number, got \"x\"");
    says(old, "cc = \"reno\", increase = nan", "nan", "tcp.control.increase: expected a number of segments above 0, got NaN");
    says("{ cc = \"reno\" }", "{ }", "{ }", "tcp.control: expected a key `cc` with one of reno, got none");
}

#[test]
fn topologies_that_cannot_be() {
    says("to = \"B\"\nrate", "to = \"A\"\nrate", "\"A\"", "links.up.to: expected another node, got \"A\", where it starts");
    says("to = \"B\"\naccess", "to = \"Z\"\naccess", "\"Z\"", "flows.ftp.to: expected one of A, B, C, got node \"Z\"");
    says("to = \"B\"\naccess", "to = \"A\"\naccess", "\"A\"", "flows.ftp.to: expected another node, got \"A\", where it starts");
    let old = "from = \"A\"\nto = \"B\"\naccess";
    says(old, "from = \"C\"\nto = \"B\"\naccess", "[[flows]]", "flows.ftp: expected links that make a forward path from C to B, got none");
    says(
        "to = \"B\"\naccess",
        "to = \"C\"\naccess",
        "[[flows]]",
        "flows.ftp: expected links that make a reverse path from C to A, got none",
    );
    let old = "start = \"0 s\"";
    says(old, "via = [\"A\", \"C\", \"B\"]", "[\"A\"", "flows.ftp.via: expected a link from A to C, got none");
    says(old, "via = [\"A\"]", "[\"A\"", "flows.ftp.via: expected the nodes from the group's `from` to its `to`, got [A]");
    says(old, "via = [\"A\", \"Q\", \"B\"]", "\"Q\"", "flows.ftp.via[1]: expected one of A, B, C, got node \"Q\"");
    says(old, "via = [\"A\", \"B\", \"A\", \"B\"]", "[\"A\"", "flows.ftp.via: expected every node once, got [A, B, A, B]");
    let new = "name = \"up\"\nfrom = \"B\"\nto = \"C\"";
    says("from = \"B\"\nto = \"C\"", new, "\"up\"", "links[2].name: expected a name that no other link has, got \"up\"");
    says("to = \"C\"", "to = \"A\"", "[[links]]", "links[2].name: expected a name that no other link has, got \"B->A\"");
    says(
        "to = \"C\"",
        "to = \"C\"\nback = {}",
        "{}",
        "links[2].back: expected duplex = true with it, got a table for a link in one direction",
    );
    says("to = \"C\"", "to = \"C\"\nqueue = {}", "{}", "links[2].queue: expected a rate with it, got a queue on a link without rate");
    says("name = \"ftp\"", "name = \"a/b\"", "\"a/b\"", "flows[0].name: expected a group's name, without, got \"a/b\"");
}

#[test]
fn numbers_beyond_all_measure() {
    for wrong in ["-1", "0", "1000001", "9000000000"] {
        let expected = "a whole number, 1 or more, at most 1000000 for all groups together";
        says("count = 3", &format!("count = {wrong}"), wrong, &format!("flows.ftp.count: expected {expected}, got {wrong}"));
    }
    says("\"50 s\"", "\"1000001 s\"", "\"1000001 s\"", "duration: expected a time of at most 1000000 s, got 1000001 s");
    says("\"50 s\"", "\"0 s\"", "\"0 s\"", "duration: expected a time above zero, got 0 s");
    says("\"10 s\"", "\"50 s\"", "\"50 s\"", "warmup: expected a time before the end of the run (50 s), got 50 s");
    says("\"100 packets\"", "\"0 packets\"", "\"0 p", "links.up.queue.limit: expected a limit above zero, got 0 packets");
    let expected = "tcp.mss: expected at most 65535 B, got a packet of 65575 B with its header";
    says("\"ns2\"", "\"ns2\"\nmss = \"65535 B\"", "\"65535 B\"", expected);
    says("warmup = \"10 s\"", "packet = \"70 kB\"", "\"70 kB\"", "packet: expected a size of 1 B to 65535 B, got 70000 B");
    let changes = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\", rate = \"1 Mbit/s\" }, { at = \"1 s\", rate = \"2 Mbit/s\" }]";
    says("rate = \"10 Mbit/s\"", changes, "\"1 s\"", "links.up.changes[1].at: expected a time after 2 s, the change before, got 1 s");
    let nothing = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\" }]";
    says("rate = \"10 Mbit/s\"", nothing, "{ at", "links.up.changes[0]: expected a rate, a delay, or both, got neither");
    let late = "rate = \"10 Mbit/s\"\nchanges = [{ at = \"2 s\", delay = \"1000001 s\" }]";
    says("rate = \"10 Mbit/s\"", late, "\"1000001 s\"", "links.up.changes[0].delay: expected a time of at most 1000000 s, got 1000001 s");
}

#[test]
fn values_that_differ_inside_a_group() {
    let start = |new: &str, at: &str, expected: &str| says("start = \"0 s\"", &format!("start = {new}"), at, expected);
    start("{ uniform = [\"2 s\", \"1 s\"] }", "[\"2 s\"", "flows.ftp.start.uniform: expected the lower value first, got [2 s, 1 s]");
    start("{ uniform = [\"2 s\"] }", "[\"2 s\"", "flows.ftp.start.uniform: ");
    start(
        "{ step = \"1000000 s\" }",
        "\"1000000 s\"",
        "flows.ftp.start.step: expected a step that keeps the last of 3 flows at or below 1000000 s, got 1000000 s",
    );
    start("{ first = \"1 s\" }", "{ first", "flows.ftp.start: expected a single value, a list, or a table with one of uniform");
    start("{ unifrom = [\"1 s\", \"2 s\"] }", "unifrom", "flows.ftp.start: expected one of uniform, got key \"unifrom\"");
    start(
        "{ lognormal = { median = \"1 s\", sigma = inf } }",
        "inf",
        "flows.ftp.start.lognormal.sigma: expected a number, 0 to 10, got inf",
    );
    start("[]", "[]", "flows.ftp.start: expected at least one value, got an empty list");
    start("[\"1 s\", 2]", "2]", "flows.ftp.start[1]: expected a time with its unit such as, got 2");
    start("\"1 s\"\nstop = \"1 s\"", "", "flows.ftp.stop: expected a time after the start (1 s), got 1 s");
}

#[test]
fn what_udp_has_no_use_for() {
    let old = "traffic = { kind = \"bulk\" }";
    let udp = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    says(
        old,
        &format!("{udp}\ntcp = {{ ecn = true }}"),
        "{ ecn",
        "flows.ftp.tcp: expected no TCP options, got a table for cbr traffic over UDP",
    );
    let jitter = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", jitter = 1.5 }";
    says(old, jitter, "1.5", "flows.ftp.traffic.jitter: expected a number, 0 to 1, got 1.5");
    let shape = "traffic = { kind = \"transfers\", every = \"1 s\", size_mean = \"1 kB\", size_shape = 1 }";
    says(old, shape, "1 }", "flows.ftp.traffic.size_shape: expected a number above 1, got 1");
}

#[test]
fn traces_of_what_is_not_there() {
    let trace = |new: &str, at: &str, expected: &str| says("start = \"0 s\"", &format!("[trace]\n{new}"), at, expected);
    let queue = "queue = { links = [\"upp\"], every = \"1 s\" }";
    trace(queue, "\"upp\"", "trace.queue.links[0]: expected one of up, B->A, B->C, *, got link \"upp\"; did you mean \"up\"?");
    trace("queue = { links = [\"B->A\"], every = \"1 s\" }", "\"B->A\"", "trace.queue.links[0]: expected a link with a rate, got \"B->A\"");
    trace("rtt = { flows = [\"ftp/3\"] }", "\"ftp/3\"", "trace.rtt.flows[0]: expected ftp/0 to ftp/2, got \"ftp/3\"");
    let group = "trace.rtt.flows[0]: expected \"ftp/*\" for all flows of the group, or one of ftp/0 to ftp/2, got \"ftp\"";
    trace("rtt = { flows = [\"ftp\"] }", "\"ftp\"", group);
    trace("rtt = { flows = [\"web/0\"] }", "\"web/0\"", "trace.rtt.flows[0]: expected one of ftp/*, *, got flow \"web/0\"");
    for (series, expected) in [
        ("controller = { flows = [] }", "trace.controller.flows: expected one flow or more, got an empty list"),
        ("signals = { links = [] }", "trace.signals.links: expected one link or more, got an empty list"),
        ("throughput = { every = \"1 s\" }", "trace.throughput.flows: expected one flow or more, got an empty list"),
    ] {
        trace(series, "", expected);
    }
    let (bulk, cbr) = ("traffic = { kind = \"bulk\" }\nstart = \"0 s\"", "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n[trace]\n");
    for (kind, expected) in [
        ("rtt = { flows = [\"ftp/0\"] }", "flows over TCP, or ping"),
        ("cwnd = { flows = [\"ftp/0\"], every = \"1 s\" }", "flows of one TCP connection"),
    ] {
        let expected = format!("trace.{}.flows[0]: expected {expected}, got \"ftp/0\"", &kind[..kind.find(' ').unwrap()]);
        says(bulk, &format!("{cbr}{kind}"), "\"ftp/0\"", &expected);
    }
    trace(
        "cwnd = { flows = [\"*\"], every = \"1 ns\" }",
        "\"1 ns\"",
        "trace.cwnd.every: expected a time so long that the run has at most, got 1 ns",
    );
}

#[test]
fn traces_that_are_too_many_together() {
    let check = |count: u32, trace: &str| {
        let text = format!(
            "duration = \"10 s\"\nlinks = [{{ name = \"up\", from = \"a\", to = \"b\", duplex = true, rate = \"1 Gbit/s\" }}]\n\
             [[flows]]\nname = \"ftp\"\nfrom = \"a\"\nto = \"b\"\ncount = {count}\n[trace]\n{trace}"
        );
        let checked = Document::from_toml("x.toml", &text).unwrap().check();
        checked.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let cwnd = |every: &str| format!("cwnd = {{ flows = [\"*\"], every = \"{every}\" }}");
    assert_eq!(
        check(1000, &cwnd("1 us")),
        "x.toml:9:33: trace.cwnd.every: expected traces of at most 100000000 numbers together, got 30000003000"
    );
    assert_eq!(check(1000, &cwnd("1 ms")), "");
    // No kind of series is too large by itself, but all together are: 1e6 rows of 5 numbers for two links, and others.
    let queue = "queue = { links = [\"*\"], every = \"1 us\" }";
    let (throughput, wait) = (queue.replace("queue", "throughput").replace('5', "2"), "wait = { links = [\"*\"] }");
    assert_eq!(check(1, &queue.replace("1 us", "2 us")), "");
    assert_eq!((check(1, &throughput), check(1, wait)), (String::new(), String::new()));
    let all = check(1, &format!("{}\n{throughput}\n{wait}\n{}", queue.replace("1 us", "2 us"), cwnd("2 us")));
    assert_eq!(all, "x.toml:9:34: trace.queue.every: expected traces of at most 100000000 numbers together, got 111666681");
}

#[test]
fn the_two_queues_of_a_dual_queue_are_traces_of_their_own() {
    let check = |aqm: &str| {
        let text = format!(
            "duration = \"9 s\"\nlinks = [{{ name = \"up\", from = \"a\", to = \"b\", rate = \"1 Gbit/s\", queue = {{ aqm = \"{aqm}\" }} }}]\n\
             [[flows]]\nname = \"udp\"\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n\
             [trace]\nqueue = {{ links = [\"*\"], every = \"1 us\" }}\nthroughput = {{ links = [\"*\"], every = \"1 us\" }}"
        );
        let checked = Document::from_toml("x.toml", &text).unwrap().check();
        checked.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(check("pi2"), "");
    // 9,000,001 rows of 5 numbers for the queue, of 5 for each part, and of 2 for the throughput.
    let said = check("dualpi2");
    assert!(said.ends_with("trace.queue.every: expected traces of at most 100000000 numbers together, got 153000017"), "{said}");
}

#[test]
fn media_that_nobody_shares_or_knows() {
    let old = "delay = \"10 ms\"\nq";
    let alone = BASE.replace(old, "delay = \"10 ms\"\nmedium = \"air\"\nq");
    let error = Document::from_toml("x.toml", &alone).and_then(|document| document.check()).unwrap_err().to_string();
    assert!(error.ends_with("links.up.medium: expected the name of a table [[media]], got \"air\" without any"), "{error}");
    let says = |link: &str, media: &str, expected: &str| {
        let text = BASE
            .replace(old, &format!("delay = \"10 ms\"\n{link}\nq"))
            .replace("[tcp]", &format!("[[media]]\nname = \"air\"\n{media}\n[tcp]"));
        let error = Document::from_toml("x.toml", &text).and_then(|document| document.check()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\ninstead of {expected}");
    };
    says("", "", "media.air: expected a link with medium = \"air\", got none");
    says("medium = \"ear\"", "", "links.up.medium: expected one of air, got medium \"ear\"");
    says("medium = \"air\"", "frames = 0", "media.air.frames: expected a number of packets, 1 or more, got 0");
    says("medium = \"air\"", "longest = \"0 s\"", "media.air.longest: expected a time above zero, got 0 s");
    says("medium = \"air\"", "[[media]]\nname = \"air\"", "media[1].name: expected a name that no other medium has, got \"air\"");
    says("medium = \"air\"", "links = [\"up\"]", "each link says which medium it shares: `medium = \"air\"`");
    says("half_duplex = true", "", "links that share the air have `medium = \"air\"`");
    let delayed = BASE
        .replace("from = \"B\"\nto = \"C\"", "from = \"B\"\nto = \"C\"\nmedium = \"air\"")
        .replace("[tcp]", "[[media]]\nname = \"air\"\n[tcp]");
    let error = Document::from_toml("x.toml", &delayed).and_then(|document| document.check()).unwrap_err().to_string();
    assert!(error.contains("medium: expected a rate with it, got a medium of a link without rate"), "{error}");
}

#[test]
fn text_that_is_no_toml() {
    assert!(message("[tcp]", "[tcp").starts_with("x.toml:21:5: "), "{}", message("[tcp]", "[tcp"));
    assert!(message("warmup =", "duration =").starts_with("x.toml:2:1: "), "{}", message("warmup =", "duration ="));
}

#[test]
fn a_wrong_key_is_shown_where_it_stands() {
    says("duration =", "durations = \"1 s\"\nduration =", "durations", "expected one of name, duration");
    says("[tcp]", "[tcp]\nmsss = 1", "msss", &format!("{}, got key \"msss\"; did you mean \"mss\"?", keys_of_tcp()));
    let table = "delay = \"10 ms\"\nqueue.limitt = 1\n\n[[links]]\nfrom = \"B\"\nto = \"C\"\n\n";
    says("delay = \"10 ms\"\n\n[[links]]\nfrom = \"B\"\nto = \"C\"\n\n", table, "limitt", "links.B->A.queue: expected one of");
}

#[test]
fn what_does_not_exist_yet_is_answered_with_what_does() {
    let link = |key: &str| message("delay = \"10 ms\"\nq", &format!("{key} = 1\nq"));
    assert!(link("jitter").ends_with("`sojourn list impairment` prints every kind"), "{}", link("jitter"));
    assert!(link("policer").ends_with("`sojourn list impairment` prints every kind"), "{}", link("policer"));
    assert!(link("loss").ends_with("`impairments = [{ kind = \"loss\", probability = 0.01 }]`"), "{}", link("loss"));
    assert!(message("\"reno\"", "\"bbrv2\"").ends_with("version 1 is the controller \"bbr\", version 3 is \"bbr3\""));
    assert!(message("\"bulk\"", "\"pcap\"").contains("packets of a capture cannot be replayed yet"));
    let lossy = "delay = \"10 ms\"\nimpairments = [{ kind = \"loss\", probability = 0.01 }]\nq";
    Document::from_toml("x.toml", &BASE.replace("delay = \"10 ms\"\nq", lossy)).unwrap().check().unwrap();
}

#[test]
fn a_key_that_chooses_is_asked_for_with_its_names() {
    let old = "delay = \"10 ms\"\nq";
    let lossy = "delay = \"10 ms\"\nimpairments = [{ probability = 0.01 }]\nq";
    says(old, lossy, "{ prob", "links.up.impairments[0]: expected a key `kind` with one of loss, ");
}

#[test]
fn a_file_of_another_kind_is_named() {
    let scenario = |text: &str| Document::from_toml("x.toml", text).and_then(|document| document.check()).unwrap_err().to_string();
    let sweep = |text: &str| sojourn_scenario::Sweep::from_toml("x.toml", text).unwrap_err().to_string();
    let wanted = "x.toml: expected a scenario with `duration` and `links`, got ";
    assert_eq!(scenario(""), format!("{wanted}nothing"));
    assert_eq!(scenario("scenario = \"a.toml\"\n[axes]\n"), format!("{wanted}a sweep: `sojourn sweep x.toml` runs it"));
    assert_eq!(scenario("[[claims]]\nid = \"A\"\n"), format!("{wanted}a file of a paper: `sojourn reproduce` takes its folder"));
    assert_eq!(sweep("# nothing\n"), "x.toml: expected a sweep with `scenario` and `axes`, got nothing");
    assert_eq!(sweep(BASE), "x.toml: expected a sweep with `scenario` and `axes`, got a scenario: `sojourn run x.toml` runs it");
    assert_eq!(sweep("scenario = \"a.toml\"\n[axis]\n").split(": ").next(), Some("x.toml:2:2"));
}

#[test]
fn filters_of_queues_that_have_none_and_of_groups_that_nobody_knows() {
    let old = "queue = { aqm = \"droptail\", limit = \"100 packets\" }";
    let says = |aqm: &str, filter: &str, expected: &str| {
        let message = message(old, &format!("queue = {{ aqm = \"{aqm}\", filters = [{filter}] }}"));
        assert!(message.ends_with(expected), "{message}\ninstead of {expected}");
    };
    let any = "{ match = { dscp = 45 }, class = \"low-latency\" }";
    says("pi2", any, "links.up.queue.filters: expected them with a dual queue: dualpi2 or dualq, got filters with pi2");
    says(
        "dualpi2",
        "{ match = {}, class = \"l4s\" }",
        "filters[0].match: expected a group, a dscp, a port or an ecn codepoint, got none of them",
    );
    says(
        "dualpi2",
        "{ match = { group = \"ftq\" }, class = \"l4s\" }",
        "match.group: expected one of ftp, got \"ftq\"; did you mean \"ftp\"?",
    );
    says("dualpi2", "{ match = { group = \"ftp\" } }", "links.up.queue.filters[0]: expected a key `class`, got none");
    says("dualpi2", &[any; 65].join(", "), "links.up.queue.filters: expected at most 64 filters, got 65");
    let class = format!("queue = {{ scheduler = \"strict\", classes = [{{ filters = [{any}] }}] }}");
    assert!(message(old, &class).contains("links.up.queue.classes[0].filters: expected them with a dual queue"));
    let text = BASE.replace(old, &format!("queue = {{ aqm = \"dualq\", filters = [{any}] }}"));
    Document::from_toml("x.toml", &text).unwrap().check().unwrap();
}

#[test]
fn an_impairment_that_changes_headers_on_a_linux_host() {
    let of = |action: &str, host: &str| {
        let link = format!(
            "queue = {{ limit = \"100 packets\" }}\nimpairments = [{{ kind = \"tcp-option\", option = \"accecn\", action = \"{action}\" }}]"
        );
        let text = BASE
            .replace("queue = { aqm = \"droptail\", limit = \"100 packets\" }", &link)
            .replace("profile = \"ns2\"", "profile = \"linux\"");
        let checked = Document::from_toml("x.toml", &format!("host = \"{host}\"\n{text}")).and_then(|document| document.check());
        checked.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!([of("strip", "simulator"), of("drop", "linux")], ["", ""]);
    let said = of("strip", "linux");
    let expected = "links.up.impairments[0].action: expected \"drop\", or host = \"simulator\": headers of a kernel's packets are only read, got \"strip\" on a Linux host";
    assert!(said.ends_with(expected), "{said}");
}
