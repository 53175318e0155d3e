//! The check of a scenario rejects everything that would fail when the run starts.

use sojourn_scenario::Document;

/// The rejection of a scenario with this queue, these TCP options and this traffic.
fn refused(queue: &str, tcp: &str, traffic: &str) -> Option<String> {
    let text = format!(
        "duration = \"10 s\"\n\
         links = [{{ name = \"up\", from = \"a\", to = \"b\", rate = \"10 Mbit/s\", delay = \"5 ms\", duplex = true, {queue} }}]\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ {traffic} }}\n{tcp}"
    );
    Document::from_toml("x.toml", &text).unwrap().check().err().map(|error| error.to_string())
}

const BULK: &str = "kind = \"bulk\"";
const CBR: &str = "kind = \"cbr\", rate = \"1 Mbit/s\"";

fn says(refusal: Option<String>, expected: &str) {
    let refusal = refusal.unwrap_or_else(|| panic!("accepted instead of: {expected}"));
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn a_queue_gets_from_its_flows_what_it_asks_for() {
    let mute = "tcp = { rtt_hint = false }";
    for aqm in ["pi-rtt", "fuzzy-rtt"] {
        let queue = format!("queue = {{ aqm = \"{aqm}\" }}");
        says(refused(&queue, mute, BULK), "x.toml:2:106: links.up.queue: expected TCP flows with `rtt_hint = true`");
        assert_eq!(refused(&queue, "", BULK), None);
        let router = format!("queue = {{ aqm = \"{aqm}\", hints = \"router\" }}");
        assert_eq!(refused(&router, mute, BULK), None);
        let silent = "tcp = { handshake = \"none\", timestamps = false }";
        says(refused(&router, silent, BULK), "links.up.queue: expected TCP flows with a handshake");
    }
    says(refused("queue = { aqm = \"pi-rtt\" }", "", CBR), "links.up.queue: expected TCP flows");
    // The queue of the reverse path, which carries data only for requests of a session.
    let back = "back = { queue = { aqm = \"pi-rtt\" } }";
    says(refused(back, "", BULK), "links.up.back.queue: expected TCP flows");
    assert_eq!(refused(back, "", "kind = \"web\", page_gap = \"1 s\", object_mean = 5, object_shape = 1.5, request = \"300 B\""), None);
}

#[test]
fn a_law_has_a_name_and_no_timer_expires_without_end() {
    says(refused("queue = { aqm = \"external\" }", "", BULK), "links.up.queue.law: expected the name of a law of the caller, got none");
    assert_eq!(refused("queue = { aqm = \"external\", law = \"mine\" }", "", BULK), None);
    let often = "queue = { aqm = \"external\", law = \"mine\", interval = \"1 ns\" }";
    says(refused(often, "", BULK), "links.up.queue: expected a time between two updates");
}

#[test]
fn a_law_is_one_that_the_caller_supplies() {
    let text = |law: &str| {
        format!(
            "duration = \"10 s\"\n\
             links = [{{ name = \"up\", from = \"a\", to = \"b\", rate = \"10 Mbit/s\", delay = \"5 ms\", duplex = true, {law} }}]\n\
             [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let check = |law: &str, known: &[&str]| {
        let document = Document::from_toml("x.toml", &text(law)).unwrap();
        document.check_with_laws(known).err().map(|error| error.to_string())
    };
    let law = "queue = { aqm = \"external\", law = \"mine\" }";
    says(
        check(law, &[]),
        "x.toml:2:132: links.up.queue.law: expected a law that `--law FILE.py`, or `laws` in Python, supplies, got \"mine\"",
    );
    says(check(law, &["one", "two"]), "links.up.queue.law: expected one of one, two that `--law FILE.py`");
    assert_eq!(check(law, &["one", "mine"]), None);
    let class = "queue = { scheduler = \"drr\", classes = [{ match = { port = [1] } }, { aqm = \"external\", law = \"mine\" }] }";
    says(check(class, &[]), "links.up.queue.classes[1].law: expected a law that");
    assert_eq!(check(class, &["mine"]), None);
}

#[test]
fn options_of_tcp_fit_together() {
    says(refused("", "tcp = { max_rto = \"500 ms\" }", BULK), "flows.f.tcp.max_rto: expected at least min_rto (1 s), got 500 ms");
    says(refused("", "tcp = { min_rto = \"200 s\" }", BULK), "flows.f.tcp.min_rto: expected at most max_rto (60 s), got 200 s");
    let both = "tcp = { min_rto = \"3 s\", max_rto = \"2 s\" }";
    says(refused("", both, BULK), "flows.f.tcp.min_rto: expected at most max_rto (2 s), got 3 s");
    let first = "tcp = { initial_rto = \"61 s\" }";
    says(refused("", first, BULK), "flows.f.tcp.initial_rto: expected at most max_rto (60 s), got 61 s");
    assert_eq!(refused("", "tcp = { min_rto = \"100 ms\", max_rto = \"500 ms\" }", BULK), None, "a profile's first timeout is cut");
    says(refused("", "tcp = { header = \"65000 B\" }", BULK), "flows.f.tcp.header: expected at most 65535 B");
    says(refused("", "tcp = { window = \"10 B\" }", BULK), "flows.f.tcp.window: expected at least one full segment (1460 B), got less");
}
