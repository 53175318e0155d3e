//! The kinds of traffic: one file each, and one line each in the registry.

use crate::pairs::ReadFile;
use crate::{FlowModel, Opening, ParamError, Params, SessionModel, Transport, Write};
use sojourn_units::{Bytes, Rate, Stream, Time, range};

/// An entry of the list of traffic kinds.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
    /// An example of its parameters.
    pub example: fn() -> Traffic,
}

/// The state machine of any kind of traffic.
#[derive(Clone, Debug)]
pub enum Model {
    /// Feeds one flow.
    Flow(AnyFlowModel),
    /// Opens connections.
    Session(AnySessionModel),
}

/// Declares the registry from `"name" module::Model: "summary"`.
/// The file `module.rs` defines the parameters `Params` and the state machine `Model`.
macro_rules! registry {
    (
        flows { $($flow:literal => $flow_file:ident :: $Flow:ident : $flow_summary:literal,)* }
        sessions { $($session:literal => $session_file:ident :: $Session:ident : $session_summary:literal,)* }
    ) => {
        $(pub mod $flow_file;)*
        $(pub mod $session_file;)*

        /// The parameters of any kind of traffic.
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(tag = "kind"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Traffic {
            $(#[doc = $flow_summary] #[cfg_attr(feature = "serde", serde(rename = $flow))] $Flow($flow_file::Params),)*
            $(#[doc = $session_summary] #[cfg_attr(feature = "serde", serde(rename = $session))] $Session($session_file::Params),)*
        }

        /// The state machine of any kind that feeds one flow.
        #[derive(Clone, Debug)]
        pub enum AnyFlowModel {
            $(#[doc = $flow_summary] $Flow($flow_file::$Flow),)*
        }

        /// The state machine of any kind that opens connections.
        #[derive(Clone, Debug)]
        pub enum AnySessionModel {
            $(#[doc = $session_summary] $Session($session_file::$Session),)*
        }

        /// Every kind of traffic in the order of the registry; the first is the default.
        pub const REGISTRY: &[Entry] = &[
            $(Entry { name: $flow, summary: $flow_summary, example: || Traffic::$Flow($flow_file::Params::example()) },)*
            $(Entry { name: $session, summary: $session_summary, example: || Traffic::$Session($session_file::Params::example()) },)*
        ];

        impl Traffic {
            /// The name of its kind in scenario files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Traffic::$Flow(_) => $flow,)*
                    $(Traffic::$Session(_) => $session,)*
                }
            }

            /// Its transport protocol.
            pub fn transport(&self) -> Transport {
                match self {
                    $(Traffic::$Flow(params) => params.transport(),)*
                    $(Traffic::$Session(params) => params.transport(),)*
                }
            }

            /// The largest packet on the wire; `None` over TCP, where the connection determines it.
            pub fn largest_packet(&self) -> Option<Bytes> {
                match self {
                    $(Traffic::$Flow(params) => params.largest_packet(),)*
                    $(Traffic::$Session(params) => params.largest_packet(),)*
                }
            }

            /// Whether the receiver returns every packet to its sender.
            pub fn echoes(&self) -> bool {
                match self {
                    $(Traffic::$Flow(params) => params.echoes(),)*
                    $(Traffic::$Session(params) => params.echoes(),)*
                }
            }

            /// See [`Params::segments_at_once`].
            pub fn segments_at_once(&self, mss: u32) -> f64 {
                match self {
                    $(Traffic::$Flow(params) => params.segments_at_once(mss),)*
                    $(Traffic::$Session(params) => params.segments_at_once(mss),)*
                }
            }

            /// See [`Params::connections_at_once`].
            pub fn connections_at_once(&self) -> u32 {
                match self {
                    $(Traffic::$Flow(params) => params.connections_at_once(),)*
                    $(Traffic::$Session(params) => params.connections_at_once(),)*
                }
            }

            /// Whether it feeds one flow a finite amount of data.
            fn is_finite(&self) -> bool {
                match self {
                    $(Traffic::$Flow(params) => params.is_finite(),)*
                    $(Traffic::$Session(params) => params.is_finite(),)*
                }
            }

            /// Whether the receiver requests each transfer on a separate connection.
            pub fn requests(&self) -> bool {
                match self {
                    $(Traffic::$Flow(params) => params.requests(),)*
                    $(Traffic::$Session(params) => params.requests(),)*
                }
            }

            /// Whether it opens connections dynamically.
            pub fn opens_connections(&self) -> bool {
                match self {
                    $(Traffic::$Flow(_) => false,)*
                    $(Traffic::$Session(_) => true,)*
                }
            }

            /// Checks that every parameter is in its range.
            ///
            /// # Errors
            /// The first parameter out of range.
            pub fn check(&self) -> Result<(), ParamError> {
                match self {
                    $(Traffic::$Flow(params) => params.check(),)*
                    $(Traffic::$Session(params) => params.check(),)*
                }
            }

            /// See [`Params::read_files`].
            ///
            /// # Errors
            /// The first error of `read`, prefixed by the parameter that names the file.
            pub fn read_files<E>(&mut self, read: ReadFile<'_, E>) -> Result<(), (&'static str, E)> {
                match self {
                    $(Traffic::$Flow(params) => params.read_files(read),)*
                    $(Traffic::$Session(params) => params.read_files(read),)*
                }
            }

            /// The state machine at its start. The parameters are in their ranges.
            pub fn model(&self) -> Model {
                match self {
                    $(Traffic::$Flow(params) => Model::Flow(AnyFlowModel::$Flow(params.model())),)*
                    $(Traffic::$Session(params) => Model::Session(AnySessionModel::$Session(params.model())),)*
                }
            }

            /// Reads the parameters of the kind called `name`; `None` for an unknown name.
            #[cfg(feature = "serde")]
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(name: &str, input: D) -> Option<Result<Self, D::Error>> {
                match name {
                    $($flow => Some(<$flow_file::Params as serde::Deserialize>::deserialize(input).map(Traffic::$Flow)),)*
                    $($session => Some(<$session_file::Params as serde::Deserialize>::deserialize(input).map(Traffic::$Session)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$flow_file::Params> for Traffic {
            fn from(params: $flow_file::Params) -> Self {
                Traffic::$Flow(params)
            }
        })*

        $(impl From<$session_file::Params> for Traffic {
            fn from(params: $session_file::Params) -> Self {
                Traffic::$Session(params)
            }
        })*

        impl FlowModel for AnyFlowModel {
            #[inline]
            fn write(&mut self, random: &mut Stream) -> Write {
                match self { $(AnyFlowModel::$Flow(model) => model.write(random),)* }
            }
        }

        impl SessionModel for AnySessionModel {
            fn open(&mut self, now: Time, random: &mut Stream) -> Opening {
                match self { $(AnySessionModel::$Session(model) => model.open(now, random),)* }
            }
            fn on_complete(&mut self, now: Time, random: &mut Stream) -> Option<Time> {
                match self { $(AnySessionModel::$Session(model) => model.on_complete(now, random),)* }
            }
        }
    };
}

registry! {
    flows {
        "bulk" => bulk::Bulk: "one TCP connection with all its data at the start: a size, or without end",
        "cbr" => cbr::Cbr: "UDP packets at a constant rate",
        "poisson" => poisson::Poisson: "UDP packets at exponential gaps: a Poisson process",
        "onoff" => onoff::OnOff: "bursts at a constant rate and silences, exponential or Pareto, over UDP or TCP",
        "ping" => ping::Ping: "UDP packets that the receiver returns, each a sample of the round-trip time",
        "schedule" => schedule::Schedule: "an application whose rate changes at given times: unlimited, a rate, or silent",
    }
    sessions {
        "web" => web::Web: "pages of objects, one TCP connection an object, as ns-2's WebTraf",
        "transfers" => transfers::Transfers: "TCP transfers that arrive as a Poisson process, of random sizes",
        "replay" => replay::Replay: "TCP transfers with listed start times and sizes",
    }
}

impl Traffic {
    /// Whether it runs over TCP.
    pub fn is_tcp(&self) -> bool {
        self.transport() == Transport::Tcp
    }

    /// Whether it has connections that can be completed.
    pub fn completes(&self) -> bool {
        self.opens_connections() || self.is_finite()
    }

    /// Whether packets travel from the receiver to the sender: ACKs or returned packets.
    pub fn uses_reverse_path(&self) -> bool {
        self.is_tcp() || self.echoes()
    }
}

impl Default for Traffic {
    fn default() -> Self {
        (REGISTRY[0].example)()
    }
}

/// The largest considered multiple of the mean.
/// An exponential value exceeds it with probability e^-40.
const MOST_OF_MEAN: f64 = 40.0;

/// The default packet size.
fn packet_size() -> Bytes {
    Bytes(1000)
}

/// The rate in examples.
fn example_rate() -> Rate {
    const RATE: Rate = match Rate::from_bps(1_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    };
    RATE
}

/// Whether the size of a packet is in its range, or over TCP that of a write.
fn check_size(transport: Transport, size: Bytes) -> Result<(), ParamError> {
    const LARGEST_WRITE: u64 = 1_000_000_000;
    match transport {
        Transport::Udp => range::packet_size("size", size),
        Transport::Tcp => ParamError::unless((1..=LARGEST_WRITE).contains(&size.0), "size", &size, "a size of 1 B to 1 GB"),
    }
}

/// Whether a rate and a packet size are in their ranges.
fn check_pace(rate: Rate, size: Bytes) -> Result<(), ParamError> {
    range::packet_size("size", size)?;
    range::rate("rate", rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Application, Session};
    use sojourn_units::Duration;

    fn application(traffic: Traffic, stop: Time) -> Option<Application> {
        match traffic.model() {
            Model::Flow(model) => Some(Application::new(model, Time::ZERO, stop, || Stream::named(1, "app"))),
            Model::Session(_) => None,
        }
    }

    #[test]
    fn every_example_is_in_range_and_has_the_name_of_its_entry() {
        for entry in REGISTRY {
            let traffic = (entry.example)();
            assert_eq!(traffic.name(), entry.name);
            assert_eq!(traffic.check(), Ok(()), "{}", entry.name);
            assert_eq!(matches!(traffic.model(), Model::Session(_)), traffic.opens_connections());
            assert!(!traffic.opens_connections() || traffic.is_tcp(), "{}: sessions run over TCP", entry.name);
        }
    }

    #[test]
    fn every_kind_sends_something_and_nothing_after_its_end() {
        let stop = Time::ZERO + Duration::from_secs(10);
        for entry in REGISTRY {
            if let Some(mut application) = application((entry.example)(), stop) {
                let mut writes = 0;
                while application.act() != Action::Stop {
                    writes += 1;
                    assert!(application.due() <= stop);
                }
                assert!(writes > 0, "{}", entry.name);
                assert_eq!(application.due(), Time::NEVER);
            } else if let Model::Session(model) = (entry.example)().model() {
                let mut session = Session::new(model, stop, Stream::named(1, "session"));
                assert!(session.open(Time::ZERO).connection.is_some(), "{}", entry.name);
                assert_eq!(session.open(stop).connection, None);
            }
        }
    }

    #[test]
    fn a_constant_rate_is_kept_with_jitter() {
        let rate = Rate::from_bps(8_000_000).unwrap();
        let traffic = Traffic::Cbr(cbr::Params { rate, size: Bytes(1000), jitter: 0.5 });
        let mut application = application(traffic, Time::ZERO + Duration::from_secs(10)).unwrap();
        let mut sent = 0;
        while application.act() != Action::Stop {
            sent += 1;
        }
        assert!((9_950..=10_050).contains(&sent), "{sent}");
    }
}
