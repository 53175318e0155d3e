//! Traffic whose sizes or times are in a file.

use sojourn_scenario::Document;
use sojourn_traffic::Traffic;
use sojourn_traffic::pairs::{SizeUpTo, Transfer};
use sojourn_units::{Bytes, Duration};
use std::path::PathBuf;

/// The document of a scenario in a new folder.
/// The folder has a file `table` of this content, and the scenario a flow with this traffic.
fn scenario(test: &str, traffic: &str, table: &str) -> Document {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tables-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("table"), table).unwrap();
    let text = format!(
        "duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nduplex = true\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ {traffic} }}\n"
    );
    Document::from_toml(&folder.join("s.toml").display().to_string(), &text).unwrap()
}

/// The traffic of its flow, or the error without the folder.
fn traffic(test: &str, traffic: &str, table: &str) -> Result<Traffic, String> {
    let document = scenario(test, traffic, table);
    let folder = format!("{}/", PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tables-{test}")).display());
    document.check().map(|checked| checked.groups[0].traffic.clone()).map_err(|error| error.to_string().replace(&folder, ""))
}

const SIZES: &str = r#"kind = "transfers", every = "10 ms", sizes = "table""#;
const LIST: &str = r#"kind = "replay", transfers = "table""#;

#[test]
fn sizes_of_a_file_are_those_written_in_place() {
    let of = |table: &str| match traffic("sizes", SIZES, table) {
        Ok(Traffic::Transfers(params)) => params.sizes.map(|sizes| sizes.rows().to_vec()),
        other => panic!("{other:?}"),
    };
    let percent = vec![SizeUpTo(Bytes(0), 0.0), SizeUpTo(Bytes(10_000), 15.0), SizeUpTo(Bytes(30_000_000), 100.0)];
    assert_eq!(of("0 0\n10000 15\n30000000 100\n"), Some(percent));
    let header = vec![SizeUpTo(Bytes(1_500), 0.25), SizeUpTo(Bytes(10_000), 1.0)];
    assert_eq!(of("# a measured distribution\nsize,cdf\n1500,0.25\n1e4,1\n"), Some(header.clone()));
    let Ok(Traffic::Transfers(in_place)) =
        traffic("place", r#"kind = "transfers", every = "10 ms", sizes = [["1500 B", 0.25], ["10 kB", 1]]"#, "")
    else {
        panic!("refused")
    };
    assert_eq!(in_place.sizes.unwrap().rows(), header);
}

#[test]
fn transfers_of_a_file_are_those_written_in_place() {
    let expected = [Transfer(Duration::ZERO, Bytes(100)), Transfer(Duration::from_micros(1_500), Bytes(2_000))];
    for (kind, table) in
        [(LIST, "t_s; bytes\n0; 100\n0.0015; 2000\n"), (r#"kind = "replay", transfers = [["0 s", "100 B"], ["1.5 ms", "2 kB"]]"#, "")]
    {
        let Ok(Traffic::Replay(params)) = traffic("list", kind, table) else { panic!("refused") };
        assert_eq!(params.transfers.rows(), expected);
    }
}

#[test]
fn a_table_that_is_none_is_refused_in_one_line_that_names_the_place() {
    for (kind, table, error) in [
        (SIZES, "1500 0.5\nmany 1\n", "table:2:1: expected a number, zero or more, for the size in bytes, got \"many\""),
        (SIZES, "1500 1 0.5\n", "table:1:1: expected two numbers: size in bytes and cumulative probability, got \"1500 1 0.5\""),
        (LIST, "0\n", "table:1:1: expected two numbers: time in s and size in bytes, got \"0\""),
        (LIST, "0 1\n1 -5\n", "table:2:3: expected a number, zero or more, for the size in bytes, got \"-5\""),
    ] {
        assert_eq!(traffic("wrong", kind, table), Err(error.to_string()));
    }
    for (kind, table, error) in [
        (SIZES, "1500 0.5\n", "flows.f.traffic.sizes: expected points whose last probability is 1, or 100 in percent, got 0.5"),
        (SIZES, "", "flows.f.traffic.sizes: expected points whose last probability is 1, or 100 in percent, got NaN"),
        (LIST, "", "flows.f.traffic.transfers: expected one transfer or more, got none"),
        (r#"kind = "replay", transfers = "none""#, "", "flows.f.traffic.transfers: expected a file with a table, got"),
        (
            r#"kind = "transfers", every = "10 ms""#,
            "",
            "flows.f.traffic.size_mean: expected a mean size, or a distribution `sizes`, got nothing",
        ),
    ] {
        let found = traffic("misfit", kind, table).unwrap_err();
        assert!(found.contains(error), "{found}");
    }
    let many: String = (0..=100_000).map(|n| format!("{n} 1\n")).collect();
    assert_eq!(traffic("many", LIST, &many), Err("table:100001:1: expected at most 100000 rows, got more".to_string()));
}

/// Tests that the content of the table is in a run's key, whatever the name of the file.
#[test]
fn the_key_of_a_run_has_the_content_of_the_table() {
    let key = |table: &str| scenario("key", LIST, table).check().unwrap().keys([1], "engine").next().unwrap();
    assert_eq!(key("0 100\n"), key("0.0 100\n"));
    assert_ne!(key("0 100\n"), key("0 101\n"));
}
