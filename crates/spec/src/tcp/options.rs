//! The table of TCP options: one entry each.

use super::choices::{AccEcnOption, Control, Handshake, Recovery, RttHint, SackAlgorithm, StartUp, Switch, WindowBasis};
use super::ecn::{self, Ecn, EcnChoice};
use super::stored::{Kind, Stored};
use super::table::{OptionEntry, tcp_options};
use super::{Profile, ranges};
use alloc::string::ToString;
use sojourn_cc::{CcConfig, EcnNeed, ParamError, StartUpConfig};
use sojourn_units::{Amount, Bytes, Duration, Rate};

tcp_options! {
    mss: u32 as Bytes, ranges::packet,
        "Payload of a full segment",
        1460, "rfc9293#3.7.1: 1500 B on Ethernet less 40 B of headers";
    header: u32 as Bytes, ranges::packet,
        "Header bytes of every packet. A pure ACK has only this header and, if needed, a SACK option",
        40, "rfc791#3.1, rfc9293#3.1";
    sack_option: u32 as Bytes, ranges::sack_option,
        "Bytes that a SACK option adds to an ACK, not counting its blocks of 8 B",
        4, "rfc2018#3, with padding";
    window: u32 as Amount, ranges::amount,
        "Receive window in full segments or bytes of payload. Also the default of initial_ssthresh",
        1 << 20, "large enough never to limit";
    reader: Option<Rate> as Rate, ranges::rate,
        "Rate at which the receiving application reads; unread data shrinks the advertised window. Default: it reads immediately",
        None, "rfc9293#3.8.6";
    control: CcConfig as Control, ranges::control,
        "The congestion controller and its parameters",
        CcConfig::Reno(Default::default()), "rfc5681#3";
    start_up: Option<StartUpConfig> as StartUp, ranges::start_up,
        "How the window grows at the start of a connection, and when that ends. Default: as the controller specifies, which is classic slow start, or HyStart in Linux's version of cubic",
        None, "rfc5681#3.1";
    recovery: Recovery as Recovery, ranges::any,
        "The loss recovery algorithm",
        Recovery::NewReno, "rfc6582";
    sack_algorithm: SackAlgorithm as SackAlgorithm, ranges::any,
        "The SACK-based recovery algorithm, used if recovery is \"sack\"",
        SackAlgorithm::Rfc6675, "rfc6675#4";
    proportional_reduction: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a reduction is spread over one RTT (PRR); if false, the window is reduced immediately",
        true, "rfc9937";
    tail_loss_probe: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a tail loss probe is sent if no ACK arrives for two RTTs",
        true, "rfc8985#7";
    f_rto: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether F-RTO detects spurious timeouts",
        true, "rfc5682#3";
    undo: bool as bool, ranges::any,
        "With sack_algorithm rack-tlp: whether a window reduction is undone if its retransmissions were spurious",
        true, "rfc3522#3.2, rfc3708#3";
    dsack: bool as bool, ranges::any,
        "Whether a receiver with SACK reports duplicate segments (D-SACK)",
        false, "rfc2883#4";
    paws: bool as bool, ranges::any,
        "With timestamps: whether a receiver drops segments with a timestamp more than 1 ms older than that of the newest in-order segment",
        true, "rfc7323#5.3";
    handshake: Handshake as Handshake, ranges::any,
        "The connection setup before the first data",
        Handshake::ThreeWay, "rfc9293#3.5";
    syn_linear_timeouts: u32 as u32, ranges::number,
        "Number of SYN timeouts without exponential backoff",
        0, "rfc6298#5.5 doubles each";
    syn_losses_allowed: u32 as u32, ranges::number,
        "Number of lost SYNs that leave the initial window unchanged; after more, it is one segment",
        0, "rfc5681#3.1";
    initial_window: f64 as u32, ranges::count,
        "Initial cwnd in segments",
        10.0, "rfc6928#2";
    initial_ssthresh: f64 as Amount, ranges::amount,
        "Initial ssthresh in segments or bytes of payload",
        f64::from(1 << 20), "rfc5681#3.1: arbitrarily high";
    initial_rto: Duration as Duration, ranges::positive_time,
        "The retransmission timeout before the first RTT sample",
        Duration::from_secs(1), "rfc6298#2.1";
    min_rto: Duration as Duration, ranges::positive_time,
        "Lower bound of the retransmission timeout",
        Duration::from_secs(1), "rfc6298#2.4";
    max_rto: Duration as Duration, ranges::positive_time,
        "Upper bound of the retransmission timeout, including exponential backoff",
        Duration::from_secs(60), "rfc6298#2.5";
    rto_slop: Duration as Duration, ranges::time,
        "Time added to every retransmission timeout, after exponential backoff",
        Duration::ZERO, "rfc6298#2 adds nothing";
    tick: Duration as Duration, ranges::time,
        "The clock granularity G of RTT samples and timeouts; \"0 s\" is an exact clock",
        Duration::from_millis(1), "rfc6298#2";
    tick_arithmetic: bool as bool, ranges::any,
        "Whether the RTT estimator uses integers that count ticks; no effect with an exact clock",
        false, "rfc6298#2";
    timer_wheel: bool as bool, ranges::any,
        "Whether timers of rack-tlp and adaptive_delayed_ack expire as on Linux's timer wheel: on whole ticks, late by a tick or by up to 1/8 of a long timeout",
        false, "rfc6298#5 has exact times";
    timestamps: bool as bool, ranges::any,
        "Whether the timestamp of every ACK yields an RTT sample; if false, one segment per RTT is timed",
        true, "rfc7323#4";
    dupack_threshold: u32 as u32, ranges::count,
        "Duplicate ACKs that indicate a loss",
        3, "rfc5681#3.2";
    limited_transmit: bool as bool, ranges::any,
        "Whether new data is sent on the first two duplicate ACKs",
        true, "rfc3042#2";
    delayed_ack: Option<Duration> as Switch, ranges::delayed_ack,
        "Delayed ACKs: false, the longest delay, or true for the delay of the profile (100 ms if the profile has none)",
        Some(Duration::from_millis(200)), "rfc9293#3.8.6.3: less than 0.5 s";
    ack_every: u32 as u32, ranges::count,
        "Full segments per ACK, if ACKs are delayed",
        2, "rfc5681#4.2";
    quick_acks: u32 as u32, ranges::segments,
        "With delayed ACKs: number of segments acknowledged immediately at the start of a connection, after a pause and after a duplicate",
        0, "rfc5681#4.2 has none";
    quick_start: u32 as u32, ranges::segments,
        "With delayed ACKs: number of segments acknowledged immediately at the start of a connection, if larger than quick_acks",
        0, "rfc5681#4.2 has none";
    notsent_lowat: u32 as Bytes, ranges::written,
        "With sack_algorithm rack-tlp: limit of unsent bytes in the socket. The application refills it when half has been sent. The last segment of a write has PSH, so a receiver acknowledges it immediately. 0 B: no limit and no PSH",
        0, "rfc9293#3.9.1.2 leaves it to the application";
    adaptive_delayed_ack: bool as bool, ranges::any,
        "Whether the ACK delay adapts to the inter-arrival times of segments",
        false, "rfc9293#3.8.6.3 has a fixed time";
    sack_compression: Duration as Duration, ranges::time,
        "Longest time for which a receiver holds ACKs of out-of-order segments, from the fourth one: this time or 33 % of the RTT, whichever is shorter. A change of a third SACK block ends it early. \"0 s\" disables it",
        Duration::ZERO, "rfc5681#4.2 acknowledges them at once";
    ecn: Ecn as EcnChoice, ranges::any,
        "ECN mode: false; true (the mode that the controller requires, else classic ECN with one echo per window; the default of a controller that requires one); \"dctcp\" (the ACK of each segment echoes its mark); \"accurate\" (AccECN with ECT(0): ACKs count marks); \"l4s\" (AccECN with ECT(1), as prague uses)",
        Ecn::Off, "rfc3168#6.1, rfc8257#3.2, rfc9768#3.2, rfc9331#4.1";
    peer_ecn: Option<Ecn> as EcnChoice, ranges::any,
        "ECN mode of the receiver. Default: same as `ecn`. If they differ, the connection uses the mode that both support, else classic ECN",
        None, "rfc9768#3.1.2";
    ecn_syns: u32 as u32, ranges::number,
        "Number of SYNs that request ECN. Later retransmitted SYNs do not; a connection that one of them opens has no ECN. 0: all SYNs request it",
        0, "rfc3168#6.1.1.1 and rfc9768#3.1.4.1 leave it to the host";
    accecn_option: AccEcnOption as AccEcnOption, ranges::any,
        "With ecn \"accurate\" or \"l4s\": segments that carry the AccECN option with byte counts per codepoint: \"off\", \"recommended\" (ACKs of data), \"minimum\" (ACKs after a change, and three per RTT) or \"full\" (every segment, which costs data segments 12 B of payload). With \"minimum\" and \"full\" a receiver sends an immediate ACK when the codepoint changes; with the others, on the first mark and every second one",
        AccEcnOption::Off, "rfc9768#3.2.3: recommended";
    generalized_ecn: bool as bool, ranges::any,
        "With ecn \"dctcp\", \"accurate\" or \"l4s\": whether retransmissions and pure ACKs are ECN-capable, ACKs as ECT(0); with \"dctcp\" also the SYN-ACK. A marked SYN then does not reduce the initial window; without this option AccECN reduces it to one segment",
        false, "rfc3168#6.1.4, rfc3168#6.1.5";
    ecn_on_retransmit: bool as bool, ranges::any,
        "Whether retransmissions are ECN-capable; with ecn \"dctcp\" or \"l4s\" all data packets are",
        false, "rfc3168#6.1.5 forbids it";
    basis: WindowBasis as WindowBasis, ranges::any,
        "The window that is halved on congestion",
        WindowBasis::FlightSize, "rfc5681#eq4";
    recovery_burst: u32 as u32, ranges::number,
        "Maximum number of segments sent per ACK during NewReno recovery; 0: no limit",
        0, "rfc6582#3.2 has no limit";
    deflate_on_exit: bool as bool, ranges::any,
        "Whether the end of recovery sets cwnd to min(ssthresh, flight size + 1 segment); if false, to ssthresh",
        true, "rfc6582#3.2";
    ecn_backoff: bool as bool, ranges::any,
        "Whether a mark at a window of one segment doubles the retransmission timeout",
        true, "rfc3168#6.1.2";
    avoid_multiple_fast_retransmits: bool as bool, ranges::any,
        "Whether at most one fast retransmit occurs per window of data",
        true, "rfc6582#3.2";
    hold_ssthresh_on_repeated_rto: bool as bool, ranges::any,
        "Whether a repeated timeout of the same segment leaves ssthresh unchanged",
        true, "rfc5681#3.1";
    loss_cwnd_floor: bool as bool, ranges::any,
        "Whether a loss reduces the window to no less than two segments",
        true, "rfc5681#eq4";
    ecn_cwnd_floor: bool as bool, ranges::any,
        "Whether an ECN echo reduces the window to no less than one segment, where the sender waits for its timeout; if false, every window is halved and the sender waits below one segment",
        true, "rfc3168#6.1.2";
    ignore_ece_after_timeout: bool as bool, ranges::any,
        "Whether ECN echoes for data sent before a timeout are ignored after it",
        true, "rfc3168#6.1.2";
    update_recover_after_ecn: bool as bool, ranges::any,
        "Whether a fast retransmit in a window already reduced by ECN sets `recover` to the highest byte sent",
        true, "rfc6582#3.2";
    limited_transmit_new_data_only: bool as bool, ranges::any,
        "Whether limited transmit sends new data only; if false, it sends from snd_nxt, which can be below snd_max after a timeout",
        true, "rfc3042#2";
    rto_3s_after_lost_syn: bool as bool, ranges::any,
        "Whether the first retransmission timeout for data is 3 s after a lost SYN without an RTT sample from timestamps",
        true, "rfc6298#5.7";
    immediate_ack_of_duplicates: bool as bool, ranges::any,
        "Whether a receiver with delayed ACKs acknowledges duplicate segments immediately",
        true, "rfc9293#3.10.7.4";
    linux_variation: bool as bool, ranges::any,
        "With tick_arithmetic: whether a falling RTT counts only 1/8 as much towards the RTT variation as a rising one",
        false, "rfc6298#2 treats both alike";
    windowed_variation: bool as bool, ranges::any,
        "Whether the timeout is srtt plus the largest mean deviation of recent windows of data, where that term is at least min_rto",
        false, "rfc6298#2 takes the present variation";
    whole_windows: bool as bool, ranges::any,
        "Whether windows are whole numbers of segments",
        false, "rfc5681#3.1 counts bytes";
    growth_needs_limit: bool as bool, ranges::any,
        "Whether cwnd grows only while it limits the sender",
        true, "rfc7661#4";
    rate_limited_increase: bool as bool, ranges::any,
        "Whether cwnd is capped relative to the largest flight since its last reduction: twice that in slow start, that plus one RTT's growth above. Replaces growth_needs_limit",
        false, "draft-ietf-ccwg-ratelimited-increase#3";
    abc: u32 as u32, ranges::segments,
        "Appropriate byte counting: limit in segments per ACK in slow start; 0: cwnd grows by the number of ACKs, not of bytes",
        0, "rfc3465#2.2";
    linux_growth: bool as bool, ranges::any,
        "Whether windows grow as in Linux: in whole segments, by acknowledged segments, with Linux's version of cubic",
        false, "rfc5681#3.1 has no whole numbers";
    inflight_limit: bool as bool, ranges::any,
        "Whether the measured bandwidth-delay product limits the window",
        false, "no RFC has it";
    pacing: bool as bool, ranges::any,
        "Whether segments are paced: at 2 cwnd/RTT below half of ssthresh, at 1.2 cwnd/RTT above. Controllers with their own pacing rate always pace",
        false, "Linux `tcp_update_pacing_rate`";
    linux_pacing: bool as bool, ranges::any,
        "Whether paced segments leave one by one, as in Linux without segmentation offload: the first ten are not paced, and late segments recover half of their delay. If false, they leave in bursts of a quantum",
        false, "draft-ietf-ccwg-bbr#5.6.3 has a quantum";
    restart_after_idle: bool as bool, ranges::any,
        "Whether cwnd falls back to the initial window after an idle RTO. With linux_growth it is halved once per idle RTO, and ssthresh is raised to at least 3/4 of the old window",
        true, "rfc5681#4.1";
    rtt_hint: RttHint as Switch, ranges::rtt_hint,
        "The RTT that data packets report to queues: the smoothed RTT (true), none (false), or a fixed time",
        RttHint::Smoothed, "our own";
    clock_offset: i64 as Duration, ranges::time,
        "Offset of the receiver's clock relative to the sender's; it is part of measured one-way delays",
        0, "our own";
    clock_skew_ppm: f64 as f64, ranges::skew,
        "Clock skew: how much faster the receiver's clock runs than the sender's, in ppm, -1000 to 1000",
        0.0, "our own";
}

impl TcpOverrides {
    /// All options: those that are set, else those of the profile.
    pub fn resolve(&self) -> TcpOptions {
        let mut options = self.profile.unwrap_or_default().options();
        self.apply(&mut options);
        if self.window.is_some() && self.initial_ssthresh.is_none() && !options.linux_growth {
            // A sender cannot use more than its receiver offers (ns-2 starts with the receive window too). Linux has no initial limit.
            options.initial_ssthresh = f64::from(options.window);
        }
        if self.ecn.is_none() {
            options.ecn = ecn::unless_given(&options);
        }
        // A clock of exact time has no ticks.
        options.tick_arithmetic &= options.tick > Duration::ZERO;
        options
    }
}

/// Bytes of three SACK blocks, the maximum per ACK (rfc2018#3).
const LARGEST_SACK_BLOCKS: u32 = 3 * 8;

/// Bytes of AccECN's option with three fields, in whole words (rfc9768#3.2.3).
const LARGEST_ACCECN_OPTION: u32 = 12;

impl TcpOptions {
    /// Checks that the options are consistent. Their ranges have been checked.
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

    /// Checks that no timeout exceeds `max_rto`.
    /// `is_given` is whether an option is set explicitly. Of two contradicting options, the error names an explicit one.
    ///
    /// # Errors
    /// The first option that contradicts another.
    pub fn check_timeouts(&self, is_given: impl Fn(&str) -> bool) -> Result<(), ParamError> {
        let longest = self.max_rto;
        // A profile's `min_rto` is binding, while its `initial_rto` is capped.
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

    /// Checks that the controller gets its required ECN feedback.
    /// The check assumes that its receiver supports the mode.
    fn check_ecn(&self) -> Result<(), ParamError> {
        let (fits, which, why) = match ecn::need(&self.control) {
            EcnNeed::None | EcnNeed::CountIfThere => return Ok(()),
            EcnNeed::Count => (self.ecn.counts(), "true, \"dctcp\", \"accurate\" or \"l4s\"", "counts marks"),
            EcnNeed::Scalable => (self.ecn == Ecn::L4s, "true or \"l4s\"", "sends ECT(1)"),
        };
        let expected = alloc::format!("{which}, because {} {why}", self.control.name());
        ParamError::unless(fits, "ecn", &EcnChoice::from(self.ecn), expected)
    }

    /// Whether ACKs and retransmissions are ECN-capable.
    /// Sources: rfc8311#4.3, draft-ietf-tcpm-generalized-ecn, Linux `tcp_ca_needs_ecn`.
    pub fn marks_all(&self) -> bool {
        self.generalized_ecn && self.agreed_ecn().counts()
    }

    /// Header bytes of the timestamps option (rfc7323#3.2, with padding).
    pub const TIMESTAMPS: u32 = 12;

    /// Whether the phase of a sender's clock at time 0 matters.
    /// It does if the sender measures RTTs in ticks without timestamps.
    pub fn uses_clock_phase(&self) -> bool {
        self.tick_arithmetic && !self.timestamps && !self.windowed_variation
    }

    /// Bytes of the AccECN option in every segment of a connection.
    pub fn accecn_room(&self) -> u32 {
        let has_option = self.accecn_option == AccEcnOption::Full && self.agreed_ecn().is_accurate();
        if has_option { LARGEST_ACCECN_OPTION } else { 0 }
    }

    /// Additional bytes of the AccECN option in the last ACK of the handshake.
    /// Source: rfc9768#3.2.3.2.1.
    pub fn accecn_of_first_ack(&self) -> u32 {
        let has_option = self.accecn_option != AccEcnOption::Off && self.agreed_ecn().is_accurate();
        if has_option { LARGEST_ACCECN_OPTION - self.accecn_room() } else { 0 }
    }

    /// The options of a connection whose header includes the AccECN option.
    /// It moves [`TcpOptions::accecn_room`] from the payload to the header (Linux `tcp_current_mss`).
    #[must_use]
    pub fn with_accecn_room(&self) -> TcpOptions {
        let room = self.accecn_room();
        TcpOptions { mss: self.mss - room, header: self.header + room, ..self.clone() }
    }

    /// The ECN mode on which both hosts of a connection agree.
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
        // An ACK has three blocks of 8 B and the option's own bytes.
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
