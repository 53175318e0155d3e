//! Traces of congestion controllers.

use crate::traced::Traced;
use sojourn_sim::tcp::{Sender, TcpOptions};
use sojourn_units::Time;

/// The traced congestion controllers, by the plan's flow.
#[derive(Clone, Debug, Default)]
pub struct Controllers {
    pub by_flow: Traced<Rows>,
}

/// The trace of one controller, with a row per change.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub t: Vec<f64>,
    /// One list per column of the series.
    pub columns: Vec<Vec<f64>>,
}

impl Controllers {
    /// Creates traces of these flows.
    pub fn new(flows: &[u32]) -> Self {
        Controllers { by_flow: flows.iter().copied().collect() }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_flow.is_empty()
    }

    /// Bytes of memory used.
    pub fn memory(&self) -> usize {
        let numbers = |rows: &Rows| rows.t.capacity() + rows.columns.iter().map(Vec::capacity).sum::<usize>();
        self.by_flow.values().map(numbers).sum::<usize>() * size_of::<f64>()
    }

    /// Records the current state of a sender.
    #[inline(never)]
    pub fn add(&mut self, now: Time, flow: u32, sender: &Sender, options: &TcpOptions) {
        let Some(rows) = self.by_flow.get_mut(flow) else { return };
        let or_nan = |value: f64| if value.is_finite() { value } else { f64::NAN };
        let own = [
            sender.cwnd(),
            or_nan(sender.ssthresh()),
            sender.in_flight(options),
            sender.pacing_rate(options).map_or(f64::NAN, or_nan),
            f64::from(sender.loss_state() as u8),
        ];
        rows.add(now, own.into_iter().chain(sender.controller().values()).collect());
    }
}

impl Rows {
    /// Adds a row if it differs from the last one.
    fn add(&mut self, now: Time, values: Vec<f64>) {
        self.columns.resize(values.len(), Vec::new());
        let same = |(column, value): (&Vec<f64>, &f64)| column.last().is_some_and(|last| last.to_bits() == value.to_bits());
        if self.columns.iter().zip(&values).all(same) {
            return;
        }
        self.t.push(now.as_secs_f64());
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
}
