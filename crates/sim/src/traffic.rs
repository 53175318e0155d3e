//! What applications offer: when to send how much.

use sojourn_units::{Duration, Rate, Stream, Time};

/// What a flow's application offers.
#[derive(Clone, Debug)]
pub enum Source {
    /// As much as the window allows, up to `size` bytes if given.
    Bulk {
        /// Bytes to send, without end if `None`.
        size: Option<u64>,
    },
    /// Packets of `size` bytes at a constant rate; each gap varies by up to `jitter` of itself in all.
    Constant {
        /// Rate while sending.
        rate: Rate,
        /// Bytes a packet on the wire (UDP) or a write (TCP).
        size: u32,
        /// Part of the gap, 0 to 1, over which it varies uniformly.
        jitter: f64,
    },
    /// Packets of `size` bytes by the clock.
    Every {
        /// Time between packets.
        every: Duration,
        /// Bytes a packet on the wire.
        size: u32,
    },
    /// Packets at exponential gaps: a Poisson process (M/D/1, or with exponential sizes M/M/1).
    Poisson {
        /// Mean rate.
        rate: Rate,
        /// Mean bytes a packet on the wire.
        size: u32,
        /// Whether sizes are exponential too, in whole bytes up to the largest packet.
        random_sizes: bool,
    },
    /// Bursts at a constant rate and silences, both exponential or Pareto (ns-2's `Application/Traffic/{Exponential,Pareto}`).
    OnOff {
        /// Rate within a burst.
        rate: Rate,
        /// Bytes a packet on the wire (UDP) or a write (TCP).
        size: u32,
        /// Mean length of a burst in seconds.
        on: f64,
        /// Mean silence in seconds.
        off: f64,
        /// `None`: exponential. Else Pareto with this shape, above 1.
        shape: Option<f64>,
    },
}

/// What an application does when its time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Hands over so many bytes (`None`: without end), and says whether these are the last.
    Write(Option<u64>, bool),
    /// Stops.
    Stop,
}

/// A running application.
#[derive(Clone, Debug)]
pub struct Application {
    source: Source,
    due: Time,
    stop: Time,
    left_in_burst: u64,
    random: Stream,
}

impl Application {
    /// An application that starts and stops at these times and draws from its own stream.
    pub fn new(source: Source, start: Time, stop: Time, random: Stream) -> Self {
        Application { source, due: start, stop, left_in_burst: 0, random }
    }

    /// When it wants to act next.
    #[inline]
    pub fn due(&self) -> Time {
        self.due.min(self.stop)
    }

    /// Acts at its due time.
    pub fn act(&mut self) -> Offer {
        if self.stop <= self.due {
            (self.due, self.stop) = (Time::NEVER, Time::NEVER);
            return Offer::Stop;
        }
        match self.source {
            Source::Bulk { size } => {
                self.due = Time::NEVER;
                Offer::Write(size, size.is_some())
            }
            Source::Constant { rate, size, jitter } => {
                let gap = rate.time_for(u64::from(size));
                self.due += gap.mul_f64(1.0 + jitter * (self.random.unit() - 0.5));
                Offer::Write(Some(u64::from(size)), false)
            }
            Source::Every { every, size } => {
                self.due += every;
                Offer::Write(Some(u64::from(size)), false)
            }
            Source::Poisson { rate, size, random_sizes } => {
                let mean = f64::from(size) * 8.0 / rate.as_bps() as f64;
                self.due += Duration::from_secs_f64(self.random.exponential(mean));
                let bytes = if random_sizes { self.random.exponential(f64::from(size)) } else { f64::from(size) };
                Offer::Write(Some((bytes + 0.5).clamp(1.0, 65_535.0) as u64), false)
            }
            Source::OnOff { rate, size, on, off, shape } => {
                let gap = rate.time_for(u64::from(size));
                if self.left_in_burst == 0 {
                    let packets = self.draw(on / gap.as_secs_f64(), shape);
                    self.left_in_burst = ((packets + 0.5) as u64).max(1);
                }
                self.left_in_burst -= 1;
                self.due += gap;
                if self.left_in_burst == 0 {
                    let silence = self.draw(off, shape);
                    self.due += Duration::from_secs_f64(silence);
                }
                Offer::Write(Some(u64::from(size)), false)
            }
        }
    }

    fn draw(&mut self, mean: f64, shape: Option<f64>) -> f64 {
        match shape {
            None => self.random.exponential(mean),
            Some(shape) => self.random.pareto(mean, shape),
        }
    }
}

/// What a session does: many connections, one after another or side by side.
#[derive(Clone, Debug)]
pub enum SessionKind {
    /// Pages of objects, one connection an object (ns-2's `PagePool/WebTraf`).
    Web {
        /// Mean time between pages in seconds, exponential.
        page_gap: f64,
        /// Objects a page.
        objects: u32,
        /// Mean time between the starts of a page's objects in seconds, exponential.
        object_gap: f64,
        /// Mean object size in segments.
        object_mean: f64,
        /// Shape of the Pareto II distribution of sizes, above 1.
        object_shape: f64,
        /// Pages to load, without end if `None`.
        pages: Option<u64>,
        /// The gap runs from the end of a page (true, as in ns-2) or from its start.
        closed: bool,
        /// Bytes of the request that goes ahead of each object on a connection of its own; 0 for none.
        request: u64,
    },
    /// Transfers that arrive as a Poisson process.
    Transfers {
        /// Mean time between arrivals in seconds.
        every: f64,
        /// Mean size in bytes.
        size_mean: f64,
        /// `None`: exponential. Else Pareto II with this shape, above 1.
        size_shape: Option<f64>,
    },
}

/// What a session wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// A request of so many bytes on the way back, and after it a connection of so many segments.
    Request(u64, u64),
    /// A connection that carries so many bytes.
    Transfer(u64),
    /// A connection that carries so many segments.
    Object(u64),
}

/// A running session.
#[derive(Clone, Debug)]
pub struct Session {
    kind: SessionKind,
    stop: Time,
    objects_left: u32,
    objects_open: u32,
    pages_started: u64,
    next_page: Time,
    random: Stream,
}

impl Session {
    /// A session until `stop` that draws from its own stream.
    pub fn new(kind: SessionKind, stop: Time, random: Stream) -> Self {
        Session { kind, stop, objects_left: 0, objects_open: 0, pages_started: 0, next_page: Time::ZERO, random }
    }

    /// Its time has come: what it wants now and when to ask again.
    pub fn act(&mut self, now: Time) -> (Option<Wish>, Option<Time>) {
        if now >= self.stop {
            return (None, None);
        }
        match self.kind {
            SessionKind::Transfers { every, size_mean, size_shape } => {
                let size = match size_shape {
                    None => self.random.exponential(size_mean),
                    Some(shape) => self.random.pareto2(size_mean, shape),
                };
                let next = now + Duration::from_secs_f64(self.random.exponential(every));
                (Some(Wish::Transfer(size.ceil().max(1.0) as u64)), Some(next))
            }
            SessionKind::Web { page_gap, objects, object_gap, object_mean, object_shape, pages, closed, request } => {
                if self.objects_left == 0 {
                    if pages.is_some_and(|pages| self.pages_started >= pages) {
                        return (None, None);
                    }
                    self.pages_started += 1;
                    self.objects_left = objects;
                    self.next_page = now + Duration::from_secs_f64(self.random.exponential(page_gap));
                }
                self.objects_left -= 1;
                self.objects_open += 1;
                let segments = self.random.pareto2(object_mean, object_shape).ceil().max(1.0) as u64;
                let next = match self.objects_left {
                    0 if closed => None,
                    0 => Some(self.next_page.max(now)),
                    _ => Some(now + Duration::from_secs_f64(self.random.exponential(object_gap))),
                };
                (Some(if request > 0 { Wish::Request(request, segments) } else { Wish::Object(segments) }), next)
            }
        }
    }

    /// One of its connections is complete: when to ask it again, if that decides it.
    pub fn on_complete(&mut self, now: Time) -> Option<Time> {
        self.objects_open = self.objects_open.saturating_sub(1);
        match self.kind {
            SessionKind::Web { page_gap, closed: true, .. } if self.objects_open == 0 && self.objects_left == 0 => {
                Some(now + Duration::from_secs_f64(self.random.exponential(page_gap)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn a_constant_source_keeps_its_rate() {
        let source = Source::Constant { rate: Rate::from_bps(8_000_000).unwrap(), size: 1000, jitter: 0.5 };
        let mut app = Application::new(source, Time::ZERO, secs(10), Stream::named(1, "app"));
        let mut sent = 0;
        while app.act() != Offer::Stop {
            sent += 1;
        }
        assert!((9_950..=10_050).contains(&sent), "{sent}");
        assert_eq!(app.due(), Time::NEVER);
    }

    #[test]
    fn a_poisson_source_has_the_rate_asked_for_and_gaps_as_long_as_they_vary() {
        for random_sizes in [false, true] {
            let source = Source::Poisson { rate: Rate::from_bps(800_000).unwrap(), size: 1000, random_sizes };
            let mut app = Application::new(source, Time::ZERO, secs(1_000), Stream::named(1, "app"));
            let (mut bytes, mut gaps, mut squares, mut count, mut last) = (0, 0.0, 0.0, 0.0, 0.0);
            while let Offer::Write(Some(more), _) = app.act() {
                let gap = app.due().as_secs_f64() - last;
                (bytes, gaps, squares, count, last) = (bytes + more, gaps + gap, squares + gap * gap, count + 1.0, last + gap);
            }
            let (mean, second) = (gaps / count, squares / count);
            assert!((bytes as f64 * 8.0 / 1_000.0 / 800_000.0 - 1.0).abs() < 0.02);
            assert!(((second - mean * mean).sqrt() / mean - 1.0).abs() < 0.02);
        }
    }

    #[test]
    fn on_and_off_times_have_the_means_asked_for() {
        for shape in [None, Some(2.5)] {
            let rate = Rate::from_bps(800_000).unwrap();
            let source = Source::OnOff { rate, size: 1000, on: 0.5, off: 1.5, shape };
            let mut app = Application::new(source, Time::ZERO, secs(20_000), Stream::named(1, "app"));
            let mut bytes = 0u64;
            while let Offer::Write(Some(more), _) = app.act() {
                bytes += more;
            }
            let mean = bytes as f64 * 8.0 / 20_000.0;
            assert!((mean / 200_000.0 - 1.0).abs() < 0.05, "{mean} bit/s with shape {shape:?}");
        }
    }

    #[test]
    fn a_closed_web_session_thinks_after_a_page_is_complete() {
        let kind = SessionKind::Web {
            page_gap: 3.0,
            objects: 2,
            object_gap: 0.001,
            object_mean: 12.0,
            object_shape: 1.2,
            pages: None,
            closed: true,
            request: 0,
        };
        let mut web = Session::new(kind, secs(1_000), Stream::named(1, "web"));
        let (first, next) = web.act(secs(1));
        assert!(matches!(first, Some(Wish::Object(_))));
        let (second, after) = web.act(next.unwrap());
        assert!(second.is_some() && after.is_none());
        assert_eq!(web.on_complete(secs(2)), None);
        assert!(web.on_complete(secs(3)).unwrap() > secs(3));
    }
}
