//! Media that links share: one link has the turn and sends, the others wait.

use crate::window::Window;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use sojourn_spec::medium::{self, Turns};
use sojourn_units::{Duration, Stream, Time};

/// A medium that links share.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    params: Arc<medium::Medium>,
    random: Stream,
    /// The links that wait for a turn, the longest-waiting first.
    waiting: VecDeque<usize>,
    turn: Option<Turn>,
}

/// The turn of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The time at which it began, with its overhead.
    pub since: Time,
    /// Packets that began in it.
    packets: u32,
}

/// A link of a medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    /// Its medium, as an index among all.
    pub medium: usize,
    /// Whether it has or waits for a turn.
    pub contends: bool,
}

/// The turns of a link on a medium that it shares.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct TurnStats {
    /// Turns that began in the window.
    pub count: u64,
    /// The part of the window that its turns took, with their overhead.
    pub airtime: Duration,
}

impl TurnStats {
    /// Adds a turn that ends at `until`.
    pub(crate) fn add(&mut self, turn: Turn, until: Time, window: Window) {
        self.count += u64::from(turn.since >= window.from && turn.since < window.until);
        self.airtime = self.airtime + until.min(window.until).since(turn.since.max(window.from));
    }
}

impl Medium {
    /// A medium at time 0; its random draws are those of the stream `medium/<name>`.
    pub fn new(params: Arc<medium::Medium>, seed: u64) -> Medium {
        let random = Stream::named(seed, &format!("medium/{}", params.name));
        Medium { params, random, waiting: VecDeque::new(), turn: None }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.params.name
    }

    /// The overhead of a turn before its first packet.
    pub fn overhead(&self) -> Duration {
        self.params.overhead
    }

    /// Whether it draws at random.
    pub fn draws(&self) -> bool {
        self.params.turns == Turns::Random
    }

    /// A link waits for a turn from now on.
    pub fn join(&mut self, link: usize) {
        self.waiting.push_back(link);
    }

    /// The link that has the next turn, if the medium is free and a link waits.
    pub fn next(&mut self) -> Option<usize> {
        if self.turn.is_some() {
            return None;
        }
        match self.params.turns {
            Turns::Random if self.waiting.len() > 1 => {
                let at = self.random.below(self.waiting.len() as u64);
                self.waiting.remove(at as usize)
            }
            Turns::RoundRobin | Turns::Random => self.waiting.pop_front(),
        }
    }

    /// Begins a turn with a packet.
    pub fn begin(&mut self, now: Time) {
        debug_assert!(self.turn.is_none(), "medium {}: two turns at {now:?}", self.params.name);
        self.turn = Some(Turn { since: now, packets: 1 });
    }

    /// Whether the turn may continue at `now` with another packet, which is then counted.
    pub fn goes_on(&mut self, now: Time) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        let lasts = now.since(turn.since + self.params.overhead);
        let goes_on = turn.packets < self.params.frames && self.params.longest.is_none_or(|longest| lasts < longest);
        turn.packets += u32::from(goes_on);
        goes_on
    }

    /// Ends the turn; `None` if no link has it.
    pub fn end(&mut self) -> Option<Turn> {
        self.turn.take()
    }

    /// The audit at the end of the run, when all turns have ended.
    ///
    /// # Errors
    /// If they took more than the time of the run.
    pub fn check(&self, airtime: Duration, window: Window) -> Result<(), String> {
        let span = window.span();
        if airtime <= span { Ok(()) } else { Err(format!("medium {}: turns of {airtime} in {span}", self.params.name)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn medium(frames: u32, longest: Option<Duration>) -> Medium {
        Medium::new(Arc::new(medium::Medium { name: "air".into(), turns: Turns::RoundRobin, overhead: MS, frames, longest }), 1)
    }

    #[test]
    fn turns_that_took_longer_than_the_window_of_statistics_are_refused() {
        let window = Window { from: at(10), until: at(30) };
        assert_eq!(medium(1, None).check(MS * 20, window), Ok(()));
        assert_eq!(medium(1, None).check(MS * 21, window), Err(format!("medium air: turns of {} in {}", MS * 21, MS * 20)));
    }

    #[test]
    fn a_turn_goes_on_for_less_than_its_longest_time_without_its_overhead() {
        let mut air = medium(100, Some(MS * 3));
        air.begin(at(10));
        assert!(air.goes_on(at(11)) && air.goes_on(Time::from_nanos(13_999_999)));
        assert!(!air.goes_on(at(14)));
    }

    #[test]
    fn a_turn_has_at_most_its_number_of_frames() {
        let mut air = medium(3, None);
        assert!(!air.goes_on(at(0)), "none has the turn");
        air.begin(at(0));
        assert_eq!([1, 2, 3, 4].map(|ms| air.goes_on(at(ms))), [true, true, false, false]);
    }

    #[test]
    fn a_turn_counts_in_the_window_in_which_it_begins_and_its_time_in_each() {
        let window = Window { from: at(10), until: at(20) };
        let count = |since, until| {
            let mut stats = TurnStats::default();
            stats.add(Turn { since, packets: 1 }, until, window);
            (stats.count, stats.airtime)
        };
        assert_eq!(count(at(9), at(12)), (0, MS * 2));
        assert_eq!(count(at(10), at(12)), (1, MS * 2));
        assert_eq!(count(at(19), at(22)), (1, MS));
        assert_eq!(count(at(20), at(22)), (0, Duration::ZERO));
    }
}
