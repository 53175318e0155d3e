//! Options with named values, or with values of several types.

use super::stored::Kind;
use core::fmt;
use sojourn_cc::{CcConfig, StartUpConfig};
use sojourn_units::Duration;

/// Declares an enum whose variants have names in scenario files.
macro_rules! choice {
    ($(#[doc = $doc:literal])* $Name:ident { $($(#[doc = $sentence:literal])* $Variant:ident $name:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $Name {
            $($(#[doc = $sentence])* #[cfg_attr(feature = "serde", serde(rename = $name))] $Variant,)*
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($Name::$Variant => $name,)* })
            }
        }

        impl Kind for $Name {
            const KIND: &'static str = concat!("one of" $(, " ", $name)*);
        }
    };
}

choice! {
    /// The loss recovery algorithm.
    Recovery {
        /// Fast retransmit, and fast recovery that ends with the first new ACK (rfc5681#3.2).
        Reno "reno",
        /// Fast recovery that lasts through partial ACKs (rfc6582#3.2).
        NewReno "newreno",
        /// Selective acknowledgments; see [`SackAlgorithm`].
        Sack "sack",
        /// Fast retransmit, then slow start from one segment (ns-2 tcp.cc, `dupack_action`).
        Tahoe "tahoe",
    }
}

choice! {
    /// The loss recovery algorithm of a sender with SACK.
    SackAlgorithm {
        /// Pipe and `NextSeg` computed from the scoreboard (rfc6675#4).
        Rfc6675 "rfc6675",
        /// A counter of segments in flight, as in ns-2's Sack1 agent (ns-2 tcp-sack1.cc).
        Ns2Sack1 "ns2-sack1",
        /// Forward acknowledgments and rate halving, as in ns-2's TCP-Linux agent.
        /// Data four segments below the highest SACKed byte is lost, including retransmissions. In recovery the window shrinks by one
        /// segment on every second ACK. A timeout keeps the scoreboard (ns-2 tcp-linux.cc, scoreboard1.cc).
        RateHalving "rate-halving",
        /// Loss detection by transmission times (rfc8985), as in Linux.
        /// Its options are `proportional_reduction`, `tail_loss_probe`, `f_rto` and `undo`.
        RackTlp "rack-tlp",
    }
}

choice! {
    /// The connection setup before the first data.
    Handshake {
        /// No handshake: data is sent immediately.
        None "none",
        /// A header-sized SYN and its ACK, as in ns-2's one-way agents (ns-2 `syn_`).
        OneWay "oneway",
        /// SYN, SYN-ACK, ACK, and FIN at the end (rfc9293#3.5).
        ThreeWay "threeway",
    }
}

choice! {
    /// The window that is halved on congestion.
    WindowBasis {
        /// The congestion window, limited by the receive window (ns-2, Linux).
        Cwnd "cwnd",
        /// The flight size (rfc5681#eq4), at most the congestion window.
        /// In recovery the flight size also counts data that has left the network, and that data sent on duplicate ACKs has replaced.
        FlightSize "flight-size",
    }
}

choice! {
    /// The segments that carry the AccECN option (rfc9768#3.2.3).
    /// The option has the counts of bytes that arrived with each ECN codepoint.
    AccEcnOption {
        /// Never.
        Off "off",
        /// ACKs of data, with all counters that have ever changed.
        /// This is the recommended simple scheme (rfc9768#3.2.3.3).
        Recommended "recommended",
        /// ACKs after a change of the codepoint, and three per RTT.
        /// Sources: rfc9768#3.2.3.3, Linux `TCP_ACCECN_OPTION_MINIMUM`.
        Minimum "minimum",
        /// Every segment. The option reduces the payload of data segments.
        /// Source: Linux `TCP_ACCECN_OPTION_FULL`.
        Full "full",
    }
}

/// The RTT that a sender writes into its data packets, for queues that use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttHint {
    /// No RTT.
    Off,
    /// Its smoothed RTT in milliseconds; 0 before the first sample.
    Smoothed,
    /// A fixed number of milliseconds, as from a lying sender.
    Claimed(u16),
}

/// A switch: off (`false`), on (`true`), or on with a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// `false`.
    Off,
    /// `true`.
    On,
    /// On with this time.
    Time(Duration),
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Switch::Off => f.write_str("false"),
            Switch::On => f.write_str("true"),
            Switch::Time(time) => time.fmt(f),
        }
    }
}

/// A congestion controller and its parameters, as a table with the key `cc`.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Control(pub CcConfig);

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A start-up: its name, or a table of the key `name` and its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct StartUp(pub StartUpConfig);

impl fmt::Display for StartUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

#[cfg(feature = "serde")]
mod reading {
    use super::{Control, StartUp, Switch};
    use crate::tagged::Tagged;
    use core::fmt;
    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use sojourn_cc::{CcConfig, REGISTRY, START_UPS, StartUpConfig};
    use sojourn_units::parse_duration;
    use toml::{Table, Value};

    impl<'de> Deserialize<'de> for Control {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let mut table = Tagged::read(deserializer, "cc", REGISTRY.iter().map(|entry| entry.name), None)?;
            let control = table.choose(|name, input| CcConfig::deserialize(name, input).transpose())?;
            control.map(Control).ok_or_else(|| table.unknown())
        }
    }

    impl<'de> Deserialize<'de> for StartUp {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let table = match Value::deserialize(deserializer)? {
                Value::Table(table) => table,
                name => Table::from_iter([("name".into(), name)]),
            };
            let mut table = Tagged::of(table, "name", START_UPS.iter().map(|entry| entry.name), None)?;
            let start_up = table.choose(|name, input| StartUpConfig::deserialize(name, input).transpose())?;
            start_up.map(StartUp).ok_or_else(|| table.unknown())
        }
    }

    impl Serialize for Switch {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Switch::Off => serializer.serialize_bool(false),
                Switch::On => serializer.serialize_bool(true),
                Switch::Time(time) => time.serialize(serializer),
            }
        }
    }

    impl<'de> Deserialize<'de> for Switch {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct FlagOrTime;
            impl Visitor<'_> for FlagOrTime {
                type Value = Switch;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("true, false or a time with its unit such as \"100 ms\", at most 1000000 s")
                }
                fn visit_bool<E: Error>(self, on: bool) -> Result<Switch, E> {
                    Ok(if on { Switch::On } else { Switch::Off })
                }
                fn visit_str<E: Error>(self, text: &str) -> Result<Switch, E> {
                    parse_duration(text).map(Switch::Time).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
                }
            }
            deserializer.deserialize_any(FlagOrTime)
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{CcConfig, Control, StartUp, StartUpConfig, Switch};
    use crate::tagged::HOST;
    use crate::tagged::schema::{describe, optional_tag};
    use alloc::borrow::Cow;
    use alloc::vec::Vec;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use sojourn_cc::START_UPS;
    use sojourn_units::Duration;

    impl JsonSchema for Switch {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Switch")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<Duration>()] })
        }
    }

    impl JsonSchema for Control {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Control")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let mut schema = CcConfig::json_schema(generator);
            optional_tag(&mut schema, "cc", HOST);
            describe(&mut schema, "A congestion controller and its parameters, as a table with the key `cc`.");
            schema
        }
    }
    impl JsonSchema for StartUp {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("StartUp")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let names: Vec<&str> = START_UPS.iter().map(|entry| entry.name).collect();
            json_schema!({ "anyOf": [{ "type": "string", "enum": names }, generator.subschema_for::<StartUpConfig>()] })
        }
    }
}
