//! Tables whose keys depend on one key, the tag.
//! A queue depends on `aqm`, a congestion controller on `cc`, traffic on `kind`.
//!
//! An error inside such a table starts with "in `path`: ", where `path` leads from the table to the invalid value. The scenario reader
//! moves it to the path of the table.

use crate::written::{Rejected, Step, Written, listed, none_of};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::marker::PhantomData;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

/// The key that selects a host's algorithm.
/// Such a table, as in `{ linux = "pie target 15ms" }`, needs no tag.
pub const HOST: &str = "linux";

/// A table whose tag has been read.
pub struct Tagged<E> {
    /// The tag: the key that selects the variant.
    tag: &'static str,
    /// The possible values of the tag.
    names: Vec<&'static str>,
    /// The value of the tag.
    name: String,
    /// The remaining keys.
    rest: Table,
    /// Keys that all variants have.
    common: Vec<&'static str>,
    error: PhantomData<E>,
}

impl<E: Error> Tagged<E> {
    /// Reads a table and removes its `tag`, which selects one of `names`.
    /// `default` is the name if the tag is absent.
    ///
    /// # Errors
    /// The input is not a table, the tag is missing without a default, or it is not text.
    pub fn read<'de, D: Deserializer<'de, Error = E>>(
        deserializer: D,
        tag: &'static str,
        names: impl Iterator<Item = &'static str>,
        default: Option<&str>,
    ) -> Result<Tagged<E>, E> {
        Tagged::of(Table::deserialize(deserializer)?, tag, names, default)
    }

    /// Removes the `tag` of a parsed table, as [`Tagged::read`] does.
    ///
    /// # Errors
    /// The tag is missing without a default, or is not text.
    pub fn of(
        mut rest: Table,
        tag: &'static str,
        names: impl Iterator<Item = &'static str>,
        default: Option<&str>,
    ) -> Result<Tagged<E>, E> {
        let names: Vec<&'static str> = names.collect();
        let own = names.iter().find(|&&name| name == HOST && rest.contains_key(name));
        let name = match (rest.remove(tag), own.copied().or(default)) {
            (Some(Value::String(name)), _) => name,
            (Some(other), _) => return Err(E::custom(format!("in `{tag}`: {}", none_of(&names, &other)))),
            (None, Some(name)) => name.to_string(),
            (None, None) => return Err(E::custom(format!("missing key `{tag}`, expected one of {}", listed(&names)))),
        };
        Ok(Tagged { tag, names, name, rest, common: Vec::new(), error: PhantomData })
    }

    /// The selected name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes the common `keys` and reads them as `T`.
    ///
    /// # Errors
    /// A value has the wrong type.
    pub fn split_off<T: DeserializeOwned>(&mut self, keys: &'static [&'static str]) -> Result<T, E> {
        self.common.extend(keys);
        let common = keys.iter().filter_map(|key| Some(((*key).to_string(), self.rest.remove(*key)?))).collect();
        self.tracked(common, |input| T::deserialize(input))
    }

    /// Reads the remaining keys by a function of the selected name.
    ///
    /// # Errors
    /// A key is unknown, or a value has the wrong type.
    pub fn choose<T>(&mut self, read: impl FnOnce(&str, Written) -> Result<T, Rejected>) -> Result<T, E> {
        let rest = core::mem::take(&mut self.rest);
        self.tracked(rest, |input| read(&self.name, input))
    }

    fn tracked<T>(&self, table: Table, read: impl FnOnce(Written) -> Result<T, Rejected>) -> Result<T, E> {
        tracked(table, read).map_err(|mut message| {
            if message.starts_with("unknown field") {
                for key in [self.tag].iter().chain(&self.common) {
                    let _ = write!(message, ", `{key}`");
                }
            }
            E::custom(message)
        })
    }

    /// The error for an unknown name.
    pub fn unknown(&self) -> E {
        E::custom(format!("in `{}`: unknown variant `{}`, expected one of {}", self.tag, self.name, listed(&self.names)))
    }
}

/// Reads a table by a function.
///
/// # Errors
/// The message. It starts with "in `path`: " unless the error is one of the table itself.
pub fn tracked<T>(table: Table, read: impl FnOnce(Written) -> Result<T, Rejected>) -> Result<T, String> {
    read(Written(Value::Table(table))).map_err(message)
}

/// The message of an error with its path.
/// An error within a table with a tag already starts with a path.
#[cold]
fn message(error: Rejected) -> String {
    let (steps, mut message) = error.into_parts();
    let mut path = String::new();
    for step in steps {
        let _ = match step {
            Step::Key(key) if path.is_empty() => write!(path, "{key}"),
            Step::Key(key) => write!(path, ".{key}"),
            Step::Index(i) => write!(path, "[{i}]"),
        };
    }
    if let Some((inner, rest)) = message.strip_prefix("in `").and_then(|rest| rest.split_once("`: ")) {
        path = if path.is_empty() { inner.to_string() } else { format!("{path}.{inner}") };
        message = rest.to_string();
    }
    if path.is_empty() { message } else { format!("in `{path}`: {message}") }
}

/// JSON Schema of such tables.
#[cfg(feature = "schema")]
pub mod schema {
    use super::HOST;
    use alloc::format;
    use alloc::string::ToString;
    use schemars::Schema;

    /// The variants in a schema that a key selects.
    fn alternatives(schema: &mut Schema) -> impl Iterator<Item = &mut serde_json::Value> {
        schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut).into_iter().flatten()
    }

    /// The name that selects a variant.
    fn name<'a>(alternative: &'a serde_json::Value, tag: &str) -> Option<&'a str> {
        alternative.pointer(&format!("/properties/{tag}/const"))?.as_str()
    }

    /// Adds the properties of another table to every variant except the host's.
    /// The host's variant has its own options.
    pub fn add_properties(schema: &mut Schema, tag: &str, other: &Schema) {
        let Some(added) = other.get("properties").and_then(serde_json::Value::as_object) else { return };
        for alternative in alternatives(schema).filter(|alternative| name(alternative, tag) != Some(HOST)) {
            if let Some(properties) = alternative.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
                properties.extend(added.clone());
            }
        }
    }

    /// Makes the tag optional in the default variant and in the host's.
    pub fn optional_tag(schema: &mut Schema, tag: &str, default: &str) {
        for alternative in alternatives(schema) {
            let chosen = matches!(name(alternative, tag), Some(name) if name == default || name == HOST);
            if let Some(required) = alternative.get_mut("required").and_then(serde_json::Value::as_array_mut).filter(|_| chosen) {
                required.retain(|key| key != tag);
            }
        }
    }

    /// Sets the description.
    pub fn describe(schema: &mut Schema, description: &str) {
        schema.insert("description".to_string(), description.into());
    }
}
