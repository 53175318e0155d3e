//! The length of a state: a time or a number of packets.

use core::fmt;
use sojourn_units::{Duration, parse_duration};

/// A mean length, `"200 ms"` or `"25 packets"`. A number of packets may be a fraction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Spell {
    /// A time.
    Time(Duration),
    /// A number of packets.
    Packets(f64),
}

/// The expectation in messages.
#[cfg(feature = "serde")]
const SPELL: &str = "a time or a number of packets such as \"200 ms\" or \"25 packets\"";

impl Spell {
    /// Reads `"200 ms"` or `"25 packets"`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Spell> {
        let number = ["packets", "packet"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        match number {
            Some(number) => number.trim().replace('_', "").parse().ok().map(Spell::Packets),
            None => parse_duration(text).ok().map(Spell::Time),
        }
    }
}

impl fmt::Display for Spell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spell::Time(time) => time.fmt(f),
            Spell::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

#[cfg(feature = "serde")]
mod text {
    use super::{SPELL, Spell};
    use alloc::borrow::Cow;
    use alloc::format;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl<'de> Deserialize<'de> for Spell {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = Cow::<str>::deserialize(deserializer)?;
            Spell::parse(&text).ok_or_else(|| D::Error::custom(format!("expected {SPELL}, got \"{text}\"")))
        }
    }

    impl Serialize for Spell {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Spell {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Spell".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": SPELL,
            "anyOf": [
                { "type": "string", "pattern": r"^\s*[0-9._]+\s*packets?\s*$", "examples": ["25 packets"] },
                generator.subschema_for::<Duration>(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spell_is_a_time_or_a_number_of_packets() {
        assert_eq!(Spell::parse("200 ms"), Some(Spell::Time(Duration::from_millis(200))));
        assert_eq!(Spell::parse("1.5 packets"), Some(Spell::Packets(1.5)));
        assert_eq!(Spell::parse("1 packet"), Some(Spell::Packets(1.0)));
        assert!(["", "25", "packets", "10 kB"].iter().all(|text| Spell::parse(text).is_none()));
    }
}
