//! The cost of a trajectory. Wall time on a shared machine proves little.
//! So the bound is tested on request only: `SOJOURN_SPEED=1 cargo test --release -p sojourn-fluid --test speed -- --nocapture`.

use sojourn_aqm::algorithms::led;
use sojourn_aqm::{AqmConfig, Link};
use sojourn_fluid::{Class, Control, Plant, Run, Start, simulate};
use sojourn_units::{Duration, Rate};

#[test]
#[allow(clippy::disallowed_methods, reason = "a clock is what this test is about")]
fn a_minute_of_one_class_at_a_millisecond_takes_five_milliseconds() {
    let plant = Plant { classes: vec![Class::reno(30.0, 0.052)], capacity: 625.0, limit: f64::INFINITY, packet: 1000.0, drops: false };
    let link = Link { rate: Rate::from_bps(5_000_000).unwrap(), delay: Duration::ZERO, mean_packet: 1000, limit_packets: 500 };
    let control = Control::of(&AqmConfig::Led(led::Params::default()), &link, &plant).unwrap();
    let start = Start { window: 1.0, queue: 0.0, probability: 0.0 };
    let run = Run { duration: 60.0, step: 0.001, every: 10, start, changes: Vec::new() };
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let begun = std::time::Instant::now();
        let trace = simulate(&plant, &control, &run).unwrap();
        best = best.min(begun.elapsed().as_secs_f64());
        assert_eq!(trace.t.len(), 6001);
    }
    println!("best of 20: {:.2} ms", best * 1e3);
    assert!(best < 0.005 || std::env::var_os("SOJOURN_SPEED").is_none(), "{best}");
}
