//! What a flow sends. The table's `kind` chooses which keys it has.

use super::chosen::{Chosen, chosen, unless_named};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use sojourn_traffic::REGISTRY;
use std::borrow::Cow;

/// What a flow sends: a kind of traffic and its parameters; default: bulk without end.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Traffic(pub sojourn_traffic::Traffic);

impl JsonSchema for Traffic {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Traffic")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = sojourn_traffic::Traffic::json_schema(generator);
        unless_named(&mut schema, "kind", REGISTRY[0].name);
        schema.insert("description".to_string(), json!("What a flow sends."));
        schema
    }
}

impl<'de> Deserialize<'de> for Traffic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Chosen { name, mut rest } = chosen(deserializer, "kind", Some(REGISTRY[0].name))?;
        let traffic = rest.tracked(&["kind"], |input| sojourn_traffic::Traffic::deserialize(&name, input).transpose());
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        Ok(Traffic(traffic?.ok_or_else(|| rest.unknown(&name, &names))?))
    }
}
