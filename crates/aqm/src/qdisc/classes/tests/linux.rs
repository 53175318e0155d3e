//! Compares the shares of nested classes with rates with those of a Linux kernel.
//! `conformance/oracles/linux/htb.py` measures the kernel.

use super::{class, fifo, rate, share};
use crate::parcel::Parcel;
use crate::{ClassConfig, Qdisc, QdiscConfig, Rule, Shares};
use sojourn_units::{Duration, Rate};
use std::vec::Vec;

/// The rate of the link in Mbit/s.
const LINK: f64 = 10.0;

/// A class of a case. Rates are in Mbit/s.
/// `linux` is its throughput in Linux; `None` if it is idle.
struct Row<'a> {
    case: &'a str,
    name: &'a str,
    parent: &'a str,
    rate: f64,
    ceil: f64,
    /// Its priority and quantum if it is a leaf.
    leaf: Option<[u32; 2]>,
    linux: Option<f64>,
}

fn rows() -> Vec<Row<'static>> {
    let row = |line: &'static str| {
        let Ok([case, name, parent, rate, ceil, priority, quantum, linux]) = <[&str; 8]>::try_from(Vec::from_iter(line.split_whitespace()))
        else {
            panic!("expected eight columns, got {line}")
        };
        let number = |text: &str| text.parse::<f64>().unwrap();
        let leaf = (priority != "-").then(|| [number(priority) as u32, number(quantum) as u32]);
        Row { case, name, parent, rate: number(rate), ceil: number(ceil), leaf, linux: linux.parse().ok() }
    };
    include_str!("linux_htb.txt").lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

fn mbit(value: f64) -> Rate {
    rate((value * 1e6).round() as u64)
}

/// The classes in this one, and the places of the leaves in them.
fn within(rows: &[&Row], parent: &str) -> (Vec<ClassConfig>, Vec<u32>) {
    let mut places = Vec::new();
    let config = |(place, row): (usize, &&Row)| {
        let shares = Some(Shares { rate: mbit(row.rate), ceil: Some(mbit(row.ceil)), link: Some(mbit(LINK)) });
        let place = place as u32;
        if let Some([priority, quantum]) = row.leaf {
            places.push(place);
            return ClassConfig { shares, ..class(fifo(), place, priority, quantum) };
        }
        let (classes, inner) = within(rows, row.name);
        places.extend(&inner);
        let rule = Rule { groups: Some(inner), ecn: None };
        ClassConfig { rule, queue: QdiscConfig::Classes(classes), shares, ..class(fifo(), place, 0, 1) }
    };
    let configs = rows.iter().enumerate().filter(|(_, row)| row.parent == parent).map(config).collect();
    (configs, places)
}

/// Mbit/s of each class of a case.
fn ours(rows: &[&Row], time: Duration) -> Vec<f64> {
    let (classes, places) = within(rows, "-");
    let mut queue: Qdisc<Parcel> = Qdisc::of_classes(classes);
    places.iter().for_each(|&place| queue.add_place(place, place));
    let busy: Vec<u32> = places.iter().copied().filter(|&place| rows[place as usize].linux.is_some()).collect();
    share(queue, mbit(LINK), &busy, time).iter().map(|bytes| *bytes as f64 * 8e3 / time.as_nanos() as f64).collect()
}

/// Two runs of the kernel differ by up to 0.1 Mbit/s.
/// A timer that is some microseconds late changes which class is ready first.
#[test]
fn nested_classes_share_a_link_as_those_of_linux() {
    let rows = rows();
    for case in rows.chunk_by(|one, next| one.case == next.case) {
        let case: Vec<&Row> = case.iter().collect();
        let found = ours(&case, Duration::from_secs(60));
        let leaves = case.iter().enumerate().filter(|(_, row)| row.leaf.is_some());
        let rates = |(place, row): (usize, &&Row)| (found[place], row.linux.unwrap_or(0.0));
        let rates: Vec<(f64, f64)> = leaves.map(rates).collect();
        assert!(
            rates.iter().all(|(ours, linux)| (ours - linux).abs() <= 0.12),
            "{}: ours and Linux's are {rates:.2?} Mbit/s",
            case[0].case
        );
    }
}
