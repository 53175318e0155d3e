//! What the link layer of a link adds to packets: by the name of the link layer, or in numbers.

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sojourn_spec::link::{self, LinkLayer};
use std::fmt;

/// What the link layer adds to each packet.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Overhead {
    /// By the name that `tc-cake` has for it.
    Of(LinkLayer),
    /// In numbers.
    Given(link::Overhead),
}

impl Overhead {
    /// In numbers.
    pub fn given(self) -> link::Overhead {
        match self {
            Overhead::Of(layer) => layer.overhead(),
            Overhead::Given(overhead) => overhead,
        }
    }
}

impl<'de> Deserialize<'de> for Overhead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Overhead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link layer such as \"docsis\", or a table such as { per_packet = \"18 B\", mpu = \"64 B\" }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Overhead, E> {
        LinkLayer::deserialize(StrDeserializer::new(name)).map(Overhead::Of)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Overhead, A::Error> {
        link::Overhead::deserialize(MapAccessDeserializer::new(map)).map(Overhead::Given)
    }
}
