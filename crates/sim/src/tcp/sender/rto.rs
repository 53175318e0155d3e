//! The smoothed RTT and the retransmission timeout (rfc6298#2).
//! Also in the integer form of BSD and ns-2 in clock ticks.

use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Time};

/// The smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    mean: Mean,
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
}

/// The smoothed RTT and its variation in the host's arithmetic.
/// Both are 0 before the first sample.
#[derive(Clone, Debug)]
enum Mean {
    /// In seconds (rfc6298#2).
    Seconds { srtt: f64, rttvar: f64 },
    /// In whole ticks of a coarse clock: 8 times the smoothed RTT and 4 times the variation.
    /// Source: `ns-2 tcp.cc`.
    Ticks { srtt: u64, rttvar: u64 },
    /// The variation is the largest of a window; the smoothed RTT is [`RttEstimator::smoothed`].
    Windowed(Box<WindowedVariation>),
}

/// The largest mean deviation of a window of data, in nanoseconds.
/// Deviations are stored as four times the mean (Linux `tcp_rtt_estimator`).
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

    /// Adds the difference of a sample from the previous smoothed RTT.
    fn sample(&mut self, error: i64, least: i64, sent: SentData) {
        let change = error.abs() - self.mdev / 4;
        // A fall of the RTT raises the variation only by an eighth as much as a rise.
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

/// The sequence numbers at an RTT sample.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    /// The first unacknowledged byte.
    pub snd_una: u64,
    /// The next byte to send.
    pub snd_nxt: u64,
}

/// Jacobson's integer form: adds an RTT in whole ticks.
/// `srtt` is 8 times the smoothed RTT, `rttvar` 4 times the variation (`ns-2 tcp.cc`, `rtt_update`; with `linux_variation` as in Linux).
fn add_ticks(srtt: &mut u64, rttvar: &mut u64, ticks: u64, linux_variation: bool) {
    if *srtt == 0 {
        (*srtt, *rttvar) = (ticks * 8, ticks * 2);
        return;
    }
    let (mean, variation) = (*srtt / 8, *rttvar / 4);
    *srtt = (*srtt + ticks - mean).max(1);
    let change = ticks.abs_diff(mean);
    let fall = linux_variation && ticks < mean && change > variation;
    let change = if fall { variation + (change - variation) / 8 } else { change };
    *rttvar = (*rttvar + change - variation).max(u64::from(!linux_variation));
}

impl RttEstimator {
    /// An estimator before the first sample (rfc6298#2.1).
    pub fn new(params: &TcpOptions) -> Self {
        let mut new = RttEstimator {
            mean: if params.windowed_variation {
                Mean::Windowed(Box::default())
            } else if params.tick_arithmetic {
                Mean::Ticks { srtt: 0, rttvar: 0 }
            } else {
                Mean::Seconds { srtt: 0.0, rttvar: 0.0 }
            },
            base: params.initial_rto,
            backoff: 1,
            rto: Duration::ZERO,
            min: Duration::MAX,
            smoothed: Duration::ZERO,
            hint: 0,
        };
        new.update_rto(params);
        new
    }

    /// Adds a sample of a segment sent at `sent`.
    /// `phase` is the offset of the sender's clock within a tick at time 0.
    pub fn sample(&mut self, rtt: Duration, sent: Time, phase: Duration, params: &TcpOptions) {
        self.min = self.min.min(rtt);
        let smoothed = match &mut self.mean {
            // rfc6298#2.2 and rfc6298#2.3.
            Mean::Seconds { srtt, rttvar } => {
                let r = rtt.as_secs_f64();
                if *srtt == 0.0 {
                    (*srtt, *rttvar) = (r, r / 2.0);
                } else {
                    *rttvar = 0.75 * *rttvar + 0.25 * (*srtt - r).abs();
                    *srtt = 0.875 * *srtt + 0.125 * r;
                }
                self.base = Duration::from_secs_f64(*srtt + (4.0 * *rttvar).max(params.tick.as_secs_f64()));
                Duration::from_secs_f64(*srtt)
            }
            // The RTT is the number of clock ticks that it spans.
            Mean::Ticks { srtt, rttvar } => {
                let tick = params.tick.as_nanos();
                let rest = if params.timestamps { tick / 2 } else { (sent.as_nanos() + phase.as_nanos()) % tick };
                add_ticks(srtt, rttvar, ((rtt.as_nanos() + rest) / tick).max(1), params.linux_variation);
                self.base = params.tick * (*rttvar + *srtt / 8);
                Duration::from_nanos(*srtt * tick / 8)
            }
            Mean::Windowed(_) => return,
        };
        self.set_smoothed(smoothed);
        self.update_rto(params);
    }

    /// Adds a sample, if the variation is the largest of a window.
    /// `rtt` is that of the first segment that an ACK acknowledges, `shortest` that of the last one.
    pub fn sample_windowed(&mut self, rtt: Duration, shortest: Duration, sent: SentData, params: &TcpOptions) {
        let Mean::Windowed(windowed) = &mut self.mean else { return };
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

    fn set_smoothed(&mut self, srtt: Duration) {
        self.smoothed = srtt;
        self.hint = ((srtt.as_nanos() + 500_000) / 1_000_000).clamp(1, 0xffff) as u16;
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
        if let Mean::Ticks { srtt, rttvar } = &mut self.mean
            && self.backoff > 8
        {
            // The mean is no longer valid: ns-2 moves it into the variation and restarts it (`ns-2 tcp.cc`, `rtt_backoff`).
            *rttvar += *srtt / 8;
            *srtt = 0;
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

    /// The smoothed RTT in milliseconds, as packets carry it.
    /// 0 before the first sample, then at least 1.
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
        match self.mean {
            Mean::Seconds { rttvar, .. } => Duration::from_secs_f64(rttvar),
            Mean::Ticks { rttvar, .. } => Duration::from_nanos(rttvar * params.tick.as_nanos() / 4),
            Mean::Windowed(_) => Duration::ZERO,
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
    fn in_ticks_a_fall_of_the_rtt_raises_the_variation_of_linux_by_an_eighth_of_what_a_rise_does() {
        let after = |ticks, linux| {
            let (mut srtt, mut rttvar) = (8 * 30, 4 * 5);
            add_ticks(&mut srtt, &mut rttvar, ticks, linux);
            (srtt, rttvar)
        };
        // 25 ticks away from the mean are 20 more than the variation.
        assert_eq!(after(55, false), (8 * 30 + 25, 4 * 5 + 20));
        assert_eq!(after(55, true), after(55, false));
        assert_eq!(after(5, false), (8 * 30 - 25, 4 * 5 + 20));
        assert_eq!(after(5, true), (8 * 30 - 25, 4 * 5 + 20 / 8));
        // A smaller deviation lowers the variation, in both.
        assert_eq!(after(28, true), (8 * 30 - 2, 4 * 5 - 3));
        assert_eq!(after(28, true), after(28, false));
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
