//! Parsing never panics, whatever the text; and every accepted scenario can be planned.

use proptest::prelude::*;
use sojourn_scenario::{Document, Sweep, set_path, value};

const VALID: &str = include_str!("valid.toml");

/// The replacements of a token.
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "4294967295",
    "4294967296",
    "1000000",
    "65535",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "\"A\"",
    "\"B\"",
    "\"*\"",
    "\"0 s\"",
    "\"1 ns\"",
    "\"1000000 s\"",
    "\"1000001 s\"",
    "\"1e300 h\"",
    "\"0 packets\"",
    "\"4294967295 packets\"",
    "\"1 B\"",
    "\"65535 B\"",
    "\"18 GB\"",
    "\"1 bit/s\"",
    "\"10000 Gbit/s\"",
    "\"1e10 Gbit/s\"",
    "\"nan s\"",
    "1979-05-27T07:32:00Z",
    "[[flows]]",
    "[[links]]",
    "[tcp]",
    "[trace]",
    "=",
    ",",
    "\n",
    "duplex",
    "name",
    "from",
    "to",
    "rate",
    "delay",
    "queue",
    "aqm",
    "limit",
    "count",
    "via",
    "start",
    "stop",
    "traffic",
    "kind",
    "uniform",
    "spread",
    "step",
    "first",
    "lognormal",
    "cc",
    "mss",
    "header",
    "window",
    "every",
    "flows",
    "links",
    "\"droptail\"",
    "\"web\"",
    "\"cbr\"",
    "\"onoff\"",
    "\"transfers\"",
    "{ uniform = [\"0 s\", \"1000000 s\"] }",
    "{ lognormal = { median = \"1 s\", sigma = 10 } }",
    "{ step = \"1 s\" }",
    "[\"A\", \"B\"]",
];

/// Splits the text into tokens: words, quoted strings, single marks, line ends.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            c if c.is_alphanumeric() => rest.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c))).unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
        tokens.push(rest[..end].to_string());
        rest = &rest[end..];
    }
    tokens
}

#[derive(Clone, Debug)]
enum Change {
    Delete,
    Duplicate,
    Replace(usize),
    Insert(usize),
    Take(prop::sample::Index),
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let change = prop_oneof![
        Just(Change::Delete),
        Just(Change::Duplicate),
        (0..WORDS.len()).prop_map(Change::Replace),
        (0..WORDS.len()).prop_map(Change::Insert),
        any::<prop::sample::Index>().prop_map(Change::Take),
    ];
    (any::<prop::sample::Index>(), change)
}

/// Parses and checks a text. Plans the scenario if it is accepted and not too large.
fn try_all(text: &str) -> bool {
    let Ok(document) = Document::from_toml("x.toml", text) else { return false };
    match document.check() {
        Err(error) => {
            assert!(error.file == "x.toml" && !error.problem.is_empty() && !error.problem.contains('\n'), "{error:?}");
            false
        }
        Ok(checked) => {
            if checked.groups.iter().map(|group| u64::from(group.count)).sum::<u64>() <= 2000 {
                let plan = checked.plan(checked.seed);
                let links = (plan.links.len() + plan.access_links.len()) as u32;
                assert!(
                    plan.flows
                        .iter()
                        .all(|flow| !flow.forward.is_empty() && flow.forward.iter().chain(&flow.back).all(|&link| link < links))
                );
            }
            assert_eq!(checked.key(1, "x").len(), 64);
            true
        }
    }
}

#[test]
fn the_valid_scenario_is_valid() {
    Document::from_toml("valid.toml", VALID).unwrap().check().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn null_is_an_absent_key_but_no_element_of_a_list() {
    let read = |text: &str| Document::from_json("x.json", text).map(|document| document.table().to_string());
    assert_eq!(read(r#"{ "name": null, "seed": 3 }"#).unwrap(), "seed = 3\n");
    let error = read(r#"{ "flows": [{ "start": ["1 s", null] }] }"#).unwrap_err();
    assert_eq!(error.to_string(), "x.json: flows[0].start[1]: expected a value, got null");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_scenario_is_accepted_or_refused(changes in prop::collection::vec(change(), 1..6)) {
        let mut tokens = tokens(VALID);
        for (place, change) in changes {
            if tokens.is_empty() {
                break;
            }
            let i = place.index(tokens.len());
            match change {
                Change::Delete => drop(tokens.remove(i)),
                Change::Duplicate => tokens.insert(i, tokens[i].clone()),
                Change::Replace(word) => tokens[i] = WORDS[word].to_string(),
                Change::Insert(word) => tokens.insert(i, format!(" {} ", WORDS[word])),
                Change::Take(from) => tokens[i] = tokens[from.index(tokens.len())].clone(),
            }
        }
        try_all(&tokens.concat());
    }

    #[test]
    fn one_value_of_any_kind_in_any_field_is_accepted_or_refused(place in any::<prop::sample::Index>(), word in 0..WORDS.len()) {
        // Values follow an equals sign. Only values change, so that most results are TOML.
        let tokens = tokens(VALID);
        let values: Vec<usize> = (2..tokens.len()).filter(|&i| tokens[i - 2] == "=" && tokens[i] != "[" && tokens[i] != "{").collect();
        let mut tokens = tokens;
        tokens[values[place.index(values.len())]] = WORDS[word].to_string();
        try_all(&tokens.concat());
    }

    #[test]
    fn any_text_is_refused_without_a_panic(text in "\\PC{0,200}") {
        try_all(&text);
        let _ = Sweep::from_toml("x", &text);
        let _ = Document::from_json("x", &text);
        let _ = value(&text);
    }

    #[test]
    fn any_path_sets_a_field_or_says_why_not(path in "[a-z.\\[\\]0-9\"'>*-]{0,40}", known in 0..4usize) {
        let mut table = VALID.parse().unwrap();
        let start = ["", "links.up.", "flows[0].", "tcp."][known];
        let _ = set_path(&mut table, &format!("{start}{path}"), value("1"));
        let _ = Document::from_table("x", table).check();
    }
}
