//! The rates of a class: its own rate, and its `ceil`.

use sojourn_units::{Duration, Rate, Time};

/// The rates of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// The rate that it has whatever the other classes do.
    pub rate: Rate,
    /// The most that it gets if others leave capacity; `None`: all of it.
    pub ceil: Option<Rate>,
    /// The rate of the link, if it is constant.
    /// It is the rate of the root class, and the `ceil` of classes without one.
    pub link: Option<Rate>,
}

/// Bytes by which a class may be ahead of its rate: `tc`'s size of a packet.
const BURST: u64 = 1600;

/// Whether a class may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It sends at its own rate.
    Own,
    /// It sends with spare capacity of other classes.
    Spare,
    /// It must wait.
    Wait,
}

/// The credit of a class at both rates.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    own: Credit,
    most: Option<Credit>,
}

/// The root class of the link (Linux `sch_htb`).
/// Classes send at their own rates whatever credit it has, and with lent capacity only if it has credit. Packets leave it at these times,
/// and then wait for the link as in the queue of a device.
#[derive(Clone, Debug)]
pub(super) struct Root {
    credit: Credit,
    /// The time at which the last packet left it.
    pub last: Time,
    /// The longest time between a packet's departure from the root and its transmission.
    lead: Duration,
}

impl Root {
    /// The root of this number of classes.
    pub fn new(rate: Rate, classes: usize) -> Self {
        Root { credit: Credit::new(rate), last: Time::ZERO, lead: rate.time_for(BURST * classes as u64) }
    }

    /// The earliest time at which a packet sent at `now` may leave it.
    pub fn earliest(&self, now: Time) -> Time {
        self.last.max(Time::from_nanos(now.as_nanos().saturating_sub(self.lead.as_nanos())))
    }

    /// The time from which classes may send with lent capacity.
    pub fn ready(&self) -> Time {
        self.credit.ready()
    }

    /// Charges a packet of `size` bytes that leaves it at `at`.
    pub fn spend(&mut self, at: Time, size: u32) {
        self.credit.is_left(at);
        self.credit.spend(size);
        self.last = at;
    }
}

impl Credits {
    pub fn new(shares: Shares) -> Self {
        Credits { own: Credit::new(shares.rate), most: shares.ceil.or(shares.link).map(Credit::new) }
    }

    /// The turn in which the class may send at `now`.
    pub fn turn(&mut self, now: Time) -> Turn {
        match (self.most.as_mut().is_none_or(|most| most.is_left(now)), self.own.is_left(now)) {
            (false, _) => Turn::Wait,
            (true, true) => Turn::Own,
            (true, false) => Turn::Spare,
        }
    }

    /// The time at which its `ceil` allows the next packet.
    pub fn ready(&self) -> Time {
        self.most.as_ref().map_or(Time::ZERO, Credit::ready)
    }

    /// The time at which its own rate allows the next packet.
    pub fn own_ready(&self) -> Time {
        self.own.ready().max(self.ready())
    }

    /// Charges `size` bytes to its rates.
    /// Bytes of lent capacity are not charged to its own rate (Linux `htb_charge_class`).
    pub fn spend(&mut self, turn: Turn, size: u32) {
        if let Some(most) = &mut self.most {
            most.spend(size);
        }
        if turn == Turn::Own {
            self.own.spend(size);
        }
    }
}

/// Credit that grows at a rate up to [`BURST`], in bits times 10^9.
/// In this unit a nanosecond at a rate in bit/s adds a whole number.
#[derive(Clone, Debug)]
struct Credit {
    rate: i128,
    left: i128,
    since: Time,
}

impl Credit {
    fn new(rate: Rate) -> Self {
        Credit { rate: i128::from(rate.as_bps()), left: cost(BURST), since: Time::ZERO }
    }

    fn is_left(&mut self, now: Time) -> bool {
        if now > self.since {
            self.left = cost(BURST).min(self.left + self.rate * i128::from(now.since(self.since).as_nanos()));
            self.since = now;
        }
        self.left >= 0
    }

    fn ready(&self) -> Time {
        let lacking = (-self.left).max(0);
        self.since + Duration::from_nanos(((lacking + self.rate - 1) / self.rate) as u64)
    }

    fn spend(&mut self, size: u32) {
        self.left -= cost(u64::from(size));
    }
}

fn cost(bytes: u64) -> i128 {
    i128::from(bytes) * 8_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_sends_at_its_own_rate_then_with_what_is_left_and_then_waits() {
        let rate = |bps| Rate::from_bps(bps).unwrap();
        let mut credits = Credits::new(Shares { rate: rate(8_000_000), ceil: Some(rate(16_000_000)), link: None });
        let at = |micros: u64| Time::from_nanos(micros * 1000);
        assert_eq!(credits.turn(at(0)), Turn::Own);
        credits.spend(Turn::Own, 2600);
        // 1000 bytes too many: 1 ms at 8 Mbit/s, 0.5 ms at 16.
        assert_eq!((credits.turn(at(0)), credits.ready()), (Turn::Wait, at(500)));
        assert_eq!((credits.turn(at(499)), credits.turn(at(500))), (Turn::Wait, Turn::Spare));
        assert_eq!(credits.turn(at(1000)), Turn::Own);
        credits.spend(Turn::Spare, 1000);
        assert_eq!((credits.turn(at(1000)), credits.turn(at(10_000))), (Turn::Own, Turn::Own));
    }
}
