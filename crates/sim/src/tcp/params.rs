//! The options of a TCP stack, and the profiles that set them.

use sojourn_cc::CcConfig;
use sojourn_units::{Duration, Rate};

/// How losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// One fast retransmit, then out of recovery at the first new ACK (RFC 5681 section 3.2).
    Reno,
    /// Stays in recovery over partial ACKs (RFC 6582).
    NewReno,
    /// Selective acknowledgments; [`SackAlgorithm`] says which.
    Sack,
}

/// How a sender with selective acknowledgments finds and repairs losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackAlgorithm {
    /// Pipe and `NextSeg` computed from the scoreboard (rfc6675#4).
    Rfc6675,
    /// A counter of segments in flight, as in ns-2's Sack1 agent (`ns-2 tcp-sack1.cc`).
    Ns2Sack1,
    /// Forward acknowledgments and rate halving, as in ns-2's TCP-Linux agent: what lies four segments below the highest
    /// SACKed byte is lost, retransmissions too; in recovery the window shrinks by one segment on every second ACK; a timeout
    /// keeps the scoreboard (`ns-2 tcp-linux.cc`, `scoreboard1.cc`).
    RateHalving,
}

/// How a connection opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handshake {
    /// Data at once.
    None,
    /// A header-sized SYN and its ACK, then data (ns-2's one-way agents with `syn_`).
    OneWay,
    /// SYN, SYN-ACK, ACK, and FIN at the end (RFC 9293).
    ThreeWay,
}

/// Which window is halved on congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowBasis {
    /// The congestion window, bounded by the receive window (ns-2, Linux).
    Cwnd,
    /// What is in flight (RFC 5681 eq. 4).
    FlightSize,
}

/// What a sender writes into its data packets about its round-trip time, for queues that ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttHint {
    /// Nothing.
    Off,
    /// Its smoothed RTT in milliseconds.
    Smoothed,
    /// This many milliseconds, whatever the truth: a sender that lies.
    Claimed(u16),
}

/// Everything an endpoint needs to know about its stack. `Default` is the `rfc` profile.
#[derive(Clone, Debug)]
pub struct TcpParams {
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Header bytes of every packet; an ACK is a header, and a SACK option if it has one.
    pub header: u32,
    /// Bytes of a SACK option beside its blocks of 8 (RFC 2018 section 3, with padding).
    pub sack_option: u32,
    /// Receive window in segments.
    pub window: u32,
    /// The receiving application reads at this rate, and the window shrinks by what it has not read; `None` reads at once.
    pub reader: Option<Rate>,
    /// The congestion controller.
    pub control: CcConfig,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Which SACK recovery is used where `recovery` is [`Recovery::Sack`].
    pub sack_algorithm: SackAlgorithm,
    /// How connections open.
    pub handshake: Handshake,
    /// Initial window in segments (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: f64,
    /// Initial slow start threshold in segments.
    pub initial_ssthresh: f64,
    /// RTO before the first sample (RFC 6298 rule 2.1).
    pub initial_rto: Duration,
    /// Least RTO (RFC 6298 rule 2.4).
    pub min_rto: Duration,
    /// Largest RTO, backed off or not (RFC 6298 rule 2.5).
    pub max_rto: Duration,
    /// Added to every RTO, backed off or not (`FreeBSD`'s `TCPTV_CPU_VAR`).
    pub rto_slop: Duration,
    /// Clock granularity G (RFC 6298); with `tick_arithmetic` every RTT is counted in these ticks.
    pub tick: Duration,
    /// Integer RTT arithmetic in ticks as in BSD and ns-2.
    pub tick_arithmetic: bool,
    /// Sample the RTT from the timestamps of every ACK (RFC 7323); else one segment is timed per round trip.
    pub timestamps: bool,
    /// Duplicate ACKs that tell of a loss.
    pub dupack_threshold: u32,
    /// Send new data on the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Delay ACKs up to this long; `None` acknowledges every segment.
    pub delayed_ack: Option<Duration>,
    /// With delayed ACKs, acknowledge at least every so many segments (RFC 5681 section 4.2).
    pub ack_every: u32,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// Whether retransmissions are ECN-capable too (ns-2 does so, RFC 3168 section 6.1.5 forbids it).
    pub ecn_on_retransmit: bool,
    /// Which window is halved.
    pub basis: WindowBasis,
    /// Segments sent at most on an ACK during `NewReno` recovery; 0 for no bound (ns-2 sends two).
    pub recovery_burst: u32,
    /// Leaving recovery sets the window to min(ssthresh, in flight + 1) (RFC 6582 section 3.2 step 3); else it stays as cut.
    pub deflate_on_exit: bool,
    /// A mark at a window of one segment backs the timer off (ns-2's `ecn_backoff_`; RFC 3168 section 6.1.2).
    pub ecn_backoff: bool,
    /// At most one fast retransmit for a window of data (rfc6582#3.2 step 1; ns-2 `bugFix_`).
    pub avoid_multiple_fast_retransmits: bool,
    /// A timeout of a segment that timed out before leaves ssthresh as it is (rfc5681#3.1).
    pub hold_ssthresh_on_repeated_rto: bool,
    /// A loss leaves a window of two segments or more (rfc5681#3.1 eq. 4).
    pub loss_cwnd_floor: bool,
    /// An ECN echo leaves a window of one segment or more, and at one segment the sender waits for the RTO
    /// (rfc3168#6.1.2). Without it any window is halved, and the sender waits when less than a segment is left (ns-2).
    pub ecn_cwnd_floor: bool,
    /// After a timeout, ECN echoes for data sent before it are ignored (rfc3168#6.1.2).
    pub ignore_ece_after_timeout: bool,
    /// A fast retransmit in a window that was already reduced for ECN sets `recover` to the highest byte sent
    /// (rfc6582#3.2 step 2). Without it `recover` stays where the ECN reduction set it (ns-2).
    pub update_recover_after_ecn: bool,
    /// Limited transmit sends new data only (rfc3042#2). Without it, it sends from snd_nxt, which may be below snd_max
    /// after a timeout (ns-2).
    pub limited_transmit_new_data_only: bool,
    /// After a lost SYN, data starts with an RTO of 3 s (rfc6298#5.7).
    pub rto_3s_after_lost_syn: bool,
    /// A receiver with delayed ACKs acknowledges a duplicate segment at once (rfc9293#3.10.7.4). Without it a second copy of
    /// the last segment is delayed like new data (ns-2).
    pub immediate_ack_of_duplicates: bool,
    /// In ticks, a fall of the RTT raises its variation by an eighth of what a rise does (Linux's `tcp_rtt_estimator`).
    pub linux_variation: bool,
    /// Windows are whole numbers of segments, as in Linux.
    pub whole_windows: bool,
    /// Grow only while the congestion window holds the sender back (RFC 7661; Linux).
    pub growth_needs_limit: bool,
    /// Appropriate byte counting (RFC 3465): the window grows with the bytes acknowledged, in slow start by at most so many
    /// segments an ACK; 0 counts ACKs.
    pub abc: u32,
    /// Bound the window by the measured bandwidth-delay product (`FreeBSD`'s `net.inet.tcp.inflight`).
    pub inflight_limit: bool,
    /// Fall back to the initial window after an RTO's idle time (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// What data packets say of the round-trip time.
    pub rtt_hint: RttHint,
    /// Difference of the receiver's clock from the sender's, in ns.
    pub clock_offset: i64,
    /// Drift of the receiver's clock in parts per million.
    pub clock_skew_ppm: f64,
}

impl Default for TcpParams {
    fn default() -> Self {
        Self::rfc()
    }
}

impl TcpParams {
    /// What the RFCs say: 9293, 5681, 6582, 6675, 6298, 3042, 6928, 7323.
    pub fn rfc() -> Self {
        TcpParams {
            mss: 1460,
            header: 40,
            sack_option: 4,
            window: 1 << 20,
            reader: None,
            control: CcConfig::Reno(Default::default()),
            recovery: Recovery::NewReno,
            sack_algorithm: SackAlgorithm::Rfc6675,
            handshake: Handshake::ThreeWay,
            initial_window: 10.0,
            initial_ssthresh: f64::from(1 << 20),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            rto_slop: Duration::ZERO,
            tick: Duration::from_millis(1),
            tick_arithmetic: false,
            timestamps: true,
            dupack_threshold: 3,
            limited_transmit: true,
            delayed_ack: Some(Duration::from_millis(200)),
            ack_every: 2,
            ecn: false,
            ecn_on_retransmit: false,
            basis: WindowBasis::FlightSize,
            recovery_burst: 0,
            deflate_on_exit: true,
            ecn_backoff: true,
            avoid_multiple_fast_retransmits: true,
            hold_ssthresh_on_repeated_rto: true,
            loss_cwnd_floor: true,
            ecn_cwnd_floor: true,
            ignore_ece_after_timeout: true,
            update_recover_after_ecn: true,
            limited_transmit_new_data_only: true,
            rto_3s_after_lost_syn: true,
            immediate_ack_of_duplicates: true,
            linux_variation: false,
            whole_windows: false,
            growth_needs_limit: true,
            abc: 0,
            inflight_limit: false,
            restart_after_idle: true,
            rtt_hint: RttHint::Smoothed,
            clock_offset: 0,
            clock_skew_ppm: 0.0,
        }
    }

    /// ns-2.35's one-way agents with its defaults (`tcl/lib/ns-default.tcl`, `tcp/tcp.cc`).
    pub fn ns2() -> Self {
        TcpParams {
            mss: 1000,
            sack_option: 0,
            window: 20,
            handshake: Handshake::OneWay,
            initial_window: 2.0,
            initial_ssthresh: 20.0,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            tick: Duration::from_millis(10),
            tick_arithmetic: true,
            timestamps: false,
            delayed_ack: None,
            ecn_on_retransmit: true,
            basis: WindowBasis::Cwnd,
            recovery_burst: 2,
            deflate_on_exit: false,
            sack_algorithm: SackAlgorithm::Ns2Sack1,
            hold_ssthresh_on_repeated_rto: false,
            loss_cwnd_floor: false,
            ecn_cwnd_floor: false,
            ignore_ece_after_timeout: false,
            update_recover_after_ecn: false,
            limited_transmit_new_data_only: false,
            rto_3s_after_lost_syn: false,
            immediate_ack_of_duplicates: false,
            growth_needs_limit: false,
            restart_after_idle: false,
            ..Self::rfc()
        }
    }

    /// ns-2.35's TCP-Linux agent (`tcp/tcp-linux.cc`, `tcp/scoreboard1.cc`) with timestamps on: a clock of 1 ms, and no SYN
    /// before the first data.
    pub fn ns2_linux() -> Self {
        TcpParams {
            recovery: Recovery::Sack,
            handshake: Handshake::None,
            max_rto: Duration::from_secs(120),
            tick: Duration::from_millis(1),
            timestamps: true,
            limited_transmit: false,
            sack_algorithm: SackAlgorithm::RateHalving,
            linux_variation: true,
            whole_windows: true,
            growth_needs_limit: true,
            abc: 1,
            ..Self::ns2()
        }
    }

    /// Linux: `TCP_RTO_MIN` 200 ms, initial window 10, SACK, timestamps, delayed ACKs of 40 ms (`net/tcp.h`).
    pub fn linux() -> Self {
        TcpParams {
            mss: 1448,
            header: 52,
            recovery: Recovery::Sack,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            delayed_ack: Some(Duration::from_millis(40)),
            basis: WindowBasis::Cwnd,
            ..Self::rfc()
        }
    }

    /// `FreeBSD` 5.3 (`tcp_timer.h`, `tcp_input.c`, `tcp_syncache.c`): a clock of 10 ms, RTO of 30 ms or more with 200 ms on
    /// top, delayed ACKs of 100 ms, the initial window of RFC 3390, `NewReno` with SACK, ACKs counted and not bytes (those
    /// came with 8.0: `abc`). Its limit of what is in flight is off here (`inflight_limit`).
    pub fn freebsd() -> Self {
        TcpParams {
            mss: 1448,
            header: 52,
            recovery: Recovery::Sack,
            initial_window: 3.0,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(30),
            max_rto: Duration::from_secs(64),
            rto_slop: Duration::from_millis(200),
            tick: Duration::from_millis(10),
            tick_arithmetic: true,
            delayed_ack: Some(Duration::from_millis(100)),
            basis: WindowBasis::Cwnd,
            growth_needs_limit: false,
            ..Self::rfc()
        }
    }
}
