//! Strict deserialization of TOML values, with messages in terms of the file.
//!
//! A struct must be a table, although serde would also accept a list of its fields. Errors of an enum list its names.

use alloc::format;
use alloc::string::String;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, Unexpected, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;
use toml::de::Error;

/// A TOML value with strict deserialization.
pub struct Written(pub Value);

/// The prefix of messages about a wrong name, as opposed to its value.
/// The tracked path then already contains the name.
pub const OF_NAME: &str = "of the name: ";

/// Names as serde's messages list them.
pub fn listed(names: &[&str]) -> String {
    let quoted: alloc::vec::Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The error for a value that is none of these names.
pub fn none_of(names: &[&str], got: &Value) -> Error {
    let got = match got {
        Value::Integer(value) => Unexpected::Signed(*value),
        Value::Float(value) => Unexpected::Float(*value),
        Value::Boolean(value) => Unexpected::Bool(*value),
        Value::Array(_) => Unexpected::Seq,
        Value::Table(_) => Unexpected::Map,
        Value::String(text) => Unexpected::Str(text),
        Value::Datetime(_) => Unexpected::Other("a date"),
    };
    Error::invalid_type(got, &&*format!("one of {}", listed(names)))
}

impl<'de> IntoDeserializer<'de, Error> for Written {
    type Deserializer = Written;

    fn into_deserializer(self) -> Written {
        self
    }
}

impl<'de> Deserializer<'de> for Written {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(list) => {
                let mut list = SeqDeserializer::new(list.into_iter().map(Written));
                let value = visitor.visit_seq(&mut list)?;
                list.end().map(|()| value)
            }
            Value::Table(table) => {
                let mut table = MapDeserializer::new(table.into_iter().map(|(key, value)| (key, Written(value))));
                let value = visitor.visit_map(&mut table)?;
                table.end().map(|()| value)
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &"a map")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        match &self.0 {
            Value::Array(list) if list.len() != length => Err(Error::invalid_length(list.len(), &&*format!("an array of length {length}"))),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, names: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Chosen { name, names, parameters: Parameters::None }),
            Value::Table(table) if table.len() == 1 => match table.into_iter().next() {
                Some((name, value)) => visitor.visit_enum(Chosen { name, names, parameters: Parameters::Own(value) }),
                None => unreachable!("its length is 1"),
            },
            // If the first name has parameters, the message mentions them.
            Value::Table(table) => {
                let name = String::from(*names.first().unwrap_or(&""));
                visitor.visit_enum(Chosen { name, names, parameters: Parameters::Keys(table.len()) })
            }
            other => Err(none_of(names, &other)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 i8 i16 i32 i64 i128 u128 f32 f64 char str string unit seq
        bytes byte_buf map unit_struct tuple_struct ignored_any identifier
    }
}

/// The selected name of an enum: alone, or as the key of a table.
struct Chosen {
    name: String,
    names: &'static [&'static str],
    parameters: Parameters,
}

/// The parameters of a name.
enum Parameters {
    /// No parameters: the name is alone.
    None,
    /// The value of the only key of the table.
    Own(Value),
    /// A table with this number of keys, which is not one.
    Keys(usize),
}

impl Chosen {
    /// The value of a name that requires one.
    fn own(self) -> Result<Written, Error> {
        let got = match self.parameters {
            Parameters::Own(value) => return Ok(Written(value)),
            Parameters::None => format!("string {:?}", self.name),
            Parameters::Keys(0) => String::from("an empty table"),
            Parameters::Keys(count) => format!("a table of {count} keys"),
        };
        let names = listed(self.names);
        Err(Error::custom(format!("{OF_NAME}invalid type: {got}, expected a table whose key is one of {names}")))
    }
}

impl<'de> EnumAccess<'de> for Chosen {
    type Error = Error;
    type Variant = Chosen;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Chosen), Error> {
        Ok((seed.deserialize(self.name.as_str().into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Chosen {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.parameters {
            Parameters::None => Ok(()),
            _ => {
                let names = listed(self.names);
                Err(Error::custom(format!("{OF_NAME}invalid type: map, expected one of {names}")))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.own()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.own()?.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.own()?.deserialize_struct("", fields, visitor)
    }
}
