//! The JSON Schema of scenario files, derived from the types that parse them.

use crate::written::Scenario;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of a scenario file.
/// It contains the parameters of every algorithm.
pub fn schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    without_null(&mut schema);
    format!("{schema:#}\n")
}

/// Removes null from the schema, because TOML lacks it: an optional key is omitted.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(without_null),
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    object.insert("type".to_string(), only);
                }
            }
            if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
                forms.retain(|form| form["type"] != "null");
                if let [Value::Object(only)] = &forms[..] {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_names_every_algorithm() {
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        let text = schema.to_string();
        for entry in sojourn_aqm::REGISTRY {
            assert!(text.contains(&format!("\"const\":\"{}\"", entry.name)), "{}", entry.name);
        }
        for entry in sojourn_cc::REGISTRY {
            assert!(text.contains(&format!("\"const\":\"{}\"", entry.name)), "{}", entry.name);
        }
        assert_eq!(schema["additionalProperties"], false);
        assert!(!text.contains("\"null\""));
    }
}
