//! Sweeps: the grid, its seeds, and keys for a cache.

use sojourn_scenario::{Document, Error, Run, Sweep};

const BASE: &str = r#"duration = "50 s"
seed = 7
[[links]]
name = "up"
from = "A"
to = "B"
rate = "10 Mbit/s"
delay = "10 ms"
duplex = true
[[flows]]
name = "ftp"
from = "A"
to = "B"
"#;

fn base() -> Document {
    Document::from_toml("base.toml", BASE).unwrap()
}

fn sweep(text: &str) -> Sweep {
    Sweep::from_toml("sweep.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every run of a sweep, or the first error.
fn runs_of(sweep: &Sweep) -> Result<Vec<Run>, Error> {
    sweep.runs(&base()).collect()
}

fn problem(text: &str) -> String {
    match Sweep::from_toml("sweep.toml", text).and_then(|sweep| runs_of(&sweep)) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_axis_with_a_star_sets_the_field_of_every_link_whose_name_matches() {
    let hops = BASE.replace("[[flows]]", "[[links]]\nname = \"core\"\nfrom = \"B\"\nto = \"C\"\nrate = \"5 Mbit/s\"\n[[flows]]");
    let base = Document::from_toml("base.toml", &hops).unwrap();
    let rates = |path: &str| {
        let text = format!("scenario = \"base.toml\"\n[axes]\n\"{path}\" = [\"1 Mbit/s\", \"2 Mbit/s\"]");
        let run = sweep(&text).point(&base, 1).unwrap();
        run.scenario.links.iter().map(|link| link.rate.unwrap().as_bps() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(rates("links.*.rate"), [2, 2, 2], "up, its reverse and core");
    assert_eq!(rates("links.c*.rate"), [10, 10, 2]);
    let unknown = "scenario = \"base.toml\"\n[axes]\n\"links.x*.rate\" = [\"1 Mbit/s\"]";
    assert_eq!(
        sweep(unknown).point(&base, 0).unwrap_err().to_string(),
        "sweep.toml:3:1: links.x*.rate: expected one of up, core, got pattern \"x*\""
    );
    let wrong = "scenario = \"base.toml\"\n[axes]\n\"links.*.rate\" = [\"1 Mbit/s\", 7]";
    assert!(sweep(wrong).point(&base, 1).unwrap_err().to_string().starts_with("sweep.toml:3:31: links.up.rate: expected a rate"));
}

#[test]
fn the_grid_is_the_product_of_its_axes_with_the_last_varying_fastest() {
    let text = "scenario = \"base.toml\"\nreplications = 2\n[axes]\n\"links.up.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n\"flows.ftp.count\" = [1, 2, 3]";
    let runs = runs_of(&sweep(text)).unwrap();
    assert_eq!(runs.len(), 12);
    let seen: Vec<_> = runs.iter().map(|run| (run.scenario.groups[0].count, run.replication, run.seed)).take(4).collect();
    assert_eq!(seen, [(1, 0, 7), (1, 1, 8), (2, 0, 7), (2, 1, 8)]);
    assert_eq!(runs[11].point, 5);
    assert_eq!(runs[11].scenario.links[0].rate.unwrap().as_bps(), 20_000_000);
    assert_eq!(runs[11].values[0].0, "links.up.rate");
    assert_eq!(runs[11].document.table()["flows"][0]["count"].as_integer(), Some(3));
}

#[test]
fn variants_set_several_fields_under_one_name() {
    let text = "scenario = \"base.toml\"\n[variants.size]\nsmall = { \"flows.ftp.count\" = 1 }\nlarge = { \"flows.ftp.count\" = 9, \"links.up.delay\" = \"1 s\" }";
    let runs = runs_of(&sweep(text)).unwrap();
    assert_eq!(runs.iter().map(|run| run.values[0].1.as_str().unwrap()).collect::<Vec<_>>(), ["small", "large"]);
    assert_eq!((runs[1].scenario.groups[0].count, runs[1].scenario.links[0].delay.as_secs_f64()), (9, 1.0));
}

#[test]
fn what_is_wrong_with_a_sweep_or_one_of_its_points_is_said() {
    assert_eq!(
        problem("scenario = \"x\"\n[axes]\n\"flows.fpt.count\" = [1]"),
        "sweep.toml:3:1: flows.fpt.count: expected one of ftp, got name \"fpt\"; did you mean \"ftp\"? (in the run with flows.fpt.count = 1)"
    );
    assert_eq!(
        problem("scenario = \"x\"\n[axes]\nseed = [1, 2]\n\"flows.ftp.count\" = [1, 0]"),
        "sweep.toml:4:25: flows.ftp.count: expected a whole number, 1 or more, at most 1000000 for all groups together, got 0 \
         (in the run with seed = 1, flows.ftp.count = 0)"
    );
    assert!(problem("scenario = \"x\"\n[axes]\nseed = 1").contains("axes.seed: expected a list of at least one value, got 1"));
    assert!(problem("scenario = \"x\"\nreplications = 0").contains("replications: expected a whole number above zero, got 0"));
    assert!(problem("scenario = \"x\"\naxis = 1").contains("did you mean \"axes\"?"));
    assert!(problem("scenario = \"x\"\nreplications = 4294967295").contains("at most 100000 runs"));
}

#[test]
fn a_field_has_one_axis_however_its_path_is_written() {
    let twice = |axes: &str| problem(&format!("scenario = \"x\"\n{axes}"));
    let said = |place: &str, got: &str| format!("sweep.toml:{place}: axes: expected each field on one axis only, got {got}");
    assert_eq!(
        twice("[axes]\n\"links.up.queue\" = [{}]\n\"links.up.queue.limit\" = [\"9 packets\"]"),
        said("4:1", "links.up.queue and links.up.queue.limit")
    );
    assert_eq!(twice("[axes]\n\"flows[0].count\" = [1, 2]\n\"flows.ftp.count\" = [3]"), said("4:1", "flows[0].count and flows.ftp.count"));
    assert_eq!(
        twice("[variants.size]\na = { seed = 3 }\nb = { \"flows.ftp.count\" = 1 }\n[axes]\n\"flows[0].count\" = [1]"),
        said("6:1", "flows.ftp.count and flows[0].count")
    );
    let of_two_groups = "[[flows]]\nname = \"web\"\nfrom = \"A\"\nto = \"B\"\n";
    let base = Document::from_toml("base.toml", &format!("{BASE}{of_two_groups}")).unwrap();
    let apart = sweep("scenario = \"x\"\n[axes]\n\"flows[1].count\" = [2]\n\"flows.ftp.count\" = [3]");
    let groups = &apart.point(&base, 0).unwrap().scenario.groups;
    assert_eq!((groups[0].count, groups[1].count), (3, 2));
}

#[test]
fn a_file_is_meant_as_a_sweep_by_its_keys() {
    assert!(Sweep::is_meant_by("scenario = 1") && Sweep::is_meant_by("axes = {}") && Sweep::is_meant_by("[variants.size]"));
    assert!(!Sweep::is_meant_by(BASE) && !Sweep::is_meant_by("") && !Sweep::is_meant_by("scenario ="));
}

#[test]
fn a_key_follows_what_a_scenario_means_and_not_how_it_is_written() {
    let key = |text: &str, seed: u64, engine: &str| Document::from_toml("base.toml", text).unwrap().check().unwrap().key(seed, engine);
    let usual = key(BASE, 1, "0.1.0");
    assert_eq!(usual.len(), 64);
    for same in [
        BASE.replace("\"10 Mbit/s\"", "\"10000 kbit/s\""),
        BASE.replace("\"10 ms\"\n", "\"10 ms\"\nqueue = { limit = \"1000 packets\" }\n"),
        BASE.replace("seed = 7", "seed = 8"),
        BASE.replace("from = \"A\"\nto = \"B\"\nrate", "to = \"B\"\nfrom = \"A\"\nrate"),
    ] {
        assert_eq!(key(&same, 1, "0.1.0"), usual, "{same}");
    }
    for other in ["\"11 ms\"", "\"10 ms\"\nqueue = { ecn = true }", "\"10 ms\"\nqueue = { limit = \"999 packets\" }"] {
        assert_ne!(key(&BASE.replace("\"10 ms\"", other), 1, "0.1.0"), usual, "{other}");
    }
    assert_ne!(key(BASE, 2, "0.1.0"), usual);
    assert_ne!(key(BASE, 1, "0.1.1"), usual);
}

#[test]
fn a_wrong_value_has_its_place_in_the_sweep_file() {
    let file = |rest: &str| problem(&format!("scenario = \"base.toml\"\n{rest}"));
    let count = file("[axes]\n\"links.up.rate\" = [\"1 Mbit/s\"]\n\"flows.ftp.count\" = [1,\n  2, \"x\"]");
    assert!(
        count.starts_with(
            "sweep.toml:5:6: flows.ftp.count: expected a whole number, 1 or more, at most 1000000 for all groups together, got \"x\""
        ),
        "{count}"
    );
    let inner = file("[axes]\n\"links.up.queue\" = [{}, {\n aqm = \"red\", min = \"x\" }]");
    assert!(inner.starts_with("sweep.toml:4:21: links.up.queue"), "{inner}");
    let variant =
        file("[variants.size]\nsmall = { \"flows.ftp.count\" = 1 }\nlarge = { \"flows.ftp.count\" = 9, \"links.up.delay\" = \"-1 s\" }");
    assert!(variant.starts_with("sweep.toml:4:53: links.up.delay: expected a time with its unit"), "{variant}");
    let key = file("[axes]\n\"flows.ftp\" = [{ name = \"ftp\", from = \"A\",\n to = \"B\", cuont = 1 }]");
    assert!(key.starts_with("sweep.toml:4:12: flows.ftp"), "{key}");
    let field = file("[axes]\n\"links.up.queue.limt\" = [1]");
    assert!(field.starts_with("sweep.toml:3:1: links.up.queue: expected one of"), "{field}");
    let of_variant = file("[variants.size]\nsmall = { \"flows.ftp.count\" = 1, \"links.up.dealy\" = \"1 s\" }");
    assert!(of_variant.starts_with("sweep.toml:3:34: links.up: expected one of"), "{of_variant}");
}
