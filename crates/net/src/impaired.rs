//! The impairments of links in a network: each is a hop of its own before or after the link, so a link without any pays nothing.

use crate::window::Window;
use sojourn_link::{Ack, AnyImpairment, Effect, Impairment as _, Place, Started, Transit};
use sojourn_units::Time;

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
}

/// An impairment of a link.
#[derive(Clone, Debug)]
pub struct LinkImpairment {
    impairment: AnyImpairment,
    place: Place,
    reads_acks: bool,
    link: usize,
    window: Window,
    stats: ImpairmentStats,
}

impl LinkImpairment {
    pub(crate) fn new(started: Started, link: usize, window: Window) -> Self {
        let Started { impairment, place } = started;
        LinkImpairment { reads_acks: impairment.reads_acks(), impairment, place, link, window, stats: ImpairmentStats::default() }
    }

    /// Its name in scenario files.
    pub fn name(&self) -> &'static str {
        self.impairment.name()
    }

    /// Where packets meet it.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its link, as a position among those that decide or measure.
    pub fn link(&self) -> usize {
        self.link
    }

    /// What it did.
    pub fn stats(&self) -> &ImpairmentStats {
        &self.stats
    }

    /// Whether packets may leave it in another order than they came.
    pub(crate) fn reorders(&self) -> bool {
        self.impairment.reorders()
    }

    /// Whether it reads the headers of ACKs.
    #[inline]
    pub(crate) fn reads_acks(&self) -> bool {
        self.reads_acks
    }

    /// Whether it makes bit errors.
    pub(crate) fn corrupts(&self) -> bool {
        self.impairment.corrupts()
    }

    /// Lets a packet of this size pass at `now` if there is nothing more to say about it; if not, nothing has happened.
    #[inline(always)]
    pub(crate) fn spares(&mut self, now: Time, size: u32) -> bool {
        let spares = self.impairment.spares(size);
        self.stats.met += u64::from(spares && now >= self.window.from);
        spares
    }

    /// What becomes of a packet.
    #[inline]
    pub(crate) fn on_packet(&mut self, packet: &Transit) -> Effect {
        let effect = self.impairment.on_packet(packet);
        self.met(packet, effect)
    }

    /// What becomes of an ACK whose headers it reads.
    pub(crate) fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
        let effect = self.impairment.on_ack(packet, ack);
        self.met(packet, effect)
    }

    /// Counts a packet.
    #[inline]
    fn met(&mut self, packet: &Transit, effect: Effect) -> Effect {
        if packet.now >= self.window.from {
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
        let ImpairmentStats { dropped, corrupted, delayed, .. } = &mut self.stats;
        match effect {
            // Whether there is a copy depends on the host.
            Effect::Pass | Effect::Duplicate => {}
            Effect::Drop => *dropped += 1,
            Effect::Corrupt => *corrupted += 1,
            Effect::Delay(_) => *delayed += 1,
        }
    }
}
