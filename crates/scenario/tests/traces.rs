//! Trace files, and links that use them.

use sojourn_link::trace::{Row, Service};
use sojourn_scenario::written::TraceFormat;
use sojourn_scenario::{Document, read_trace};
use sojourn_units::Duration;
use std::path::PathBuf;

/// Creates a file with these bytes in a folder of the test's own.
fn file(test: &str, name: &str, content: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("traces-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A row: span in ns, rate or bytes, delay in ns, loss in billionths.
type Plain = (u64, u64, u64, u32);

/// The rows of a file.
fn rows(name: &str, content: &str) -> Result<(Service, Vec<Plain>), String> {
    let path = file("rows", name, content.as_bytes());
    let trace = read_trace(&path, None).map_err(|error| error.to_string().replace(&path.display().to_string(), name))?;
    let row = |Row { span, service, delay, loss }| (span.as_nanos(), service, delay.as_nanos(), loss);
    Ok((trace.rows.service(), trace.rows.rows().map(row).collect()))
}

const MS: u64 = 1_000_000;

#[test]
fn a_file_of_mahimahi_is_its_opportunities() {
    let expected = vec![(0, 1500, 0, 0), (3 * MS, 4500, 0, 0), (2 * MS, 1500, 0, 0)];
    assert_eq!(rows("a.up", "0\n3\n3\n3\r\n5\n"), Ok((Service::Opportunities, expected)));
}

#[test]
fn a_table_has_its_columns_in_any_order_and_unit() {
    let plain = Ok((Service::Rates, vec![(500 * MS, 1_500_000, 0, 0), (500 * MS, 0, 0, 0)]));
    assert_eq!(rows("plain.csv", "0, 1.5\n0.5, 0\n"), plain);
    // Pensieve's format: white space, and times with an arbitrary start.
    assert_eq!(rows("pensieve.csv", "10.25\t1.5\n10.75\t0\n"), plain);
    assert_eq!(rows("header.csv", "# measured\nrate_kbps; t_ms\n1500; 1700000000000\n0; 1700000000500"), plain);
    let all = Ok((Service::Rates, vec![(2_000 * MS, 1_000_000, 20 * MS, 10_000_000), (2_000 * MS, 3, 500_000, 0)]));
    assert_eq!(rows("all.csv", "t,rate,delay,loss\n0,1,20,0.01\n2,0.000003,0.5,0\n"), all);
    assert_eq!(rows("marked.csv", "\u{feff}0, 1.5\n0.5, 0\n"), plain);
    assert_eq!(rows("one.csv", "0 8\n"), Ok((Service::Rates, vec![(1_000 * MS, 8_000_000, 0, 0)])));
}

/// Tests the rates that the crate `netem-trace` 0.5.0 computes for the same text (`next_bw`).
#[test]
fn a_trace_of_the_crate_netem_trace_has_the_rates_that_the_crate_gives() {
    let pattern = r#"{"RepeatedBwPatternConfig":{"pattern":[
        {"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}},
        {"TraceBwConfig":{"pattern":[[{"secs":0,"nanos":1000000},[{"gbps":0,"bps":2000000},{"gbps":1,"bps":4000000}]],
            [{"secs":0,"nanos":2000000},[{"gbps":0,"bps":0}]]]}},
        {"StaticBwConfig":{}}],"count":2}}"#;
    let once = [(1_000_000_000, 12_000_000), (MS, 2_000_000), (MS, 1_004_000_000), (2 * MS, 0), (1_000_000_000, 12_000_000)];
    let twice = once.iter().chain(&once).map(|&(span, rate)| (span, rate, 0, 0)).collect();
    assert_eq!(rows("pattern.json", pattern), Ok((Service::Rates, twice)));
    // The output of its feature "human". A trace repeats forever anyway.
    let human = r#"{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":{"pattern":[["1ms",["2Mbps","0bps"]]]}}],"count":0}}"#;
    assert_eq!(rows("human.json", human), Ok((Service::Rates, vec![(MS, 2_000_000, 0, 0), (MS, 0, 0, 0)])));
    // The output of that feature for 1.5 s, 2 min and 1.25 Gbit/s.
    let compound = r#"{"TraceBwConfig":{"pattern":[["1s 500ms",["1Gbps 250Mbps"]],["2m",["1.25Gbps"]]]}}"#;
    let expected = vec![(1_500 * MS, 1_250_000_000, 0, 0), (120_000 * MS, 1_250_000_000, 0, 0)];
    assert_eq!(rows("compound.json", compound), Ok((Service::Rates, expected)));
    let sawtooth = r#"{"SawtoothBwConfig":{"bottom":{"gbps":0,"bps":1000000},"top":{"gbps":0,"bps":12345678},
        "interval":{"secs":0,"nanos":500000000},"duty_ratio":0.8,"duration":{"secs":0,"nanos":730000000},
        "step":{"secs":0,"nanos":70000000}}}"#;
    let rates = [1_000_000, 2_985_494, 4_970_987, 6_956_481, 8_941_975, 10_927_468, 10_076_542, 2_134_568, 2_701_852, 4_687_345, 6_672_839];
    let (_, found) = rows("sawtooth.json", sawtooth).unwrap();
    assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), rates);
    assert_eq!((found[0].0, found[10].0), (70 * MS, 30 * MS));
}

#[test]
fn what_is_no_trace_is_refused_in_one_line_that_names_the_place() {
    for (name, content, said) in [
        ("text.up", "hello\n", "text.up:1:1: expected a time in ms, as a whole number, got \"hello\""),
        ("less.up", "5\n7\n6\n", "less.up:3:1: expected a time of 7 ms or later, as in the line before, got 6"),
        ("part.up", "1.5\n", "part.up:1:1: expected a time in ms, as a whole number, got \"1.5\""),
        ("zero.up", "0\n0\n", "zero.up: expected a trace with a time in which something is sent, got one that lasts 0 s"),
        ("empty.up", "", "empty.up: expected a trace with a time in which something is sent, got nothing"),
        ("long.up", "2000000000\n", "long.up:1:1: expected a time of at most 1000000000 ms, got 2000000000"),
        ("empty.csv", "t,rate\n", "empty.csv: expected a trace with a time in which something is sent, got nothing"),
        (
            "never.csv",
            "0,0\n1,0\n",
            "never.csv: expected a trace with a time in which something is sent, got one with a rate of zero for ever",
        ),
        ("table.toml", "[TraceBwConfig]\n", "table.toml:1:1: expected a trace in JSON, got text that is none: expected value"),
        ("same.csv", "0,1\n0,2\n", "same.csv:2:1: expected a time later than in the line before, got \"0\""),
        ("minus.csv", "0,-1\n", "minus.csv:1:3: expected a number, zero or more, for rate, got \"-1\""),
        ("short.csv", "0,1\n1\n", "short.csv:2:1: expected 2 numbers, got \"1\""),
        ("more.csv", "0,1\n1,2,3\n", "more.csv:2:5: expected 2 numbers, got \"3\""),
        ("fast.csv", "0,99999999999\n", "fast.csv:1:3: expected a rate of at most 10 Tbit/s, got \"99999999999\""),
        ("loss.csv", "0,1,0,1.1\n", "loss.csv:1:7: expected a probability of at most 1, got \"1.1\""),
        ("twice.csv", "t,t_ms,rate\n", "twice.csv:1:3: expected each quantity once, got \"t_ms\""),
        ("norate.csv", "t,loss\n", "norate.csv:1:1: expected a header with a time and a rate, such as t, rate, got \"t,loss\""),
        ("binary.csv", "\u{1}\u{2}\n", "binary.csv:1:1: expected a line of numbers, or a header with columns out of t,"),
        ("text.json", "hello", "text.json:1:1: expected a trace in JSON, got text that is none: expected value"),
        ("kind.json", r#"{"StaticDelayConfig":{}}"#, "kind.json:1:20: expected one of StaticBwConfig, TraceBwConfig,"),
        ("noise.json", r#"{"NormalizedBwConfig":{"seed":1}}"#, "noise.json: expected StaticBwConfig, TraceBwConfig, SawtoothBwConfig"),
        (
            "endless.json",
            r#"{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{}}],"count":99999999999}}"#,
            "endless.json: RepeatedBwPatternConfig: expected at most 5000000 rows, got 99999999999",
        ),
        (
            "steps.json",
            r#"{"SawtoothBwConfig":{"duration":{"secs":1000,"nanos":0},"step":{"secs":0,"nanos":1}}}"#,
            "steps.json: SawtoothBwConfig: expected at most 5000000 rows, got 1000000000000",
        ),
        ("hollow.json", r#"{"RepeatedBwPatternConfig":{"pattern":[],"count":99999999999}}"#, "hollow.json: expected a trace with a time"),
    ] {
        let error = rows(name, content).unwrap_err();
        assert!(error.starts_with(said) && !error.contains('\n'), "{error}\nis not\n{said}");
    }
    let line = "1".repeat(2000);
    assert!(rows("line.up", &line).unwrap_err().starts_with("line.up:1:1: expected a line of at most 1000 bytes, got"));
    let of = |path: &str| read_trace(path.as_ref(), None).unwrap_err().to_string();
    let absent = of("/nowhere/at.up");
    assert!(absent.starts_with("/nowhere/at.up: expected a file with a trace, got No such file"));
    assert!(!absent.contains("os error"), "{absent}");
    assert_eq!(of("/dev/zero"), "/dev/zero: expected a file with a trace, got something that is no file");
    let folder = env!("CARGO_TARGET_TMPDIR");
    assert_eq!(of(folder), format!("{folder}: expected a file with a trace, got something that is no file"));
}

#[test]
fn a_file_of_more_than_a_gigabyte_is_not_read() {
    let path = file("large", "large.up", b"");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(2_000_000_000).unwrap();
    let error = read_trace(&path, Some(TraceFormat::Csv)).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.ends_with("expected a file with a trace of at most 1000000000 bytes, got 2000000000 bytes"), "{error}");
}

/// Tests that each repetition of the inner pattern skips parts without duration.
/// It adds two rows of 1 ns.
#[test]
fn a_repetition_takes_a_time_in_proportion_to_the_rows_that_it_makes() {
    let nothing = r#"[{"secs":0,"nanos":0},["1Mbps"]],"#.repeat(20_000);
    let pattern = |count: u64| {
        let rows = format!(r#"{{"TraceBwConfig":{{"pattern":[{nothing}[{{"secs":0,"nanos":1}},["1Mbps","2Mbps"]]]}}}}"#);
        let inner = format!(r#"{{"RepeatedBwPatternConfig":{{"pattern":[{rows}],"count":{count}}}}}"#);
        format!(r#"{{"RepeatedBwPatternConfig":{{"pattern":[{inner},{{"TraceBwConfig":{{"pattern":[]}}}}],"count":0}}}}"#)
    };
    let refused = "many.json: RepeatedBwPatternConfig: expected at most 5000000 rows, got 2000000000";
    assert_eq!(rows("many.json", &pattern(1_000_000_000)), Err(refused.to_string()));
    // 10^10 steps over empty parts would take minutes.
    let (_, found) = rows("most.json", &pattern(500_000)).unwrap();
    assert_eq!((found.len(), found[999_999]), (1_000_000, (1, 2_000_000, 0, 0)));
    let hollow = r#"{"RepeatedBwPatternConfig":{"pattern":[{"SawtoothBwConfig":{"duration":{"secs":0,"nanos":0}}}],"count":99999999999}}"#;
    assert!(rows("flat.json", hollow).unwrap_err().starts_with("flat.json: expected a trace with a time"));
}

/// Tests new content with the length and the time of the old file.
/// `cp -p`, `rsync -t` and `touch -r` create such files.
#[test]
fn a_trace_is_what_its_file_has_now_whatever_the_time_of_the_file() {
    let path = file("rewritten", "same.csv", b"0, 1\n1, 1\n");
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let rate = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        read_trace(&path, None).unwrap().rows.rows().next().unwrap().service
    };
    assert_eq!([rate(b"0, 1\n1, 1\n"), rate(b"0, 9\n1, 9\n"), rate(b"0, 1\n1, 1\n")], [1_000_000, 9_000_000, 1_000_000]);
}

/// A scenario in the folder of a trace.
fn scenario(path: &std::path::Path, link: &str) -> Result<sojourn_scenario::Checked, String> {
    let text = format!("duration = \"1 s\"\n[[links]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"1 ms\"\n{link}");
    let name = path.with_file_name("x.toml");
    Document::from_toml(name.to_str().unwrap(), &text).unwrap().check().map_err(|error| error.to_string())
}

#[test]
fn the_key_of_a_run_has_the_content_of_the_trace() {
    let path = file("key", "radio.csv", b"0,10\n1,5\n");
    let link = "trace = { file = \"radio.csv\" }";
    let first = scenario(&path, link).unwrap();
    assert_eq!(first.links[0].rate.unwrap().as_bps(), 7_500_000);
    let key = first.key(1, "engine");
    // In another notation and under another name it is the same trace.
    file("key", "other.csv", b"t_ms, rate_kbps\n0, 10000\n1000, 5000\n");
    assert_eq!(scenario(&path, "trace = { file = \"other.csv\" }").unwrap().key(1, "engine"), key);
    file("key", "radio.csv", b"0,10\n1,5.1\n");
    assert_ne!(scenario(&path, link).unwrap().key(1, "engine"), key);
}

#[test]
fn the_reverse_link_has_the_same_trace_unless_it_says_otherwise() {
    let path = file("back", "up.csv", b"0,10\n");
    file("back", "down.csv", b"0,20\n");
    let rates = |back: &str| {
        let checked = scenario(&path, &format!("duplex = true\ntrace = {{ file = \"up.csv\" }}\n{back}")).unwrap();
        let links = checked.plan(1).links;
        [0, 1].map(|at| (links[at].rate.unwrap().as_bps() / 1_000_000, links[at].trace.is_some()))
    };
    assert_eq!(rates(""), [(10, true), (10, true)]);
    assert_eq!(rates("back = { delay = \"2 ms\" }"), [(10, true), (10, true)]);
    assert_eq!(rates("back = { rate = \"3 Mbit/s\" }"), [(10, true), (3, false)]);
    assert_eq!(rates("back = { trace = { file = \"down.csv\" } }"), [(10, true), (20, true)]);
    let checked = scenario(&path, "trace = { file = \"up.csv\" }").unwrap();
    assert_eq!(checked.links[0].delay, Duration::from_millis(1));
}

#[test]
fn an_error_of_a_trace_leads_to_the_scenario_or_into_the_file() {
    let path = file("errors", "bad.csv", b"0,10\nx,5\n");
    file("errors", "good.csv", b"0,10\n");
    let folder = path.parent().unwrap().display();
    for (link, said) in [
        ("trace = { file = \"none.csv\" }", "/x.toml:7:18: links.radio.trace.file: expected a file with a trace, got No such file"),
        ("trace = { file = \"bad.csv\" }", "/bad.csv:2:1: expected a number, zero or more, for t, got \"x\""),
        (
            "rate = \"1 Mbit/s\"\ntrace = { file = \"good.csv\" }",
            "/x.toml:8:9: links.radio.trace: expected a trace or a rate, got both; --set can't",
        ),
        (
            "changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]\ntrace = { file = \"good.csv\" }",
            "/x.toml:7:11: links.radio.changes: expected them",
        ),
        (
            "trace = { file = \"good.csv\", format = \"csw\" }",
            "/x.toml:7:39: links.radio.trace.format: expected one of mahimahi, csv, netem-trace",
        ),
        ("trace = { path = \"good.csv\" }", "/x.toml:7:11: links.radio.trace: expected one of file, format, got key \"path\""),
    ] {
        let error = scenario(&path, link).unwrap_err();
        assert!(error.starts_with(&format!("{folder}{said}")), "{error}\nis not\n{said}");
    }
}
