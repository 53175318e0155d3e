//! The traits of impairments: parameters and running state.

use crate::Allowance;
use alloc::format;
use alloc::string::String;
use sojourn_units::{Duration, ParamError, Stream, Time};

/// A packet at an impairment.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    /// Its time, not before that of the previous packet.
    pub now: Time,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// Whether it carries payload (a pure acknowledgment does not).
    pub has_data: bool,
    /// Whether it has the option of the impairment ([`Impairment::option`]).
    pub has_option: bool,
}

/// A TCP option that a middlebox can block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TcpOption {
    /// `AccECN`'s byte counters (rfc9768#3.2.3).
    AccEcn,
    /// SACK blocks (rfc2018#3).
    Sack,
}

/// The header fields of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The flow of the ACK.
    pub flow: u32,
    /// The identifier of the connection within the flow.
    pub connection: u64,
    /// The acknowledgment number, which wraps.
    pub number: u32,
    /// Whether it has no payload and no SACK blocks, and neither opens nor closes a connection.
    pub is_plain: bool,
    /// The ECN echo.
    pub echo: u16,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Effect {
    /// The packet passes.
    Pass,
    /// The packet is lost.
    Drop,
    /// It passes, uses buffers and transmission time of later links; its receiver discards it.
    Corrupt,
    /// It passes, followed by a copy.
    Duplicate,
    /// It continues after this delay.
    Delay(Duration),
    /// It passes without this option.
    Strip(TcpOption),
}

/// The running state of an impairment.
pub trait Impairment {
    /// Packets that pass from now on without a call.
    /// The first packet that the allowance does not cover requires a call.
    fn give_allowance(&mut self) -> Allowance {
        Allowance::NONE
    }

    /// The option that it reads, if [`Params::READS_OPTIONS`].
    fn option(&self) -> Option<TcpOption> {
        None
    }

    /// Returns the fate of this packet.
    fn on_packet(&mut self, packet: &Transit) -> Effect;

    /// Returns the fate of this ACK, if [`Params::READS_ACKS`].
    fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
        let _ = ack;
        self.on_packet(packet)
    }
}

/// The parameters of an impairment.
pub trait Params {
    /// The state machine that the parameters describe.
    type Impairment: Impairment;

    /// Whether it can reorder packets, or emit two at the same time.
    /// It does so by duplicates, or by delaying a packet beyond a later one.
    const REORDERS: bool = false;

    /// Whether it can return [`Effect::Corrupt`].
    const CORRUPTS: bool = false;

    /// Whether it returns only [`Effect::Pass`] and [`Effect::Drop`].
    const ONLY_DROPS: bool = false;

    /// Whether it reads the headers of ACKs ([`Impairment::on_ack`]).
    const READS_ACKS: bool = false;

    /// Whether it reads the TCP options of packets ([`Impairment::option`]).
    const READS_OPTIONS: bool = false;

    /// Example parameters for lists and for tests of all kinds.
    fn example() -> Self;

    /// Whether it makes endless data take time on a link without rate and delay.
    /// It does if it delays all packets, or loses packets so often that connections wait for their timers.
    fn takes_time(&self) -> bool {
        false
    }

    /// Whether it changes packet headers ([`Effect::Strip`]).
    /// Hosts with read-only headers reject it.
    fn changes_headers(&self) -> bool {
        false
    }

    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter out of range.
    fn check(&self) -> Result<(), ParamError>;

    /// The state machine at its start, with its random streams.
    /// The parameters are in their ranges.
    fn start(&self, streams: &Streams) -> Self::Impairment;
}

/// The random streams of one impairment.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: u64,
    name: String,
}

impl Streams {
    /// The streams of the impairment called `name` in the run with this seed.
    pub fn new(seed: u64, name: String) -> Self {
        Streams { seed, name }
    }

    /// The stream of draws per packet: `link/<link>/<kind>/<n>`.
    pub fn packets(&self) -> Stream {
        Stream::named(self.seed, &self.name)
    }

    /// A stream for other draws: `link/<link>/<kind>/<n>/<role>`.
    pub fn role(&self, role: &str) -> Stream {
        Stream::named(self.seed, &format!("{}/{role}", self.name))
    }
}
