//! Every registered algorithm can be used in a scenario, with its defaults.
//! It accepts its own keys only.

use serde_json::{Value, json};
use sojourn_scenario::Document;

fn document(queue: &Value, control: &Value) -> Document {
    let of_linux = queue.get("linux").is_some() || control.get("linux").is_some();
    let counts_marks = ["dctcp", "prague"].map(Value::from).contains(&control["cc"]);
    let scenario = json!({
        "host": if of_linux { "linux" } else { "simulator" },
        "duration": "10 s",
        "links": [{ "name": "up", "from": "A", "to": "B", "rate": "10 Mbit/s", "delay": "10 ms", "duplex": true, "queue": queue }],
        "flows": [{ "name": "ftp", "from": "A", "to": "B", "tcp": { "control": control, "ecn": counts_marks } }],
    });
    Document::from_json("x.json", &scenario.to_string()).unwrap()
}

/// Each queue algorithm with the first controller, and each controller with the first queue.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let aqms = sojourn_aqm::REGISTRY.iter().map(|entry| (entry.name, sojourn_cc::REGISTRY[0].name));
    aqms.chain(sojourn_cc::REGISTRY.iter().map(|entry| (sojourn_aqm::REGISTRY[0].name, entry.name)))
}

/// The shortest tables of a queue and a controller.
/// An algorithm of a Linux host is selected by its own key.
fn tables(aqm: &str, cc: &str) -> (Value, Value) {
    let queue = if aqm == "linux" { json!({ "linux": "pie target 15ms" }) } else { json!({ "aqm": aqm }) };
    let control = if cc == "linux" { json!({ "linux": "bbr" }) } else { json!({ "cc": cc }) };
    (queue, control)
}

#[test]
fn every_algorithm_checks_with_its_defaults_and_is_written_back_as_it_was() {
    for (aqm, cc) in pairs() {
        let (mut queue, control) = tables(aqm, cc);
        if aqm == "external" {
            queue["law"] = json!("mine");
        }
        let read = document(&queue, &control);
        let checked = read.check().unwrap_or_else(|error| panic!("{aqm}, {cc}: {error}"));
        assert_eq!(checked.links[0].queue.as_ref().unwrap().aqm.name(), aqm);
        assert_eq!(checked.groups[0].tcp.as_ref().unwrap().control.name(), cc);
        let written = read.written().unwrap();
        let again = Document::from_json("x.json", &serde_json::to_string(&written).unwrap()).unwrap();
        assert_eq!(again.written().unwrap_or_else(|error| panic!("{aqm}, {cc}: {error}")), written);
    }
}

#[test]
fn no_algorithm_takes_a_key_that_nobody_knows() {
    for (aqm, cc) in pairs() {
        let (queue, control) = tables(aqm, cc);
        let with_color = |table: &Value| {
            let mut table = table.clone();
            table["colour"] = json!(1);
            table
        };
        let error = document(&with_color(&queue), &control).check().unwrap_err();
        assert_eq!(error.field, "links.up.queue");
        assert!(error.problem.contains(", got key \"colour\""), "{error}");
        let error = document(&queue, &with_color(&control)).check().unwrap_err();
        assert_eq!(error.field, "flows.ftp.tcp.control");
    }
}

#[test]
fn what_a_kernel_supplies_is_refused_elsewhere_and_checked_there() {
    let refused = |queue: &Value, control: &Value, host: &str| {
        let scenario = document(queue, control).written().unwrap();
        let mut scenario = serde_json::to_value(scenario).unwrap();
        scenario["host"] = json!(host);
        let error = Document::from_json("x.json", &scenario.to_string()).unwrap().check().unwrap_err();
        format!("{}: {}", error.field, error.problem)
    };
    let (pie, reno) = (json!({ "linux": "pie target 15ms" }), json!({ "cc": "reno" }));
    let said = refused(&pie, &reno, "simulator");
    assert_eq!(
        said,
        "links.up.queue.linux: expected host = \"linux\" for a queue discipline of the kernel, got \"pie target 15ms\" on the simulator"
    );
    let said = refused(&json!({ "aqm": "pie" }), &json!({ "linux": "bbr" }), "simulator");
    assert!(said.starts_with("flows.ftp.tcp.control.linux: expected host = \"linux\" for a congestion control"), "{said}");
    let said = refused(&json!({ "linux": "pie tarjet 15ms" }), &reno, "linux");
    assert!(said.starts_with("links.up.queue.linux: expected a parameter of pie: target"), "{said}");
    let said = refused(&pie, &json!({ "linux": "bbr9" }), "linux");
    assert!(said.starts_with("flows.ftp.tcp.control.linux: expected a congestion control of Linux: reno"), "{said}");
}

#[test]
fn a_linux_host_takes_no_option_that_its_kernel_would_ignore() {
    let check = |tcp: Value| {
        let scenario = json!({
            "host": "linux",
            "duration": "10 s",
            "links": [{ "name": "up", "from": "A", "to": "B", "rate": "10 Mbit/s", "delay": "10 ms", "duplex": true }],
            "flows": [{ "name": "ftp", "from": "A", "to": "B", "tcp": tcp }],
        });
        Document::from_json("x.json", &scenario.to_string()).unwrap().check().map(|_| ()).map_err(|error| error.field)
    };
    assert_eq!(check(json!({ "mss": "1448 B", "ecn": true, "profile": "rfc", "control": { "cc": "cubic" } })), Ok(()));
    assert_eq!(check(json!({ "delayed_ack": "40 ms" })), Ok(()), "it is the kernel's own");
    assert_eq!(check(json!({ "delayed_ack": "50 ms" })), Err("flows.ftp.tcp.delayed_ack".into()));
    assert_eq!(check(json!({ "handshake": "none" })), Err("flows.ftp.tcp.handshake".into()));
}

#[test]
fn no_parameter_of_the_wrong_kind_panics() {
    for (aqm, cc) in pairs() {
        let (queue, control) = tables(aqm, cc);
        let written = document(&queue, &control).written().unwrap();
        let queue = serde_json::to_value(written.links[0].queue.as_ref().unwrap()).unwrap();
        let control = serde_json::to_value(written.flows[0].tcp.as_ref().unwrap().control.as_ref().unwrap()).unwrap();
        for value in
            [json!(-1), json!(0), json!(1e308), json!(i64::MAX), json!("0 s"), json!("1 ns"), json!("x"), json!([]), json!({}), json!(true)]
        {
            for key in queue.as_object().unwrap().keys().filter(|key| *key != "aqm") {
                let mut changed = queue.clone();
                changed[key] = value.clone();
                let _ = document(&changed, &control).check();
            }
            for key in control.as_object().unwrap().keys().filter(|key| *key != "cc") {
                let mut changed = control.clone();
                changed[key] = value.clone();
                let _ = document(&queue, &changed).check();
            }
        }
    }
}
