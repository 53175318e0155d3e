//! A connection: two endpoints, called so that a fault of theirs ends the run in one line.

use crate::endpoint::{Datagram, Endpoint, Pair, State};
use crate::error::Error;
use sojourn_units::Time;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The largest IP packet, in bytes.
const LARGEST: usize = 65_535;

/// Datagrams that an endpoint may send at one time without a pause.
const MOST_AT_ONCE: usize = 100_000;

/// Timeouts at one time after which a timer counts as stuck.
const MOST_TIMEOUTS: u32 = 1_000;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// One end, with its timer.
struct End {
    endpoint: Box<dyn Endpoint>,
    headers: usize,
    timer: Option<Time>,
    /// The time of the last timeout, and how many there were at that time.
    timeouts: (Duration, u32),
    sent: u64,
}

/// Both ends of a flow.
pub(crate) struct Connection {
    pub name: Arc<str>,
    host: String,
    sender: End,
    receiver: End,
    told: State,
}

/// A timer before and after a call.
pub(crate) struct Timer {
    pub before: Option<Time>,
    pub after: Option<Time>,
}

impl Connection {
    pub fn new(name: &str, host: &str, pair: Pair) -> Self {
        let end = |endpoint: Box<dyn Endpoint>| End {
            headers: endpoint.headers(),
            endpoint,
            timer: None,
            timeouts: (Duration::ZERO, 0),
            sent: 0,
        };
        Connection { name: name.into(), host: host.into(), sender: end(pair.sender), receiver: end(pair.receiver), told: State::default() }
    }

    pub fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) -> Result<(), Error> {
        self.guarded(Side::Sender, now, |endpoint| endpoint.write(now, bytes, last))
    }

    pub fn stop(&mut self, now: Duration) -> Result<(), Error> {
        self.guarded(Side::Sender, now, |endpoint| endpoint.stop(now))
    }

    pub fn receive(&mut self, side: Side, now: Duration, datagram: Datagram) -> Result<(), Error> {
        self.guarded(side, now, |endpoint| endpoint.receive(now, datagram))
    }

    pub fn on_timeout(&mut self, side: Side, now: Duration) -> Result<(), Error> {
        let (last, count) = self.end(side).timeouts;
        let count = if last == now { count + 1 } else { 1 };
        if count > MOST_TIMEOUTS {
            return Err(self.broken(side, now, format!("expected a timer after this time, got the same {MOST_TIMEOUTS} times")));
        }
        self.end(side).timeouts = (now, count);
        self.guarded(side, now, |endpoint| endpoint.on_timeout(now))
    }

    /// Takes all datagrams that an end sends now.
    pub fn transmit(&mut self, side: Side, now: Duration) -> Result<Vec<Datagram>, Error> {
        let mut sent = Vec::new();
        let largest = LARGEST.saturating_sub(self.headers(side));
        while let Some(datagram) = self.guarded(side, now, |endpoint| endpoint.transmit(now))? {
            let size = datagram.payload.len();
            if size > largest {
                return Err(self.broken(side, now, format!("expected a datagram of at most {largest} bytes, got {size}")));
            }
            sent.push(datagram);
            if sent.len() > MOST_AT_ONCE {
                return Err(self.broken(side, now, format!("expected at most {MOST_AT_ONCE} datagrams at one time, got more")));
            }
        }
        Ok(sent)
    }

    /// Asks an end for its timer; one in the past is due now.
    pub fn timer(&mut self, side: Side, now: Duration) -> Result<Timer, Error> {
        let at = self.guarded(side, now, |endpoint| endpoint.timeout())?;
        let after = at.map(|at| Time::ZERO + at.max(now).into());
        let before = std::mem::replace(&mut self.end(side).timer, after);
        Ok(Timer { before, after })
    }

    /// What changed since the last call.
    pub fn news(&mut self, now: Duration) -> Result<State, Error> {
        let sender = self.guarded(Side::Sender, now, |endpoint| endpoint.state())?;
        let receiver = self.guarded(Side::Receiver, now, |endpoint| endpoint.state())?;
        let told = State { delivered: receiver.delivered, ..sender };
        let before = std::mem::replace(&mut self.told, told);
        Ok(State {
            window: told.window.filter(|_| told.window != before.window),
            pacing_rate: told.pacing_rate.filter(|_| told.pacing_rate != before.pacing_rate),
            bandwidth: told.bandwidth.filter(|_| told.bandwidth != before.bandwidth),
            rtt: told.rtt.filter(|_| told.rtt != before.rtt),
            lost: told.lost.filter(|_| told.lost != before.lost),
            congestion_events: told.congestion_events.filter(|_| told.congestion_events != before.congestion_events),
            delivered: told.delivered.saturating_sub(before.delivered),
            complete: told.complete && !before.complete,
        })
    }

    /// Counts a datagram of an end; returns its number, from 1.
    pub fn count(&mut self, side: Side) -> u64 {
        let end = self.end(side);
        end.sent += 1;
        end.sent
    }

    /// Bytes of headers before each payload of an end.
    pub fn headers(&mut self, side: Side) -> usize {
        self.end(side).headers
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Sender => &mut self.sender,
            Side::Receiver => &mut self.receiver,
        }
    }

    /// Calls an endpoint; a panic or a fault becomes an error.
    fn guarded<T>(&mut self, side: Side, now: Duration, call: impl FnOnce(&mut dyn Endpoint) -> T) -> Result<T, Error> {
        let endpoint = &mut *self.end(side).endpoint;
        match catch_unwind(AssertUnwindSafe(|| (call(endpoint), endpoint.fault()))) {
            Ok((answer, None)) => Ok(answer),
            Ok((_, Some(fault))) => Err(self.broken(side, now, fault)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
                Err(self.broken(side, now, format!("expected a return, got a panic: {}", text.unwrap_or("without a text"))))
            }
        }
    }

    fn broken(&self, side: Side, now: Duration, rule: String) -> Error {
        let side = if side == Side::Sender { "sender" } else { "receiver" };
        Error::Endpoint { endpoint: format!("{} {side} ({})", self.name, self.host), seconds: now.as_secs_f64(), rule }
    }
}
