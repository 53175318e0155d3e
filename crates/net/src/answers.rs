//! Finds the links before which answers wait in order, without events: see [`Lookahead`].

use crate::contention::Order;
use crate::hop::HopTarget;
use crate::network::{Lookahead, Network};
use crate::packet::Packet;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use sojourn_units::Duration;

/// The largest spread of the delays of answers, in transmission times of a large packet.
/// The rate is the source's. With a larger spread many answers would wait, and a search for their positions would cost more than events.
const MOST_LATER: u64 = 16;

/// The bytes of a large packet.
const LARGE: u64 = 1500;

/// The hops of a route with its end.
/// `answers` is whether its packets answer those of the route before.
pub(crate) struct RouteHops {
    pub hops: Range<usize>,
    pub answers: bool,
}

/// The kind of packets that arrive at a link.
#[derive(Clone, Copy)]
enum Arrivals {
    None,
    Answers(Answers),
    Others,
}

/// Answers to packets that a link sends: the bounds of their delay.
/// It is the time from the end of the transmissions to here, at least, and at most if none waits.
#[derive(Clone, Copy)]
struct Answers {
    source: usize,
    least: Duration,
    most: Duration,
}

impl Arrivals {
    /// The union of these and other arrivals; `None` are arrivals other than answers.
    fn and(self, more: Option<Answers>) -> Arrivals {
        match (self, more) {
            (Arrivals::None, Some(more)) => Arrivals::Answers(more),
            (Arrivals::Answers(known), Some(Answers { source, least, most })) if source == known.source => {
                Arrivals::Answers(Answers { source, least: known.least.min(least), most: known.most.max(most) })
            }
            _ => Arrivals::Others,
        }
    }
}

impl<P: Packet> Network<P> {
    /// Lets answers wait in order if that is possible.
    /// The hops before which packets wait are known already.
    pub(crate) fn order_answers(&mut self, routes: impl Iterator<Item = RouteHops>) {
        let mut arrivals = vec![Arrivals::None; self.links.len()];
        let mut forward = 0..0;
        for RouteHops { hops, answers } in routes {
            for at in hops.clone() {
                if let HopTarget::Link(link) = self.hops[at].target()
                    && !matches!(arrivals[link], Arrivals::Others)
                {
                    let more = if answers { self.answers_at(link, &forward, hops.start..at) } else { None };
                    arrivals[link] = arrivals[link].and(more);
                }
            }
            forward = hops;
        }
        let sources: Vec<Option<Answers>> = arrivals.into_iter().map(|arrivals| self.in_order(arrivals)).collect();
        if sources.iter().all(Option::is_none) {
            return;
        }
        for hop in &mut self.hops {
            if let HopTarget::Link(link) = hop.target()
                && sources[link].is_some()
            {
                *hop = hop.ordered();
            }
        }
        let lookahead = |answers: Option<Answers>| answers.map_or((0, Duration::ZERO), |answers| (answers.source, answers.least));
        self.lookaheads = sources.into_iter().map(lookahead).map(|(source, lead)| Lookahead::new(source, lead)).collect();
    }

    /// The answers that arrive at a link, if they are all of its arrivals and may wait in order.
    fn in_order(&self, arrivals: Arrivals) -> Option<Answers> {
        let Arrivals::Answers(answers) = arrivals else { return None };
        let large = self.links[answers.source].rate()?.time_for(LARGE);
        (answers.most - answers.least <= large * MOST_LATER).then_some(answers)
    }

    /// The answers that arrive at a link over the hops `back`.
    /// They must answer packets of a link on `forward`. Between that link and this one may only be the answering endpoint and unwatched
    /// links without long queues.
    fn answers_at(&self, link: usize, forward: &Range<usize>, back: Range<usize>) -> Option<Answers> {
        if !self.hops[back.end].needs_event() || !self.links[link].takes_early(self.least_packet) {
            return None;
        }
        let (mut least, mut most, mut slowest) = (Duration::ZERO, Duration::ZERO, None);
        for hop in self.hops[back].iter().rev().chain(self.hops[forward.clone()].iter().rev()) {
            let target = hop.target();
            let (delay, rate) = match (target, self.order(target)) {
                (HopTarget::Link(source), Order::OfArrival { apart: true }) => {
                    let (delay, rate) = (self.links[source].delay(), self.links[source].rate()?);
                    let fast = slowest.is_none_or(|slowest| rate <= slowest);
                    return fast.then_some(Answers { source, least: least + delay, most: most + delay });
                }
                _ if hop.needs_event() => return None,
                (HopTarget::End, _) | (_, Order::Thinned) => (Duration::ZERO, None),
                (_, Order::Delayed(delay)) => (delay, None),
                (HopTarget::AccessLink(link), _) => (self.access_links.delay(link), self.access_links.rate_of(link)),
                _ => return None,
            };
            let transmission = rate.map_or(Duration::ZERO, |rate| rate.time_for(LARGE));
            (least, most, slowest) = (least + delay, most + delay + transmission, slowest.into_iter().chain(rate).min());
        }
        None
    }
}
