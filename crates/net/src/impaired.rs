//! The impairments of links in a network. Each is a hop of its own before or after the link, but one next to the queue that does nothing
//! but drop packets belongs to the hop of the link ([`LinkLoss`]). A link without any pays nothing.

use crate::observer::LinkObserver;
use crate::packet::Packet;
use crate::window::Window;
use sojourn_aqm::AckHeader;
use sojourn_link::{Ack, Allowance, Effect, Impairment as _, Impairments, Place, Started, TcpOption, Transit, Windowed};
use sojourn_units::{Duration, Time};

/// What an impairment did to packets within the window of statistics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ImpairmentStats {
    /// Packets that came to it.
    pub met: u64,
    /// Packets that it dropped.
    pub dropped: u64,
    /// Packets that it gave bit errors.
    pub corrupted: u64,
    /// Copies that it made.
    pub duplicated: u64,
    /// Packets that it delayed.
    pub delayed: u64,
    /// Packets that it took an option out of.
    pub stripped: u64,
}

/// An impairment of a link.
#[derive(Clone, Debug)]
pub struct LinkImpairment {
    impairment: Windowed,
    place: Place,
    reads_acks: bool,
    option: Option<TcpOption>,
    link: usize,
    window: Window,
    /// Whether it belongs to the hop of its link, which then has what it lets pass unasked.
    of_link_hop: bool,
    /// What it lets pass unasked.
    allowance: Allowance,
    stats: ImpairmentStats,
}

impl LinkImpairment {
    pub(crate) fn new(started: Started, link: usize, window: Window) -> Self {
        let Started { mut impairment, place } = started;
        let (reads_acks, option) = (impairment.kind().reads_acks(), impairment.option());
        let (allowance, stats) = (impairment.give_allowance(), ImpairmentStats::default());
        LinkImpairment { impairment, place, reads_acks, option, link, window, of_link_hop: false, allowance, stats }
    }

    /// Its name in scenario files.
    pub fn name(&self) -> &'static str {
        self.impairment.kind().name()
    }

    /// Where packets meet it.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its link, as a position among those that decide or measure.
    pub fn link(&self) -> usize {
        self.link
    }

    /// Whether it belongs to the hop of its link.
    pub(crate) fn is_of_link_hop(&self) -> bool {
        self.of_link_hop
    }

    /// What it did.
    pub fn stats(&self) -> &ImpairmentStats {
        &self.stats
    }

    /// Whether packets may leave it in another order than they came.
    pub(crate) fn reorders(&self) -> bool {
        self.impairment.kind().reorders()
    }

    /// Whether it takes options out of packets.
    pub fn strips(&self) -> bool {
        self.option.is_some()
    }

    /// Whether it makes bit errors.
    pub(crate) fn corrupts(&self) -> bool {
        self.impairment.kind().corrupts()
    }

    /// Lets a packet of this size pass at `now` unasked; if not, it must be asked.
    #[inline(always)]
    pub(crate) fn lets_pass(&mut self, now: Time, size: u32) -> bool {
        let passes = self.allowance.covers(size);
        self.stats.met += u64::from(passes && now >= self.window.from);
        passes
    }

    /// What becomes of a packet that meets it at `now`.
    #[inline]
    pub(crate) fn meet<P: Packet>(&mut self, now: Time, packet: &P, observer: &impl LinkObserver<P>) -> Effect {
        let has_option = self.option.is_some_and(|option| observer.has_option(packet, option));
        let transit = Transit { now, size: packet.size(), has_data: packet.has_data(), has_option };
        let header = if self.reads_acks { observer.ack_header(packet) } else { None };
        let effect = match header {
            Some(AckHeader { connection, number, is_pure, echo, blocks, .. }) => {
                let ack = Ack { flow: packet.flow(), connection, number, is_plain: is_pure && blocks == 0, echo };
                self.impairment.on_ack(&transit, &ack)
            }
            None => self.impairment.on_packet(&transit),
        };
        self.allowance = self.impairment.give_allowance();
        if now >= self.window.from {
            self.stats.met += 1;
            if effect != Effect::Pass {
                self.count(effect);
            }
        }
        effect
    }

    /// There is a copy of a packet, since `now`.
    pub(crate) fn count_copy(&mut self, now: Time) {
        self.stats.duplicated += u64::from(now >= self.window.from);
    }

    #[cold]
    fn count(&mut self, effect: Effect) {
        let ImpairmentStats { dropped, corrupted, delayed, stripped, .. } = &mut self.stats;
        match effect {
            // Whether there is a copy depends on the host.
            Effect::Pass | Effect::Duplicate => {}
            Effect::Drop => *dropped += 1,
            Effect::Corrupt => *corrupted += 1,
            Effect::Delay(_) => *delayed += 1,
            Effect::Strip(_) => *stripped += 1,
        }
    }
}

/// What the hop of a link knows of an impairment that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct LinkLoss {
    /// The impairment, as a position among those of all links.
    impairment: usize,
    allowance: Allowance,
    /// From then on all packets pass: at first where there is no such impairment, otherwise after the run.
    until: Time,
    /// The start of the window of statistics, and packets since then that passed unasked.
    from: Time,
    passed: u64,
}

impl LinkLoss {
    /// There is none.
    pub const NONE: LinkLoss = LinkLoss { impairment: 0, allowance: Allowance::NONE, until: Time::ZERO, from: Time::NEVER, passed: 0 };

    /// The one that is at this position.
    pub fn new(impairments: &mut [LinkImpairment], at: usize) -> Self {
        let impairment = &mut impairments[at];
        impairment.of_link_hop = true;
        let Window { from, .. } = impairment.window;
        let until = impairment.window.last() + Duration::from_nanos(1);
        let mut loss = LinkLoss { impairment: at, until, from, ..LinkLoss::NONE };
        loss.renew(impairment);
        loss
    }

    /// Lets a packet of this size pass at `now` unasked; if not, the impairment must be asked.
    #[inline(always)]
    pub fn lets_pass(&mut self, now: Time, size: u32) -> bool {
        if now >= self.until {
            return true;
        }
        // A branch, because a packet that it does not cover is rare.
        if !self.allowance.covers(size) {
            return false;
        }
        self.passed += u64::from(now >= self.from);
        true
    }

    /// Whether the impairment, one of these, drops a packet at `now` that does not pass unasked.
    #[cold]
    pub fn drops<P: Packet>(&mut self, now: Time, packet: &P, all: &mut [LinkImpairment], observer: &impl LinkObserver<P>) -> bool {
        let impairment = &mut all[self.impairment];
        let effect = impairment.meet(now, packet, observer);
        self.renew(impairment);
        effect == Effect::Drop
    }

    /// Takes what the impairment lets pass, which has just been asked.
    fn renew(&mut self, impairment: &mut LinkImpairment) {
        self.allowance = core::mem::replace(&mut impairment.allowance, Allowance::NONE);
    }

    /// Lets the impairment, one of these, have what was counted for it.
    pub fn count(&mut self, all: &mut [LinkImpairment]) {
        if let Some(impairment) = all.get_mut(self.impairment) {
            impairment.stats.met += core::mem::take(&mut self.passed);
        }
    }
}

/// Which impairments of a link belong to its hop, as positions among its own: of those that do nothing but drop packets the last before
/// the queue and the first after it. `after`: whether one after it may.
pub(crate) fn of_link_hop(impairments: &Impairments, after: bool) -> [Option<usize>; 2] {
    let at = |place| move |&(_, started): &(usize, &Started)| started.place == place;
    let all = || impairments.0.iter().enumerate();
    let next = [all().rfind(at(Place::BeforeQueue)), all().find(at(Place::AfterQueue)).filter(|_| after)];
    next.map(|next| next.filter(|(_, started)| started.impairment.kind().only_drops()).map(|(at, _)| at))
}
