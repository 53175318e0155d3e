//! The ranges of the impairments' parameters, as docs/links.md lists them.
//! The bounds are accepted. A value beyond them is rejected by the name of its field.

use sojourn_link::kinds::jitter::{Distribution, Normal, Pareto};
use sojourn_link::kinds::{
    ack_thinning, bursts, corruption, duplication, gilbert_elliott, jitter, loss, loss_list, outage, policer, reorder, shaper,
};
use sojourn_link::{ImpairmentKind, Per, REGISTRY, Spell};
use sojourn_units::{Bytes, Duration, Rate};

const ZERO: Duration = Duration::ZERO;
const MS: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(1_000_000);
const LONGER: Duration = Duration::from_nanos(LONGEST.as_nanos() + 1);

fn accepted(kind: impl Into<ImpairmentKind>) {
    let kind = kind.into();
    assert!(kind.check().is_ok(), "{kind:?}: {:?}", kind.check());
}

fn refused(field: &str, kind: impl Into<ImpairmentKind>) {
    let kind = kind.into();
    assert_eq!(kind.check().expect_err(&format!("{kind:?}")).field, field, "{kind:?}");
}

#[test]
fn the_examples_of_a_listing_are_accepted() {
    REGISTRY.iter().for_each(|entry| accepted((entry.example)()));
}

#[test]
fn a_probability_is_0_to_1() {
    let (per, packets) = (Per::Packet, Spell::Packets(5.0));
    let elliott = |loss_good, loss_bad| gilbert_elliott::Params { good: packets, bad: packets, loss_good, loss_bad };
    for probability in [0.0, 1.0] {
        accepted(loss::Params { probability, per });
        accepted(corruption::Params { probability, per });
        accepted(duplication::Params { probability });
        accepted(reorder::Params { by: MS, probability, gap: 1 });
        accepted(elliott(probability, probability));
    }
    for probability in [-1e-9, 1.0 + 1e-9, f64::NAN, f64::INFINITY] {
        refused("probability", loss::Params { probability, per });
        refused("probability", corruption::Params { probability, per });
        refused("probability", duplication::Params { probability });
        refused("probability", reorder::Params { by: MS, probability, gap: 1 });
        refused("loss_good", elliott(probability, 0.5));
        refused("loss_bad", elliott(0.5, probability));
    }
}

#[test]
fn both_states_of_a_gilbert_elliott_channel_last_a_time_or_a_number_of_packets() {
    let of = |good, bad| gilbert_elliott::Params { good, bad, loss_good: 0.0, loss_bad: 1.0 };
    let (time, packets) = (Spell::Time(MS), Spell::Packets(2.0));
    accepted(of(time, time));
    accepted(of(packets, packets));
    refused("bad", of(time, packets));
    refused("bad", of(packets, time));
    for none in [Spell::Time(ZERO), Spell::Packets(0.0), Spell::Packets(f64::NAN)] {
        refused("good", of(none, packets));
        refused("bad", of(packets, none));
    }
}

#[test]
fn a_delay_lasts_at_most_a_million_seconds() {
    let of = |delay| jitter::Params { delay };
    accepted(of(Distribution::Uniform([MS, MS])));
    accepted(of(Distribution::Uniform([ZERO, LONGEST])));
    refused("delay.uniform", of(Distribution::Uniform([ZERO, LONGER])));
    refused("delay.uniform", of(Distribution::Uniform([MS, ZERO])));
    accepted(of(Distribution::Normal(Normal { mean: LONGEST, sd: LONGEST })));
    refused("delay.normal.mean", of(Distribution::Normal(Normal { mean: LONGER, sd: MS })));
    refused("delay.normal.sd", of(Distribution::Normal(Normal { mean: MS, sd: LONGER })));
    refused("delay.pareto.mean", of(Distribution::Pareto(Pareto { mean: LONGER, shape: 2.0 })));
    refused("delay.pareto.shape", of(Distribution::Pareto(Pareto { mean: MS, shape: 1.0 })));
    accepted(of(Distribution::Empirical(vec![ZERO, MS, LONGEST])));
    for wrong in [vec![], vec![MS, ZERO], vec![MS, LONGER]] {
        refused("delay.empirical", of(Distribution::Empirical(wrong)));
    }
}

#[test]
fn a_burst_is_at_least_a_byte_and_at_most_a_million_gigabytes() {
    let rate = Rate::from_bps(1_000_000).unwrap();
    for burst in [1, 1_000_000_000_000_000].map(Bytes) {
        accepted(policer::Params { rate, burst });
        accepted(shaper::Params { rate, burst, latency: LONGEST });
    }
    for burst in [0, 1_000_000_000_000_001].map(Bytes) {
        refused("burst", policer::Params { rate, burst });
        refused("burst", shaper::Params { rate, burst, latency: MS });
    }
    refused("latency", shaper::Params { rate, burst: Bytes(1), latency: LONGER });
}

#[test]
fn an_outage_ends_before_the_next() {
    let of = |at, length, every| outage::Params { at, length, every, hold: false };
    accepted(of(ZERO, LONGEST, None));
    accepted(of(LONGEST, MS, Some(Duration::from_micros(1001))));
    refused("at", of(LONGER, MS, None));
    refused("length", of(ZERO, ZERO, None));
    refused("every", of(ZERO, MS, Some(MS)));
    refused("every", of(ZERO, MS, Some(LONGER)));
}

#[test]
fn counts_begin_with_one() {
    accepted(reorder::Params { by: MS, probability: 1.0, gap: 1 });
    refused("gap", reorder::Params { by: MS, probability: 1.0, gap: 0 });
    refused("by", reorder::Params { by: ZERO, probability: 1.0, gap: 1 });
    accepted(loss_list::Params { packets: vec![1, 5], data_only: false });
    refused("packets", loss_list::Params { packets: vec![1, 0], data_only: false });
    accepted(bursts::Params { every: LONGEST });
    refused("every", bursts::Params { every: ZERO });
    let thinning = |every, interval| ack_thinning::Params { every, interval };
    accepted(thinning(Some(1), None));
    accepted(thinning(Some(1000), None));
    accepted(thinning(None, Some(MS)));
    refused("every", thinning(Some(0), None));
    refused("every", thinning(Some(1001), None));
    refused("every", thinning(None, None));
    refused("interval", thinning(Some(2), Some(MS)));
    refused("interval", thinning(None, Some(ZERO)));
}
