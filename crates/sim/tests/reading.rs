//! Routers that read ACKs: what comes over another link is read when it comes, whatever that link is.

use crate::queues::{Idle, ROUTER, config, ms};
use sojourn_aqm::{Amount, AnyAqm, Needs, QueueController};
use sojourn_link::kinds::{loss, reorder};
use sojourn_link::{ImpairmentConfig, ImpairmentKind, Impairments, Per};
use sojourn_sim::tcp::TcpOptions;
use sojourn_sim::{LinkConfig, World};
use sojourn_spec::link::Link as PlannedLink;
use sojourn_units::{Duration, Stream};
use std::sync::Arc;

/// What the ACKs that a router reads come over.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Back {
    /// A link that tells at once when each packet comes out.
    Foreseen,
    /// A link behind which two impairments stand, which let everything pass and could delay it.
    Impaired,
    /// A link behind which two impairments delay every third packet each.
    Reordered,
    /// A link that holds its packets: when one comes out is not known before.
    Buffered,
    /// A link that takes no time, behind one of each flow's own.
    Immediate,
}

impl Back {
    /// Makes the link back so.
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

/// What a queue of 10 packets is told, if 20 senders stand at the router: what an ACK lets them send comes in the nanosecond of the ACK.
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
    // From the router over 10 ms and back over 10 ms, at most 1.23 ms to send, and up to 12 ms in the queue; 0 before it is known.
    // Reordered up to 6 ms more; over links of the flows' own 20 ms and back over 1 to 96.
    let plausible = |hints: &[(u32, u16)], most: u16| hints.iter().all(|&(_, ms)| ms == 0 || (20..=most).contains(&ms));
    let plain = told_beside_senders(Back::Foreseen, true);
    for (back, most) in [(Back::Foreseen, 34), (Back::Impaired, 34), (Back::Buffered, 34), (Back::Reordered, 40), (Back::Immediate, 132)] {
        let hints = told_beside_senders(back, false);
        assert!(plausible(&hints, most), "{back:?}");
        assert_eq!(hints, told_beside_senders(back, true), "{back:?}");
        assert_eq!(hints == plain, !matches!(back, Back::Reordered | Back::Immediate), "{back:?}");
    }
}
