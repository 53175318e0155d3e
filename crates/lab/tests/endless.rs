//! Runs that would not end: one can be stopped at any time, and one whose time does not advance ends by itself.

use sojourn_lab::{Error, Laws, run};
use sojourn_scenario::{Checked, Document};
use std::cell::Cell;

/// A transfer without end over one link and back.
fn bulk(duration: &str, link: &str) -> Checked {
    transfer(duration, link, "").unwrap_or_else(|error| panic!("{error}"))
}

/// One that ends, but not soon.
fn huge(link: &str) -> Checked {
    transfer("10 s", link, ", size = \"1000000 GB\"").unwrap_or_else(|error| panic!("{error}"))
}

fn transfer(duration: &str, link: &str, size: &str) -> Result<Checked, sojourn_scenario::Error> {
    let text = format!(
        r#"
duration = "{duration}"
links = [{{ name = "wire", from = "a", to = "b", duplex = true, {link} }}]
[[flows]]
name = "bulk"
from = "a"
to = "b"
traffic = {{ kind = "bulk"{size} }}
"#
    );
    Document::from_toml("endless.toml", &text).unwrap().check()
}

#[test]
fn data_without_end_over_links_that_take_no_time_is_refused_before_the_run() {
    let refused = transfer("10 s", "", "").unwrap_err().to_string();
    assert!(refused.starts_with("endless.toml:4:1: flows.bulk: expected a rate or a delay on the path and back"), "{refused}");
    for link in [r#"delay = "1 ns""#, r#"rate = "1 Gbit/s""#, r#"impairments = [{ kind = "loss", probability = 0.1 }]"#] {
        assert!(transfer("10 s", link, "").is_ok(), "{link}");
    }
}

#[test]
fn a_run_asks_whether_to_stop_by_its_events_and_not_by_its_time() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    let scenario = bulk("1000000 s", r#"rate = "10 Gbit/s", delay = "1 ms""#);
    assert_eq!(run(&scenario, None, &Laws::default(), &stop).unwrap_err(), Error::Stopped);
    assert_eq!(asked.get(), 3);
}

#[test]
fn a_run_whose_time_does_not_advance_can_be_stopped() {
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) == 5;
    assert_eq!(run(&huge(""), None, &Laws::default(), &stop).unwrap_err(), Error::Stopped);
}
