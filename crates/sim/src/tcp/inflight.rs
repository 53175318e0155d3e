//! `FreeBSD`'s limit of what is in flight (`net.inet.tcp.inflight`, in 5.x and 6.x): the bandwidth-delay product as the
//! sender measures it, and two segments, bound the window from above (`tcp_subr.c`, `tcp_xmit_bandwidth_limit`).

use sojourn_units::{Duration, Time};

/// The product is at least this many bytes (`inflight_min`).
const LEAST: f64 = 6144.0;
/// Segments on top of the product (`inflight_stab` 20, in tenths).
const ON_TOP: f64 = 2.0;
/// The product is at least this many segments.
const LEAST_SEGMENTS: f64 = 2.0;

/// What is measured of one connection.
#[derive(Clone, Debug, Default)]
pub struct Inflight {
    /// The clock's tick and the byte at the last measurement.
    last: Option<(u64, u64)>,
    /// Smoothed bandwidth in bytes a second.
    bandwidth: f64,
    /// Least sum of smoothed round trip and variation seen, in seconds.
    best: f64,
    /// The limit in bytes, none before the first measurement.
    limit: Option<f64>,
}

impl Inflight {
    /// Everything before byte `una` is acknowledged at `now`, by a clock that ticks every `tick`.
    pub fn on_ack(&mut self, now: Time, una: u64, (srtt, variation): (Duration, Duration), tick: Duration, mss: u32) {
        if srtt == Duration::ZERO {
            return;
        }
        let sum = srtt.as_secs_f64() + variation.as_secs_f64();
        self.best = if self.best == 0.0 { sum } else { self.best.min(sum) };
        let tick = tick.max(Duration::from_millis(1));
        let ticks = now.as_nanos() / tick.as_nanos();
        let Some((then, byte)) = self.last else {
            self.last = Some((ticks, una));
            return;
        };
        if ticks <= then {
            return;
        }
        self.last = Some((ticks, una));
        let measured = una.saturating_sub(byte) as f64 / ((ticks - then) as f64 * tick.as_secs_f64());
        self.bandwidth += (measured - self.bandwidth) / 16.0;
        let mss = f64::from(mss);
        let product = self.bandwidth * (srtt.as_secs_f64() + self.best) / 2.0 + ON_TOP * mss;
        self.limit = Some(product.max(LEAST).max(LEAST_SEGMENTS * mss));
    }

    /// The most whole segments that may be in flight.
    pub fn segments(&self, mss: u32) -> u32 {
        self.limit.map_or(u32::MAX, |limit| (limit / f64::from(mss)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    /// One segment acknowledged every 6 ms for `secs`, with this round trip.
    fn fed(inflight: &mut Inflight, from: f64, secs: f64, rtt: u64) {
        let (mut t, mut una) = (from, (from / 0.006) as u64 * u64::from(MSS));
        while t < from + secs {
            una += u64::from(MSS);
            inflight.on_ack(Time::from_secs_f64(t), una, (Duration::from_millis(rtt), Duration::ZERO), Duration::from_millis(10), MSS);
            t += 0.006;
        }
    }

    #[test]
    fn a_steady_flow_is_held_to_its_bandwidth_delay_product_and_two_segments() {
        let mut inflight = Inflight::default();
        assert_eq!(inflight.segments(MSS), u32::MAX);
        fed(&mut inflight, 0.0, 20.0, 120);
        // 20 segments in 120 ms.
        assert!((21..=23).contains(&inflight.segments(MSS)), "{}", inflight.segments(MSS));
    }

    #[test]
    fn a_round_trip_that_grew_counts_half() {
        let mut inflight = Inflight::default();
        fed(&mut inflight, 0.0, 10.0, 60);
        fed(&mut inflight, 10.0, 10.0, 300);
        // Half of 50 and half of 10 segments, and two.
        assert!((31..=33).contains(&inflight.segments(MSS)), "{}", inflight.segments(MSS));
    }

    #[test]
    fn the_limit_is_never_below_six_kilobytes() {
        let mut inflight = Inflight::default();
        (1..100).for_each(|i| {
            inflight.on_ack(
                Time::from_secs_f64(f64::from(i)),
                u64::from(MSS),
                (Duration::from_millis(1), Duration::ZERO),
                Duration::from_millis(10),
                MSS,
            )
        });
        assert_eq!(inflight.segments(MSS), 4);
    }
}
