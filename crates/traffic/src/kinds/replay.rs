//! TCP transfers at given times and of given sizes.

use crate::pairs::{Pairs, ReadFile, Transfer};
use crate::{Connection, Opening, ParamError, SessionModel, Size, Transport};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{Bytes, Duration, Stream, Time, range};

/// Parameters of a list of transfers.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Replay"))]
pub struct Params {
    /// The time after the flow's start and the size of each transfer.
    /// A list such as [["0 s", "10 kB"], ["20 ms", "1 MB"]], or a file whose lines contain a time in s and a size in bytes, in any order.
    pub transfers: Pairs<Transfer>,
}

impl Params {
    /// The transfers in order of time.
    fn in_order(&self) -> Arc<Vec<Transfer>> {
        match &self.transfers {
            Pairs::File(_) => Arc::default(),
            Pairs::Rows(rows) if rows.is_sorted_by_key(|row| row.0) => Arc::clone(rows),
            Pairs::Rows(rows) => {
                let mut rows = Vec::clone(rows);
                rows.sort_by_key(|row| row.0);
                Arc::new(rows)
            }
        }
    }

    /// The largest sum of a quantity over simultaneous transfers.
    fn most_at_once(&self, number: fn(&Transfer) -> f64) -> f64 {
        let rows = self.in_order();
        let together = rows.chunk_by(|first, second| first.0 == second.0);
        together.map(|group| group.iter().map(number).sum()).fold(0.0, f64::max)
    }
}

impl crate::Params for Params {
    type Model = Replay;

    fn example() -> Self {
        let transfers = vec![Transfer(Duration::ZERO, Bytes(10_000)), Transfer(Duration::from_millis(20), Bytes(1_000_000))];
        Params { transfers: Pairs::Rows(Arc::new(transfers)) }
    }

    fn check(&self) -> Result<(), ParamError> {
        let rows = self.transfers.rows();
        ParamError::unless(!rows.is_empty(), "transfers", &"none", "one transfer or more")?;
        rows.iter().try_for_each(|Transfer(at, size)| {
            range::time("transfers", *at)?;
            range::transfer_size("transfers", *size)
        })
    }

    fn read_files<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), (&'static str, E)> {
        self.transfers.read(read).map_err(|error| ("transfers", error))
    }

    fn model(&self) -> Replay {
        Replay { transfers: self.in_order(), next: 0, start: None }
    }

    fn connections_at_once(&self) -> u32 {
        self.most_at_once(|_| 1.0) as u32
    }

    fn segments_at_once(&self, mss: u32) -> f64 {
        self.most_at_once(|transfer| transfer.1.0 as f64) / f64::from(mss)
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }
}

/// The state of a list of transfers.
#[derive(Clone, Debug)]
pub struct Replay {
    transfers: Arc<Vec<Transfer>>,
    /// The position of the next transfer.
    next: usize,
    /// The time of the first call, from which the list's times count.
    start: Option<Time>,
}

impl SessionModel for Replay {
    fn open(&mut self, now: Time, _random: &mut Stream) -> Opening {
        let start = *self.start.get_or_insert(now);
        let due = |position: usize| self.transfers.get(position).map(|transfer| start + transfer.0);
        let connection = due(self.next).filter(|&at| at <= now).map(|_| {
            let size = Size::Bytes(self.transfers[self.next].1.0);
            self.next += 1;
            Connection { request: 0, size }
        });
        Opening { connection, next: due(self.next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;

    #[test]
    fn transfers_open_at_their_times_after_the_start_and_then_no_more() {
        let ms = Duration::from_millis;
        let rows = vec![Transfer(ms(9), Bytes(300)), Transfer(ms(5), Bytes(100)), Transfer(ms(5), Bytes(200))];
        let mut replay = Params { transfers: Pairs::Rows(Arc::new(rows)) }.model();
        let mut random = Stream::named(1, "replay");
        let (mut now, mut opened) = (Time::ZERO + ms(1000), Vec::new());
        loop {
            let opening = replay.open(now, &mut random);
            opened.extend(opening.connection.map(|connection| (now.since(Time::ZERO), connection.size)));
            match opening.next {
                Some(next) => now = next,
                None => break,
            }
        }
        let expected = [(1005, 100), (1005, 200), (1009, 300)];
        assert_eq!(opened, expected.map(|(at, bytes)| (ms(at), Size::Bytes(bytes))));
    }

    #[test]
    fn an_empty_list_and_a_transfer_without_data_are_refused() {
        let params = |rows: &[Transfer]| Params { transfers: Pairs::Rows(Arc::new(rows.to_vec())) };
        assert_eq!(params(&[Transfer(Duration::ZERO, Bytes(1))]).check(), Ok(()));
        for wrong in [&[][..], &[Transfer(Duration::ZERO, Bytes(0))]] {
            assert_eq!(params(wrong).check().unwrap_err().field, "transfers");
        }
    }

    #[test]
    fn transfers_that_start_together_are_counted_together() {
        let rows = vec![
            Transfer(Duration::from_millis(1), Bytes(3000)),
            Transfer(Duration::ZERO, Bytes(500)),
            Transfer(Duration::ZERO, Bytes(1500)),
        ];
        let params = Params { transfers: Pairs::Rows(Arc::new(rows)) };
        assert_eq!((params.connections_at_once(), params.segments_at_once(1000)), (2, 3.0));
    }
}
