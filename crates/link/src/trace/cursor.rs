//! A position in a trace that only moves forward.

use super::{LinkTrace, Row, Service};
use sojourn_units::{Duration, Time};

/// A row of a trace, and the sums of the rows before it. It only moves forward.
/// For an earlier time or a smaller capacity it returns the current row.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// The current row; `None` before the first.
    here: Option<Here>,
}

#[derive(Clone, Copy, Debug)]
struct Here {
    /// The number of repetitions of the trace, the block, and the row in it.
    turn: u64,
    block: usize,
    at: usize,
    row: Row,
    /// The start and end of the row, and the capacity before it and by its end.
    from: u128,
    until: u128,
    before: u128,
    by_end: u128,
}

impl Here {
    /// The first row of a block in a turn.
    fn first(trace: &LinkTrace, turn: u64, block: usize) -> Here {
        let (period, begin) = (u128::from(trace.period.as_nanos()), u128::from(trace.blocks[block].begin.as_nanos()));
        let from = u128::from(turn) * period + begin;
        let before = u128::from(turn) * trace.capacity + trace.blocks[block].before;
        Here { turn, block, at: 0, row: Row::default(), from, until: from, before, by_end: before }.read(trace)
    }

    fn read(mut self, trace: &LinkTrace) -> Here {
        self.row = trace.blocks[self.block].row(self.at);
        self.until = self.from + u128::from(self.row.span.as_nanos());
        self.by_end = self.before + self.row.capacity(trace.service);
        self
    }

    fn next(mut self, trace: &LinkTrace) -> Here {
        (self.from, self.before, self.at) = (self.until, self.by_end, self.at + 1);
        if self.at == trace.blocks[self.block].rows as usize {
            (self.at, self.block) = (0, self.block + 1);
            if self.block == trace.blocks.len() {
                (self.block, self.turn) = (0, self.turn + 1);
            }
        }
        self.read(trace)
    }
}

impl Cursor {
    /// Moves to the row that is in force at `at`.
    fn move_to_time(&mut self, trace: &LinkTrace, at: Time) -> Here {
        let at = u128::from(at.as_nanos());
        let period = u128::from(trace.period.as_nanos());
        let (turn, rest) = (at / period, Duration::from_nanos((at % period) as u64));
        let block = trace.block_at(rest);
        let mut here = match self.here {
            Some(here) if (u128::from(here.turn), here.block) >= (turn, block) => here,
            _ => Here::first(trace, turn as u64, block),
        };
        while here.until <= at {
            here = here.next(trace);
        }
        self.here = Some(here);
        here
    }

    /// Moves to the first row by whose end `capacity`, above zero, can be sent.
    fn move_to_capacity(&mut self, trace: &LinkTrace, capacity: u128) -> Here {
        let here = match self.here {
            Some(here) if here.by_end >= capacity => here,
            Some(here) if here.next(trace).by_end >= capacity => here.next(trace),
            _ => self.far_off(trace, capacity),
        };
        self.here = Some(here);
        here
    }

    fn far_off(&self, trace: &LinkTrace, capacity: u128) -> Here {
        let turn = (capacity - 1) / trace.capacity;
        let block = trace.block_of(capacity - turn * trace.capacity);
        let mut here = match self.here {
            Some(here) if (u128::from(here.turn), here.block) >= (turn, block) => here,
            _ => Here::first(trace, u64::try_from(turn).unwrap_or(u64::MAX), block),
        };
        while here.by_end < capacity {
            here = here.next(trace);
        }
        here
    }

    /// The capacity by `at`, in billionths of a bit, including an opportunity at that time.
    pub fn capacity_by(&mut self, trace: &LinkTrace, at: Time) -> u128 {
        let here = self.move_to_time(trace, at);
        match trace.service {
            Service::Rates => here.before + u128::from(at.as_nanos()).saturating_sub(here.from) * u128::from(here.row.service),
            Service::Opportunities => here.before,
        }
    }

    /// The nanosecond in which the trace has sent `capacity` billionths of a bit, above zero.
    /// [`Time::NEVER`] if that is after the end of time.
    pub fn time_of(&mut self, trace: &LinkTrace, capacity: u128) -> Time {
        let here = self.move_to_capacity(trace, capacity);
        let nanos = match trace.service {
            Service::Rates => here.from + capacity.saturating_sub(here.before) / u128::from(here.row.service.max(1)),
            Service::Opportunities => here.until,
        };
        u64::try_from(nanos).map_or(Time::NEVER, Time::from_nanos)
    }

    /// The row in force at `at`.
    pub fn row_at(&mut self, trace: &LinkTrace, at: Time) -> Row {
        self.move_to_time(trace, at).row
    }
}
