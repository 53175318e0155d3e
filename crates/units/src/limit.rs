//! The limit of a queue.

use crate::range::LONGEST_TIME;
use crate::{Amount, Duration, ParamError, Rate, parse_duration};
use core::fmt;

/// The limit of a queue: packets, bytes, a sending time, or bandwidth-delay products.
/// A sending time is the time that the link needs to send a full queue. The simulator supports only packets and bytes; [`Limit::planned`]
/// converts the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Packets or bytes.
    Amount(Amount),
    /// The time that the link needs to send a full queue.
    Time(Duration),
    /// Products of the link's rate and a base round trip.
    Bdp(f64),
}

/// The expectation for a limit in messages.
#[cfg(feature = "serde")]
pub(crate) const LIMIT: &str =
    "packets, bytes, a time or a BDP with its unit such as \"100 packets\" (at most 4294967295), \"52.2 kB\", \"20 ms\" or \"1.5 BDP\"";

/// The unit of bandwidth-delay products.
const BDP: &str = "BDP";

/// The maximum number of bandwidth-delay products.
const MOST_BDP: f64 = 1e6;

impl Limit {
    /// Reads `"100 packets"`, a size, a time or `"1.5 BDP"`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Limit> {
        if let Some(number) = text.trim().strip_suffix(BDP) {
            return number.trim().replace('_', "").parse().ok().filter(|bdp: &f64| bdp.is_finite()).map(Limit::Bdp);
        }
        Amount::parse(text).map(Limit::Amount).or_else(|| parse_duration(text).ok().map(Limit::Time))
    }

    /// The limit in packets or bytes; `None` if it must be converted first.
    pub fn amount(self) -> Option<Amount> {
        if let Limit::Amount(amount) = self { Some(amount) } else { None }
    }

    /// Whether it depends on RTTs of flows.
    pub fn is_bdp(self) -> bool {
        matches!(self, Limit::Bdp(_))
    }

    /// Converts the limit to packets or bytes, for a queue on a link of this rate.
    /// `packet` is the size of a packet in bytes, `rtt` the base round trip. A time or a BDP becomes whole packets, rounded to the nearest,
    /// at least 1.
    ///
    /// # Errors
    /// The limit is out of its range, or has too many packets.
    pub fn planned(self, rate: Rate, packet: u32, rtt: Duration) -> Result<Amount, ParamError> {
        let time = match self {
            Limit::Amount(amount) => return Ok(amount),
            Limit::Time(time) => time,
            Limit::Bdp(bdp) => {
                ParamError::unless(bdp > 0.0 && bdp <= MOST_BDP, "limit", &self, "a BDP above 0, at most 1000000 BDP")?;
                Duration::from_secs_f64(bdp * rtt.as_secs_f64())
            }
        };
        ParamError::unless(time > Duration::ZERO && time <= LONGEST_TIME, "limit", &self, "a time above zero, at most 1000000 s")?;
        let (nanobits, of_packet) = (u128::from(rate.as_bps()) * u128::from(time.as_nanos()), 8_000_000_000 * u128::from(packet.max(1)));
        let packets = ((nanobits + of_packet / 2) / of_packet).max(1);
        let packets = u32::try_from(packets).map_err(|_| ParamError::new("limit", &self, "a limit of at most 4294967295 packets"))?;
        Ok(Amount::Packets(packets))
    }
}

impl From<Amount> for Limit {
    fn from(amount: Amount) -> Self {
        Limit::Amount(amount)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Amount(amount) => amount.fmt(f),
            Limit::Time(time) => time.fmt(f),
            Limit::Bdp(bdp) => write!(f, "{bdp} {BDP}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const RATE: Rate = match Rate::from_bps(10_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    };

    #[test]
    fn a_limit_is_packets_bytes_a_time_or_a_bdp_and_is_written_as_it_is_read() {
        for (text, limit) in [
            ("100 packets", Limit::Amount(Amount::Packets(100))),
            ("52200 B", Limit::Amount(Amount::Bytes(52_200))),
            ("20 ms", Limit::Time(Duration::from_millis(20))),
            ("1.5 BDP", Limit::Bdp(1.5)),
        ] {
            assert_eq!((Limit::parse(text), limit.to_string().as_str()), (Some(limit), text));
        }
        for bad in ["", "100", "BDP", "nan BDP", "inf BDP", "1 bdp2", "1 Mbit/s", "-1 ms"] {
            assert_eq!(Limit::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_time_or_a_bdp_becomes_the_packets_that_the_link_sends_in_it() {
        let planned = |limit: Limit, rtt_ms| limit.planned(RATE, 1000, Duration::from_millis(rtt_ms));
        // 10 Mbit/s send a packet of 1000 B in 0.8 ms.
        assert_eq!(planned(Limit::Time(Duration::from_millis(20)), 0), Ok(Amount::Packets(25)));
        assert_eq!(planned(Limit::Time(Duration::from_micros(1199)), 0), Ok(Amount::Packets(1)));
        assert_eq!(planned(Limit::Time(Duration::from_micros(1200)), 0), Ok(Amount::Packets(2)));
        assert_eq!(planned(Limit::Time(Duration::from_nanos(1)), 0), Ok(Amount::Packets(1)));
        // 1.5 times 10 Mbit/s over 100 ms are 187.5 packets.
        assert_eq!(planned(Limit::Bdp(1.5), 100), Ok(Amount::Packets(188)));
        assert_eq!(planned(Limit::Amount(Amount::Bytes(7)), 100), Ok(Amount::Bytes(7)));
    }

    #[test]
    fn a_limit_without_room_or_with_too_much_is_refused() {
        let error = |limit: Limit| limit.planned(RATE, 1, Duration::from_secs(1)).unwrap_err().to_string();
        assert_eq!(error(Limit::Time(Duration::ZERO)), "limit: expected a time above zero, at most 1000000 s, got 0 s");
        assert_eq!(error(Limit::Bdp(0.0)), "limit: expected a BDP above 0, at most 1000000 BDP, got 0 BDP");
        assert_eq!(error(Limit::Bdp(-1.0)), "limit: expected a BDP above 0, at most 1000000 BDP, got -1 BDP");
        assert_eq!(error(Limit::Time(Duration::from_secs(10_000))), "limit: expected a limit of at most 4294967295 packets, got 10000 s");
    }
}
