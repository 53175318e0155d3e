//! A router reads ACKs of another link when they arrive, whatever kind that link is.

use crate::queues::{Idle, ROUTER, config, ms};
use sojourn_aqm::{Amount, AnyAqm, Needs, QueueController};
use sojourn_link::kinds::{loss, reorder};
use sojourn_link::{ImpairmentConfig, ImpairmentKind, Impairments, Per};
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{LinkConfig, World};
use sojourn_spec::link::Link as PlannedLink;
use sojourn_units::{Duration, Stream};
use std::sync::Arc;

/// The link over which the ACKs come that a router reads.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Back {
    /// A link that determines the departure of each packet at its arrival.
    Foreseen,
    /// A link followed by two impairments that pass everything and could delay it.
    Impaired,
    /// A link followed by two impairments that each delay every third packet.
    Reordered,
    /// A link that holds its packets, so departures are not known in advance.
    Buffered,
    /// A link without delay, behind a separate one for each flow.
    Immediate,
}

impl Back {
    /// Configures the reverse link.
    fn set(self, link: &mut LinkConfig) {
        let impaired = |kind: ImpairmentKind| {
            let one = ImpairmentConfig::from(kind);
            Impairments::new(&[one.clone(), one], 1, "back")
        };
        match self {
            Back::Foreseen => {}
            Back::Impaired => link.impairments = impaired(ImpairmentKind::Loss(loss::Params { probability: 1e-15, per: Per::Packet })),
            Back::Reordered => {
                link.impairments = impaired(ImpairmentKind::Reorder(reorder::Params { by: ms(3), probability: 1.0, gap: 3 }));
            }
            Back::Buffered => {
                let holds = Idle { needs: Needs { head_drop: true, ..Needs::default() }, ..Idle::default() };
                let aqm = AnyAqm::Custom(Box::new(holds));
                link.controller = QueueController::new(aqm, Amount::Packets(10_000), true, Stream::named(1, "back"));
            }
            Back::Immediate => link.link = PlannedLink { delay: Duration::ZERO, rate: None, ..link.link.clone() },
        }
    }
}

/// The inputs of a queue of 10 packets, with 20 senders at the router.
/// A segment that an ACK releases arrives in the same nanosecond as the ACK.
fn told_beside_senders(back: Back, all_events: bool) -> Vec<(u32, u16)> {
    let idle = Idle { needs: Needs { rtt_hints: true, ..Needs::default() }, ..Idle::default() };
    let seen = Arc::clone(&idle.seen);
    let params = TcpOptions { delayed_ack: None, ..TcpOptions::rfc() };
    let mut config = config(AnyAqm::Custom(Box::new(idle)), Amount::Packets(10), 20, params);
    ROUTER.set(&mut config.links[0].link);
    config.flows.to_mut().iter_mut().for_each(|flow| flow.forward = vec![0]);
    config.all_events = all_events;
    if back == Back::Immediate {
        config.links[0].link.delay = ms(20);
        (2..).zip(config.flows.to_mut()).for_each(|(access, flow)| flow.back = vec![access, 1]);
    }
    back.set(&mut config.links[1]);
    World::new(config).unwrap().finish().unwrap();
    let hints = seen.lock().unwrap().hints.clone();
    assert!(hints.len() > 10_000);
    hints
}

#[test]
fn an_ack_is_read_before_what_is_sent_for_it_whether_it_has_an_event_or_not() {
    // Path from the router and back: 10 ms each, at most 1.23 ms of transmission, and up to 12 ms in the queue; 0 if unknown.
    // Reordering adds up to 6 ms. Over separate links it is 20 ms forward and 1 to 96 ms back.
    let plausible = |hints: &[(u32, u16)], most: u16| hints.iter().all(|&(_, ms)| ms == 0 || (20..=most).contains(&ms));
    let plain = told_beside_senders(Back::Foreseen, true);
    for (back, most) in [(Back::Foreseen, 34), (Back::Impaired, 34), (Back::Buffered, 34), (Back::Reordered, 40), (Back::Immediate, 132)] {
        let hints = told_beside_senders(back, false);
        assert!(plausible(&hints, most), "{back:?}");
        assert_eq!(hints, told_beside_senders(back, true), "{back:?}");
        assert_eq!(hints == plain, !matches!(back, Back::Reordered | Back::Immediate), "{back:?}");
    }
}
