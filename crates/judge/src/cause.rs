//! Likely causes of divergences, each with the rule that our controller applied.

/// The likely cause of a divergence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Fast convergence reduced the window in addition to `W_max`.
    FastConvergence,
    /// The threshold was reduced twice for persistent congestion or a timeout.
    SsthreshTwice,
    /// A congestion signal did not reduce the window.
    NoReduction,
    /// A congestion signal reduced the window by another factor.
    OtherFactor,
    /// A signal of the same round trip reduced the window again.
    ReducedAgain,
    /// The window fell without a signal.
    NoSignal,
    /// Persistent congestion did not reduce the window to its minimum.
    AboveMinimum,
    /// The window after recovery is larger than the threshold.
    AboveSsthresh,
    /// The window grew while the application limited the sender.
    AppLimitedGrowth,
    /// The window grew by packets sent before the reduction.
    RecoveryGrowth,
    /// A remainder of less than one packet was dropped with each increment.
    LostIncrements,
    /// The time in recovery counts as time since the start of congestion avoidance.
    EarlyEpoch,
    /// CUBIC's K follows from `W_max` instead of the window after the reduction.
    KOfWMax,
    /// CUBIC grew more slowly than Reno would.
    SlowerThanReno,
    /// ACKs were counted instead of acknowledged bytes.
    AcksCounted,
    /// The window grew more slowly in slow start.
    SlowStartSlower,
    /// The window grew faster in slow start.
    SlowStartFaster,
    /// The window grew more slowly in congestion avoidance, for another reason.
    Slower,
    /// The window grew faster in congestion avoidance, for another reason.
    Faster,
}

/// The description of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// The cause.
    pub cause: Cause,
    /// Its name in reports.
    pub name: &'static str,
    /// The rule that our controller applied.
    pub rule: &'static str,
    /// One sentence about what the sender does.
    pub says: &'static str,
}

macro_rules! causes {
    ($($cause:ident, $name:literal, $rule:literal, $says:literal;)*) => {
        /// Every cause, in the order of the enum.
        pub const CAUSES: &[About] = &[$(About { cause: Cause::$cause, name: $name, rule: $rule, says: $says },)*];
    };
}

causes! {
    FastConvergence, "fast convergence applied to the window", "rfc9438#4.6",
        "A decrease below W_max cuts the window by fast convergence too, which applies to W_max only (rfc9438#4.7).";
    SsthreshTwice, "ssthresh reduced twice", "rfc9438#4.8",
        "One loss event reduces ssthresh by the factor of a decrease twice.";
    NoReduction, "no reduction", "rfc9002#7.3.2", "A congestion signal does not reduce the window.";
    OtherFactor, "wrong beta", "rfc9438#4.6", "A decrease keeps another fraction of the window.";
    ReducedAgain, "reduced twice in a round trip", "rfc9002#7.3.2", "Another signal of the same round trip reduces the window again.";
    NoSignal, "reduction without a signal", "rfc9002#7.3", "The window falls although the log has no loss, mark or timeout.";
    AboveMinimum, "window above the minimum", "rfc9002#7.6.2", "Persistent congestion does not reduce the window to its minimum.";
    AboveSsthresh, "window above ssthresh after recovery", "rfc5681#3.2", "The window at the end of recovery exceeds ssthresh.";
    AppLimitedGrowth, "app-limited growth", "rfc9002#7.8", "The window grows while the application limits the sender.";
    RecoveryGrowth, "growth in recovery", "rfc9002#7.3.2", "Packets sent before the decrease grow the window.";
    LostIncrements, "increments of less than one MSS lost", "rfc9438#4.4",
        "The window grows in whole packets, and each increment discards the remainder of the count.";
    EarlyEpoch, "recovery counted as congestion avoidance", "rfc9438#4.2",
        "The cubic starts at the decrease, so it is ahead by the time in recovery.";
    KOfWMax, "K computed from W_max", "rfc9438#4.2",
        "K follows from W_max alone, not from W_max less the window after the decrease, so after fast convergence the window rests.";
    SlowerThanReno, "no Reno-friendly region", "rfc9438#4.3",
        "The window follows the cubic although Reno would grow faster.";
    AcksCounted, "ACKs counted instead of bytes", "rfc3465#2.1", "An ACK of several packets grows the window like an ACK of one.";
    SlowStartSlower, "slow start too slow", "rfc9002#7.3.1", "In slow start the window grows by less than the acknowledged bytes.";
    SlowStartFaster, "slow start too fast", "rfc9002#7.3.1", "In slow start the window grows by more than the acknowledged bytes.";
    Slower, "growth too slow", "rfc9438#4.2", "In congestion avoidance the window grows more slowly than the law allows.";
    Faster, "growth too fast", "rfc9438#4.2", "In congestion avoidance the window grows faster than the law allows.";
}

impl Cause {
    /// The description of the cause.
    pub fn about(self) -> &'static About {
        &CAUSES[self as usize]
    }

    /// The rule that our controller applied. Those of the law itself depend on the controller.
    pub fn rule(self, controller: &str) -> &'static str {
        match (self, controller) {
            (Cause::OtherFactor | Cause::SsthreshTwice, "reno") => "rfc5681#3.1",
            (Cause::Slower | Cause::Faster | Cause::LostIncrements, "reno") => "rfc9002#7.3.3",
            (Cause::OtherFactor | Cause::SsthreshTwice | Cause::Slower | Cause::Faster | Cause::LostIncrements, other)
                if other != "cubic" =>
            {
                "the law of the controller"
            }
            _ => self.about().rule,
        }
    }
}
