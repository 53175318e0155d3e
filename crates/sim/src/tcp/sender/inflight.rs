//! `FreeBSD`'s limit of the data in flight (`net.inet.tcp.inflight`, in 5.x and 6.x).
//! The measured bandwidth-delay product plus two segments limits the window (`FreeBSD` `tcp_subr.c`, `tcp_xmit_bandwidth_limit`).

use super::rto::RttEstimator;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The smallest limit in bytes (`inflight_min`).
const MIN_BYTES: f64 = 6144.0;
/// The smallest limit in segments.
const MIN_SEGMENTS: f64 = 2.0;
/// Segments added to the bandwidth-delay product (`inflight_stab` 20, in tenths).
const EXTRA_SEGMENTS: f64 = 2.0;

/// The bytes acknowledged at a tick of the sender's clock.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    tick: u64,
    snd_una: u64,
}

/// The measurement of one connection.
#[derive(Clone, Debug, Default)]
pub struct InflightLimit {
    last: Option<Measurement>,
    /// Smoothed bandwidth in bytes per second.
    bandwidth: f64,
    /// The smallest sum of smoothed RTT and RTT variation seen, in seconds.
    /// 0 before the first one.
    best_rtt: f64,
    /// The limit in bytes; `None` before the first measurement.
    limit: Option<f64>,
}

impl InflightLimit {
    /// Everything below `snd_una` is acknowledged at `now`.
    /// Does nothing before the first RTT sample.
    pub fn on_ack(&mut self, now: Time, snd_una: u64, rtt: &RttEstimator, params: &TcpOptions) {
        let srtt = rtt.srtt().as_secs_f64();
        if rtt.srtt() == Duration::ZERO {
            return;
        }
        let sum = srtt + rtt.variation(params).as_secs_f64();
        self.best_rtt = if self.best_rtt == 0.0 { sum } else { self.best_rtt.min(sum) };
        let tick_length = params.tick.max(Duration::from_millis(1));
        let tick = now.as_nanos() / tick_length.as_nanos();
        let Some(last) = self.last else {
            self.last = Some(Measurement { tick, snd_una });
            return;
        };
        if tick <= last.tick {
            return;
        }
        self.last = Some(Measurement { tick, snd_una });
        let measured = snd_una.saturating_sub(last.snd_una) as f64 / ((tick - last.tick) as f64 * tick_length.as_secs_f64());
        self.bandwidth += (measured - self.bandwidth) / 16.0;
        let mss = f64::from(params.mss);
        let limit = self.bandwidth * (srtt + self.best_rtt) / 2.0 + EXTRA_SEGMENTS * mss;
        self.limit = Some(limit.max(MIN_BYTES).max(MIN_SEGMENTS * mss));
    }

    /// The largest number of whole segments in flight; `u32::MAX` before the first measurement.
    pub fn segments(&self, mss: u32) -> u32 {
        self.limit.map_or(u32::MAX, |limit| (limit / f64::from(mss)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    fn params() -> TcpOptions {
        TcpOptions { mss: MSS, tick: Duration::from_millis(10), tick_arithmetic: false, ..TcpOptions::freebsd() }
    }

    /// An estimator after samples of this single RTT, until its variation is zero.
    fn rtt_of(millis: u64) -> RttEstimator {
        let mut rtt = RttEstimator::new(&params());
        (0..200).for_each(|_| rtt.sample(Duration::from_millis(millis), Time::ZERO, Duration::ZERO, &params()));
        rtt
    }

    /// One segment is acknowledged every 6 ms for `secs`, with this RTT.
    fn feed(limit: &mut InflightLimit, from: f64, secs: f64, rtt: u64) {
        let rtt = rtt_of(rtt);
        let (mut t, mut una) = (from, (from / 0.006) as u64 * u64::from(MSS));
        while t < from + secs {
            una += u64::from(MSS);
            limit.on_ack(Time::from_secs_f64(t), una, &rtt, &params());
            t += 0.006;
        }
    }

    #[test]
    fn a_steady_flow_is_held_to_its_bandwidth_delay_product_and_two_segments() {
        let mut limit = InflightLimit::default();
        assert_eq!(limit.segments(MSS), u32::MAX);
        feed(&mut limit, 0.0, 20.0, 120);
        // 20 segments in 120 ms.
        assert!((21..=23).contains(&limit.segments(MSS)), "{}", limit.segments(MSS));
    }

    #[test]
    fn an_rtt_that_grew_counts_half() {
        let mut limit = InflightLimit::default();
        feed(&mut limit, 0.0, 10.0, 60);
        feed(&mut limit, 10.0, 10.0, 300);
        // Half of 50 and half of 10 segments, and two.
        assert!((31..=33).contains(&limit.segments(MSS)), "{}", limit.segments(MSS));
    }

    #[test]
    fn the_limit_is_never_below_six_kilobytes() {
        let mut limit = InflightLimit::default();
        let rtt = rtt_of(1);
        (1..100).for_each(|i| limit.on_ack(Time::from_secs_f64(f64::from(i)), u64::from(MSS), &rtt, &params()));
        assert_eq!(limit.segments(MSS), 4);
    }
}
