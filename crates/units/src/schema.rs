//! JSON Schema of quantities: strings in the grammar of [`crate::parse_duration`] and others.

use crate::amount::AMOUNT;
use crate::limit::LIMIT;
use crate::parse::{BYTES, DURATION, RATE, RATES, SIZES, TIMES, Units};
use crate::{Amount, Bytes, Duration, Limit, Rate};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The pattern of a number, zero or more, followed by one of these units.
/// The number has digits with `_` between them, a point and an exponent.
fn pattern(units: Units) -> String {
    let names: Vec<&str> = units.iter().flat_map(|(names, _)| *names).copied().collect();
    alloc::format!(r"^\s*\+?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?\s*({})\s*$", names.join("|"))
}

macro_rules! quantity {
    ($type:ty, $name:literal, $units:expr, $description:expr, $example:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn schema_id() -> Cow<'static, str> {
                Cow::Borrowed(concat!("sojourn_units::", $name))
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": pattern($units),
                    "examples": [$example],
                })
            }
        }
    };
}

quantity!(Duration, "Duration", TIMES, DURATION, "50 ms");
quantity!(Rate, "Rate", RATES, RATE, "10 Mbit/s");
quantity!(Bytes, "Bytes", SIZES, BYTES, "1500 B");

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Amount")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": AMOUNT,
            "anyOf": [
                { "type": "string", "pattern": r"^\s*\+?[0-9_]+\s*packets?\s*$", "examples": ["100 packets"] },
                generator.subschema_for::<Bytes>(),
            ],
        })
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Limit")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": LIMIT,
            "anyOf": [
                generator.subschema_for::<Amount>(),
                generator.subschema_for::<Duration>(),
                { "type": "string", "pattern": pattern(BDPS), "examples": ["1.5 BDP"] },
            ],
        })
    }
}

/// The unit of bandwidth-delay products.
const BDPS: Units = &[(&["BDP"], 1.0)];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn quantities_are_strings_with_a_pattern_an_example_and_a_description() {
        for (schema, example) in [
            (schemars::schema_for!(Duration), "50 ms"),
            (schemars::schema_for!(Rate), "10 Mbit/s"),
            (schemars::schema_for!(Bytes), "1500 B"),
        ] {
            let value = schema.as_value();
            assert_eq!(value["type"], "string");
            assert_eq!(value["examples"][0], example);
            assert!(value["description"].to_string().contains(example));
            assert!(value["pattern"].as_str().unwrap().starts_with(r"^\s*\+?([0-9]"));
        }
    }

    #[test]
    fn an_optional_duration_refers_to_the_one_definition() {
        let schema = schemars::schema_for!(Option<Duration>);
        assert!(schema.as_value().to_string().contains("#/$defs/Duration"), "{:?}", schema.as_value());
    }
}
