//! The order in which structs declare their fields, which a JSON Schema does not preserve.

use serde::Deserialize;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The fields of every struct in `T`, by the name of the struct.
pub(crate) fn field_order<'de, T: Deserialize<'de>>() -> BTreeMap<&'static str, &'static [&'static str]> {
    let found = RefCell::default();
    // The result consists of zeros and empty texts; only the requested fields matter.
    let _ = T::deserialize(Walk { found: &found, is_known: false });
    found.into_inner()
}

/// Supplies the simplest value of every type, and records the fields that structs request.
#[derive(Clone, Copy)]
struct Walk<'a> {
    found: &'a RefCell<BTreeMap<&'static str, &'static [&'static str]>>,
    /// Whether it is in a struct with known fields. Its lists are then empty, to avoid recursion.
    is_known: bool,
}

impl<'de> IntoDeserializer<'de, Error> for Walk<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! simplest {
    ($($asked:ident => $visit:ident($($value:expr)?),)*) => {
        $(fn $asked<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit($($value)?)
        })*
    };
}

impl<'de> Deserializer<'de> for Walk<'_> {
    type Error = Error;

    simplest! {
        deserialize_any => visit_unit(),
        deserialize_bool => visit_bool(false),
        deserialize_f64 => visit_f64(0.0),
        deserialize_u32 => visit_u32(0),
        deserialize_u64 => visit_u64(0),
        deserialize_string => visit_str(""),
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(SeqDeserializer::new((!self.is_known).then_some(self).into_iter()))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(MapDeserializer::new(std::iter::empty::<(&str, Self)>()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let is_known = self.found.borrow_mut().insert(name, fields).is_some();
        visitor.visit_map(MapDeserializer::new(fields.iter().map(|field| (*field, Walk { is_known, ..self }))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(variants.first().copied().unwrap_or_default().into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn every_struct_of_a_record_is_found_with_its_fields_in_order() {
        let order = field_order::<Record>();
        assert_eq!(order["Level"], ["mean", "sd", "max"]);
        assert_eq!(order["Record"].first(), Some(&"scenario"));
        assert!(
            ["Link", "Dropped", "Wait", "Flow", "Spread", "Group", "Distribution", "Completion", "Total", "Audit"]
                .iter()
                .all(|name| order.contains_key(name))
        );
    }
}
