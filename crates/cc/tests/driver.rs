//! The driver: what a transport reports becomes what a controller is told.

use proptest::prelude::*;
use sojourn_cc::{CcConfig, Driver, REGISTRY, RoundTrip};
use sojourn_units::{Duration, Time};

const RTT: Duration = Duration::from_millis(50);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn round_trip() -> RoundTrip {
    RoundTrip { latest: Some(RTT), smoothed: RTT, least: RTT }
}

fn driver(name: &str) -> Driver {
    let entry = REGISTRY.iter().find(|entry| entry.name == name).unwrap();
    Driver::new(&(entry.default)(), 1200, 12_000).unwrap()
}

/// Rounds of 100 ms over a path of one packet a millisecond.
/// In each a window is sent and acknowledged.
fn rounds(driver: &mut Driver, from: u64, count: u64) -> u64 {
    (0..count).fold(from, |now, _| {
        let packets = (driver.window() / 1200).min(50);
        (0..packets).for_each(|n| driver.on_sent(at(now + n), 1200));
        for n in 0..packets {
            driver.on_ack(at(now + 50 + n), at(now + n), 1200);
            driver.on_acks_end(at(now + 50 + n), round_trip(), 0, false);
        }
        now + 100
    })
}

#[test]
fn losses_of_a_round_trip_reduce_the_window_once() {
    let mut reno = driver("reno");
    let now = rounds(&mut reno, 0, 2);
    assert_eq!(reno.window(), 48_000);
    (0..10).for_each(|n| reno.on_sent(at(now + n), 1200));
    reno.on_lost(at(now + 60), at(now), 1200);
    reno.on_lost(at(now + 61), at(now + 3), 2400);
    assert_eq!((reno.window(), reno.ssthresh()), (24_000, Some(24_000)));
}

/// Every seventh packet is lost, and an ACK acknowledges ten.
#[test]
fn the_sum_of_an_ack_acknowledges_what_its_packets_do() {
    let windows = |name: &str, sums: bool| {
        let mut driver = driver(name);
        let sent = |ack: u64| (10 * ack..10 * ack + 10).map(|n| (at(2 * n), n % 7 == 3));
        let acks = |ack: u64| {
            sent(ack).for_each(|(at, _)| driver.on_sent(at, 1200));
            let Some(past) = ack.checked_sub(3) else { return (0, None) };
            let now = at(20 * ack + 19);
            sent(past).filter(|packet| packet.1).for_each(|(at, _)| driver.on_packet_lost(now, at, 1200));
            let acked: Vec<Time> = sent(past).filter(|packet| !packet.1).map(|packet| packet.0).collect();
            match sums {
                true => driver.on_ack_until(now, *acked.last().unwrap(), 1200 * acked.len() as u64),
                false => acked.iter().for_each(|&sent| driver.on_ack(now, sent, 1200)),
            }
            driver.on_acks_end(now, round_trip(), 0, false);
            (driver.window(), driver.bandwidth())
        };
        (0..60).map(acks).collect::<Vec<_>>()
    };
    for name in ["reno", "cubic", "bbr3"] {
        assert_eq!(windows(name, true), windows(name, false), "{name}");
    }
}

#[test]
fn a_spurious_loss_gives_the_window_back() {
    let mut cubic = driver("cubic");
    let now = rounds(&mut cubic, 0, 2);
    cubic.on_sent(at(now), 1200);
    cubic.on_lost(at(now + 60), at(now), 1200);
    assert!(cubic.window() < 48_000);
    cubic.on_spurious_loss();
    assert_eq!(cubic.window(), 48_000);
}

#[test]
fn persistent_congestion_leaves_two_packets_and_reduces_the_threshold_once() {
    let mut reno = driver("reno");
    let now = rounds(&mut reno, 0, 2);
    reno.on_sent(at(now), 1200);
    // Probes are in flight.
    (0..5).for_each(|n| reno.on_sent(at(now + 890 + n), 1200));
    reno.on_lost(at(now + 900), at(now), 1200);
    reno.on_persistent_congestion(at(now + 900));
    assert_eq!((reno.window(), reno.ssthresh()), (2400, Some(24_000)));
}

#[test]
fn counted_marks_are_one_mark_for_a_controller_that_does_not_count_them() {
    let marked = |name: &str| {
        let mut driver = driver(name);
        let now = rounds(&mut driver, 0, 2);
        for n in 0..2 {
            driver.on_sent(at(now + n), 1200);
            driver.on_ack(at(now + 50 + n), at(now + n), 1200);
            driver.on_acks_end(at(now + 50 + n), round_trip(), 3, false);
        }
        driver.window()
    };
    // The first ACK halves the window (rfc9002#A.7); the second one is of the same round trip.
    assert_eq!(marked("reno"), 48_000 / 2);
    assert!(marked("prague") > 40_000, "{}", marked("prague"));
}

#[test]
fn a_larger_packet_leaves_the_window_in_bytes() {
    let mut cubic = driver("cubic");
    cubic.set_packet_size(1452);
    assert_eq!(cubic.window(), 12_000);
}

#[test]
fn bbr_finds_the_rate_of_delivery() {
    let mut bbr = driver("bbr3");
    rounds(&mut bbr, 0, 40);
    // 50 packets are delivered in 99 ms.
    assert_eq!(bbr.bandwidth(), Some(606_060));
    assert!(bbr.pace().is_some_and(|pace| pace.quantum >= 2400));
}

proptest! {
    #[test]
    fn no_report_makes_a_controller_panic_or_send_less_than_two_packets(
        which in 0..REGISTRY.len(),
        reports in proptest::collection::vec((0u8..7, 0u64..200, 0u64..300, any::<bool>()), 1..200),
    ) {
        let config = (REGISTRY[which].default)();
        prop_assume!(!matches!(config, CcConfig::External(_)));
        let mut driver = Driver::new(&config, 1200, 12_000).unwrap();
        let mut now = 0;
        for (kind, gap, back, limited) in reports {
            now += gap;
            let sent = at(now.saturating_sub(back));
            match kind {
                0 | 1 => driver.on_sent(at(now), 1200),
                2 => {
                    driver.on_ack(at(now), sent, 1200);
                    driver.on_acks_end(at(now), round_trip(), u64::from(limited), limited);
                }
                3 => driver.on_lost(at(now), sent, 2400),
                4 => driver.on_mark(at(now), sent),
                5 => driver.on_persistent_congestion(at(now)),
                _ => driver.on_spurious_loss(),
            }
            prop_assert!(driver.window() >= 2400);
            prop_assert!(driver.pace().is_none_or(|pace| pace.rate > 0 && pace.quantum > 0));
        }
    }
}
