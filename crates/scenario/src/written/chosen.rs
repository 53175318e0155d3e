//! Tables in which one key chooses which others there are: a queue by `aqm`, a window law by `cc`, traffic by `kind`.

use crate::error::unknown;
use schemars::{JsonSchema, Schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use sojourn_cc::CcConfig;
use std::marker::PhantomData;
use toml::{Table, Value};

/// The alternatives of a schema that are chosen by a key.
fn kinds(schema: &mut Schema) -> impl Iterator<Item = &mut Json> {
    schema.get_mut("oneOf").and_then(Json::as_array_mut).into_iter().flatten()
}

/// Makes the key that chooses optional in the alternative that is the default.
pub(super) fn unless_named(schema: &mut Schema, tag: &str, default: &str) {
    for kind in kinds(schema) {
        let chosen = kind.pointer(&format!("/properties/{tag}/const")).and_then(Json::as_str) == Some(default);
        if let Some(required) = kind.get_mut("required").and_then(Json::as_array_mut).filter(|_| chosen) {
            required.retain(|key| key != tag);
        }
    }
}

/// A window law and its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Control(pub CcConfig);

impl<'de> Deserialize<'de> for Control {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Chosen { name, mut rest } = chosen(deserializer, "cc", None)?;
        let control = rest.tracked(&["cc"], |input| CcConfig::deserialize(&name, input).transpose());
        let names: Vec<&str> = sojourn_cc::REGISTRY.iter().map(|entry| entry.name).collect();
        Ok(Control(control?.ok_or_else(|| rest.unknown(&name, &names))?))
    }
}

/// A table whose choice has been read: the name chosen, and the keys that remain.
pub(super) struct Chosen<E> {
    pub name: String,
    pub rest: Rest<E>,
}

/// Keys that remain to be read. Errors carry the way to the key as "in `path`: ..." in front.
pub(super) struct Rest<E> {
    table: Table,
    tag: &'static str,
    error: PhantomData<E>,
}

/// Reads a table and takes out the key that chooses.
pub(super) fn chosen<'de, D: Deserializer<'de>>(
    deserializer: D,
    tag: &'static str,
    default: Option<&str>,
) -> Result<Chosen<D::Error>, D::Error> {
    let table = Table::deserialize(deserializer)?;
    let mut rest = Rest { table, tag, error: PhantomData };
    match (rest.take(tag)?, default) {
        (Some(name), _) => Ok(Chosen { name, rest }),
        (None, Some(name)) => Ok(Chosen { name: name.to_string(), rest }),
        (None, None) => Err(D::Error::missing_field(tag)),
    }
}

impl<E: Error> Rest<E> {
    /// Takes out one key.
    pub fn take<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<Option<T>, E> {
        let Some(value) = self.table.remove(key) else { return Ok(None) };
        match serde_path_to_error::deserialize(value) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(E::custom(format!("in `{key}`: {}", error.inner().message()))),
        }
    }

    /// Reads all that remain by a function; `others` are keys that were taken out before.
    pub fn tracked<T>(
        &mut self,
        others: &[&str],
        read: impl FnOnce(serde_path_to_error::Deserializer<'_, '_, Value>) -> Result<T, toml::de::Error>,
    ) -> Result<T, E> {
        let mut track = serde_path_to_error::Track::new();
        let input = Value::Table(std::mem::take(&mut self.table));
        read(serde_path_to_error::Deserializer::new(input, &mut track)).map_err(|error| {
            let (path, mut message) = (track.path().to_string(), error.message().to_string());
            if message.starts_with("unknown field") {
                others.iter().for_each(|key| message.push_str(&format!(", `{key}`")));
            }
            if path == "." || message.starts_with("unknown field") {
                E::custom(message)
            } else {
                E::custom(format!("in `{path}`: {message}"))
            }
        })
    }

    /// Says that the name chosen is none of those there are.
    pub fn unknown(&self, name: &str, names: &[&str]) -> E {
        E::custom(format!("in `{}`: {}", self.tag, unknown("", name, names)))
    }
}
