//! The impairments of one link.

use crate::{AnyImpairment, Effect, Impairment, ImpairmentConfig, Place, Transit};
use alloc::format;
use alloc::vec::Vec;
use sojourn_units::Stream;

/// The impairments of one link in order, each with its random stream.
#[derive(Clone, Debug, Default)]
pub struct Impairments {
    before_queue: Vec<Running>,
    after_queue: Vec<Running>,
}

#[derive(Clone, Debug)]
struct Running {
    impairment: AnyImpairment,
    random: Stream,
}

impl Impairments {
    /// The impairments of the link called `link` in the run with this seed. The n-th of a kind, counted from 0, draws from
    /// the stream `link/<link>/<kind>/<n>`, so that adding one changes no other's numbers.
    pub fn new(configs: &[ImpairmentConfig], seed: u64, link: &str) -> Self {
        let mut made = Impairments::default();
        for (at, config) in configs.iter().enumerate() {
            let name = config.kind.name();
            let number = configs[..at].iter().filter(|other| other.kind.name() == name).count();
            let random = Stream::named(seed, &format!("link/{link}/{name}/{number}"));
            let running = Running { impairment: config.kind.start(), random };
            match config.place {
                Place::BeforeQueue => made.before_queue.push(running),
                Place::AfterQueue => made.after_queue.push(running),
            }
        }
        made
    }

    /// Whether there is none: then the link need not ask.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.before_queue.is_empty() && self.after_queue.is_empty()
    }

    /// What becomes of a packet that arrives at the link.
    #[inline]
    pub fn before_queue(&mut self, packet: &Transit) -> Effect {
        ask(&mut self.before_queue, packet)
    }

    /// What becomes of a packet whose transmission has ended.
    #[inline]
    pub fn after_queue(&mut self, packet: &Transit) -> Effect {
        ask(&mut self.after_queue, packet)
    }
}

/// Asks each in turn; what one has dropped, the next does not meet.
fn ask(impairments: &mut [Running], packet: &Transit) -> Effect {
    for running in impairments {
        match running.impairment.on_packet(packet, &mut running.random) {
            Effect::Pass => {}
            Effect::Drop => return Effect::Drop,
        }
    }
    Effect::Pass
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::loss;
    use sojourn_units::Time;

    fn loss(probability: f64, place: Place) -> ImpairmentConfig {
        ImpairmentConfig { kind: loss::Params { probability }.into(), place }
    }

    fn dropped(made: &mut Impairments) -> (u32, u32) {
        let packet = Transit { now: Time::ZERO, size: 1000 };
        let (mut before, mut after) = (0, 0);
        for _ in 0..10_000 {
            match (made.before_queue(&packet), made.after_queue(&packet)) {
                (Effect::Drop, _) => before += 1,
                (Effect::Pass, Effect::Drop) => after += 1,
                (Effect::Pass, Effect::Pass) => {}
            }
        }
        (before, after)
    }

    #[test]
    fn each_acts_at_its_place() {
        assert_eq!(dropped(&mut Impairments::new(&[], 1, "up")), (0, 0));
        assert_eq!(dropped(&mut Impairments::new(&[loss(1.0, Place::BeforeQueue)], 1, "up")), (10_000, 0));
        assert_eq!(dropped(&mut Impairments::new(&[loss(1.0, Place::AfterQueue)], 1, "up")), (0, 10_000));
    }

    #[test]
    fn two_losses_draw_from_two_streams() {
        let half = loss(0.5, Place::BeforeQueue);
        let (both, _) = dropped(&mut Impairments::new(&[half.clone(), half], 1, "up"));
        assert!((7_300..=7_700).contains(&both), "{both} of 10000 dropped, expected about 7500");
    }
}
