//! After some traffic no algorithm allocates memory, neither for a packet nor in its timer.

use sojourn_aqm::{Amount, Aqm, Backlog, Link, PacketView, QueueController, REGISTRY};
use sojourn_units::{Duration, Rate, Stream, Time};

fn link() -> Link {
    let rate = Rate::from_bps(10_000_000).unwrap();
    Link { rate, delay: Duration::from_millis(10), mean_packet: 1000, limit_packets: 100 }
}

/// Drives a queue that oscillates between empty and full.
/// Every millisecond a packet arrives and one leaves, and the timer runs on time.
fn drive(controller: &mut QueueController, steps: std::ops::Range<u64>) {
    let mut due = controller.aqm.first_update();
    for step in steps {
        let now = Time::from_nanos(step * 1_000_000);
        let packets = (60.0 - 60.0 * (step as f64 * 0.003).cos()) as u32;
        let backlog = Backlog { packets, bytes: 1000 * u64::from(packets), idle_since: (packets == 0).then_some(now) };
        while due <= now {
            controller.aqm.on_update(due, &backlog);
            due = controller.aqm.update_interval().map_or(Time::NEVER, |interval| due + interval);
        }
        if step % 100 == 0 {
            controller.aqm.on_flows(now, step as u32 % 50);
        }
        let arrival = PacketView {
            now,
            size: 1000,
            flow: step as u32 % 20,
            rtt_hint_ms: (step * 7 % 900) as u16,
            has_data: true,
            ecn: sojourn_aqm::Ecn::NotEct,
            class: sojourn_aqm::DualClass::Classic,
            drawn: None,
        };
        controller.decide_arrival(&arrival, step % 2 == 0, [&backlog, &backlog], |_| Some(arrival.flow));
        controller.decide_departure(&arrival, Duration::from_millis(u64::from(packets)), true, &backlog);
    }
}

#[test]
fn no_algorithm_allocates_for_a_packet_or_its_timer() {
    for entry in REGISTRY.iter().filter(|entry| !(entry.default)().is_placeholder()) {
        let aqm = (entry.default)().build(&link()).unwrap();
        let mut controller = QueueController::new(aqm, Amount::Packets(100), true, Stream::named(1, entry.name));
        drive(&mut controller, 0..5_000);
        let taken = allocation_counter::measure(|| drive(&mut controller, 5_000..50_000));
        assert_eq!(taken.count_total, 0, "{}", entry.name);
        assert!(controller.counters.arrived == 50_000 && controller.counters.dropped() > 0, "{}: {:?}", entry.name, controller.counters);
    }
}
