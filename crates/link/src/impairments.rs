//! The impairments of one link.

use crate::{ImpairmentConfig, Place, Streams, Windowed};
use alloc::format;
use alloc::vec::Vec;

/// The impairments of one link at their start, in file order.
#[derive(Clone, Debug, Default)]
pub struct Impairments(pub Vec<Started>);

/// An impairment of a link at its start.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its state.
    pub impairment: Windowed,
    /// Its place on the link.
    pub place: Place,
}

impl Impairments {
    /// The impairments of the link called `link` in the run with this seed.
    /// The n-th of a kind, counted from 0, draws from the stream `link/<link>/<kind>/<n>`, so that adding one does not affect others.
    pub fn new(configs: &[ImpairmentConfig], seed: u64, link: &str) -> Self {
        let start = |(at, config): (usize, &ImpairmentConfig)| {
            let name = config.kind.name();
            let number = configs[..at].iter().filter(|other| other.kind.name() == name).count();
            let streams = Streams::new(seed, format!("link/{link}/{name}/{number}"));
            Started { impairment: config.start(&streams), place: config.place }
        };
        Impairments(configs.iter().enumerate().map(start).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::loss;
    use crate::{Effect, Impairment, Transit};
    use sojourn_units::Time;

    #[test]
    fn two_losses_draw_from_two_streams() {
        let half: ImpairmentConfig = loss::Params::of(0.5).into();
        let mut made = Impairments::new(&[half.clone(), half], 1, "up").0;
        let packet = Transit { now: Time::ZERO, size: 1000, has_data: true, has_option: false };
        let dropped = |made: &mut Vec<Started>| made.iter_mut().any(|each| each.impairment.on_packet(&packet) == Effect::Drop);
        let both = (0..10_000).filter(|_| dropped(&mut made)).count();
        assert!((7_300..=7_700).contains(&both), "{both} of 10000 dropped, expected about 7500");
    }
}
