//! Strict deserialization of TOML values, with the path of each error.
//!
//! Messages are in terms of the file. A struct must be a table, although serde would also accept a list of its fields. Errors of an enum
//! list its names. The compiler repeats this code for each type that is read, so its methods are short.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::{self, Vec};
use core::fmt;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use toml::{Table, Value};

/// A TOML value with strict deserialization.
pub struct Written(pub Value);

/// One step of a path, into a table or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A key of a table, or the name of a list element.
    Key(String),
    /// The position of a list element.
    Index(usize),
}

/// Why a value was rejected, and its path from the value that was read.
#[derive(Debug)]
pub struct Rejected {
    /// The steps, the innermost first.
    steps: Vec<Step>,
    message: String,
}

impl Rejected {
    /// The path from the outermost value, and the message.
    pub fn into_parts(mut self) -> (Vec<Step>, String) {
        self.steps.reverse();
        (self.steps, self.message)
    }

    /// The error of the value that contains the rejected one.
    #[cold]
    fn within(mut self, step: Step) -> Rejected {
        self.steps.push(step);
        self
    }

    /// The error of a key. An unknown key belongs to its table, because the message contains it.
    #[cold]
    fn at_key(self, key: &str) -> Rejected {
        if self.message.starts_with("unknown field") { self } else { self.within(Step::Key(key.to_string())) }
    }

    #[cold]
    fn of_type(got: &Value, expected: &dyn Expected) -> Rejected {
        Rejected::invalid_type(unexpected(got), expected)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Rejected {}

impl serde::de::Error for Rejected {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Rejected {
        Rejected { steps: Vec::new(), message: message.to_string() }
    }
}

/// Names as serde's messages list them.
pub fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The error for a value that is none of these names.
pub fn none_of(names: &[&str], got: &Value) -> Rejected {
    let got = if matches!(got, Value::Datetime(_)) { Unexpected::Other("a date") } else { unexpected(got) };
    Rejected::invalid_type(got, &&*format!("one of {}", listed(names)))
}

/// A value in serde's messages; a date is a map there.
fn unexpected(got: &Value) -> Unexpected<'_> {
    match got {
        Value::Integer(value) => Unexpected::Signed(*value),
        Value::Float(value) => Unexpected::Float(*value),
        Value::Boolean(value) => Unexpected::Bool(*value),
        Value::Array(_) => Unexpected::Seq,
        Value::Table(_) | Value::Datetime(_) => Unexpected::Map,
        Value::String(text) => Unexpected::Str(text),
    }
}

impl<'de> IntoDeserializer<'de, Rejected> for Written {
    type Deserializer = Written;

    fn into_deserializer(self) -> Written {
        self
    }
}

/// Methods of types that are one value: neither a list nor a table.
macro_rules! scalars {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
            self.scalar(visitor)
        })*
    };
}

impl Written {
    fn scalar<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(value) => visitor.visit_i64(value),
            Value::Float(value) => visitor.visit_f64(value),
            Value::Boolean(value) => visitor.visit_bool(value),
            other => Err(Rejected::of_type(&other, &visitor)),
        }
    }
}

impl<'de> Deserializer<'de> for Written {
    type Error = Rejected;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(Items::new(list)),
            Value::Table(table) => visitor.visit_map(Entries::new(table)),
            Value::Datetime(date) => visitor.visit_map(Entries::of_date(&date)),
            _ => self.scalar(visitor),
        }
    }

    scalars! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_unit deserialize_bytes deserialize_byte_buf deserialize_identifier
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        match self.0 {
            Value::Array(list) => visitor.visit_seq(Items::new(list)),
            other => Err(Rejected::of_type(&other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Rejected> {
        match self.0 {
            Value::Table(table) => visitor.visit_map(Entries::new(table)),
            Value::Array(_) => Err(Rejected::of_type(&self.0, &"a map")),
            other => Err(Rejected::of_type(&other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Rejected> {
        match &self.0 {
            Value::Array(list) if list.len() != length => {
                Err(Rejected::invalid_length(list.len(), &&*format!("an array of length {length}")))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, names: &'static [&'static str], visitor: V) -> Result<V::Value, Rejected> {
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

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Rejected> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Rejected> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! { map unit_struct tuple_struct ignored_any }
}

/// The elements of a list.
struct Items {
    rest: vec::IntoIter<Value>,
    position: usize,
}

impl Items {
    fn new(list: Vec<Value>) -> Items {
        Items { rest: list.into_iter(), position: 0 }
    }
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Rejected;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Rejected> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        self.position += 1;
        seed.deserialize(Written(value)).map(Some).map_err(|error| error.within(Step::Index(self.position - 1)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The keys and values of a table.
struct Entries {
    rest: toml::map::IntoIter<String, Value>,
    /// The entry whose key was read.
    current: Option<(String, Value)>,
}

impl Entries {
    fn new(table: Table) -> Entries {
        Entries { rest: table.into_iter(), current: None }
    }

    /// A date as toml's own deserializer supplies it.
    fn of_date(date: &toml::value::Datetime) -> Entries {
        Entries::new(Table::from_iter([("$__toml_private_datetime".to_string(), Value::String(date.to_string()))]))
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Rejected;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Rejected> {
        self.current = self.rest.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(key)).map(Some).map_err(|error: Rejected| error.at_key(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Rejected> {
        let Some((key, value)) = self.current.take() else { unreachable!("a key is read before its value") };
        seed.deserialize(Written(value)).map_err(|error| error.within(Step::Key(key)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
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
    /// The value of a name that requires one, and the name.
    fn own(self) -> Result<(Written, Step), Rejected> {
        let got = match self.parameters {
            Parameters::Own(value) => return Ok((Written(value), Step::Key(self.name))),
            Parameters::None => format!("string {:?}", self.name),
            Parameters::Keys(0) => String::from("an empty table"),
            Parameters::Keys(count) => format!("a table of {count} keys"),
        };
        let names = listed(self.names);
        Err(Rejected::custom(format!("invalid type: {got}, expected a table whose key is one of {names}")))
    }
}

impl<'de> EnumAccess<'de> for Chosen {
    type Error = Rejected;
    type Variant = Chosen;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Chosen), Rejected> {
        Ok((seed.deserialize(StrDeserializer::<Rejected>::new(&self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Chosen {
    type Error = Rejected;

    fn unit_variant(self) -> Result<(), Rejected> {
        match self.parameters {
            Parameters::None => Ok(()),
            _ => Err(Rejected::custom(format!("invalid type: map, expected one of {}", listed(self.names)))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Rejected> {
        let (value, name) = self.own()?;
        seed.deserialize(value).map_err(|error| error.within(name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Rejected> {
        let (value, name) = self.own()?;
        value.deserialize_tuple(length, visitor).map_err(|error| error.within(name))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Rejected> {
        let (value, name) = self.own()?;
        value.deserialize_struct("", fields, visitor).map_err(|error| error.within(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are tested")]
    struct Outer {
        list: Vec<Inner>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are tested")]
    struct Inner {
        kind: Kind,
        pair: Option<(u8, u8)>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
        Sized(#[expect(dead_code, reason = "only errors are tested")] u8),
    }

    fn refusal(text: &str) -> (Vec<Step>, String) {
        Outer::deserialize(Written(Value::Table(toml::from_str(text).unwrap()))).unwrap_err().into_parts()
    }

    #[test]
    fn an_error_has_the_path_of_its_value() {
        let key = |name: &str| Step::Key(name.to_string());
        let at = |last: &[Step]| [&[key("list"), Step::Index(1)], last].concat();
        let second = |inner: &str| refusal(&format!("list = [{{ kind = \"plain\" }}, {inner}]"));
        let cases = [
            ("{ kind = { sized = 300 } }", vec![key("kind"), key("sized")], "invalid value: integer `300`, expected u8"),
            ("{ kind = \"plain\", pair = [1, true] }", vec![key("pair"), Step::Index(1)], "invalid type: boolean `true`, expected u8"),
            ("{ kind = \"plain\", pair = [1] }", vec![key("pair")], "invalid length 1, expected an array of length 2"),
            ("{ kind = 7 }", vec![key("kind")], "invalid type: integer `7`, expected one of `plain`, `sized`"),
            // A wrong name and an unknown key are errors of the value that contains them.
            ("{ kind = { plain = 1 } }", vec![key("kind")], "invalid type: map, expected one of `plain`, `sized`"),
            ("{ kind = \"plain\", size = 1 }", vec![], "unknown field `size`, expected `kind` or `pair`"),
            ("{}", vec![], "missing field `kind`"),
            ("[1]", vec![], "invalid type: sequence, expected a map"),
            ("1979-05-27", vec![], "invalid type: map, expected struct Inner"),
        ];
        for (inner, last, message) in cases {
            assert_eq!(second(inner), (at(&last), message.to_string()), "{inner}");
        }
        assert!(matches!(Kind::deserialize(Written(Value::String("plain".into()))), Ok(Kind::Plain)));
    }
}
