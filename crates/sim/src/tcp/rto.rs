//! The smoothed RTT and the retransmission timeout (rfc6298#2), also in the integer form of BSD and ns-2 in clock ticks.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// The smoothed RTT in seconds; in tick arithmetic 8 times the smoothed RTT in ticks. 0 before the first sample.
    srtt: f64,
    /// The RTT variation in seconds; in tick arithmetic 4 times the variation in ticks.
    rttvar: f64,
    /// The timeout before backoff and limits.
    base: Duration,
    /// The factor of the exponential backoff.
    backoff: u32,
    /// The timeout, backed off and limited.
    rto: Duration,
    /// The smallest sample; `Duration::MAX` before the first one.
    min: Duration,
    /// The smoothed RTT as a duration.
    smoothed: Duration,
    /// The smoothed RTT in whole milliseconds, 0 before the first sample.
    hint: u16,
    /// What the variation is taken from, if that is the largest of a window.
    windowed: Option<Box<WindowedVariation>>,
}

/// The largest mean deviation of a window of data (Linux `tcp_rtt_estimator`), in nanoseconds; deviations are four times the mean.
#[derive(Clone, Copy, Debug, Default)]
struct WindowedVariation {
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The window ends when this byte is acknowledged (`rtt_seq`).
    end: u64,
}

impl WindowedVariation {
    fn first(&mut self, rtt: i64, least: i64, sent: SentData) {
        self.mdev = 2 * rtt;
        self.rttvar = self.mdev.max(least);
        self.mdev_max = self.rttvar;
        self.end = sent.snd_nxt;
    }

    /// Takes the difference of a sample from the smoothed RTT before it.
    fn sample(&mut self, error: i64, least: i64, sent: SentData) {
        let change = error.abs() - self.mdev / 4;
        // A fall of the RTT raises the variation by an eighth of what a rise does.
        self.mdev += if error < 0 && change > 0 { change / 8 } else { change };
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if sent.snd_una > self.end {
            self.rttvar -= (self.rttvar - self.mdev_max).max(0) / 4;
            self.end = sent.snd_nxt;
            self.mdev_max = least;
        }
    }
}

/// What has been sent when an RTT sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    /// The first unacknowledged byte.
    pub snd_una: u64,
    /// The next byte to send.
    pub snd_nxt: u64,
}

/// The whole ticks of a time, which is never negative. It needs no call, unlike `floor` where the processor may be an old one.
#[inline]
fn whole(ticks: f64) -> f64 {
    ticks as i64 as f64
}

impl RttEstimator {
    /// An estimator before the first sample (rfc6298#2.1).
    pub fn new(params: &TcpOptions) -> Self {
        let mut new = RttEstimator {
            srtt: 0.0,
            rttvar: 0.0,
            base: params.initial_rto,
            backoff: 1,
            rto: Duration::ZERO,
            min: Duration::MAX,
            smoothed: Duration::ZERO,
            hint: 0,
            windowed: params.windowed_variation.then(Box::default),
        };
        new.update_rto(params);
        new
    }

    /// Takes a sample of a segment sent at `sent`. `phase` is where in its tick the sender's clock stands at time 0.
    pub fn sample(&mut self, rtt: Duration, sent: Time, phase: Duration, params: &TcpOptions) {
        self.min = self.min.min(rtt);
        if params.tick_arithmetic {
            self.sample_ticks(rtt, sent, phase, params);
        } else {
            self.sample_seconds(rtt, params);
        }
        self.update_rto(params);
    }

    /// Takes a sample where the variation is the largest of a window; the first of the segments that an ACK acknowledges gives
    /// `rtt`, the last one `shortest`.
    pub fn sample_windowed(&mut self, rtt: Duration, shortest: Duration, sent: SentData, params: &TcpOptions) {
        let Some(windowed) = &mut self.windowed else { return };
        self.min = self.min.min(shortest);
        let (sample, least) = (rtt.as_nanos() as i64, params.min_rto.as_nanos() as i64);
        let before = self.smoothed.as_nanos() as i64;
        let smoothed = if before == 0 {
            windowed.first(sample, least, sent);
            sample
        } else {
            windowed.sample(sample - before, least, sent);
            before + (sample - before) / 8
        };
        self.base = Duration::from_nanos((smoothed + windowed.rttvar) as u64);
        self.set_smoothed(Duration::from_nanos(smoothed.max(1) as u64));
        self.backoff = 1;
        self.update_rto(params);
    }

    /// rfc6298#2.2 and rfc6298#2.3.
    fn sample_seconds(&mut self, rtt: Duration, params: &TcpOptions) {
        let r = rtt.as_secs_f64();
        if self.srtt == 0.0 {
            (self.srtt, self.rttvar) = (r, r / 2.0);
        } else {
            self.rttvar = 0.75 * self.rttvar + 0.25 * (self.srtt - r).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * r;
        }
        self.base = Duration::from_secs_f64(self.srtt + (4.0 * self.rttvar).max(params.tick.as_secs_f64()));
        self.set_smoothed(Duration::from_secs_f64(self.srtt));
    }

    fn set_smoothed(&mut self, srtt: Duration) {
        self.smoothed = srtt;
        self.hint = ((srtt.as_nanos() + 500_000) / 1_000_000).clamp(1, 0xffff) as u16;
    }

    /// Jacobson's integer form: the RTT is the number of ticks of a coarse clock within it (`ns-2 tcp.cc`, `rtt_update`).
    fn sample_ticks(&mut self, rtt: Duration, sent: Time, phase: Duration, params: &TcpOptions) {
        let tick = params.tick.as_nanos();
        let rest = if params.timestamps { tick / 2 } else { (sent.as_nanos() + phase.as_nanos()) % tick };
        let ticks = (((rtt.as_nanos() + rest) / tick) as f64).max(1.0);
        if self.srtt != 0.0 {
            let change = ticks - whole(self.srtt / 8.0);
            self.srtt = (self.srtt + change).max(1.0);
            let mut delta = change.abs() - whole(self.rttvar / 4.0);
            if params.linux_variation && change < 0.0 && delta > 0.0 {
                delta = whole(delta / 8.0);
            }
            self.rttvar = (self.rttvar + delta).max(f64::from(!params.linux_variation));
        } else {
            (self.srtt, self.rttvar) = (ticks * 8.0, ticks * 2.0);
        }
        // rttvar is 4 times the variation and srtt is 8 times the mean: both are scaled by 8 before the shift.
        let ticks = whole((self.rttvar * 8.0 + self.srtt) / 8.0);
        self.base = Duration::from_nanos(ticks as u64 * tick);
        self.set_smoothed(Duration::from_nanos((self.srtt / 8.0 * tick as f64) as u64));
    }

    /// The retransmission timeout, backed off and limited.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// Calculates the timeout from its parts (rfc6298#2.4, rfc6298#2.5).
    fn update_rto(&mut self, params: &TcpOptions) {
        let backed_off = self.base.max(params.min_rto) * u64::from(self.backoff) + params.rto_slop;
        self.rto = backed_off.min(params.max_rto).max(params.tick * 2);
    }

    /// The timer expired: the timeout doubles (rfc6298#5.5).
    pub fn back_off(&mut self, params: &TcpOptions) {
        if self.backoff < 64 || self.rto < params.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if params.tick_arithmetic && self.backoff > 8 {
            // The mean says nothing any more: it is kept in the variation alone (`ns-2 tcp.cc`, `rtt_backoff`).
            self.rttvar += whole(self.srtt / 8.0);
            self.srtt = 0.0;
        }
        self.update_rto(params);
    }

    /// Data that was sent once was acknowledged: the backoff ends (rfc6298#5, Karn's algorithm).
    #[inline]
    pub fn end_backoff(&mut self, params: &TcpOptions) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.update_rto(params);
        }
    }

    /// The smoothed RTT in milliseconds as packets carry it: 0 before the first sample, at least 1 from then on.
    #[inline]
    pub fn hint_ms(&self) -> u16 {
        self.hint
    }

    /// Data starts after a SYN was lost and no sample could be taken (rfc6298#5.7).
    pub fn after_lost_syn(&mut self, params: &TcpOptions) {
        (self.base, self.backoff) = (self.base.max(Duration::from_secs(3)), 1);
        self.update_rto(params);
    }

    /// The RTT variation, zero before the first sample.
    pub fn variation(&self, params: &TcpOptions) -> Duration {
        match params.tick_arithmetic {
            true => Duration::from_nanos((self.rttvar / 4.0 * params.tick.as_nanos() as f64) as u64),
            false => Duration::from_secs_f64(self.rttvar),
        }
    }

    /// The smoothed RTT, zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Duration {
        self.smoothed
    }

    /// The smallest RTT seen, zero before the first sample.
    pub fn min(&self) -> Duration {
        if self.min == Duration::MAX { Duration::ZERO } else { self.min }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_first_sample_sets_srtt_and_rttvar_by_rfc_6298_2_2() {
        let params = TcpOptions { min_rto: Duration::ZERO, ..TcpOptions::rfc() };
        let mut rtt = RttEstimator::new(&params);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(ms(100), Time::ZERO, Duration::ZERO, &params);
        assert_eq!(rtt.rto(), ms(300)); // 100 + 4 * 50
    }

    #[test]
    fn later_samples_follow_rfc_6298_2_3() {
        let params = TcpOptions { min_rto: Duration::ZERO, ..TcpOptions::rfc() };
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(ms(100), Time::ZERO, Duration::ZERO, &params);
        rtt.sample(ms(180), Time::ZERO, Duration::ZERO, &params);
        // rttvar = .75*50 + .25*80 = 57.5, srtt = .875*100 + .125*180 = 110
        assert_eq!(rtt.rto(), Duration::from_micros(340_000));
        assert_eq!(rtt.srtt(), ms(110));
    }

    #[test]
    fn a_timeout_doubles_the_rto_up_to_its_limit_and_new_data_ends_the_backoff() {
        let params = TcpOptions::rfc();
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(ms(100), Time::ZERO, Duration::ZERO, &params);
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                rtt.back_off(&params);
                rtt.rto().as_nanos() / 1_000_000_000
            })
            .collect();
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60, 60]);
        rtt.end_backoff(&params);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    #[test]
    fn tick_arithmetic_counts_whole_ticks_of_a_coarse_clock() {
        let params = TcpOptions { min_rto: Duration::ZERO, ..TcpOptions::ns2() };
        let mut rtt = RttEstimator::new(&params);
        // 52 ms sent 3 ms into a tick spans 5 ticks of 10 ms: srtt 5, var 2.5, rto 5 + 4*2.5 = 15 ticks.
        rtt.sample(ms(52), Time::from_nanos(3_000_000), Duration::ZERO, &params);
        assert_eq!(rtt.rto(), ms(150));
    }

    #[test]
    fn in_windows_the_timeout_is_the_largest_deviation_of_a_window_and_min_rto_above_the_mean_at_least() {
        let params = TcpOptions::linux();
        let mut rtt = RttEstimator::new(&params);
        let sent = |snd_una| SentData { snd_una, snd_nxt: snd_una + 10 };
        rtt.sample_windowed(ms(50), ms(50), sent(0), &params);
        // The deviation counts four times: half of 50 ms four times is less than 200 ms.
        assert_eq!(rtt.rto(), ms(250));
        rtt.sample_windowed(ms(450), ms(400), sent(5), &params);
        // mdev = 100 + (400 - 25), srtt = 100.
        assert_eq!((rtt.rto(), rtt.srtt(), rtt.min()), (ms(575), ms(100), ms(50)));
        // A window later a quarter of what is above the window's largest deviation is gone.
        (0..3).for_each(|at| rtt.sample_windowed(ms(100), ms(100), sent(20 * at + 11), &params));
        assert!(rtt.rto() < ms(575) && rtt.rto() > ms(300), "{:?}", rtt.rto());
    }

    #[test]
    fn freebsd_adds_200_ms_to_every_timeout() {
        let params = TcpOptions { tick_arithmetic: false, ..TcpOptions::freebsd() };
        let mut rtt = RttEstimator::new(&params);
        rtt.sample(ms(10), Time::ZERO, Duration::ZERO, &params);
        assert_eq!(rtt.rto(), ms(30 + 200));
        (0..2).for_each(|_| rtt.back_off(&params));
        assert_eq!(rtt.rto(), ms(4 * 30 + 200));
    }
}
