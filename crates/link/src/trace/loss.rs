//! Random loss with the probabilities of a link's trace.

use super::{Cursor, LinkTrace};
use crate::{Effect, Impairment, Transit};
use alloc::sync::Arc;
use sojourn_units::Stream;

/// Loses packets with the probability of the trace when they reach the end of the link.
#[derive(Clone, Debug)]
pub struct TraceLoss {
    trace: Arc<LinkTrace>,
    cursor: Cursor,
    random: Stream,
}

impl TraceLoss {
    /// The losses of a trace with losses.
    pub fn new(trace: Arc<LinkTrace>, random: Stream) -> TraceLoss {
        TraceLoss { trace, cursor: Cursor::default(), random }
    }
}

impl Impairment for TraceLoss {
    fn on_packet(&mut self, packet: &Transit) -> Effect {
        let loss = self.cursor.row_at(&self.trace, packet.now).loss;
        // Always draws, so that a row does not shift the random numbers of later rows.
        if self.random.unit() < f64::from(loss) * 1e-9 { Effect::Drop } else { Effect::Pass }
    }
}
