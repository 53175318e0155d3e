//! The time of one update of a law in nanoseconds: `cargo bench -p sojourn-aqm`.
#![allow(clippy::disallowed_methods, reason = "a stopwatch needs a clock")]

use sojourn_aqm::algorithms::fuzzy_rtt::{Inference, Params};
use sojourn_aqm::{Aqm, AqmConfig, Backlog, Link};
use sojourn_units::{Duration, Rate, Time};
use std::hint::black_box;
use std::time::Instant;

/// The shortest time per update in ten runs of an hour of updates.
/// The queue oscillates around the target.
fn update_time(config: &AqmConfig) -> f64 {
    let link = Link { rate: Rate::from_bps(10_000_000).unwrap(), delay: Duration::from_millis(1), mean_packet: 576, limit_packets: 347 };
    let queues: Vec<u32> = (0..4096).map(|i| (22.0 - 22.0 * (f64::from(i) * 0.7).cos()) as u32).collect();
    let run = || {
        let mut aqm = config.build(&link).unwrap();
        let (mut now, mut ticks) = (aqm.first_update(), 0);
        let start = Instant::now();
        while now < Time::from_secs_f64(3600.0) {
            let packets = queues[ticks % queues.len()];
            aqm.on_update(now, black_box(&Backlog { packets, bytes: 0, idle_since: None }));
            now = aqm.update_interval().map_or(Time::NEVER, |interval| now + interval);
            ticks += 1;
        }
        black_box(aqm.probability());
        start.elapsed().as_secs_f64() * 1e9 / ticks as f64
    };
    (0..10).map(|_| run()).fold(f64::MAX, f64::min)
}

fn main() {
    let fuzzy = |inference| AqmConfig::FuzzyRtt(Params { inference, ..Params::default() });
    for (what, config) in [
        ("FuzzyRTT, five categories, mean of centers", fuzzy(Inference::Mean)),
        ("FuzzyRTT, five categories, centroid", fuzzy(Inference::Centroid)),
        ("FLC", AqmConfig::Flc(Default::default())),
        ("PID", AqmConfig::Pid(Default::default())),
    ] {
        println!("{what:<44} {:7.1} ns per update", update_time(&config));
    }
}
