//! The trace of a link: its capacity over time, measured or generated, repeated at its end.
//!
//! A trace is a list of consecutive rows. Each row lasts for its span. It has a rate, or an opportunity: bytes that can be sent at its end.
//! The capacity is the sum of all that could be sent since the start, in integer billionths of a bit. So a backlogged link delivers exactly
//! the capacity of its trace in any window.
//!
//! Ten million rows use 80 MB or less. Rows are stored in blocks, with each column in as few bits as its numbers need.

mod column;
mod cursor;
mod loss;

pub use cursor::Cursor;
pub use loss::TraceLoss;

use alloc::boxed::Box;
use alloc::vec::Vec;
use column::Column;
use sojourn_units::{Duration, NANOBITS_PER_BYTE, Rate, Time};

/// Number of rows per block.
const BLOCK: usize = 1024;

/// How the rows of a trace express capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Service {
    /// A rate in bit/s.
    Rates,
    /// Opportunities: bytes at the end of the row, which are lost if no packet waits.
    Opportunities,
}

/// A row of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Row {
    /// The duration of the row; an opportunity's may be zero.
    pub span: Duration,
    /// The capacity: a rate in bit/s, or the bytes of the opportunity at its end.
    pub service: u64,
    /// Additional propagation delay.
    pub delay: Duration,
    /// The probability with which a packet is lost, in billionths.
    pub loss: u32,
}

impl Row {
    /// The capacity of the row in billionths of a bit.
    pub fn capacity(&self, service: Service) -> u128 {
        match service {
            Service::Rates => u128::from(self.service) * u128::from(self.span.as_nanos()),
            Service::Opportunities => u128::from(self.service) * u128::from(NANOBITS_PER_BYTE),
        }
    }
}

/// The trace of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkTrace {
    service: Service,
    blocks: Vec<Block>,
    rows: usize,
    period: Duration,
    capacity: u128,
    least_delay: Duration,
    most_delay: Duration,
    most_loss: u32,
}

/// Consecutive rows.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Block {
    /// The start of the block, since the start of the trace.
    begin: Duration,
    /// The capacity of the rows before it.
    before: u128,
    rows: u32,
    columns: [Column; 4],
    bytes: Box<[u8]>,
}

impl Block {
    fn row(&self, at: usize) -> Row {
        let [span, service, delay, loss] = self.columns.map(|column| column.get(&self.bytes, at));
        Row { span: Duration::from_nanos(span), service, delay: Duration::from_nanos(delay), loss: loss as u32 }
    }
}

/// Builds a trace row by row.
#[derive(Debug)]
pub struct Builder {
    trace: LinkTrace,
    last: Vec<Row>,
}

impl Builder {
    /// A builder without rows.
    pub fn new(service: Service) -> Builder {
        let trace = LinkTrace {
            service,
            blocks: Vec::new(),
            rows: 0,
            period: Duration::ZERO,
            capacity: 0,
            least_delay: Duration::MAX,
            most_delay: Duration::ZERO,
            most_loss: 0,
        };
        Builder { trace, last: Vec::with_capacity(BLOCK) }
    }

    /// Appends a row.
    pub fn push(&mut self, row: Row) {
        self.last.push(row);
        if self.last.len() == BLOCK {
            self.store();
        }
    }

    fn store(&mut self) {
        let Builder { trace, last } = self;
        let mut bytes = Vec::new();
        let columns = [
            Column::store(last.iter().map(|row| row.span.as_nanos()), &mut bytes),
            Column::store(last.iter().map(|row| row.service), &mut bytes),
            Column::store(last.iter().map(|row| row.delay.as_nanos()), &mut bytes),
            Column::store(last.iter().map(|row| u64::from(row.loss)), &mut bytes),
        ];
        let (begin, before, rows) = (trace.period, trace.capacity, last.len() as u32);
        trace.blocks.push(Block { begin, before, rows, columns, bytes: bytes.into_boxed_slice() });
        for row in last.drain(..) {
            trace.rows += 1;
            trace.period = trace.period + row.span;
            trace.capacity += row.capacity(trace.service);
            trace.least_delay = trace.least_delay.min(row.delay);
            trace.most_delay = trace.most_delay.max(row.delay);
            trace.most_loss = trace.most_loss.max(row.loss);
        }
    }

    /// The trace; `None` if its length or its capacity is zero.
    pub fn finish(mut self) -> Option<LinkTrace> {
        if !self.last.is_empty() {
            self.store();
        }
        self.trace.blocks.shrink_to_fit();
        (self.trace.period > Duration::ZERO && self.trace.capacity > 0).then_some(self.trace)
    }
}

impl LinkTrace {
    /// How its rows express capacity.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Always false, because a trace has at least one row.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.blocks.iter().flat_map(|block| (0..block.rows as usize).map(|at| block.row(at)))
    }

    /// The duration after which it repeats.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// The mean rate, at least 1 bit/s.
    pub fn mean_rate(&self) -> Rate {
        let mean = self.capacity / u128::from(self.period.as_nanos());
        Rate::from_bps(u64::try_from(mean).unwrap_or(u64::MAX).clamp(1, u64::MAX / 2)).unwrap_or_else(|| unreachable!("it is above 0"))
    }

    /// The minimum delay of any row.
    pub fn least_delay(&self) -> Duration {
        self.least_delay
    }

    /// Whether some row has a delay.
    pub fn has_delay(&self) -> bool {
        self.most_delay > Duration::ZERO
    }

    /// Whether some row loses packets.
    pub fn has_loss(&self) -> bool {
        self.most_loss > 0
    }

    /// The capacity before `at` in billionths of a bit. An opportunity at `at` is excluded.
    pub fn capacity_before(&self, at: Time) -> u128 {
        match (self.service, at.as_nanos().checked_sub(1)) {
            (Service::Rates, _) => Cursor::default().capacity_by(self, at),
            (Service::Opportunities, Some(last)) => Cursor::default().capacity_by(self, Time::from_nanos(last)),
            (Service::Opportunities, None) => 0,
        }
    }

    /// The start of a transmission of `size` bytes that ends at `end`, on an otherwise idle link.
    pub fn start_of(&self, size: u32, end: Time) -> Time {
        let by_end = Cursor::default().capacity_by(self, end);
        match by_end.checked_sub(u128::from(size) * u128::from(NANOBITS_PER_BYTE)) {
            None | Some(0) => Time::ZERO,
            Some(before) => Cursor::default().time_of(self, before).min(end),
        }
    }

    /// Bytes of memory used.
    pub fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>() + self.blocks.iter().map(|block| block.bytes.len()).sum::<usize>()
    }

    /// Visits its content in pieces, to hash it. Equal rows are stored identically.
    pub fn content(&self, mut piece: impl FnMut(&[u8])) {
        piece(&[matches!(self.service, Service::Opportunities).into()]);
        for block in &self.blocks {
            piece(&block.rows.to_le_bytes());
            block.columns.iter().for_each(|column| piece(&column.content()));
            piece(&block.bytes);
        }
    }

    /// The block that is in force after `rest`, a time within the trace.
    fn block_at(&self, rest: Duration) -> usize {
        self.blocks.partition_point(|block| block.begin <= rest).saturating_sub(1)
    }

    /// The block with the first row by whose end `rest` can be sent.
    /// `rest` is above zero and at most the capacity of the trace.
    fn block_of(&self, rest: u128) -> usize {
        self.blocks.partition_point(|block| block.before < rest).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests;
