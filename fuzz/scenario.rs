//! Whatever a scenario file holds, it is refused in one line or can be laid out and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Checked, Document, Sweep};

/// The most flows or runs that are laid out: a file may ask for a million, which takes long and shows nothing more.
const MOST: u64 = 500;

fuzz_target!(|text: &str| {
    if let Ok(document) = Document::from_toml("x.toml", text) {
        match document.check() {
            Err(error) => assert!(error.file == "x.toml" && !error.problem.is_empty() && !error.problem.contains('\n'), "{error:?}"),
            Ok(checked) => laid_out(&document, &checked),
        }
    }
    let _ = Document::from_json("x.json", text).map(|document| document.check());
    if let (Ok(sweep), Ok(base)) = (Sweep::from_toml("x.toml", text), Document::from_toml("base.toml", BASE)) {
        let _ = sweep.runs(&base).take(MOST as usize).all(|run| run.is_ok());
    }
});

/// What a sweep is laid over.
const BASE: &str = include_str!("../crates/scenario/tests/valid.toml");

/// A checked scenario has a plan whose routes exist, and means the same when its table is written and read again.
fn laid_out(document: &Document, checked: &Checked) {
    if checked.groups.iter().map(|group| u64::from(group.count)).sum::<u64>() <= MOST {
        let plan = checked.plan(checked.seed);
        let links = plan.links.len() as u32;
        for flow in &plan.flows {
            assert!(!flow.forward.is_empty() && flow.forward.iter().chain(&flow.back).all(|&link| link < links));
        }
    }
    let again = Document::from_toml("x.toml", &document.table().to_string()).and_then(|again| again.check());
    assert_eq!(again.as_ref().map(|again| again.key(1, "engine")), Ok(checked.key(1, "engine")));
}
