//! Every registered algorithm can be named in a scenario, with its defaults, and is known by its own keys only.

use serde_json::{Value, json};
use sojourn_scenario::Document;

fn document(queue: &Value, control: &Value) -> Document {
    let scenario = json!({
        "duration": "10 s",
        "links": [{ "name": "up", "from": "A", "to": "B", "rate": "10 Mbit/s", "delay": "10 ms", "duplex": true, "queue": queue }],
        "flows": [{ "name": "ftp", "from": "A", "to": "B", "tcp": { "control": control } }],
    });
    Document::from_json("x.json", &scenario.to_string()).unwrap()
}

/// Each queue algorithm with the first window law, and each window law with the first queue algorithm.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let aqms = sojourn_aqm::REGISTRY.iter().map(|entry| (entry.name, sojourn_cc::REGISTRY[0].name));
    aqms.chain(sojourn_cc::REGISTRY.iter().map(|entry| (sojourn_aqm::REGISTRY[0].name, entry.name)))
}

#[test]
fn every_algorithm_checks_with_its_defaults_and_is_written_back_as_it_was() {
    for (aqm, cc) in pairs() {
        let mut queue = json!({ "aqm": aqm, "limit": "100 packets" });
        if aqm == "external" {
            queue["law"] = json!("mine");
        }
        let read = document(&queue, &json!({ "cc": cc }));
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
        let error = document(&json!({ "aqm": aqm, "colour": 1 }), &json!({ "cc": cc })).check().unwrap_err();
        assert_eq!(error.field, "links.up.queue");
        assert!(error.problem.contains(", got key \"colour\""), "{error}");
        let error = document(&json!({ "aqm": aqm }), &json!({ "cc": cc, "colour": 1 })).check().unwrap_err();
        assert_eq!(error.field, "flows.ftp.tcp.control");
    }
}

#[test]
fn no_parameter_of_the_wrong_kind_panics() {
    for (aqm, cc) in pairs() {
        let written = document(&json!({ "aqm": aqm }), &json!({ "cc": cc })).written().unwrap();
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
