//! Serializes quantities as text in files, as people write them.

use crate::amount::AMOUNT;
use crate::limit::LIMIT;
use crate::parse::{DURATION, RATE};
use crate::{Amount, Bytes, Duration, Limit, ParseError, Rate, Time, parse_bytes, parse_duration, parse_rate};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, de::Visitor};

/// The expectation in errors for values that are not text. The range depends on the field.
const BYTES: &str = "a size with its unit such as \"1500 B\" (B, kB, MB, GB, KiB, MiB)";

/// Accepts text only; errors name the expectation.
struct Text<T> {
    parse: fn(&str) -> Result<T, ParseError>,
    expected: &'static str,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

macro_rules! text {
    ($type:ty, $parse:path, $expected:ident, $show:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text { parse: $parse, expected: $expected })
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let show: fn(&$type) -> String = $show;
                serializer.serialize_str(&show(self))
            }
        }
    };
}
text!(Duration, parse_duration, DURATION, |d| format!("{d}"));
text!(Rate, parse_rate, RATE, |r| format!("{r}"));
text!(Bytes, parse_bytes, BYTES, |b| format!("{b}"));
text!(Amount, amount, AMOUNT, |a| format!("{a}"));
text!(Limit, limit, LIMIT, |l| format!("{l}"));

fn amount(text: &str) -> Result<Amount, ParseError> {
    Amount::parse(text).ok_or_else(|| ParseError { got: text.to_string(), expected: AMOUNT })
}

fn limit(text: &str) -> Result<Limit, ParseError> {
    Limit::parse(text).ok_or_else(|| ParseError { got: text.to_string(), expected: LIMIT })
}

/// Writes an instant as the time since the start of the run.
impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.since(Time::ZERO).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Time::ZERO + Duration::deserialize(deserializer)?)
    }
}
