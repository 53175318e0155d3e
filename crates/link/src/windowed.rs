//! An impairment that is active for a part of the run.

use crate::{Ack, Allowance, AnyImpairment, Effect, Impairment, TcpOption, Transit};
use sojourn_units::{Duration, Time};

/// An impairment with its active time.
/// At other times packets pass, and it draws no random numbers.
///
/// Unless the impairment reorders, a packet after the end continues at least 1 ns after the last delayed one.
#[derive(Clone, Debug)]
pub struct Windowed {
    impairment: AnyImpairment,
    from: Time,
    until: Time,
    /// Whether the last packet was in the active time.
    /// Only then the impairment can let further packets pass without a call.
    is_on: bool,
    /// The time at which the last delayed packet continues.
    last: Time,
}

impl Windowed {
    /// An impairment that is active from `from` until `until`.
    pub fn new(impairment: AnyImpairment, from: Time, until: Time) -> Self {
        Windowed { impairment, from, until, is_on: from == Time::ZERO, last: Time::ZERO }
    }

    /// An impairment that is always active.
    pub fn always(impairment: AnyImpairment) -> Self {
        Windowed::new(impairment, Time::ZERO, Time::NEVER)
    }

    /// The impairment itself.
    pub fn kind(&self) -> &AnyImpairment {
        &self.impairment
    }

    /// Returns the fate of a packet; `meet` calls the impairment.
    #[inline]
    fn on(&mut self, packet: &Transit, meet: impl FnOnce(&mut AnyImpairment) -> Effect) -> Effect {
        self.is_on = packet.now >= self.from && packet.now < self.until;
        if !self.is_on {
            return self.pass(packet.now);
        }
        let effect = meet(&mut self.impairment);
        if let Effect::Delay(delay) = effect {
            self.last = self.last.max(packet.now + delay);
        }
        effect
    }

    /// Passes a packet, but not before packets that are still delayed.
    fn pass(&mut self, now: Time) -> Effect {
        if self.last < now || self.impairment.reorders() || self.last == Time::ZERO {
            return Effect::Pass;
        }
        self.last += Duration::from_nanos(1);
        Effect::Delay(self.last.since(now))
    }
}

impl Impairment for Windowed {
    fn give_allowance(&mut self) -> Allowance {
        if self.is_on { self.impairment.give_allowance() } else { Allowance::NONE }
    }

    fn option(&self) -> Option<TcpOption> {
        self.impairment.option()
    }

    #[inline]
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        self.on(packet, |impairment| impairment.on_packet(packet))
    }

    fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
        self.on(packet, |impairment| impairment.on_ack(packet, ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{jitter, loss};
    use crate::{Entry, ImpairmentConfig, REGISTRY, Streams};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn packet(ns: u64) -> Transit {
        Transit { now: Time::from_nanos(ns), size: 1000, has_data: true, has_option: true }
    }

    fn windowed(entry: &Entry, from: u64, until: Option<u64>) -> Windowed {
        let config = ImpairmentConfig { from: MS(from), until: until.map(MS), ..(entry.example)().into() };
        config.start(&Streams::new(7, entry.name.to_string()))
    }

    /// Times every 7 us for 2 s.
    fn times() -> impl Iterator<Item = u64> {
        (0..2_000_000_000).step_by(7_000)
    }

    #[test]
    fn every_kind_does_nothing_before_its_start_and_nothing_new_after_its_end() {
        for entry in REGISTRY {
            let mut made = windowed(entry, 500, Some(1500));
            for ns in times() {
                let effect = made.on_packet(&packet(ns));
                let is_drained = ns > 1_600_000_000 && !made.kind().reorders() && made.last < Time::from_nanos(ns);
                if ns < 500_000_000 || is_drained {
                    assert_eq!(effect, Effect::Pass, "{} at {ns} ns", entry.name);
                }
                if ns >= 1_500_000_000 {
                    assert!(matches!(effect, Effect::Pass | Effect::Delay(_)), "{} at {ns} ns: {effect:?}", entry.name);
                }
            }
        }
    }

    #[test]
    fn a_kind_that_keeps_the_order_keeps_it_beyond_its_end() {
        for entry in REGISTRY {
            let mut made = windowed(entry, 100, Some(1000));
            let mut last = None;
            for ns in times() {
                let delay = match made.on_packet(&packet(ns)) {
                    Effect::Drop => continue,
                    Effect::Delay(delay) => delay,
                    _ => Duration::ZERO,
                };
                let leaves = Time::from_nanos(ns) + delay;
                assert!(made.kind().reorders() || last.is_none_or(|last| last <= leaves), "{} at {ns} ns", entry.name);
                last = Some(leaves);
            }
        }
    }

    /// Tests that the stream is drawn from only in the active time.
    /// A later start shifts the losses and changes none of them.
    #[test]
    fn the_packets_in_the_window_meet_what_the_first_packets_meet_without_one() {
        let config: ImpairmentConfig = loss::Params::of(0.3).into();
        let effects = |config: &ImpairmentConfig, start: u64| -> Vec<Effect> {
            let mut made = config.start(&Streams::new(1, "x".to_string()));
            (0..start).step_by(1_000_000).for_each(|ns| assert_eq!(made.on_packet(&packet(ns)), Effect::Pass));
            (0..1000).map(|n| made.on_packet(&packet(start + n))).collect()
        };
        let late = ImpairmentConfig { from: MS(10), ..config.clone() };
        let found = effects(&late, 10_000_000);
        assert!(found.contains(&Effect::Drop));
        assert_eq!(found, effects(&config, 0));
    }

    #[test]
    fn nothing_passes_unasked_before_the_start() {
        let never: ImpairmentConfig = loss::Params::of(0.0).into();
        let mut made = ImpairmentConfig { from: MS(10), ..never }.start(&Streams::new(1, "x".to_string()));
        assert!(!made.give_allowance().covers(1000));
        assert_eq!(made.on_packet(&packet(9_999_999)), Effect::Pass);
        assert!(!made.give_allowance().covers(1000));
        assert_eq!(made.on_packet(&packet(10_000_000)), Effect::Pass);
        assert!(made.give_allowance().covers(1000));
    }

    /// Tests an impairment that delays all packets by 3 ms while it is active.
    #[test]
    fn the_end_is_not_in_the_window_and_what_comes_then_goes_on_behind_the_last_that_is_still_delayed() {
        let config = |until| ImpairmentConfig {
            until: Some(until),
            ..jitter::Params { delay: jitter::Distribution::Uniform([MS(3), MS(3)]) }.into()
        };
        let mut made = config(MS(10)).start(&Streams::new(1, "x".to_string()));
        assert_eq!(made.on_packet(&packet(9_000_000)), Effect::Delay(MS(3)));
        let behind = |ns: u64| Effect::Delay(Duration::from_nanos(ns));
        assert_eq!(made.on_packet(&packet(10_000_000)), behind(2_000_001), "at the end, 1 ns behind 12,000,000 ns");
        assert_eq!(made.on_packet(&packet(12_000_001)), behind(1), "at the time of the last one");
        assert_eq!(made.on_packet(&packet(12_000_003)), Effect::Pass);
    }

    #[test]
    fn a_window_asks_for_the_option_of_its_kind() {
        for entry in REGISTRY {
            assert_eq!(windowed(entry, 1, Some(2)).option().is_some(), entry.name == "tcp-option", "{}", entry.name);
        }
    }

    /// Tests impairments that take time without a window: see `tests/takes_time.rs`.
    #[test]
    fn an_impairment_takes_time_if_it_is_in_effect_all_the_time() {
        let always: ImpairmentConfig = loss::Params::of(1.0).into();
        assert!(always.takes_time());
        assert!(!ImpairmentConfig { from: MS(1), ..always.clone() }.takes_time());
        assert!(!ImpairmentConfig { until: Some(MS(1)), ..always.clone() }.takes_time());
        assert!(!ImpairmentConfig { from: MS(1), until: Some(MS(2)), ..always }.takes_time());
        assert!(!ImpairmentConfig::from(loss::Params::of(0.0)).takes_time());
    }

    #[test]
    fn an_end_before_the_start_is_refused() {
        let delay = jitter::Distribution::Uniform([MS(1), MS(2)]);
        let config = ImpairmentConfig { from: MS(5), until: Some(MS(5)), ..jitter::Params { delay }.into() };
        assert_eq!(config.check().unwrap_err().to_string(), "until: expected a time after `from` (5 ms), got 5 ms");
        assert!(ImpairmentConfig { until: Some(MS(6)), ..config }.check().is_ok());
    }
}
