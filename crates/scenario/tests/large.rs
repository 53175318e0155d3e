//! Large files need time and memory in proportion to their size.
//! Each of these takes minutes or gigabytes if that does not hold.

use sojourn_scenario::{Checked, Document};
use std::fmt::Write;

const MANY: usize = 10_000;

fn checked(text: &str) -> Checked {
    Document::from_toml("large.toml", text).unwrap().check().unwrap_or_else(|error| panic!("{error}"))
}

const LINK: &str = "duration = \"1 s\"\nlinks = [{ name = \"l\", from = \"a\", to = \"b\", rate = \"1 Mbit/s\", duplex = true }]\n";

#[test]
fn a_star_with_a_group_between_every_two_leaves() {
    let mut text = "duration = \"1 s\"\n".to_string();
    for i in 0..MANY {
        writeln!(text, "[[links]]\nfrom = \"hub\"\nto = \"n{i}\"\nduplex = true\nrate = \"1 Mbit/s\"").unwrap();
    }
    for i in 1..MANY {
        writeln!(text, "[[flows]]\nname = \"f{i}\"\nfrom = \"n{}\"\nto = \"n{i}\"", i - 1).unwrap();
    }
    let checked = checked(&text);
    let path = |of: &[u32]| of.iter().map(|&link| checked.links[link as usize].name.clone()).collect::<Vec<_>>();
    assert_eq!(path(&checked.groups[41].forward), ["n41->hub", "hub->n42"]);
    assert_eq!(path(&checked.groups[41].back), ["n42->hub", "hub->n41"]);
}

#[test]
fn a_pattern_of_a_trace_for_each_of_many_groups() {
    let (mut groups, mut patterns) = (String::new(), String::new());
    for i in 0..MANY {
        writeln!(groups, "[[flows]]\nname = \"g{i}\"\nfrom = \"a\"\nto = \"b\"").unwrap();
        write!(patterns, "\"g{i}/0\",").unwrap();
    }
    assert_eq!(checked(&format!("{LINK}trace.rtt.flows = [{patterns}]\n{groups}")).trace.rtt.len(), MANY);
}

#[test]
fn a_pattern_that_is_repeated_finds_its_flows_once() {
    let group = "[[flows]]\nname = \"g\"\ncount = 1000000\nfrom = \"a\"\nto = \"b\"\n";
    for pattern in ["*", "g/*"] {
        let patterns = format!("\"{pattern}\",").repeat(1000);
        assert_eq!(checked(&format!("{LINK}trace.rtt.flows = [{patterns}]\n{group}")).trace.rtt.len(), 1_000_000);
    }
}

#[test]
fn a_message_shows_the_beginning_of_a_long_value_and_is_one_line() {
    let nodes = (0..MANY).map(|i| format!("\"b{i}\"")).collect::<Vec<_>>().join(",");
    let named = format!("{LINK}[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nvia = [\"b\", {nodes}]");
    let refusal = |text: &str| Document::from_toml("a\nfile.toml", text).and_then(|document| document.check()).unwrap_err().to_string();
    for text in [&named[..], "\"a\\nkey\" = 1", "duration = \"1\\ns\"", "name = \"two\\nlines\""] {
        let refusal = refusal(text);
        assert!(!refusal.contains('\n') && refusal.len() < 1000, "{refusal}");
    }
}
