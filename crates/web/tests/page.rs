//! The questions of a page, tested natively; the same code is compiled to WebAssembly.

use serde_json::{Value, json};
use sojourn_lab::{Bounds, Laws, Simulation};
use sojourn_scenario::Document;
use sojourn_web::{Answer, answer};

const SCENARIO: &str = r#"
duration = "10 s"
warmup = "2 s"
[[links]]
name = "wire"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
duplex = true
queue = { aqm = "pi", limit = "200 packets", target = 20 }
[tcp]
control = { cc = "reno" }
recovery = "sack"
delayed_ack = false
[[flows]]
name = "ftp"
count = 10
from = "a"
to = "b"
traffic = { kind = "bulk" }
"#;

/// The scenario with this discipline.
fn with(queue: &str) -> String {
    SCENARIO.replace("aqm = \"pi\"", queue).replace(", target = 20 }", " }")
}

fn ask(question: Value) -> (Value, Vec<f64>) {
    let Answer { json, numbers } = answer(&question.to_string());
    (serde_json::from_str(&json).unwrap(), numbers)
}

fn refusal(question: Value) -> String {
    let (found, numbers) = ask(question);
    assert!(numbers.is_empty());
    found["error"].as_str().unwrap().to_string()
}

fn column<'a>(numbers: &'a [f64], place: &Value) -> &'a [f64] {
    let part = |i: usize| place[i].as_u64().unwrap() as usize;
    &numbers[part(0)..part(0) + part(1)]
}

#[test]
fn a_watched_run_has_the_fingerprint_of_any_other() {
    let scenario = Document::from_toml("a.toml", SCENARIO).unwrap().check().unwrap();
    let plain = sojourn_lab::run(&scenario, Some(7), &Laws::default(), &|| false).unwrap().record;
    let (found, numbers) = ask(json!({ "ask": "run", "toml": SCENARIO, "file": "a.toml", "seed": 7, "watch": "wire" }));
    assert_eq!(found["record"]["fingerprint"], plain.fingerprint);
    assert_eq!(found["record"]["total"], serde_json::to_value(plain.total).unwrap());
    let queue = &found["series"]["queue/wire"];
    assert_eq!(column(&numbers, &queue["t"]).len(), column(&numbers, &queue["packets"]).len());
    let wait = &found["series"]["wait/wire"];
    let rows = column(&numbers, &wait["t"]).iter().zip(column(&numbers, &wait["seconds"]));
    let in_window: Vec<f64> = rows.filter(|&(&t, _)| t >= 2.0).map(|(_, seconds)| 1e3 * seconds).collect();
    let mean = in_window.iter().sum::<f64>() / in_window.len() as f64;
    assert!((mean - plain.links[0].wait_ms.unwrap().mean).abs() < 1e-6, "{mean}");
    assert!(found["series"]["cwnd/ftp/7"].is_object() && found["series"]["cwnd/ftp/8"].is_null());
}

#[test]
fn a_run_has_the_path_of_the_library_that_its_link_names() {
    let scenario = SCENARIO.replace("rate = \"10 Mbit/s\"", "path = \"lte-verizon-2012\"");
    let (found, _) = ask(json!({ "ask": "run", "toml": scenario, "file": "page.toml", "seed": 5, "watch": "wire" }));
    let link = &found["record"]["links"][0];
    assert_eq!(link["rate_bps"], 5_028_000);
    let plan = Document::from_toml("page.toml", &scenario).unwrap().check().unwrap().plan(5);
    assert_eq!(link["trace_sha256"].as_str(), plan.links[0].trace.as_ref().map(|trace| &*trace.sha256));
}

#[test]
fn a_run_has_the_warnings_of_its_scenario() {
    let warned = |toml: &str| ask(json!({ "ask": "run", "toml": toml })).0["warnings"].clone();
    assert_eq!(warned(SCENARIO), json!([]));
    let idle = "links.wire.queue.ecn: true has no effect, because droptail never marks";
    assert_eq!(warned(&with("aqm = \"droptail\", ecn = true")), json!([idle]));
}

#[test]
fn a_scenario_comes_back_from_a_table_as_it_was() {
    let (table, _) = ask(json!({ "ask": "table", "toml": SCENARIO }));
    let (text, _) = ask(json!({ "ask": "toml", "table": table["table"] }));
    let read = |text: &str| Document::from_toml("a.toml", text).unwrap().check().unwrap();
    assert_eq!(read(text["toml"].as_str().unwrap()), read(SCENARIO));
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_column() {
    let wrong = SCENARIO.replace("10 Mbit/s", "10");
    let error = refusal(json!({ "ask": "run", "toml": wrong, "file": "a.toml" }));
    assert!(error.starts_with("a.toml:8:8: links.wire.rate: expected a rate with its unit"), "{error}");
    assert_eq!(refusal(json!({ "ask": "fly" })), "ask: expected one of table, toml, run, loop, surface, got \"fly\"");
    assert!(refusal(json!([1])).starts_with("question: "));
    assert_eq!(refusal(json!({ "ask": "run", "toml": SCENARIO, "seed": -1 })), "seed: expected a whole number, 0 or more, got -1");
}

#[test]
fn a_hostile_scenario_is_refused_before_it_takes_time_or_memory() {
    let flows = |count: &str| SCENARIO.replace("count = 10", &format!("count = {count}"));
    let asked = |toml: &str| refusal(json!({ "ask": "run", "toml": toml, "file": "a.toml", "watch": "wire" }));
    assert!(asked(&flows("1000000000")).starts_with("a.toml:18:9: flows.ftp.count: expected "), "{}", asked(&flows("1000000000")));
    assert_eq!(asked(&flows("100000")), "flows: expected at most 20000 in a page, got 100000");
}

/// Tests smaller bounds than those of a page, so that the test is fast.
/// `make playground-test` tests the bounds of a page.
#[test]
fn a_run_that_needs_more_than_its_bounds_says_what_and_how_far_it_came() {
    let within = |toml: &str, events: u64, memory: u64| {
        let scenario = Document::from_toml("a.toml", toml).unwrap().check().unwrap();
        let mut simulation = Simulation::new(&scenario, 1, &Laws::default()).unwrap();
        simulation.run_within(&Bounds { events, memory }).map_err(|error| error.to_string())
    };
    assert_eq!(within(SCENARIO, 1_000_000, 10_000_000), Ok(()));
    let long = SCENARIO.replace("duration = \"10 s\"", "duration = \"1000000 s\"");
    let error = within(&long, 150_000, 10_000_000).unwrap_err();
    assert!(error.starts_with("duration: expected a run of at most 150000 events, got 1000000 s, of which they are "), "{error}");
    let deep = with("aqm = \"droptail\"").replace("200 packets", "1000000000 packets");
    let deep = deep.replace("{ kind = \"bulk\" }", "{ kind = \"cbr\", rate = \"1 Gbit/s\" }");
    let error = within(&deep, 1_000_000, 1_000_000).unwrap_err();
    assert!(error.starts_with("links.wire.queue: expected packets, flows and traces of at most 0.001 GB in memory, got "), "{error}");
}

#[test]
fn the_loop_has_a_bode_plot_that_crosses_0_db_where_its_margins_say() {
    let (found, numbers) = ask(json!({ "ask": "loop", "toml": SCENARIO, "link": "wire" }));
    assert_eq!(found["point"]["queue"].as_f64().unwrap().round(), 20.0);
    let (omega, gain) = (column(&numbers, &found["bode"]["omega"]), column(&numbers, &found["bode"]["gain"]));
    let crossover = found["margins"]["crossover"].as_f64().unwrap();
    let after = omega.iter().position(|&w| w > crossover).unwrap();
    assert!(gain[after - 1] > 0.0 && gain[after] < 0.0);
    let none = refusal(json!({ "ask": "loop", "toml": with("aqm = \"droptail\""), "link": "wire" }));
    assert!(none.contains("no steady state"), "{none}");
}

/// Tests the results of `Loop(...).margins()` of `sojourn.analysis` for this scenario.
/// They are gain, phase in degrees, delay and crossover.
#[test]
fn margins_are_those_of_the_analysis_in_python() {
    let python = [
        ("aqm = \"pie\"", [20.330102629609172, 81.9090366955162, 0.8145516449496516, 1.755054312807849]),
        ("aqm = \"red\"", [5.3026760424774295, 68.35678333348731, 0.37248755148418256, 3.2029283407942315]),
        ("aqm = \"led\"", [3.3125070505087, 69.73475578111531, 0.23913519500069375, 5.089594158028815]),
        (
            "aqm = \"pi\", target = 20, a = 0.001, b = 0.00099",
            [15.436491978721955, 103.33571316935652, 1.8357896532292843, 0.9824374086264003],
        ),
    ];
    for (queue, expected) in python {
        let (found, _) = ask(json!({ "ask": "loop", "toml": with(queue), "link": "wire" }));
        for (key, expected) in ["gain", "phase", "delay", "crossover"].iter().zip(expected) {
            let got = found["margins"][key].as_f64().unwrap();
            assert!((got / expected - 1.0).abs() < 1e-5, "{queue}: {key}: expected {expected}, got {got}");
        }
    }
}

#[test]
fn a_law_with_a_timer_has_a_surface() {
    let (found, numbers) = ask(json!({ "ask": "surface", "toml": SCENARIO, "link": "wire" }));
    let (backlog, change) = (column(&numbers, &found["rows"]), column(&numbers, &found["columns"]));
    let surface = column(&numbers, &found["values"]);
    assert_eq!(surface.len(), backlog.len() * change.len());
    // With an integral law, a longer queue does not lower the probability.
    let still = change.len() / 2;
    let column: Vec<f64> = (0..backlog.len()).map(|row| surface[row * change.len() + still]).collect();
    assert!(column.windows(2).all(|pair| pair[0] <= pair[1]) && column[0] < column[backlog.len() - 1]);
    assert!(
        refusal(json!({ "ask": "surface", "toml": with("aqm = \"codel\""), "link": "wire" }))
            .contains("a law with a timer, or a controller")
    );
}

/// The value of a surface at the nearest row and column.
fn value_at(found: &Value, numbers: &[f64], row: f64, step: f64) -> f64 {
    let nearest = |axis: &[f64], to: f64| (0..axis.len()).min_by(|&a, &b| (axis[a] - to).abs().total_cmp(&(axis[b] - to).abs())).unwrap();
    let (rows, columns) = (column(numbers, &found["rows"]), column(numbers, &found["columns"]));
    column(numbers, &found["values"])[nearest(rows, row) * columns.len() + nearest(columns, step)]
}

#[test]
fn a_law_with_a_probability_for_each_flow_shows_what_its_rules_give() {
    for (law, interval) in [("fuzzy-rtt", 0.04), ("flc", 0.00625)] {
        let queue = format!("aqm = \"{law}\", packet = \"1000 B\", target = \"40 ms\"");
        let (found, numbers) = ask(json!({ "ask": "surface", "toml": with(&queue), "link": "wire" }));
        assert_eq!((found["of"].as_str(), found["interval"].as_f64()), (Some("rules"), Some(interval)), "{law}");
        // The target is 50 packets; a row spans 0 to 150 in 48 steps. At both ends of the error, the rules yield 4 units of 0.04.
        let at = |queue, change| value_at(&found, &numbers, queue, change);
        assert_eq!((at(50.0, 0.0), at(0.0, 0.0), at(100.0, 0.0)), (0.0, -0.16, 0.16), "{law}");
        assert!(at(0.0, 70.0).is_nan(), "{law}: a queue below 0 before");
        assert_eq!(at(100.0, 70.0), 0.32, "{law}");
    }
}

#[test]
fn a_controller_with_fuzzy_rules_shows_them_with_the_point_where_it_is() {
    let flower = with("aqm = \"droptail\"").replace("cc = \"reno\"", "cc = \"flower\"").replace("delayed_ack = false", "timestamps = true");
    let (found, numbers) = ask(json!({ "ask": "surface", "toml": flower, "link": "wire" }));
    assert_eq!((found["of"].as_str(), found["flow"].as_str()), (Some("controller"), Some("ftp/0")));
    // In the paper's table, error and trend add up to a change of at most one segment. Beyond the last normal trend it resets.
    let at = |error, trend| value_at(&found, &numbers, error, trend);
    assert_eq!((at(0.0, 0.0), at(5.0, 0.0), at(-5.0, 0.0)), (0.0, 1.0, -1.0));
    assert!((at(-2.5, 2.5)).abs() < 1e-9 && at(0.0, 5.0).is_nan());
    let (found, numbers) = ask(json!({ "ask": "run", "toml": flower, "watch": "wire" }));
    let series = &found["series"]["controller/ftp/0"];
    let terms = ["error_term", "trend_term"].map(|name| column(&numbers, &series[name]));
    assert!(terms.iter().all(|column| column.iter().all(|term| term.is_nan() || (-5.0..=5.0).contains(term))));
    let seen: Vec<f64> = terms[0].iter().copied().filter(|term| !term.is_nan()).collect();
    assert!(seen.iter().any(|&term| term != seen[0]), "{seen:?}");
    assert!(found["series"]["controller/ftp/1"].is_null());
}

#[test]
fn every_drop_and_mark_of_a_watched_link_is_a_signal() {
    let asked = |toml: &str| ask(json!({ "ask": "run", "toml": toml.replace("warmup = \"2 s\"", "warmup = \"0 s\""), "watch": "wire" }));
    let causes = |found: &Value, numbers: &[f64]| {
        let mut counts = [0u64; 5];
        column(numbers, &found["series"]["signals/wire"]["cause"]).iter().for_each(|&cause| counts[cause as usize] += 1);
        let link = &found["record"]["links"][0];
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let dropped = &link["dropped"];
        assert_eq!(counts, [&dropped["early"], &dropped["forced"], &dropped["tail"], &dropped["impaired"], &link["marked"]].map(count));
        counts
    };
    let (found, numbers) = asked(SCENARIO);
    assert!(causes(&found, &numbers)[0] > 10);
    let (found, numbers) = asked(&with("aqm = \"droptail\""));
    assert!(causes(&found, &numbers)[2] > 10);
    let (found, numbers) = asked(&SCENARIO.replace("target = 20", "target = 20, ecn = true").replace("[tcp]", "[tcp]\necn = true"));
    assert!(causes(&found, &numbers)[4] > 10);
}
