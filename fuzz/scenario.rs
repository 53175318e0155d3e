//! Every scenario file is rejected in one line, or can be planned and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_scenario::{Checked, Document, Error};

/// The maximum number of flows to plan.
/// A file may have a million, which is slow and tests nothing more.
const MOST: u64 = 500;

fn in_one_line(error: &Error) {
    assert!(error.file == "x.toml" && !error.problem.is_empty() && !error.to_string().contains('\n'), "{error:?}");
}

fuzz_target!(|text: &str| {
    match Document::from_toml("x.toml", text) {
        Err(error) => in_one_line(&error),
        Ok(document) => match document.check() {
            Err(error) => in_one_line(&error),
            Ok(checked) => laid_out(&document, &checked),
        },
    }
    if let Err(error) = Document::from_json("x.toml", text).and_then(|document| document.check()) {
        in_one_line(&error);
    }
});

/// Checks that the plan of a scenario has existing routes.
/// Also checks that its table is the same scenario when serialized and parsed again.
fn laid_out(document: &Document, checked: &Checked) {
    if checked.groups.iter().map(|group| u64::from(group.count)).sum::<u64>() <= MOST {
        let plan = checked.plan(checked.seed);
        let links = (plan.links.len() + plan.access_links.len()) as u32;
        for flow in &plan.flows {
            assert!(!flow.forward.is_empty() && flow.forward.iter().chain(&flow.back).all(|&link| link < links));
        }
    }
    let again = Document::from_toml("x.toml", &document.table().to_string()).and_then(|again| again.check());
    assert_eq!(again.as_ref().map(|again| again.key(1, "engine")), Ok(checked.key(1, "engine")));
}
