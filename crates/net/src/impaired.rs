//! The impairments of links in a network.
//! Each is a hop of its own before or after its link. A link without impairments has no cost.

use crate::observer::LinkObserver;
use crate::packet::Packet;
use crate::window::Window;
use sojourn_aqm::AckHeader;
use sojourn_link::{Ack, Allowance, Effect, Impairment as _, Place, Started, TcpOption, Transit, Windowed};
use sojourn_units::Time;

/// The effects of an impairment on packets within the window of statistics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ImpairmentStats {
    /// Packets that passed through it.
    pub met: u64,
    /// Packets that it dropped.
    pub dropped: u64,
    /// Packets to which it added bit errors.
    pub corrupted: u64,
    /// Copies that it made.
    pub duplicated: u64,
    /// Packets that it delayed.
    pub delayed: u64,
    /// Packets from which it removed an option.
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
    /// Packets that it lets pass without a decision.
    allowance: Allowance,
    stats: ImpairmentStats,
}

impl LinkImpairment {
    pub(crate) fn new(started: Started, link: usize, window: Window) -> Self {
        let Started { mut impairment, place } = started;
        let (reads_acks, option) = (impairment.kind().reads_acks(), impairment.option());
        let (allowance, stats) = (impairment.give_allowance(), ImpairmentStats::default());
        LinkImpairment { impairment, place, reads_acks, option, link, window, allowance, stats }
    }

    /// Its name in scenario files.
    pub fn name(&self) -> &'static str {
        self.impairment.kind().name()
    }

    /// Its place on the link.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its link, as an index among those that decide or measure.
    pub fn link(&self) -> usize {
        self.link
    }

    /// Its statistics.
    pub fn stats(&self) -> &ImpairmentStats {
        &self.stats
    }

    /// Whether packets may leave it in another order than that of their arrival.
    pub(crate) fn reorders(&self) -> bool {
        self.impairment.kind().reorders()
    }

    /// Whether its only effect is to drop packets.
    pub(crate) fn only_drops(&self) -> bool {
        self.impairment.kind().only_drops()
    }

    /// Whether it removes options from packets.
    pub fn strips(&self) -> bool {
        self.option.is_some()
    }

    /// Whether it adds bit errors.
    pub(crate) fn corrupts(&self) -> bool {
        self.impairment.kind().corrupts()
    }

    /// Lets a packet of this size pass at `now` without a decision, if possible.
    #[inline(always)]
    pub(crate) fn lets_pass(&mut self, now: Time, size: u32) -> bool {
        let passes = self.allowance.covers(size);
        self.stats.met += u64::from(passes && now >= self.window.from);
        passes
    }

    /// The effect on a packet that meets it at `now`.
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

    /// Counts a copy of a packet at `now`.
    pub(crate) fn count_copy(&mut self, now: Time) {
        self.stats.duplicated += u64::from(now >= self.window.from);
    }

    #[cold]
    fn count(&mut self, effect: Effect) {
        let ImpairmentStats { dropped, corrupted, delayed, stripped, .. } = &mut self.stats;
        match effect {
            // The host decides whether a copy is made, so it is counted later.
            Effect::Pass | Effect::Duplicate => {}
            Effect::Drop => *dropped += 1,
            Effect::Corrupt => *corrupted += 1,
            Effect::Delay(_) => *delayed += 1,
            Effect::Strip(_) => *stripped += 1,
        }
    }
}
