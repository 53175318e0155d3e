//! Errors of a value that a path sets, as `--set` does.
//! The error names the field, because the text has no position for it.

use sojourn_scenario::Document;

use crate::errors::BASE;

/// The message after `field` is set to `written`.
fn said(field: &str, written: &str) -> String {
    let mut document = Document::from_toml("x.toml", BASE).unwrap();
    document.set(field, sojourn_scenario::value(written)).unwrap();
    document.check().map(|_| ()).expect_err(written).to_string()
}

#[test]
fn a_field_set_by_path_is_named_without_a_place_in_the_text() {
    assert!(said("links.up.rate", "10 MB/s").starts_with("x.toml: links.up.rate: expected a rate"));
}

#[test]
fn a_list_in_the_place_of_a_table() {
    for (field, written) in [
        ("tcp", "[\"linux\"]"),
        ("tcp", "[]"),
        ("trace", "[]"),
        ("trace.queue", "[]"),
        ("trace.rtt", "[\"ftp/0\"]"),
        ("flows.ftp.access", "[\"10 Mbit/s\", \"5 ms\"]"),
        ("flows.ftp.traffic", "[]"),
        ("links.up.queue", "[]"),
        ("links.up.back", "[\"1 Mbit/s\"]"),
        ("links.up.changes", "[[\"1 s\", \"5 Mbit/s\"]]"),
        ("links.up.queue.filters", "[[[\"ftp\"], \"l4s\"]]"),
        ("links.up.impairments", "[{ kind = \"jitter\", delay = { normal = [\"5 ms\", \"1 ms\"] } }]"),
        ("links.up.queue", "{ aqm = \"dualq\", base = { pi2 = [\"15 ms\"] } }"),
        ("flows.ftp.reroute", "[[\"1 s\", [\"A\", \"B\"]]]"),
    ] {
        let said = said(field, written);
        assert!(said.starts_with(&format!("x.toml: {field}")) && said.ends_with(": expected a table, got a list"), "{said}");
    }
}

#[test]
fn a_table_chosen_by_its_key_has_one_key() {
    let jitter = |delay: &str| format!("[{{ kind = \"jitter\", delay = {delay} }}]");
    let queue = |base: &str| format!("{{ aqm = \"dualq\", base = {base} }}");
    let of = "links.up.impairments[0].delay: expected a table whose key is one of uniform, ";
    for (field, written, expected, got) in [
        ("links.up.impairments", jitter("\"uniform\""), of, "\"uniform\""),
        ("links.up.impairments", jitter("{ }"), of, "an empty table"),
        ("links.up.impairments", jitter("{ normal = { }, uniform = { } }"), of, "a table of 2 keys"),
        ("links.up.impairments", jitter("5"), "links.up.impairments[0].delay: expected one of uniform, ", "5"),
        ("links.up.queue", queue("\"pi2\""), "links.up.queue.base: expected a table whose key is one of pi2, ", "\"pi2\""),
        ("flows.ftp.start", "{ uniform = \"1 s\" }".to_string(), "flows.ftp.start.uniform: expected a list of 2", "\"1 s\""),
        ("flows.ftp.start", "{ uniform = [\"1 s\"] }".to_string(), "flows.ftp.start.uniform: expected a list of 2", "a list of 1"),
    ] {
        let said = said(field, &written);
        assert!(said.starts_with(&format!("x.toml: {expected}")) && said.ends_with(&format!(", got {got}")), "{said}");
    }
}

#[test]
fn what_is_expected_of_an_option_is_no_wider_than_its_rule() {
    for (field, written, expected) in [
        ("tcp.initial_window", "1.5", "a whole number, got 1.5"),
        ("tcp.initial_window", "\"10 packets\"", "a whole number, got \"10 packets\""),
        ("tcp.initial_window", "0", "a whole number, 1 to 65535, got 0"),
        ("tcp.mss", "1448", "a size with its unit such as \"1500 B\" (B, kB, MB, GB, KiB, MiB), got 1448"),
        ("tcp.delayed_ack", "\"maybe\"", "true, false or a time with its unit such as \"100 ms\", at most 1000000 s, got \"maybe\""),
        ("tcp.rtt_hint", "\"5\"", "true, false or a time with its unit such as \"100 ms\", at most 1000000 s, got \"5\""),
    ] {
        let said = said(field, written);
        assert_eq!(said, format!("x.toml: {field}: expected {expected}"));
    }
}
