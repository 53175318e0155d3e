//! Answers that arrive at a link nearly in order wait there for the next one.
//! They need no event each, and pass the link in the order of time.

use crate::host::Datagram;
use sojourn_aqm::{AqmConfig, Link};
use sojourn_net::{Delivered, Delivery, Event, LinkConfig, Network, NetworkBuilder, RouteId, Window};
use sojourn_spec::link::{AccessLink, Link as PlannedLink};
use sojourn_units::{Amount, Duration, Rate, Stream, Time};

const END: Time = Time::from_nanos(1_000_000_000);

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// A link of 8 Mbit/s, on which a byte takes 1 us.
fn shared(name: &str, delay: Duration) -> LinkConfig {
    let rate = Rate::from_bps(8_000_000).unwrap();
    let aqm = AqmConfig::DropTail(Default::default()).build(&Link { rate, delay, mean_packet: 1000, limit_packets: 100 }).unwrap();
    let controller = sojourn_aqm::QueueController::new(aqm, Amount::Packets(100), false, Stream::named(1, name));
    LinkConfig::new(PlannedLink { name: name.into(), rate: Some(rate), delay, ..PlannedLink::default() }, controller)
}

/// Two hosts that answer each packet at once with one of 40 bytes.
/// They are behind a shared link of 5 ms and links of their own of 16 Mbit/s. Their answers meet on another shared link.
struct Hosts {
    network: Network<Datagram>,
    there: Vec<RouteId>,
    back: Vec<RouteId>,
    /// The returned answers: flow, time, and whether with an event of their own.
    came: Vec<(u32, Time, bool)>,
}

impl Hosts {
    fn new() -> Hosts {
        let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: END });
        let [source, meet] = [("there", us(5_000)), ("back", us(100))].map(|(name, delay)| builder.add_link(shared(name, delay)));
        let rate = Rate::from_bps(16_000_000);
        builder.add_access_links(&[AccessLink { from: 0, to: 1, rate, delay: Duration::ZERO, limit: Amount::Packets(100) }; 4]);
        let routes = [2, 4].map(|own| {
            let there = builder.add_route(&[source, own], Delivery::AfterEvent, false).unwrap();
            let back = builder.add_route(&[own + 1, meet], Delivery::Immediate, false).unwrap();
            builder.answers_at_once();
            (there, back)
        });
        let (there, back) = routes.into_iter().unzip();
        Hosts { network: builder.build(), there, back, came: Vec::new() }
    }

    fn send(&mut self, now: Time, flow: u32, size: u32) {
        let packet = Datagram { flow, size, ..Datagram::default() };
        assert!(self.network.send(now, self.there[flow as usize], packet, &mut ()).is_none(), "packets of two hosts meet");
    }

    /// Runs what is due by `until`.
    fn run(&mut self, until: Time) {
        while let Some(event) = self.network.next(until, &mut ()) {
            let Event::Delivery(Delivered { at, packet }) = event else { unreachable!("no host has a timer") };
            if packet.number == 1 {
                self.came.push((packet.flow, at, true));
                continue;
            }
            let answer = Datagram { number: 1, size: 40, ..packet };
            if let Some(Delivered { at, packet }) = self.network.send(at, self.back[answer.flow as usize], answer, &mut ()) {
                self.came.push((packet.flow, at, false));
            }
        }
    }
}

#[test]
fn the_least_delay_of_a_path_is_the_sum_over_its_links() {
    let mut builder = NetworkBuilder::new(Window { from: Time::ZERO, until: END });
    let links = [("there", us(5_000)), ("on", us(300))].map(|(name, delay)| builder.add_link(shared(name, delay)));
    builder.add_access_links(&[AccessLink {
        from: 0,
        to: 1,
        rate: Rate::from_bps(16_000_000),
        delay: us(20),
        limit: Amount::Packets(100),
    }]);
    assert_eq!(builder.least_delay(&[links[0], links[1], 2]).unwrap(), us(5_320));
    assert_eq!(builder.least_delay(&[]).unwrap(), Duration::ZERO);
    assert!(builder.least_delay(&[3]).is_err(), "no link 3");
}

#[test]
fn a_network_tells_the_flow_and_the_link_of_the_packet_that_comes_next() {
    let mut hosts = Hosts::new();
    hosts.send(Time::ZERO, 1, 1000);
    let place = hosts.network.place();
    assert_eq!((place.now, place.flow, place.link), (Time::ZERO, Some(1), Some(0)), "it reaches the shared link");
    hosts.run(END);
    let place = hosts.network.place();
    assert_eq!((place.flow, place.link), (None, None), "nothing is left");
}

#[test]
fn the_answer_to_a_small_packet_passes_that_to_a_large_one_of_another_flow() {
    let mut hosts = Hosts::new();
    hosts.send(Time::ZERO, 0, 1000);
    hosts.send(Time::ZERO, 1, 40);
    hosts.run(END);
    // They leave the shared link after 1000 and 1040 us, and reach their hosts 5500 and 5020 us later. An answer takes 20 us on its own
    // link, then 40 and 100 us.
    assert_eq!(hosts.came, [(1, Time::ZERO + us(6_060 + 160), true), (0, Time::ZERO + us(6_500 + 160), true)]);
}

#[test]
fn each_answer_of_a_stream_goes_on_when_the_next_comes_and_the_last_by_its_event() {
    let mut hosts = Hosts::new();
    (0..10).for_each(|number| hosts.send(Time::ZERO, number % 2, 1000));
    hosts.run(Time::ZERO + us(9));
    // All departures from the shared link were planned at time 0, so all answers but one are back, although none has reached its link by
    // now.
    assert_eq!(hosts.came.len(), 9);
    hosts.run(END);
    // Of simultaneous packets those of the first flow are sent first.
    let expected =
        (1..=10u32).map(|number| (u32::from(number > 5), Time::ZERO + us(1_000 * u64::from(number) + 5_520 + 140), number == 10));
    assert_eq!(hosts.came, expected.collect::<Vec<_>>());
}

#[test]
fn answers_that_wait_are_in_flight_and_go_on_in_a_clone() {
    let mut hosts = Hosts::new();
    (0..5).for_each(|number| hosts.send(Time::ZERO, number % 2, 1000));
    hosts.run(Time::ZERO + us(9));
    let mut copy = Hosts { network: hosts.network.clone(), there: hosts.there.clone(), back: hosts.back.clone(), came: hosts.came.clone() };
    let audit = hosts.network.finish(END).unwrap();
    assert_eq!((audit.sent, audit.delivered, audit.in_flight), (10, 9, 1));
    copy.run(END);
    assert_eq!(copy.came.len(), 5);
    assert_eq!(copy.network.finish(END).unwrap().in_flight, 0);
}
