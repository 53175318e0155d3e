//! The configuration of a link.

use super::ahead::foresees;
use super::tie::TransitTimes;
use alloc::format;
use alloc::vec::Vec;
use sojourn_aqm::{AckFilter, AnyAqm, Aqm, ClassConfig, Classification, Needs, QueueController};
use sojourn_link::trace::TraceLoss;
use sojourn_link::{AnyImpairment, Impairments, Place, Started, Windowed};
use sojourn_spec::link::{AccessLink, Link, Measure};
use sojourn_spec::queue::{Hints, Queue};
use sojourn_units::{Duration, Stream, Time};

/// The configuration of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The link as planned. Its queue and impairments are those below, built from the plan.
    pub link: Link,
    /// Its queue: the discipline, its limit, its ECN switch and its random stream.
    pub controller: QueueController,
    /// Classes, each with a queue, instead of that queue.
    pub classes: Vec<ClassConfig>,
    /// The impairments of packets before and after its queue, such as random loss.
    pub impairments: Impairments,
    /// The seed of the run, for the medium that it shares.
    pub seed: u64,
}

impl LinkConfig {
    /// A link without impairments that shares no medium.
    pub fn new(link: Link, controller: QueueController) -> Self {
        LinkConfig { link, controller, classes: Vec::new(), impairments: Impairments::default(), seed: 0 }
    }

    /// A planned link in the run with this seed, with its disciplines `aqms`.
    /// Its queue draws from the stream `link/<name>/aqm`, that of a class from `link/<name>/class/<class>/aqm`. `aqms` has the discipline
    /// of its queue, or those of its classes, each with the packets that it matches.
    pub fn planned(link: Link, mut aqms: Vec<(AnyAqm, Classification)>, seed: u64) -> Self {
        let random = |of: &str| Stream::named(seed, &format!("link/{}/{of}aqm", link.name));
        let (controller, classes) = match link.queue.as_deref() {
            Some(Queue { classes: Some(classes), .. }) => {
                let steady = link.rate.filter(|_| link.rate_changes.is_empty() && link.trace.is_none());
                (QueueController::passing(), classes.build(steady, aqms, &|name| random(&format!("class/{name}/"))))
            }
            Some(Queue { options, .. }) if !aqms.is_empty() => {
                let (aqm, packets) = aqms.remove(0);
                (options.controller(aqm, packets.filters, random("")), Vec::new())
            }
            _ => (QueueController::passing(), Vec::new()),
        };
        let mut impairments = Impairments::new(&link.impairments, seed, &link.name);
        if let Some(trace) = link.trace.as_ref().filter(|trace| trace.rows.has_loss()) {
            let loss = TraceLoss::new(trace.rows.clone(), Stream::named(seed, &format!("link/{}/trace", link.name)));
            impairments.0.insert(0, Started { impairment: Windowed::always(AnyImpairment::Trace(loss)), place: Place::AfterQueue });
        }
        LinkConfig { link, controller, classes, impairments, seed }
    }

    /// Sets the DSCP of each group of flows, by which CAKE classifies.
    pub fn set_dscps(&mut self, dscps: &[u8]) {
        let of_classes = self.classes.iter_mut().flat_map(|class| class.queue.controllers_mut());
        of_classes.chain([&mut self.controller]).for_each(|controller| controller.dscps = dscps.to_vec());
    }

    /// The needs of its disciplines.
    pub(crate) fn needs(&self) -> Needs {
        if self.classes.is_empty() { self.controller.aqm.needs() } else { ClassConfig::needs(&self.classes) }
    }

    /// The time at which the first timer of its disciplines expires.
    pub(crate) fn first_update(&self) -> Time {
        if self.classes.is_empty() { self.controller.aqm.first_update() } else { ClassConfig::first_update(&self.classes) }
    }

    /// Whether it sends only in its turns on a shared medium.
    pub(crate) fn takes_turns(&self) -> bool {
        self.link.medium.is_some()
    }

    /// The number of its hops: itself, and its impairments.
    pub(crate) fn hops(&self) -> usize {
        1 + self.impairments.0.len()
    }

    /// Whether its queue must hold its packets.
    pub(crate) fn holds_packets(&self) -> bool {
        let (needs, controller) = (self.needs(), &self.controller);
        let asked = needs.head_drop || needs.waiting_packets || controller.aqm.layout().is_some();
        asked || self.takes_turns() || controller.host.is_some() || controller.ack_filter != AckFilter::None
    }

    /// Whether its queue may know departures in advance, although it must hold packets.
    pub(crate) fn decides_ahead(&self) -> bool {
        let plain = self.controller.host.is_none() && self.controller.ack_filter == AckFilter::None;
        plain && foresees(&self.controller.aqm) && self.classes.is_empty() && !self.takes_turns()
    }

    /// The source of round-trip times and of the number of flows, if its queue needs them.
    pub fn hints(&self) -> Hints {
        self.link.queue.as_ref().map_or(Hints::default(), |queue| queue.options.hints)
    }

    /// The link whose packets the router before it also reads.
    /// It is an index among the links in the order of their addition. `None` without such a link, or if the router reads no headers.
    pub(crate) fn reverse_link(&self) -> Option<u32> {
        self.link.reverse.filter(|_| self.hints() == Hints::Router)
    }

    /// Whether it is an access link.
    /// Nothing is measured on it, and the only decision is whether a packet fits.
    pub(crate) fn is_access_link(&self) -> bool {
        let Link { measure, rate_changes, delay_changes, trace, overhead, .. } = &self.link;
        let steady = rate_changes.is_empty() && delay_changes.is_empty() && trace.is_none() && overhead.is_none();
        *measure == Measure::Counts && steady && self.impairments.0.is_empty() && self.has_plain_queue()
    }

    /// The link in the form of an access link.
    pub(crate) fn as_access_link(&self) -> AccessLink {
        let &Link { from, to, rate, delay, .. } = &self.link;
        AccessLink { from, to, rate, delay, limit: self.controller.limit }
    }

    /// Whether its queue decides only by its limit, and packets are sent one after another.
    pub(crate) fn has_plain_queue(&self) -> bool {
        let controller = &self.controller;
        let plain = matches!(controller.aqm, AnyAqm::DropTail(_)) && controller.ack_filter == AckFilter::None;
        plain && self.classes.is_empty() && !self.takes_turns()
    }

    /// The smallest of its propagation delays, now and later.
    pub fn least_delay(&self) -> Duration {
        let least = self.link.delay_changes.iter().map(|change| change.delay).fold(self.link.delay, Duration::min);
        least + self.link.trace.as_ref().map_or(Duration::ZERO, |trace| trace.rows.least_delay())
    }

    pub(crate) fn transit_times(&self) -> TransitTimes {
        let least_delay = self.least_delay();
        let Link { rate, rate_changes, delay, delay_changes, trace, overhead, .. } = self.link.clone();
        TransitTimes { rate, rate_changes, delay, delay_changes, least_delay, trace: trace.map(|trace| trace.rows), overhead }
    }
}
