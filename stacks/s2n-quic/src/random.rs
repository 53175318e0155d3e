//! The random numbers of an endpoint: they follow from the seed of its flow.

use s2n_quic::provider::random::{Generator, Provider};
use sojourn_harness::FlowInfo;
use sojourn_units::Stream;
use std::convert::Infallible;

/// The random numbers of one end.
pub struct Random(Stream);

impl Random {
    /// The random numbers of an end of a flow.
    pub fn new(flow: &FlowInfo, end: &str) -> Self {
        Random(Stream::named(flow.seed, end))
    }
}

impl Provider for Random {
    type Generator = Self;
    type Error = Infallible;

    fn start(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill_with(|| self.0.below(256) as u8);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}
