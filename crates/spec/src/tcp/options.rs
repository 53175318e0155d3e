//! The table of TCP options: one entry each.

use super::choices::{AccEcnOption, Control, Handshake, Recovery, RttHint, SackAlgorithm, Switch, WindowBasis};
use super::ecn::{self, Ecn, EcnChoice};
use super::stored::{Kind, Stored};
use super::table::{OptionEntry, tcp_options};
use super::{Profile, ranges};
use alloc::string::ToString;
use sojourn_cc::{CcConfig, EcnNeed, ParamError};
use sojourn_units::{Amount, Bytes, Duration, Rate};

tcp_options! {
    mss: u32 as Bytes, ranges::packet,
        "Payload of a full segment",
        1460, "rfc9293#3.7.1: 1500 B on Ethernet less 40 B of headers";
    header: u32 as Bytes, ranges::packet,
        "Header bytes of every packet; an ACK is a header, and a SACK option if it carries one",
        40, "rfc791#3.1, rfc9293#3.1";
    sack_option: u32 as Bytes, ranges::sack_option,
        "Bytes that a SACK option adds to an ACK, not counting its blocks of 8 B",
        4, "rfc2018#3, with padding";
    window: u32 as Amount, ranges::amount,
        "Receive window, in full segments or bytes of payload; also the initial ssthresh if that is not given",
        1 << 20, "so large that it never limits";
    reader: Option<Rate> as Rate, ranges::rate,
        "Rate at which the receiving application reads, so that the window shrinks by what it has not read; absent: at once",
        None, "rfc9293#3.8.6";
    control: CcConfig as Control, ranges::control,
        "The congestion controller and its parameters",
        CcConfig::Reno(Default::default()), "rfc5681#3";
    recovery: Recovery as Recovery, ranges::any,
        "How losses are found and repaired",
        Recovery::NewReno, "rfc6582";
    sack_algorithm: SackAlgorithm as SackAlgorithm, ranges::any,
        "Which SACK recovery is used, if recovery is \"sack\"",
        SackAlgorithm::Rfc6675, "rfc6675#4";
    proportional_reduction: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a reduction is spread over a round trip; else the window is reduced at once",
        true, "rfc9937";
    tail_loss_probe: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a segment is sent as a probe where ACKs stay away for two round trips",
        true, "rfc8985#7";
    f_rto: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a timeout is found to be spurious by the ACKs that follow it",
        true, "rfc5682#3";
    undo: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a reduction is taken back if the retransmissions were not needed",
        true, "rfc3522#3.2, rfc3708#3";
    dsack: bool as bool, ranges::any,
        "Whether a receiver with SACK reports duplicates",
        false, "rfc2883#4";
    paws: bool as bool, ranges::any,
        "With timestamps: whether a receiver drops a segment whose timestamp is older than that of the newest in order, by more than a millisecond",
        true, "rfc7323#5.3";
    handshake: Handshake as Handshake, ranges::any,
        "What comes before the first data",
        Handshake::ThreeWay, "rfc9293#3.5";
    syn_linear_timeouts: u32 as u32, ranges::number,
        "Timeouts of a SYN that do not double the next one",
        0, "rfc6298#5.5 doubles each";
    syn_losses_allowed: u32 as u32, ranges::number,
        "Lost SYNs after which the initial window is still as it was; after more of them it is one segment",
        0, "rfc5681#3.1";
    initial_window: f64 as u32, ranges::count,
        "cwnd at the start, in segments",
        10.0, "rfc6928#2";
    initial_ssthresh: f64 as Amount, ranges::amount,
        "ssthresh at the start, in segments or bytes of payload",
        f64::from(1 << 20), "rfc5681#3.1: arbitrarily high";
    initial_rto: Duration as Duration, ranges::positive_time,
        "The retransmission timeout before the first RTT sample",
        Duration::from_secs(1), "rfc6298#2.1";
    min_rto: Duration as Duration, ranges::positive_time,
        "The shortest retransmission timeout",
        Duration::from_secs(1), "rfc6298#2.4";
    max_rto: Duration as Duration, ranges::positive_time,
        "The longest retransmission timeout, backed off or not",
        Duration::from_secs(60), "rfc6298#2.5";
    rto_slop: Duration as Duration, ranges::time,
        "Time added to every retransmission timeout, backed off or not",
        Duration::ZERO, "rfc6298#2 adds nothing";
    tick: Duration as Duration, ranges::time,
        "The clock granularity G of RTT samples and timeouts; \"0 s\" is an exact clock",
        Duration::from_millis(1), "rfc6298#2";
    tick_arithmetic: bool as bool, ranges::any,
        "Whether round-trip times are counted in whole ticks, in integers; off if the clock is exact",
        false, "rfc6298#2";
    timer_wheel: bool as bool, ranges::any,
        "Whether the timers of rack-tlp and adaptive_delayed_ack expire as in Linux: in whole ticks, late by a tick or by up to an eighth of a long time",
        false, "rfc6298#5 has exact times";
    timestamps: bool as bool, ranges::any,
        "Whether every ACK gives an RTT sample by its timestamp; else one segment per round trip is timed",
        true, "rfc7323#4";
    dupack_threshold: u32 as u32, ranges::count,
        "Duplicate ACKs that indicate a loss",
        3, "rfc5681#3.2";
    limited_transmit: bool as bool, ranges::any,
        "Whether the first two duplicate ACKs send new data",
        true, "rfc3042#2";
    delayed_ack: Option<Duration> as Switch, ranges::delayed_ack,
        "Whether ACKs are delayed: false, a time, or true for the time of the profile (100 ms if it has none)",
        Some(Duration::from_millis(200)), "rfc9293#3.8.6.3: less than 0.5 s";
    ack_every: u32 as u32, ranges::count,
        "Full segments per ACK, if ACKs are delayed",
        2, "rfc5681#4.2";
    quick_acks: u32 as u32, ranges::segments,
        "Segments that a receiver with delayed ACKs acknowledges at once when a connection starts, after a pause, and after a duplicate",
        0, "rfc5681#4.2 has none";
    quick_start: u32 as u32, ranges::segments,
        "Segments that a receiver with delayed ACKs acknowledges at once when a connection starts, if that is more than quick_acks",
        0, "rfc5681#4.2 has none";
    notsent_lowat: u32 as Bytes, ranges::written,
        "With sack_algorithm rack-tlp: bytes that wait unsent while the application has more to send; it writes when half of them have left, and a receiver with delayed ACKs acknowledges the last segment of a write at once (PSH); 0 B is never",
        0, "rfc9293#3.9.1.2 leaves it to the application";
    adaptive_delayed_ack: bool as bool, ranges::any,
        "Whether the time of delayed ACKs follows the times between segments",
        false, "rfc9293#3.8.6.3 has a fixed time";
    sack_compression: Duration as Duration, ranges::time,
        "For how long a receiver puts together ACKs of segments out of order, after the third: this time, or 33 % of the RTT if that is less, and at most until a third SACK block changes; \"0 s\" is not at all",
        Duration::ZERO, "rfc5681#4.2 acknowledges them at once";
    ecn: Ecn as EcnChoice, ranges::any,
        "Whether data packets can carry congestion marks, and how ACKs tell of them: false, true (what the controller asks for, else one echo for a window), \"dctcp\" (each ACK is an echo or none), \"accurate\" (AccECN: marked packets are counted; ECT(0)), \"l4s\" (the same with ECT(1), which prague sends)",
        Ecn::Off, "rfc3168#6.1, rfc8257#3.2, rfc9768#3.2, rfc9331#4.1";
    peer_ecn: Option<Ecn> as EcnChoice, ranges::any,
        "What the receiver knows of ECN, if that is not what `ecn` says; both agree on what both know, else on classic ECN. none stands for no value: leave the option out, and the receiver knows the same",
        None, "rfc9768#3.1.2";
    ecn_syns: u32 as u32, ranges::number,
        "SYNs of a connection that ask for ECN; those that are sent again after them do not, and a connection that one of these opens has no ECN. 0: all ask",
        0, "rfc3168#6.1.1.1 and rfc9768#3.1.4.1 leave it to the host";
    accecn_option: AccEcnOption as AccEcnOption, ranges::any,
        "With ecn \"accurate\" or \"l4s\": which segments have AccECN's option, the counts of bytes that arrived with each mark: \"off\", \"recommended\" (ACKs of data), \"minimum\" (ACKs after a change, and three a round trip), \"full\" (all, data too, of which it takes 12 B of payload); with \"minimum\" and \"full\" a receiver acknowledges at once where the mark changes, else at the first mark and every second",
        AccEcnOption::Off, "rfc9768#3.2.3: recommended";
    generalized_ecn: bool as bool, ranges::any,
        "Whether with ecn \"dctcp\", \"accurate\" or \"l4s\" ACKs can carry congestion marks too, as ECT(0), and retransmissions, and with \"dctcp\" the answer to a SYN; a marked SYN then leaves the initial window as it is, else AccECN makes it one segment",
        false, "rfc3168#6.1.4, rfc3168#6.1.5";
    ecn_on_retransmit: bool as bool, ranges::any,
        "Whether retransmissions can carry congestion marks too; with ecn \"dctcp\" or \"l4s\" all packets of the sender can",
        false, "rfc3168#6.1.5 forbids it";
    basis: WindowBasis as WindowBasis, ranges::any,
        "Which window is halved on congestion",
        WindowBasis::FlightSize, "rfc5681#eq4";
    recovery_burst: u32 as u32, ranges::number,
        "The most segments sent on one ACK during NewReno recovery; 0: no limit",
        0, "rfc6582#3.2 has no limit";
    deflate_on_exit: bool as bool, ranges::any,
        "Whether the end of recovery sets cwnd to min(ssthresh, flight size + 1 segment); else it stays as reduced",
        true, "rfc6582#3.2";
    ecn_backoff: bool as bool, ranges::any,
        "Whether a mark at a window of one segment backs the retransmission timer off",
        true, "rfc3168#6.1.2";
    avoid_multiple_fast_retransmits: bool as bool, ranges::any,
        "Whether there is at most one fast retransmit for a window of data",
        true, "rfc6582#3.2";
    hold_ssthresh_on_repeated_rto: bool as bool, ranges::any,
        "Whether a timeout of a segment that timed out before leaves ssthresh as it is",
        true, "rfc5681#3.1";
    loss_cwnd_floor: bool as bool, ranges::any,
        "Whether a loss leaves a window of two segments or more",
        true, "rfc5681#eq4";
    ecn_cwnd_floor: bool as bool, ranges::any,
        "Whether an ECN echo leaves a window of one segment or more, and at one segment the sender waits for the timeout; else any window is halved, and the sender waits if less than a segment is left",
        true, "rfc3168#6.1.2";
    ignore_ece_after_timeout: bool as bool, ranges::any,
        "Whether ECN echoes for data sent before a timeout are ignored after it",
        true, "rfc3168#6.1.2";
    update_recover_after_ecn: bool as bool, ranges::any,
        "Whether a fast retransmit in a window that was already reduced for ECN sets `recover` to the highest byte sent",
        true, "rfc6582#3.2";
    limited_transmit_new_data_only: bool as bool, ranges::any,
        "Whether limited transmit sends new data only; else it sends from snd_nxt, which may be below snd_max after a timeout",
        true, "rfc3042#2";
    rto_3s_after_lost_syn: bool as bool, ranges::any,
        "Whether data starts with a retransmission timeout of 3 s after a lost SYN, if no timestamp gave an RTT sample",
        true, "rfc6298#5.7";
    immediate_ack_of_duplicates: bool as bool, ranges::any,
        "Whether a receiver with delayed ACKs acknowledges a duplicate segment at once",
        true, "rfc9293#3.10.7.4";
    linux_variation: bool as bool, ranges::any,
        "Whether, in ticks, a fall of the RTT raises its variation by an eighth of what a rise does",
        false, "rfc6298#2 treats both alike";
    windowed_variation: bool as bool, ranges::any,
        "Whether the timeout is the smoothed RTT and the largest mean deviation of the last windows of data, but min_rto at least",
        false, "rfc6298#2 takes the present variation";
    whole_windows: bool as bool, ranges::any,
        "Whether windows are whole numbers of segments",
        false, "rfc5681#3.1 counts bytes";
    growth_needs_limit: bool as bool, ranges::any,
        "Whether cwnd grows only while it limits the sender",
        true, "rfc7661#4";
    rate_limited_increase: bool as bool, ranges::any,
        "Whether cwnd grows to at most what the largest flight since its last reduction could make of it: twice that in slow start, and a round trip's growth more above; growth_needs_limit does not count then",
        false, "draft-ietf-ccwg-ratelimited-increase#3, which is no RFC yet";
    abc: u32 as u32, ranges::segments,
        "Appropriate byte counting: cwnd grows with the bytes acknowledged, in slow start by at most this many segments per ACK; 0 counts ACKs",
        0, "rfc3465#2.2";
    linux_growth: bool as bool, ranges::any,
        "Whether windows grow as in Linux: in whole segments, by acknowledged segments, and with cubic by its version of it",
        false, "rfc5681#3.1 has no whole numbers";
    inflight_limit: bool as bool, ranges::any,
        "Whether the window is limited by the measured bandwidth-delay product",
        false, "no RFC has it";
    pacing: bool as bool, ranges::any,
        "Whether segments are paced: at twice the window a round trip below half of ssthresh, at 1.2 times above; controllers with a pace of their own always keep that",
        false, "Linux `tcp_update_pacing_rate`";
    linux_pacing: bool as bool, ranges::any,
        "Whether paced segments leave one by one as in Linux, where a device takes no larger ones: the first ten not held back, and late ones making up for half of their time; else in bursts of a quantum",
        false, "draft-ietf-ccwg-bbr#5.6.3 has a quantum";
    restart_after_idle: bool as bool, ranges::any,
        "Whether cwnd falls back to the initial window after an idle time of one retransmission timeout; with linux_growth by a half for each timeout that has passed, and ssthresh is then at least three quarters of the window",
        true, "rfc5681#4.1";
    rtt_hint: RttHint as Switch, ranges::rtt_hint,
        "What data packets tell queues of the round-trip time: the smoothed RTT (true), nothing (false), or this time whatever the truth",
        RttHint::Smoothed, "our own";
    clock_offset: i64 as Duration, ranges::time,
        "How far the receiver's clock is ahead of the sender's, which one-way delays show",
        0, "our own";
    clock_skew_ppm: f64 as f64, ranges::skew,
        "How much faster the receiver's clock runs than the sender's, in parts per million, -1000 to 1000",
        0.0, "our own";
}

impl TcpOverrides {
    /// Every option with its value: what is given here, else what the profile says.
    pub fn resolve(&self) -> TcpOptions {
        let mut options = self.profile.unwrap_or_default().options();
        self.apply(&mut options);
        if self.window.is_some() && self.initial_ssthresh.is_none() && !options.linux_growth {
            // A sender cannot use more than its receiver offers (ns-2 starts with the receive window too). Linux starts with none.
            options.initial_ssthresh = f64::from(options.window);
        }
        // An exact clock has no ticks to count in.
        options.tick_arithmetic &= options.tick > Duration::ZERO;
        options
    }
}

/// The three blocks that an ACK has at most (rfc2018#3).
const LARGEST_SACK_BLOCKS: u32 = 3 * 8;

/// AccECN's option with three fields, in whole words (rfc9768#3.2.3).
const LARGEST_ACCECN_OPTION: u32 = 12;

impl TcpOptions {
    /// Whether the options fit together. Each of them by itself is in its range.
    ///
    /// # Errors
    /// The first option that contradicts another.
    pub fn check(&self) -> Result<(), ParamError> {
        let full = self.mss.max(self.sack_option + LARGEST_SACK_BLOCKS) + self.header;
        let packet = alloc::format!("a packet of {full} B with its header");
        let field = if self.header > self.mss { "header" } else { "mss" };
        ParamError::unless(full <= 65_535, field, &packet, "at most 65535 B")?;
        let least = alloc::format!("at least one full segment ({} B)", self.mss);
        ParamError::unless(self.window > 0, "window", &"less", least)?;
        let stamps = self.timestamps || !matches!(self.control, CcConfig::RLedbat(_));
        ParamError::unless(stamps, "timestamps", &false, "true, because rledbat's receiver measures by timestamps")?;
        let room = self.accecn_room();
        let least = alloc::format!("more than the {room} B of its AccECN option");
        ParamError::unless(self.mss > room, "mss", &Bytes(self.mss.into()), least)?;
        self.check_ecn()
    }

    /// Whether no timeout is given that is longer than the longest. `is_given` says whether an option has a value of its own: of two
    /// that contradict each other, the error is of one that has.
    ///
    /// # Errors
    /// The first option that contradicts another.
    pub fn check_timeouts(&self, is_given: impl Fn(&str) -> bool) -> Result<(), ParamError> {
        let longest = self.max_rto;
        // The least time of a profile is kept to, while its initial one just gets shorter.
        if self.initial_rto > longest && is_given("initial_rto") {
            return Err(ParamError::new("initial_rto", &self.initial_rto, alloc::format!("at most max_rto ({longest})")));
        }
        if self.min_rto <= longest {
            return Ok(());
        }
        Err(match is_given("max_rto") && !is_given("min_rto") {
            true => ParamError::new("max_rto", &longest, alloc::format!("at least min_rto ({})", self.min_rto)),
            false => ParamError::new("min_rto", &self.min_rto, alloc::format!("at most max_rto ({longest})")),
        })
    }

    /// Whether the controller gets the ECN feedback that it asks for, if its receiver knows it.
    fn check_ecn(&self) -> Result<(), ParamError> {
        let (fits, which, why) = match ecn::need(&self.control) {
            EcnNeed::None | EcnNeed::CountIfThere => return Ok(()),
            EcnNeed::Count => (self.ecn.counts(), "true, \"dctcp\", \"accurate\" or \"l4s\"", "counts marks"),
            EcnNeed::Scalable => (self.ecn == Ecn::L4s, "true or \"l4s\"", "sends ECT(1)"),
        };
        let expected = alloc::format!("{which}, because {} {why}", self.control.name());
        ParamError::unless(fits, "ecn", &EcnChoice::from(self.ecn), expected)
    }

    /// Whether ACKs and retransmissions can carry marks (rfc8311#4.3, draft-ietf-tcpm-generalized-ecn, Linux `tcp_ca_needs_ecn`).
    pub fn marks_all(&self) -> bool {
        self.generalized_ecn && self.agreed_ecn().counts()
    }

    /// Bytes that timestamps take in a header (rfc7323#3.2, with padding).
    pub const TIMESTAMPS: u32 = 12;

    /// Whether it matters where in its tick a sender's clock stands at time 0: where it counts its RTTs in ticks by itself.
    pub fn uses_clock_phase(&self) -> bool {
        self.tick_arithmetic && !self.timestamps && !self.windowed_variation
    }

    /// Bytes that AccECN's option takes in every segment of a connection with these options.
    pub fn accecn_room(&self) -> u32 {
        let has_option = self.accecn_option == AccEcnOption::Full && self.agreed_ecn().is_accurate();
        if has_option { LARGEST_ACCECN_OPTION } else { 0 }
    }

    /// Bytes that it takes in the ACK that ends the handshake, beyond that (rfc9768#3.2.3.2.1).
    pub fn accecn_of_first_ack(&self) -> u32 {
        let has_option = self.accecn_option != AccEcnOption::Off && self.agreed_ecn().is_accurate();
        if has_option { LARGEST_ACCECN_OPTION - self.accecn_room() } else { 0 }
    }

    /// The options that a connection runs with: the header of its segments includes [`TcpOptions::accecn_room`], which their payload lacks
    /// (Linux `tcp_current_mss`).
    #[must_use]
    pub fn with_accecn_room(&self) -> TcpOptions {
        let room = self.accecn_room();
        TcpOptions { mss: self.mss - room, header: self.header + room, ..self.clone() }
    }

    /// The ECN that both hosts of a connection agree on.
    pub fn agreed_ecn(&self) -> Ecn {
        self.ecn.agreed(self.peer_ecn.unwrap_or(self.ecn))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for TcpOptions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flows_own_options_come_before_the_scenarios_and_those_before_the_profiles() {
        let common = TcpOverrides { mss: Some(Bytes(1000)), ecn: Some(EcnChoice::Off), ..TcpOverrides::default() };
        let own = TcpOverrides { ecn: Some(EcnChoice::On), profile: Some(Profile::Linux), ..TcpOverrides::default() };
        let options = own.over(&common).resolve();
        assert_eq!(options, TcpOptions { mss: 1000, ecn: Ecn::Classic, ..TcpOptions::linux() });
    }

    #[test]
    fn a_window_is_the_initial_threshold_too_unless_that_is_given() {
        let window = TcpOverrides { window: Some(Amount::Bytes(29_200)), ..TcpOverrides::default() };
        assert_eq!((window.resolve().window, window.resolve().initial_ssthresh), (20, 20.0));
        let both = TcpOverrides { initial_ssthresh: Some(Amount::Packets(7)), ..window };
        assert_eq!((both.resolve().window, both.resolve().initial_ssthresh), (20, 7.0));
    }

    #[test]
    fn delayed_acks_switched_on_take_the_profiles_time() {
        let on = |profile| TcpOverrides { profile: Some(profile), delayed_ack: Some(Switch::On), ..TcpOverrides::default() };
        assert_eq!(on(Profile::Linux).resolve().delayed_ack, Some(Duration::from_millis(40)));
        assert_eq!(on(Profile::Ns2).resolve().delayed_ack, Some(Duration::from_millis(100)));
    }

    #[test]
    fn a_packet_with_its_header_and_options_fits_the_16_bits_of_its_size() {
        let wrong = |mss, header, sack_option| {
            TcpOptions { mss, header, sack_option, ..TcpOptions::rfc() }.check().err().map(|error| error.field.into_owned())
        };
        assert_eq!(wrong(1460, 65_000, 4), Some("header".into()));
        assert_eq!(wrong(65_000, 1_000, 4), Some("mss".into()));
        // An ACK has three blocks of 8 B and their option.
        assert_eq!(wrong(1, 65_535 - 64, 40), None);
        assert_eq!(wrong(1, 65_535 - 63, 40), Some("header".into()));
    }

    #[test]
    fn what_every_profile_writes_is_in_range_and_reads_as_the_profile() {
        for profile in crate::tcp::PROFILES {
            let options = (profile.options)();
            options.check().unwrap();
            options.written().check().unwrap();
            assert_eq!(options.written().resolve(), options, "{}", profile.name);
        }
    }
}
