//! Media that links share: one link of a medium has the turn and sends, the others wait for theirs.

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
    /// The links that wait for a turn, those first that have waited longest.
    waiting: VecDeque<usize>,
    turn: Option<Turn>,
}

/// The turn of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// When it began, with its overhead.
    pub since: Time,
    /// Packets that have begun in it.
    packets: u32,
}

/// A link of a medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    /// Its medium, as a position among all.
    pub medium: usize,
    /// Whether it has or waits for a turn.
    pub contends: bool,
}

/// The turns of a link on a medium that it shares.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TurnStats {
    /// Turns that began in the window.
    pub count: u64,
    /// The part of the window that its turns took, with their overhead.
    pub airtime: Duration,
}

impl TurnStats {
    /// A turn ends at `until`.
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

    /// The time that a turn takes before its first packet.
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

    /// The link that has the next turn, if no link has one and one waits.
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

    /// A turn begins with a packet.
    pub fn begin(&mut self, now: Time) {
        debug_assert!(self.turn.is_none(), "medium {}: two turns at {now:?}", self.params.name);
        self.turn = Some(Turn { since: now, packets: 1 });
    }

    /// Whether the turn may go on at `now` with another packet; if so, it is counted.
    pub fn goes_on(&mut self, now: Time) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        let lasts = now.since(turn.since + self.params.overhead);
        let goes_on = turn.packets < self.params.frames && self.params.longest.is_none_or(|longest| lasts < longest);
        turn.packets += u32::from(goes_on);
        goes_on
    }

    /// The turn ends; `None` if nobody has it.
    pub fn end(&mut self) -> Option<Turn> {
        self.turn.take()
    }

    /// The audit at the end of the run, when all turns have ended: they took no more than the time that there was.
    ///
    /// # Errors
    /// They took more.
    pub fn check(&self, airtime: Duration, window: Window) -> Result<(), String> {
        let span = window.span();
        if airtime <= span { Ok(()) } else { Err(format!("medium {}: turns of {airtime} in {span}", self.params.name)) }
    }
}
