//! The network as a kernel uses it: whatever hosts send, and whenever.

use proptest::prelude::*;
use sojourn_aqm::REGISTRY;
use sojourn_cc::CcConfig;
use sojourn_linux::{Fate, Flow, Guest, KernelAck, KernelController, KernelNetwork, Packet, Tcp, Windows, Wiring, flag};
use sojourn_spec::link::{Link, Measure, RateChange};
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::Control;
use sojourn_units::{Amount, Duration, Rate, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

const SECOND: Duration = Duration::from_secs(1);

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).unwrap()
}

fn wiring(queue: Queue) -> Wiring {
    let there = Link {
        name: "there".into(),
        rate: Some(rate(10_000_000)),
        delay: Duration::from_micros(333),
        queue: Some(Arc::new(queue)),
        rate_changes: vec![RateChange { at: Time::ZERO + SECOND, rate: rate(1_234_567) }],
        ..Link::default()
    };
    let back = Link { name: "back".into(), delay: Duration::from_nanos(1_234_567), measure: Measure::Counts, ..Link::default() };
    let flow = |number: u32| Flow {
        name: format!("f/{number}"),
        source: 0,
        destination: 1,
        forward: vec![0],
        back: vec![1],
        start: Time::from_nanos(u64::from(number)),
        stop: Time::ZERO + SECOND * 10,
        traffic: (sojourn_traffic::REGISTRY[0].example)(),
        tcp: Some(Tcp { controller: "reno".into(), control: None, packet: 1500, ecn: number == 1, sack: true }),
    };
    Wiring {
        seed: i64::MAX as u64,
        warmup: Time::ZERO + SECOND,
        duration: Time::ZERO + SECOND * 10,
        packet: 1000,
        hosts: 2,
        links: vec![there, back],
        flows: vec![flow(0), flow(1)],
    }
}

/// Every registered queue that has no law in Python.
fn queues() -> Vec<Queue> {
    let known = REGISTRY.iter().filter(|entry| entry.name != "external");
    known.map(|entry| Queue { aqm: (entry.default)(), ..Queue::droptail(Amount::Packets(20)) }).collect()
}

#[test]
fn a_plan_with_any_registered_queue_comes_back_as_it_was_written() {
    for queue in queues() {
        let plan = wiring(queue);
        assert_eq!(Wiring::from_toml(&plan.to_toml().unwrap()), Ok(plan));
    }
}

#[test]
fn a_plan_with_any_traffic_comes_back_as_it_was_written() {
    for kind in sojourn_traffic::REGISTRY {
        let mut plan = wiring(Queue::default());
        plan.flows[0].traffic = (kind.example)();
        assert_eq!(Wiring::from_toml(&plan.to_toml().unwrap()), Ok(plan));
    }
}

#[test]
fn what_a_kernel_cannot_do_is_refused_with_its_field() {
    let refused = |change: fn(&mut Wiring)| {
        let mut plan = wiring(Queue::default());
        change(&mut plan);
        Guest::new(plan.to_toml().unwrap().as_bytes()).unwrap_err()
    };
    assert_eq!(refused(|plan| plan.flows[1].back = vec![2]), "flows.f/1: expected links and hosts of the plan");
    assert_eq!(refused(|plan| plan.flows[1].source = 2), "flows.f/1: expected links and hosts of the plan");
    assert_eq!(refused(|plan| plan.links[0].queue = None), "links.there: expected a queue exactly where there is a rate");
    let web = refused(|plan| plan.flows[0].traffic = (sojourn_traffic::REGISTRY.last().unwrap().example)());
    assert!(web.starts_with("flows.f/0.traffic.kind: expected traffic of one flow, got "), "{web}");
    assert_eq!(Guest::new(b"\xff").unwrap_err(), "expected text in UTF-8");
}

#[test]
fn a_plan_with_any_controller_comes_back_as_it_was_written() {
    for entry in sojourn_cc::REGISTRY {
        let mut plan = wiring(Queue::default());
        plan.flows[0].tcp.as_mut().unwrap().control = Some(Control((entry.default)()));
        assert_eq!(Wiring::from_toml(&plan.to_toml().unwrap()), Ok(plan));
    }
}

#[test]
fn a_reduction_that_was_for_a_timeout_counts_once_and_one_for_nothing_is_taken_back() {
    let now = Time::ZERO + SECOND;
    let mut reno = KernelController::new(&CcConfig::Reno(Default::default()), 40).unwrap();
    assert_eq!(reno.windows().cwnd, 40);
    assert_eq!(reno.on_congestion(now, 40, false), Windows { cwnd: 20, ssthresh: 20 });
    assert_eq!(reno.undo().cwnd, 40);
    reno.on_congestion(now, 40, false);
    assert_eq!(reno.on_rto(now, 40), Windows { cwnd: 1, ssthresh: 20 });
    assert_eq!(reno.undo().cwnd, 40);
}

/// What a host sends: how long after the packet before, and the packet.
fn sends() -> impl Strategy<Value = Vec<(u64, Packet)>> {
    let send = (0u64..3_000_000, 0u32..4, any::<u16>(), any::<u16>(), any::<u8>(), any::<u32>());
    let packet = send.prop_map(|(gap, flow, size, payload, flags, seq)| {
        let packet = Packet { handle: 0, flow, seq, ts_value: seq, ts_echo: !seq, size, payload, rtt_ms: payload, flags };
        (gap, packet)
    });
    prop::collection::vec(packet, 1..300).prop_map(|mut sends| {
        (1..).zip(&mut sends).for_each(|(handle, (_, packet))| packet.handle = handle);
        sends
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_packet_leaves_once_however_hosts_send(sends in sends(), queue in 0..queues().len()) {
        let plan = wiring(queues()[queue].clone());
        let mut network = KernelNetwork::new(&plan).unwrap();
        let (mut left, mut now) = (BTreeSet::new(), 0);
        let settle = |network: &mut KernelNetwork, left: &mut BTreeSet<u64>| {
            while let Some(settled) = network.settled() {
                assert!(left.insert(settled.packet.handle), "a packet leaves twice");
                assert!(settled.fate == Fate::Dropped || settled.packet.flow < 2, "a packet of no flow arrives");
                assert!(settled.packet.has(flag::ECT) || !settled.packet.has(flag::CE) || sends[settled.packet.handle as usize - 1].1.has(flag::CE));
            }
        };
        for &(gap, packet) in &sends {
            now += gap;
            network.send(Time::from_nanos(now), packet);
            settle(&mut network, &mut left);
        }
        let audit = network.finish(plan.duration).unwrap();
        settle(&mut network, &mut left);
        prop_assert_eq!(left.len() as u64 + audit.in_flight, sends.len() as u64);
    }

    #[test]
    fn no_acknowledgment_breaks_a_controller(
        which in 0..sojourn_cc::REGISTRY.len(),
        calls in prop::collection::vec((any::<[u64; 4]>(), any::<[u32; 4]>(), any::<[bool; 4]>(), 0u8..8), 1..100),
    ) {
        let mut controller = KernelController::new(&(sojourn_cc::REGISTRY[which].default)(), 10).unwrap();
        let mut now = Time::ZERO;
        for (long, short, flags, call) in calls {
            now += Duration::from_nanos(long[0] >> 24);
            let windows = match call {
                0 => controller.on_congestion(now, short[0], flags[0]),
                1 => controller.on_rto(now, short[0]),
                2 => controller.undo(),
                _ => controller.on_ack(now, &KernelAck {
                    snd_una: long[0],
                    snd_max: long[1],
                    rtt_us: (long[2] >> 32) as i64 - 1,
                    one_way_delay_ns: long[3] as i64 >> 16,
                    acked: short[0] >> 16,
                    in_flight: short[1] >> 8,
                    srtt_us: short[2],
                    rtt_min_us: short[3],
                    has_one_way_delay: u8::from(flags[0]),
                    cwnd_limited: u8::from(flags[1]),
                    in_recovery: u8::from(flags[2]),
                    after_timeout: u8::from(flags[3]),
                }),
            };
            prop_assert!(windows.cwnd >= 1 && windows.ssthresh >= 2);
        }
    }

    #[test]
    fn it_does_not_matter_how_often_the_network_is_advanced(sends in sends(), queue in 0..queues().len(), steps in 1u64..20) {
        let plan = wiring(queues()[queue].clone());
        let (mut often, mut seldom) = (KernelNetwork::new(&plan).unwrap(), KernelNetwork::new(&plan).unwrap());
        let mut now = 0;
        for (gap, packet) in sends {
            (1..steps).for_each(|step| often.advance(Time::from_nanos(now + gap * step / steps)));
            now += gap;
            often.send(Time::from_nanos(now), packet);
            seldom.send(Time::from_nanos(now), packet);
        }
        prop_assert_eq!(often.finish(plan.duration), seldom.finish(plan.duration));
        prop_assert_eq!(often.fingerprint(), seldom.fingerprint());
        while let Some(settled) = seldom.settled() {
            prop_assert_eq!(often.settled(), Some(settled));
        }
    }
}
