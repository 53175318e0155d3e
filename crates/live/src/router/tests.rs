//! Packets through a router without I/O.

use super::*;
use crate::addresses::{address_v4, address_v6};
use proptest::prelude::*;
use sojourn_scenario::Document;

/// Two hosts, 12 Mbit/s and 10 ms there, 10 ms back.
fn plan(queue: &str, more: &str) -> Plan {
    let text = format!(
        "duration = \"60 s\"\n[[links]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\nrate = \"12 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ {queue} }}\n{more}\n[[links]]\nfrom = \"b\"\nto = \"a\"\ndelay = \"10 ms\"\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n"
    );
    Document::from_toml("x.toml", &text).unwrap().check().unwrap().plan(1)
}

fn router(plan: &Plan, switch: Switch) -> Router<'_> {
    Router::new(plan, switch, None, None).unwrap()
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A TCP segment from a host to another, with these ports, numbers and payload.
fn segment(hosts: [u16; 2], ports: [u16; 2], numbers: [u32; 2], payload: usize) -> Vec<u8> {
    let size = (40 + payload) as u16;
    let mut bytes = vec![0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    bytes[2..4].copy_from_slice(&size.to_be_bytes());
    hosts.iter().for_each(|&host| bytes.extend(address_v4(host).octets()));
    ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
    numbers.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
    bytes.extend([0x50, 16, 1, 0, 0, 0, 0, 0]);
    bytes.resize(40 + payload, 7);
    bytes
}

/// The packets that have reached their hosts by `now`: time in ms, host and bytes.
fn delivered(router: &mut Router<'_>, now: Time) -> Vec<(u64, u32, Vec<u8>)> {
    let mut all = Vec::new();
    router
        .advance(now, &mut |leaving| {
            all.push((leaving.due.as_millis(), leaving.host, leaving.bytes.to_vec()));
            true
        })
        .unwrap();
    all
}

#[test]
fn a_packet_arrives_unchanged_after_its_transmission_and_the_delay() {
    let plan = plan("limit = \"10 packets\"", "");
    let mut router = router(&plan, Switch::Addresses);
    let sent = segment([0, 1], [9, 80], [1, 1], 1460);
    router.offer(ms(0), 0, &sent);
    router.offer(ms(0), 0, &sent);
    assert_eq!(delivered(&mut router, ms(0)), []);
    // 1500 B take 1 ms at 12 Mbit/s.
    assert_eq!(router.next_event(), Some(ms(11)));
    assert_eq!(delivered(&mut router, ms(100)), [(11, 1, sent.clone()), (12, 1, sent)]);
}

#[test]
fn an_ack_goes_back_on_the_path_of_its_data_and_tells_goodput_and_rtt() {
    let plan = plan("limit = \"10 packets\"", "");
    let mut router = router(&plan, Switch::Addresses);
    router.offer(ms(0), 0, &segment([0, 1], [9, 80], [1000, 1], 1460));
    assert_eq!(delivered(&mut router, ms(11)).len(), 1);
    router.offer(ms(12), 1, &segment([1, 0], [80, 9], [1, 2460], 0));
    assert_eq!(delivered(&mut router, ms(30)).iter().map(|(at, host, _)| (*at, *host)).collect::<Vec<_>>(), [(22, 0)]);
    let record = router.finish(ms(40)).unwrap().record;
    let flow = &record.flows[0];
    assert_eq!((flow.goodput_bps * record.duration_s / 8.0).round(), 1460.0);
    assert_eq!(record.groups[0].rtt_ms.as_ref().map(|rtt| rtt.mean.round()), Some(22.0));
    assert_eq!((record.audit.sent, record.audit.delivered), (2, 2));
}

#[test]
fn a_mark_of_a_queue_is_set_in_the_delivered_packet() {
    let plan = plan("aqm = \"step\", packets = 1, ecn = true, limit = \"10 packets\"", "");
    let mut router = router(&plan, Switch::Addresses);
    let sent = segment([0, 1], [9, 80], [1, 1], 1460);
    (0..3).for_each(|_| router.offer(ms(0), 0, &sent));
    let fields: Vec<u8> = delivered(&mut router, ms(100)).iter().map(|(_, _, bytes)| bytes[1] & 3).collect();
    assert!(fields.contains(&3), "{fields:?}");
    assert_eq!(router.snapshot(ms(100)).links[0].marked, fields.iter().filter(|&&field| field == 3).count() as u64);
}

#[test]
fn a_duplicate_has_the_bytes_of_its_packet() {
    let plan = plan("limit = \"10 packets\"", "impairments = [{ kind = \"duplication\", probability = 1.0 }]");
    let mut router = router(&plan, Switch::Addresses);
    for number in 0..3 {
        let sent = segment([0, 1], [9, 80], [number, 1], 60);
        router.offer(ms(100 * u64::from(number)), 0, &sent);
        let got = delivered(&mut router, ms(100 * u64::from(number) + 50));
        assert_eq!(got.iter().map(|(_, _, bytes)| bytes).collect::<Vec<_>>(), [&sent, &sent]);
    }
}

#[test]
fn more_connections_than_flows_pass() {
    let plan = plan("aqm = \"fq-codel\"", "");
    let mut router = router(&plan, Switch::Addresses);
    for port in 1..2000 {
        router.offer(ms(u64::from(port)), 0, &segment([0, 1], [port, 80], [1, 1], 60));
        assert_eq!(router.table.path(0).source, 0);
    }
    assert_eq!(delivered(&mut router, ms(5000)).len(), 1999);
}

#[test]
fn a_packet_without_a_host_or_a_path_is_counted() {
    let plan = plan("limit = \"10 packets\"", "");
    let mut router = router(&plan, Switch::Addresses);
    router.offer(ms(0), 0, &segment([0, 7], [9, 80], [1, 1], 60));
    router.offer(ms(0), 0, &segment([0, 0], [9, 80], [1, 1], 60));
    router.offer(ms(0), 0, &[0x45, 0]);
    let mut multicast = segment([0, 1], [9, 80], [1, 1], 60);
    multicast[16] = 224;
    router.offer(ms(0), 0, &multicast);
    assert_eq!(router.counts(), Counts { malformed: 1, strayed: 2, unconnected: 1, refused: 0 });
}

#[test]
fn a_bridge_passes_frames_and_shapes_those_with_ip() {
    let plan = plan("limit = \"10 packets\"", "");
    let mut router = router(&plan, Switch::Pair);
    let frame = |kind: &[u8], rest: &[u8]| [&[2; 12][..], kind, rest].concat();
    let tagged = frame(&[0x81, 0, 0, 5, 8, 0], &segment([3, 4], [9, 80], [1, 1], 60));
    let arp = frame(&[8, 6], &[0; 28]);
    router.offer(ms(0), 0, &tagged);
    router.offer(ms(0), 1, &arp);
    assert_eq!(delivered(&mut router, ms(0)), [(0, 0, arp)]);
    assert_eq!(delivered(&mut router, ms(50)).iter().map(|(_, host, bytes)| (*host, bytes)).collect::<Vec<_>>(), [(1, &tagged)]);
}

/// Any bytes: none, random ones, or a segment with some bytes changed, cut or extended.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    let changed = (prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), 0..200usize, any::<bool>());
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..120),
        changed.prop_map(|(changes, length, v6)| {
            let mut bytes = segment([0, 1], [9, 80], [1, 1], 60);
            if v6 {
                bytes = [&[0x60, 0, 0, 0, 0, 60, 6, 64][..], &address_v6(0).octets(), &address_v6(1).octets(), &bytes[20..80]].concat();
            }
            for (place, value) in changes {
                let at = place.index(bytes.len().min(60));
                bytes[at] = value;
            }
            bytes.resize(length.max(20), 0);
            bytes
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_pass_or_are_counted(packets in prop::collection::vec((anything(), 0..2u32), 0..100), bridged: bool) {
        let plan = plan("aqm = \"cake\", ack_filter = \"filter\"", "");
        let mut router = router(&plan, if bridged { Switch::Pair } else { Switch::Addresses });
        let (mut offered, mut arrived) = (0, 0);
        for (bytes, host) in &packets {
            offered += 1;
            router.offer(ms(offered), *host, bytes);
            arrived += delivered(&mut router, ms(offered)).len() as u64;
        }
        arrived += delivered(&mut router, ms(30_000)).len() as u64;
        let Counts { malformed, strayed, unconnected, .. } = router.counts();
        let dropped = router.groups[0].dropped;
        prop_assert_eq!(arrived + dropped + malformed + strayed + unconnected, offered);
        prop_assert_eq!(router.store.len(), 0);
    }
}

/// A million segments with random changes, half of them cut. `make hunt` sets another number.
#[test]
#[ignore = "seconds: `make slow-test`"]
fn a_million_random_packets_pass_or_are_counted() {
    let plan = plan("aqm = \"cake\", ack_filter = \"filter\"", "");
    let mut router = router(&plan, Switch::Addresses);
    let mut random = sojourn_units::Stream::named(1, "packets");
    let offered = std::env::var("HUNT_PACKETS").map_or(1_000_000, |count| count.parse().unwrap());
    let mut arrived = 0;
    for number in 0..offered {
        let mut bytes = segment([0, 1], [9, 80], [1, 1], 60);
        if random.below(2) == 0 {
            bytes.truncate(random.below(101) as usize);
        }
        for _ in 0..random.below(8) {
            let at = random.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        let now = Time::ZERO + Duration::from_micros(5 * number);
        router.offer(now, random.below(2) as u32, &bytes);
        router
            .advance(now, &mut |_| {
                arrived += 1;
                true
            })
            .unwrap();
    }
    router
        .advance(ms(60_000), &mut |_| {
            arrived += 1;
            true
        })
        .unwrap();
    let Counts { malformed, strayed, unconnected, .. } = router.counts();
    assert!(malformed > offered / 10 && arrived > offered / 100, "{malformed} malformed, {arrived} arrived");
    assert_eq!(arrived + router.groups[0].dropped + malformed + strayed + unconnected, offered);
}
