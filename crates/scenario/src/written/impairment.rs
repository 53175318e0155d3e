//! An impairment of a link, whose other keys depend on `kind`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use sojourn_link::{ImpairmentConfig, ImpairmentKind, Place, REGISTRY};
use sojourn_spec::tagged::Tagged;
use sojourn_spec::tagged::schema::{add_properties, describe};
use sojourn_units::Duration;
use std::borrow::Cow;

/// An impairment: its kind with parameters, its place, and its active time.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub struct Impairment(pub ImpairmentConfig);

/// The keys that every impairment has, whatever its kind.
#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct Common {
    /// Its place: "before-queue" or "after-queue"; default "after-queue".
    /// "before-queue" is on arrival at the link, "after-queue" at the end of the link.
    place: Place,
    /// Start of the impairment, since the start of the run; default "0 s".
    from: Duration,
    /// End of the impairment, above `from`; default: the end of the run.
    until: Option<Duration>,
}

impl JsonSchema for Impairment {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Impairment")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ImpairmentKind::json_schema(generator);
        add_properties(&mut schema, "kind", &Common::json_schema(generator));
        describe(&mut schema, "An impairment of a link.");
        schema
    }
}

impl<'de> Deserialize<'de> for Impairment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Tagged::read(deserializer, "kind", REGISTRY.iter().map(|entry| entry.name), None)?;
        let Common { place, from, until } = table.split_off(&["place", "from", "until"])?;
        let kind = table.choose(|name, input| ImpairmentKind::deserialize(name, input).transpose())?;
        Ok(Impairment(ImpairmentConfig { kind: kind.ok_or_else(|| table.unknown())?, place, from, until }))
    }
}
