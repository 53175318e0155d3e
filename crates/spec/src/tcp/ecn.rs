//! ECN modes: the feedback of marks, and the codepoint of data packets.

use super::TcpOptions;
use super::stored::{Kind, Stored};
use core::fmt;
use sojourn_cc::{CcConfig, CongestionController, EcnNeed, Feedback, Start};

/// The ECN mode of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// Data packets are not ECN-capable.
    Off,
    /// ECT(0), and one echo per window of data (rfc3168#6.1).
    Classic,
    /// ECT(0), and each ACK echoes whether its segments were marked (rfc8257#3.2).
    Dctcp,
    /// ECT(0), and each ACK carries the count of marked packets (rfc9768#3.2).
    Accurate,
    /// As `Accurate`, but with ECT(1), which identifies scalable senders (rfc9331#4.1).
    L4s,
}

impl Ecn {
    /// Whether data packets are ECN-capable.
    #[inline]
    pub fn is_on(self) -> bool {
        self != Ecn::Off
    }

    /// Whether all packets of a sender are ECN-capable.
    /// They include the first packet and retransmissions (rfc8257#3.5, rfc9331#4.1, Linux `tcp_ca_needs_ecn`).
    pub fn is_on_all(self) -> bool {
        matches!(self, Ecn::Dctcp | Ecn::L4s)
    }

    /// Whether the feedback counts marked segments.
    #[inline]
    pub fn counts(self) -> bool {
        matches!(self, Ecn::Dctcp | Ecn::Accurate | Ecn::L4s)
    }

    /// The feedback as controllers see it.
    /// A controller that does not require counts gets them only from queues for scalable senders, which mark early (rfc8257#3.1,
    /// rfc9331#4.1).
    /// Elsewhere a mark is equivalent to a loss (rfc3168#5).
    pub fn feedback(self) -> Feedback {
        match self {
            Ecn::Accurate => Feedback::CountsIfAsked,
            _ if self.counts() => Feedback::Counts,
            _ => Feedback::Echoes,
        }
    }

    /// Whether ACKs carry the count of marked packets (rfc9768#3.2).
    #[inline]
    pub fn is_accurate(self) -> bool {
        matches!(self, Ecn::Accurate | Ecn::L4s)
    }

    /// The mode that a sender with this mode and a receiver with `peer` negotiate.
    /// If their feedback differs, it is that of RFC 3168, which every ECN host supports (rfc9768#3.1.2).
    #[must_use]
    pub fn agreed(self, peer: Ecn) -> Ecn {
        let same = self == peer || (self.is_accurate() && peer.is_accurate());
        match (self, peer) {
            (Ecn::Off, _) | (_, Ecn::Off) => Ecn::Off,
            _ if same => self,
            _ => Ecn::Classic,
        }
    }

    /// The mode that a controller requires.
    fn of(control: &CcConfig) -> Ecn {
        match need(control) {
            EcnNeed::None | EcnNeed::CountIfThere => Ecn::Classic,
            EcnNeed::Count => Ecn::Dctcp,
            EcnNeed::Scalable => Ecn::L4s,
        }
    }
}

/// The ECN requirement of a controller.
/// None if its parameters are out of range, which is rejected elsewhere.
pub(super) fn need(control: &CcConfig) -> EcnNeed {
    control.build(Start::new(1.0, f64::INFINITY)).map_or(EcnNeed::None, |made| made.needs().ecn)
}

/// The mode if a scenario sets none.
/// It is that of the profile, or the one that the controller requires.
pub(super) fn unless_given(options: &TcpOptions) -> Ecn {
    if need(&options.control).is_strict() { Ecn::of(&options.control) } else { options.ecn }
}

/// The option `ecn` as written in a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnChoice {
    /// `false`.
    Off,
    /// `true`: the mode that the controller requires, else classic.
    On,
    /// "dctcp".
    Dctcp,
    /// "accurate".
    Accurate,
    /// "l4s".
    L4s,
}

impl EcnChoice {
    /// The names of modes other than `true` and `false`.
    #[cfg(feature = "serde")]
    const NAMES: [(&'static str, EcnChoice); 3] = [("dctcp", EcnChoice::Dctcp), ("accurate", EcnChoice::Accurate), ("l4s", EcnChoice::L4s)];

    /// The mode, with `on` for `true`.
    fn or(self, on: Ecn) -> Ecn {
        match self {
            EcnChoice::Off => Ecn::Off,
            EcnChoice::On => on,
            EcnChoice::Dctcp => Ecn::Dctcp,
            EcnChoice::Accurate => Ecn::Accurate,
            EcnChoice::L4s => Ecn::L4s,
        }
    }
}

impl From<Ecn> for EcnChoice {
    fn from(ecn: Ecn) -> Self {
        match ecn {
            Ecn::Off => EcnChoice::Off,
            Ecn::Classic => EcnChoice::On,
            Ecn::Dctcp => EcnChoice::Dctcp,
            Ecn::Accurate => EcnChoice::Accurate,
            Ecn::L4s => EcnChoice::L4s,
        }
    }
}

impl fmt::Display for EcnChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EcnChoice::Off => "false",
            EcnChoice::On => "true",
            EcnChoice::Dctcp => "dctcp",
            EcnChoice::Accurate => "accurate",
            EcnChoice::L4s => "l4s",
        })
    }
}

impl Kind for EcnChoice {
    const KIND: &'static str = "true, false, dctcp, accurate or l4s";
}

impl Stored<EcnChoice> for Ecn {
    fn store(written: &EcnChoice, options: &TcpOptions) -> Self {
        match written {
            EcnChoice::On => Ecn::of(&options.control),
            other => other.or(Ecn::Classic),
        }
    }
    fn written(&self) -> Option<EcnChoice> {
        Some((*self).into())
    }
}

impl Stored<EcnChoice> for Option<Ecn> {
    fn store(written: &EcnChoice, _: &TcpOptions) -> Self {
        Some(written.or(Ecn::Classic))
    }
    fn written(&self) -> Option<EcnChoice> {
        self.map(EcnChoice::from)
    }
}

#[cfg(feature = "serde")]
mod reading {
    use super::EcnChoice;
    use core::fmt;
    use serde::de::{Error, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for EcnChoice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                EcnChoice::Off => serializer.serialize_bool(false),
                EcnChoice::On => serializer.serialize_bool(true),
                other => serializer.collect_str(other),
            }
        }
    }

    impl<'de> Deserialize<'de> for EcnChoice {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct FlagOrName;
            impl Visitor<'_> for FlagOrName {
                type Value = EcnChoice;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("true, false, \"dctcp\", \"accurate\" or \"l4s\"")
                }
                fn visit_bool<E: Error>(self, on: bool) -> Result<EcnChoice, E> {
                    Ok(if on { EcnChoice::On } else { EcnChoice::Off })
                }
                fn visit_str<E: Error>(self, text: &str) -> Result<EcnChoice, E> {
                    let named = EcnChoice::NAMES.iter().find(|(name, _)| *name == text);
                    named.map(|&(_, choice)| choice).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                }
            }
            deserializer.deserialize_any(FlagOrName)
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::EcnChoice;
    use alloc::borrow::Cow;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    impl JsonSchema for EcnChoice {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("EcnChoice")
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let names: alloc::vec::Vec<&str> = EcnChoice::NAMES.iter().map(|(name, _)| *name).collect();
            json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": names }] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn::{self, Accurate, Classic, Dctcp, L4s, Off};

    #[test]
    fn hosts_agree_on_what_both_know_and_else_on_classic_ecn() {
        let cases: [(Ecn, Ecn, Ecn); 9] = [
            (Off, L4s, Off),
            (L4s, Off, Off),
            (L4s, L4s, L4s),
            (L4s, Accurate, L4s),
            (Accurate, L4s, Accurate),
            (L4s, Classic, Classic),
            (Dctcp, Dctcp, Dctcp),
            (Dctcp, Accurate, Classic),
            (Classic, L4s, Classic),
        ];
        for (sender, peer, agreed) in cases {
            assert_eq!(sender.agreed(peer), agreed, "{sender:?} with {peer:?}");
        }
    }
}
