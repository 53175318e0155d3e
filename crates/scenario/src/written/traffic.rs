//! The traffic of a flow, whose other keys depend on `kind`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use sojourn_spec::tagged::{Tagged, schema};
use sojourn_traffic::REGISTRY;
use std::borrow::Cow;

/// The traffic of a flow: a kind with its parameters; default: endless bulk data.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Traffic(pub sojourn_traffic::Traffic);

impl JsonSchema for Traffic {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Traffic")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = sojourn_traffic::Traffic::json_schema(generator);
        schema::optional_tag(&mut schema, "kind", REGISTRY[0].name);
        schema::describe(&mut schema, "The traffic of a flow.");
        schema
    }
}

impl<'de> Deserialize<'de> for Traffic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Tagged::read(deserializer, "kind", REGISTRY.iter().map(|entry| entry.name), Some(REGISTRY[0].name))?;
        let traffic = table.choose(|name, input| sojourn_traffic::Traffic::deserialize(name, input).transpose())?;
        traffic.map(Traffic).ok_or_else(|| table.unknown())
    }
}
