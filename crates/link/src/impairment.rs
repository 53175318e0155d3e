//! What an impairment is asked.

use crate::Allowance;
use alloc::format;
use alloc::string::String;
use sojourn_units::{Duration, ParamError, Stream, Time};

/// A packet that meets an impairment.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    /// When; never earlier than the packet before.
    pub now: Time,
    /// Its size on the wire in bytes.
    pub size: u32,
    /// Whether it carries payload (a pure acknowledgment does not).
    pub has_data: bool,
    /// Whether it has the option that the impairment asks for ([`Impairment::option`]).
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

/// What can be read of a packet that acknowledges.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The flow it belongs to.
    pub flow: u32,
    /// What tells its connection from others of its flow.
    pub connection: u64,
    /// The next byte expected, as on the wire: it begins again after the largest.
    pub number: u32,
    /// Whether it has no payload and no SACK blocks and opens or closes no connection.
    pub is_plain: bool,
    /// Its ECN echo.
    pub echo: u16,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Effect {
    /// Nothing: it goes on.
    Pass,
    /// It is lost.
    Drop,
    /// It goes on, takes room and time at every later link, and its receiver discards it.
    Corrupt,
    /// It goes on, and so does a copy of it.
    Duplicate,
    /// It continues after this delay.
    Delay(Duration),
    /// It goes on without this option.
    Strip(TcpOption),
}

/// The running state of an impairment.
pub trait Impairment {
    /// What passes from now on without being asked about. It counts on getting asked about the first packet that this does not cover.
    fn give_allowance(&mut self) -> Allowance {
        Allowance::NONE
    }

    /// The option of which it must know whether a packet has it, where [`Params::READS_OPTIONS`].
    fn option(&self) -> Option<TcpOption> {
        None
    }

    /// What becomes of this packet.
    fn on_packet(&mut self, packet: &Transit) -> Effect;

    /// The same for an ACK, where [`Params::READS_ACKS`].
    fn on_ack(&mut self, packet: &Transit, ack: &Ack) -> Effect {
        let _ = ack;
        self.on_packet(packet)
    }
}

/// The parameters of an impairment.
pub trait Params {
    /// The state machine that they describe.
    type Impairment: Impairment;

    /// Whether packets may leave in another order than they came, or two at the same time: where it duplicates, or delays a
    /// packet beyond a later one.
    const REORDERS: bool = false;

    /// Whether it answers [`Effect::Corrupt`].
    const CORRUPTS: bool = false;

    /// Whether it answers nothing but [`Effect::Pass`] and [`Effect::Drop`].
    const ONLY_DROPS: bool = false;

    /// Whether it reads the headers of ACKs ([`Impairment::on_ack`]).
    const READS_ACKS: bool = false;

    /// Whether it reads the TCP options of packets ([`Impairment::option`]).
    const READS_OPTIONS: bool = false;

    /// Parameters for a listing and for tests over all kinds.
    fn example() -> Self;

    /// Whether data without end takes time on a link that has neither a rate nor a delay, but this impairment: since it delays all packets,
    /// or loses packets so often that connections sometimes wait for their timers.
    fn takes_time(&self) -> bool {
        false
    }

    /// Whether it changes headers of packets ([`Effect::Strip`]): a host that only reads them refuses it.
    fn changes_headers(&self) -> bool {
        false
    }

    /// Whether every parameter is in its range.
    ///
    /// # Errors
    /// The first parameter that is not.
    fn check(&self) -> Result<(), ParamError>;

    /// The state machine at its start, with the random streams that it draws from. The parameters are in their ranges.
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

    /// The stream of what is drawn for each packet: `link/<link>/<kind>/<n>`.
    pub fn packets(&self) -> Stream {
        Stream::named(self.seed, &self.name)
    }

    /// A stream for something else: `link/<link>/<kind>/<n>/<role>`.
    pub fn role(&self, role: &str) -> Stream {
        Stream::named(self.seed, &format!("{}/{role}", self.name))
    }
}
