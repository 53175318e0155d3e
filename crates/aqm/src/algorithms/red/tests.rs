use super::*;
use crate::algorithms::test_packet;
use sojourn_units::{Bytes, Duration, Rate};
use std::string::ToString;

fn link(mbps: u64, delay_ms: u64, mean_packet: u32) -> Link {
    let rate = Rate::from_bps(mbps * 1_000_000).unwrap();
    Link { rate, delay: Duration::from_millis(delay_ms), mean_packet, limit_packets: 100 }
}

/// Lehto et al., Table 1, as ns-2 runs it (lehto-2005#table1).
fn lehto() -> Params {
    Params { min: 15.0, max: 45.0, max_p: 0.1, weight: 0.002, ..Params::default() }
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} +- {tolerance}");
}

/// RED without a queue: every `offer` is one arrival at a backlog that the test sets.
struct Bench {
    red: Red,
    random: Stream,
    now: Time,
}

impl Bench {
    fn new(params: &Params) -> Self {
        Bench { red: params.build(&link(10, 11, 1000)).unwrap(), random: Stream::named(1, "red"), now: Time::ZERO }
    }

    fn offer(&mut self, packets: u32, idle_since: Option<Time>) -> ArrivalVerdict {
        let arrival = PacketView { now: self.now, ..test_packet() };
        let backlog = Backlog { packets, bytes: 1000 * u64::from(packets), idle_since };
        self.red.on_enqueue(&arrival, &backlog, &mut self.random)
    }

    /// Offers `n` arrivals, a millisecond apart, that each find `packets`.
    /// Returns the number that did not pass.
    fn offers(&mut self, n: usize, packets: u32) -> usize {
        let mut signals = 0;
        for _ in 0..n {
            self.now += Duration::from_millis(1);
            signals += usize::from(self.offer(packets, None) != ArrivalVerdict::Pass);
        }
        signals
    }
}

#[test]
fn the_profile_is_that_of_the_lehto_paper() {
    let red = lehto().resolve(&link(10, 11, 1000)).unwrap();
    for (average, p) in [(14.9, 0.0), (15.0, 0.0), (25.0, 0.1 / 3.0), (45.0, 0.1), (60.0, 0.4), (90.0, 1.0), (500.0, 1.0)] {
        near(red.profile(average, red.max_p, true), p, 1e-12);
    }
    near(red.profile(44.999, red.max_p, false), 0.1, 1e-4);
    assert_eq!(red.profile(45.0, red.max_p, false), 1.0);
}

#[test]
fn the_average_is_that_of_the_lehto_paper() {
    let mut bench = Bench::new(&lehto());
    for (waiting, average) in [(10, 0.02), (20, 0.05996), (40, 0.13984008), (60, 0.25956)] {
        bench.offer(waiting, None);
        near(bench.red.average(), average, 1e-6);
    }
}

#[test]
fn an_idle_link_decays_the_average_by_whole_packets() {
    // 10 Mbit/s and 1000 bytes: 1250 packets a second, so 4.9 ms are 6.125 packets.
    let mut bench = Bench::new(&lehto());
    bench.offers(2000, 40);
    let before = bench.red.average();
    let since = bench.now;
    bench.now += Duration::from_micros(4900);
    bench.offer(0, Some(since));
    near(bench.red.average(), before * 0.998f64.powi(7), 1e-12);
    bench.now += Duration::from_secs(36_000);
    bench.offer(0, Some(since));
    near(bench.red.average(), 0.0, 1e-12);
}

#[test]
fn automatic_parameters_are_those_of_ns2() {
    // flower-2016#6.1.1: 10 Mbit/s, 50 ms, the defaults of ns-2.35.
    let red = Params::ns2().resolve(&link(10, 50, 1000)).unwrap();
    assert_eq!((red.ptc, red.mean_packet), (2500.0, 500));
    near(red.min, 6.25 * 500.0, 1e-9);
    near(red.max, 18.75 * 500.0, 1e-9);
    near(red.certain, 18_750.0, 1e-9);
    near(red.weight, 2.645e-4, 5e-8);
    near(red.weight, 1.0 - (-1.0f64 / (10.0 * 3.0 * (0.05 + 1.0 / 2500.0) * 2500.0)).exp(), 1e-15);
    near(red.bottom, 80_000.0 / 10e6, 1e-15);
    assert_eq!(Params::default().resolve(&link(1, 50, 1000)).unwrap().bottom, 0.01);
    // A slow link falls back to 5 packets, a near one to a round-trip time of 100 ms.
    let slow = Params::ns2().resolve(&link(1, 1, 1000)).unwrap();
    near(slow.min, 2500.0, 1e-9);
    near(slow.weight, 1.0 - (-1.0f64 / 250.0).exp(), 1e-15);
}

#[test]
fn automatic_weights_are_one_or_ten_packets_in_a_second() {
    let weight = |weight| Params { weight, ..Params::default() }.resolve(&link(10, 50, 1000)).unwrap().weight;
    near(weight(0.0), 1.0 - (-1.0f64 / 1250.0).exp(), 1e-15);
    near(weight(-2.0), 1.0 - (-10.0f64 / 1250.0).exp(), 1e-15);
    assert_eq!(weight(0.25), 0.25);
}

#[test]
fn burst_gives_the_weight_that_tc_gives() {
    // tc-red(8): min 30000, avpkt 1000 and burst 55 are Wlog 5.
    let red = |burst, min| Params { min, burst: Some(burst), ..Params::default() }.resolve(&link(10, 50, 1000));
    let log = |burst, min| -red(burst, min).unwrap().weight.log2();
    for (burst, min) in [(55u32, 30.0), (20, 15.0), (100, 20.0), (5, 5.0)] {
        // The closed form of the average after a burst (floyd-1993#6.1), solved by trial.
        let average = |w: f64| f64::from(burst) + 1.0 + ((1.0 - w).powi(burst as i32) - 1.0) / w;
        let expected = (1..32).find(|&log| average(0.5f64.powi(log)) <= min).unwrap();
        assert_eq!(log(burst, min), f64::from(expected), "{burst} {min}");
    }
    assert_eq!(red(10, 30.0).unwrap_err().field, "burst");
}

#[test]
fn the_first_arrival_above_min_only_starts_the_count() {
    let mut bench = Bench::new(&Params { weight: 1.0, max_p: 1.0, wait: false, ..lehto() });
    assert_eq!(bench.offers(100, 14), 0);
    assert_eq!(bench.offer(44, None), ArrivalVerdict::Pass);
    // The count is 1 and then 2: 2 * 0.967 is above 1, so the second is certainly dropped.
    assert_ne!(bench.offer(44, None), ArrivalVerdict::Pass);
}

#[test]
fn nothing_is_dropped_early_while_at_most_one_packet_waits() {
    let mut bench = Bench::new(&lehto());
    bench.offers(5000, 60);
    assert!(bench.red.average() > 45.0);
    assert_eq!(bench.offers(20, 1), 0);
    assert_eq!(bench.red.probability(), Some(Probability::ZERO));
    // Measured in bytes, ns-2 compares with one byte: one packet is enough.
    let mut bench = Bench::new(&Params { queue_in_bytes: true, ..lehto() });
    bench.offers(5000, 60);
    assert!(bench.offers(100, 1) > 0);
}

#[test]
fn a_long_overload_is_dropped_at_the_rate_of_the_theory() {
    // The average settles at 30, p = 0.05; with wait gaps are uniform on [1/p, 2/p], without on [1, 1/p].
    for (wait, rate) in [(true, 2.0 / 3.0 * 0.05), (false, 2.0 * 0.05 / 1.05)] {
        let mut bench = Bench::new(&Params { weight: 1.0, wait, ..lehto() });
        let share = bench.offers(200_000, 30) as f64 / 200_000.0;
        near(share, rate, if wait { 0.002 } else { 0.006 });
    }
}

#[test]
fn a_packet_lost_to_a_full_queue_restarts_the_count() {
    let mut bench = Bench::new(&Params { weight: 1.0, ..lehto() });
    // With wait and p = 0.05 nothing can be dropped while the count is below 20.
    for _ in 0..100 {
        assert_eq!(bench.offers(19, 30), 0);
        bench.red.on_drop(Dropped::NoRoom);
    }
}

#[test]
fn marks_become_drops_above_the_mark_limit() {
    // At 44 packets p is 0.0967, at 46 it is 0.12.
    let verdicts = |params: &Params, packets| {
        let mut bench = Bench::new(params);
        bench.offer(packets, None);
        (0..10_000).map(|_| bench.offer(packets, None)).find(|&v| v != ArrivalVerdict::Pass)
    };
    let params = Params { weight: 1.0, ..lehto() };
    assert_eq!(verdicts(&params, 44), Some(ArrivalVerdict::Signal));
    assert_eq!(verdicts(&params, 46), Some(ArrivalVerdict::Drop));
    assert_eq!(verdicts(&Params { mark_p: 1.0, ..params.clone() }, 95), Some(ArrivalVerdict::Signal));
    let forced = Params { use_mark_p: false, ..params };
    assert_eq!(verdicts(&forced, 89), Some(ArrivalVerdict::Signal));
    assert_eq!(verdicts(&forced, 90), Some(ArrivalVerdict::Drop));
    assert_eq!(verdicts(&Params { gentle: false, ..forced }, 45), Some(ArrivalVerdict::Drop));
}

#[test]
fn floyds_adaptation_moves_max_p_once_an_interval() {
    let adaptive = Params { weight: 1.0, adaptive: true, ..lehto() };
    let mut bench = Bench::new(&adaptive);
    // The middle fifth of 15..45 is 27..33: nothing moves.
    bench.offers(2000, 30);
    assert_eq!(bench.red.max_p(), 0.1);
    bench.offers(501, 34);
    near(bench.red.max_p(), 0.11, 1e-12);
    bench.offers(501, 26);
    near(bench.red.max_p(), 0.099, 1e-12);
    // A small max_p rises by a quarter of itself; the bounds stop the next step.
    let mut bench = Bench::new(&Params { max_p: 0.02, ..adaptive.clone() });
    bench.offers(502, 34);
    near(bench.red.max_p(), 0.025, 1e-12);
    bench.offers(200_000, 40);
    assert!((0.5..0.51).contains(&bench.red.max_p()));
    bench.offers(200_000, 20);
    assert!((0.9 * 0.008..=0.008).contains(&bench.red.max_p()));
}

#[test]
fn fengs_adaptation_moves_max_p_at_each_crossing() {
    let feng = Params { weight: 1.0, adaptive: true, feng_adaptive: true, max_p: 0.3, ..lehto() };
    let mut bench = Bench::new(&feng);
    for (packets, max_p) in [(10, 0.1), (10, 0.1), (30, 0.1), (50, 0.2), (60, 0.2), (30, 0.2), (50, 0.4), (2, 0.4 / 3.0)] {
        bench.offer(packets, None);
        near(bench.red.max_p(), max_p, 1e-12);
    }
}

#[test]
fn gentle_keeps_its_upper_line_while_max_p_adapts() {
    let red = lehto().resolve(&link(10, 11, 1000)).unwrap();
    assert_eq!(red.profile(60.0, 0.5, true), red.profile(60.0, 0.1, true));
    assert!(red.profile(44.0, 0.5, true) > red.profile(44.0, 0.1, true));
}

#[test]
fn caution_lets_packets_pass_a_queue_far_below_its_average() {
    // 62.5 packets in 50 ms: 0.95^62.5 = 0.04 of the average, so 2 packets where it is 60.
    let base = Params { weight: 0.05, use_mark_p: false, gentle: false, ..lehto() };
    let signals = |cautious| {
        let mut bench = Bench::new(&Params { cautious, max: 1000.0, max_p: 1.0, wait: false, ..base.clone() });
        let (mut at_two, mut at_four) = (0, 0);
        for _ in 0..2000 {
            bench.offers(200, 90);
            at_two += bench.offers(1, 2);
            at_four += bench.offers(1, 4);
        }
        (at_two, at_four)
    };
    let [(none, _), (all, above), (some, _)] = [0, 1, 2].map(signals);
    assert!(none > some && some > 0 && all == 0 && above > 0, "{none} {some} {all} {above}");
    let idle = |cautious| Params { cautious, ..Params::ns2() }.resolve(&link(10, 50, 1000)).unwrap().idle_ptc;
    assert_eq!((idle(0), idle(3)), (2500.0, 12_500.0));
}

#[test]
fn every_parameter_out_of_range_is_named() {
    let d = Params::default;
    let cases = [
        ("min", Params { min: f64::NAN, ..d() }),
        ("max", Params { max: -1.0, ..d() }),
        ("max", Params { min: 15.0, max: 14.0, ..d() }),
        ("max_p", Params { max_p: 0.0, ..d() }),
        ("linterm", Params { linterm: Some(0.5), ..d() }),
        ("linterm", Params { linterm: Some(50.0), max_p: 0.02, ..d() }),
        ("weight", Params { weight: -0.5, ..d() }),
        ("burst", Params { burst: Some(50), weight: 0.002, ..d() }),
        ("mean_packet", Params { mean_packet: Bytes(1 << 40), ..d() }),
        ("idle_packet", Params { idle_packet: Bytes(0), ..d() }),
        ("mark_p", Params { mark_p: f64::INFINITY, ..d() }),
        ("cautious", Params { cautious: 4, ..d() }),
        ("alpha", Params { alpha: 0.0, ..d() }),
        ("beta", Params { beta: 1.0, ..d() }),
        ("feng_alpha", Params { feng_alpha: 1.0, ..d() }),
        ("feng_beta", Params { feng_beta: 0.5, ..d() }),
        ("top", Params { top: 1.5, ..d() }),
        ("bottom", Params { bottom: -0.1, ..d() }),
    ];
    for (field, params) in cases {
        assert_eq!(params.build(&link(10, 11, 1000)).unwrap_err().field, field);
    }
}

#[cfg(feature = "serde")]
#[test]
fn the_names_of_ns2_and_tc_are_understood() {
    let read = |text: &str| serde_json::from_str::<Params>(text).map_err(|e| e.to_string());
    let ns2 = r#"{"thresh_": 15, "maxthresh_": 45, "linterm_": 50, "q_weight_": 0.002, "mean_pktsize_": "500 B", "gentle_": false,
        "bytes_": true, "queue_in_bytes_": true, "wait_": false, "use_mark_p_": false, "targetdelay_": "20 ms", "interval_": "1 s"}"#;
    let red = read(ns2).unwrap();
    assert_eq!((red.min, red.max, red.weight, red.mean_packet), (15.0, 45.0, 0.002, Bytes(500)));
    assert_eq!(red.resolve(&link(10, 11, 1000)).unwrap().max_p, 0.02);
    let tc = read(r#"{"min": 30, "max": 90, "avpkt": "1000 B", "burst": 55, "probability": 0.02, "adaptive": true}"#).unwrap();
    assert_eq!((tc.max_p, tc.burst, tc.mean_packet), (0.02, Some(55), Bytes(1000)));
    assert!(read(r#"{"minimum": 30}"#).unwrap_err().contains("expected one of"));
    assert!(read(r#"{"min": 3, "thresh_": 3}"#).unwrap_err().contains("duplicate"));
}
