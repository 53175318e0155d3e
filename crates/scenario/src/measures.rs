//! The list of measures of a record, read from the record's own JSON Schema.

use crate::field_order::field_order;
use crate::record::Record;
use crate::series::{CONTROLLER, Column, SERIES, controller_columns};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};
use sojourn_cc::About;
use std::collections::BTreeMap;

/// The JSON Schema (draft 2020-12) of a record.
/// Attributes of a field: `unit` is its unit, `label` its label in tables and plots, `better` "higher" or "lower", `minimum` and `maximum`
/// its range, `error` its largest relative error.
pub fn record_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(not_negative)).into_generator();
    generator.into_root_schema_for::<Record>().to_value()
}

/// Sets the minimum of every number to 0.
fn not_negative(schema: &mut Schema) {
    if is_number(schema.as_value()) && schema.get("minimum").is_none() {
        schema.insert("minimum".to_string(), 0.into());
    }
}

/// Every measure of a record, part by part, and every kind of series, as JSON:
/// `{"parts": [{"part", "summary", "fields": [{"path", "unit", "label", "better", "summary", "number", "minimum", "maximum", "error"}]}],
/// "series": [{"kind", "of", "row", "columns": [{"name", "unit", "summary", "minimum", "maximum"}]}]}`. The part of the run's own fields is `""`, the name of a list ends in `[]`.
pub fn measures() -> Value {
    let schema = RecordSchema { root: record_schema(), order: field_order::<Record>() };
    let run = schema.root["description"].clone();
    let (mut own, mut parts) = (Vec::new(), Vec::new());
    for (name, field) in schema.properties(&schema.root, "Record") {
        let (is_list, inner) = match schema.target(&field["items"]) {
            Some(items) => (true, Some(items)),
            None => (false, schema.target(field)),
        };
        let Some(inner) = inner else {
            own.push(measure(name, field, &Measure::default()));
            continue;
        };
        let part = if is_list { format!("{name}[]") } else { name.to_string() };
        let mut fields = Vec::new();
        schema.collect(inner, &Measure::default(), &mut fields);
        parts.push(json!({ "part": part, "summary": one_line(field), "fields": fields }));
    }
    parts.insert(0, json!({ "part": "", "summary": run, "fields": own }));
    let column = |column: &Column| json!({ "name": column.name, "unit": column.unit, "summary": column.summary, "minimum": 0, "maximum": column.maximum });
    let series = SERIES.iter().map(|series| {
        let mut columns: Vec<Value> = series.columns.iter().map(column).collect();
        if series.kind == CONTROLLER.kind {
            columns.extend(controller_columns().into_iter().map(variable));
        }
        json!({ "kind": series.kind, "of": series.of, "row": series.row, "columns": columns })
    });
    json!({ "parts": parts, "series": series.collect::<Vec<_>>() })
}

/// A variable, and the congestion controllers that have it.
fn variable((about, of): (About, Vec<&str>)) -> Value {
    let maximum = (about.unit == "0..1").then_some(1);
    json!({ "name": about.name, "unit": about.unit, "summary": format!("of {}: {}", of.join(", "), about.summary), "minimum": 0, "maximum": maximum })
}

/// The schema of a record and the order of its fields.
struct RecordSchema {
    root: Value,
    order: BTreeMap<&'static str, &'static [&'static str]>,
}

/// The attributes that a nested field inherits from its parent.
#[derive(Default)]
struct Measure {
    path: String,
    unit: String,
    label: String,
    better: String,
}

impl RecordSchema {
    /// The properties of a struct, in the order of its fields.
    fn properties<'a>(&'a self, schema: &'a Value, name: &str) -> impl Iterator<Item = (&'static str, &'a Value)> {
        let fields = self.order.get(name).copied().unwrap_or_default();
        fields.iter().filter_map(|field| Some((*field, schema["properties"].get(*field)?)))
    }

    /// The name of the struct type of a field, also within an option.
    fn target(&self, field: &Value) -> Option<String> {
        let name = |field: &Value| field["$ref"].as_str()?.strip_prefix("#/$defs/").map(str::to_string);
        let optional = || field["anyOf"].as_array()?.iter().find_map(name);
        name(field).or_else(optional).filter(|name| self.order.contains_key(name.as_str()))
    }

    /// Adds the fields of a struct. Fields of nested structs follow their parent.
    /// A list is not a number itself. If its elements have the fields of the list's parent, these are not listed again. A recursive list is
    /// not expanded.
    fn collect(&self, name: String, above: &Measure, into: &mut Vec<Value>) {
        for (field_name, field) in self.properties(&self.root["$defs"][&name], &name) {
            if above.path.strip_suffix("[]") == Some(field_name) {
                continue;
            }
            let own = measure(field_name, field, above);
            let text = |key: &str| own[key].as_str().unwrap_or_default().to_string();
            let held = Measure { path: text("path"), unit: text("unit"), label: text("label"), better: text("better") };
            into.push(own);
            if let Some(inner) = self.target(field) {
                self.collect(inner, &held, into);
            } else if let Some(inner) = self.target(&field["items"]).filter(|inner| *inner != name) {
                let first = into.len();
                self.collect(inner, &Measure { path: format!("{}[]", held.path), ..held }, into);
                into[first..].iter_mut().for_each(|field| field["number"] = false.into());
            }
        }
    }
}

/// One measure. Its default label is its name without the suffix of its unit.
fn measure(name: &str, field: &Value, above: &Measure) -> Value {
    let plain = ["_bps", "_ms", "_s"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name).replace('_', " ");
    let label = field["label"].as_str().unwrap_or(&plain);
    let joined = |above: &str, between: &str, own: &str| if above.is_empty() { own.to_string() } else { format!("{above}{between}{own}") };
    json!({
        "path": joined(&above.path, ".", name),
        "unit": field["unit"].as_str().unwrap_or(&above.unit),
        "label": joined(&above.label, " ", label),
        "better": field["better"].as_str().unwrap_or(&above.better),
        "summary": one_line(field),
        "number": is_number(field),
        "minimum": field["minimum"],
        "maximum": field["maximum"],
        "error": field["error"].as_f64().unwrap_or(0.0),
    })
}

/// The description of a field on one line.
fn one_line(field: &Value) -> String {
    field["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// Whether a field holds a number.
fn is_number(field: &Value) -> bool {
    let number = |kind: &Value| kind == "number" || kind == "integer";
    field["type"].as_array().map_or_else(|| number(&field["type"]), |kinds| kinds.iter().any(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(part: &str, path: &str) -> Value {
        let measures = measures();
        let part = measures["parts"].as_array().unwrap().iter().find(|each| each["part"] == part).unwrap();
        part["fields"].as_array().unwrap().iter().find(|field| field["path"] == path).unwrap().clone()
    }

    #[test]
    fn a_nested_measure_has_the_unit_and_the_label_of_the_one_that_holds_it() {
        let wait = find("links[]", "wait_ms.p95");
        assert_eq!((wait["unit"].as_str(), wait["label"].as_str(), wait["better"].as_str()), (Some("ms"), Some("wait p95"), Some("lower")));
        assert_eq!((find("links[]", "arrived")["better"].as_str(), find("total", "jain")["better"].as_str()), (Some(""), Some("higher")));
        assert_eq!(find("groups[]", "completion_s.count")["unit"], "connections");
        assert_eq!(find("total", "jain")["label"], "Jain's index");
    }

    #[test]
    fn quantiles_from_a_histogram_say_how_far_they_may_be_off() {
        let error = |part: &str, path: &str| find(part, path)["error"].as_f64().unwrap();
        for (part, path) in [("links[]", "wait_ms.p99"), ("links[]", "queues[].wait_ms.p50"), ("groups[]", "rtt_ms.p90")] {
            assert_eq!(error(part, path), crate::record::QUANTILE_ERROR, "{path}");
        }
        for (part, path) in [("links[]", "wait_ms.max"), ("links[]", "wait_ms.mean"), ("groups[]", "completion_s.p99")] {
            assert_eq!(error(part, path), 0.0, "{path}");
        }
    }

    #[test]
    fn every_number_has_the_range_of_its_values() {
        let range = |part: &str, path: &str| (find(part, path)["minimum"].clone(), find(part, path)["maximum"].clone());
        for (part, path) in [("links[]", "utilization"), ("links[]", "loss_ratio"), ("groups[]", "jain"), ("total", "jain")] {
            assert_eq!(range(part, path), (0.into(), 1.into()), "{path}");
        }
        assert_eq!(range("links[]", "wait_ms.p95"), (0.into(), Value::Null));
        for part in measures()["parts"].as_array().unwrap() {
            for field in part["fields"].as_array().unwrap().iter().filter(|field| field["number"] == true) {
                assert_eq!(field["minimum"], 0, "{field}");
                assert!(field["unit"] != "0..1" || field["maximum"] == 1, "{field}");
            }
        }
    }

    #[test]
    fn every_measure_says_what_it_is() {
        for part in measures()["parts"].as_array().unwrap() {
            assert!(part["fields"].as_array().unwrap().iter().all(|field| field["summary"] != ""), "{part}");
        }
        assert_eq!(find("", "duration_s")["unit"], "s");
        assert_eq!(
            (find("links[]", "queue.mean")["number"].clone(), find("links[]", "queue")["number"].clone()),
            (true.into(), false.into())
        );
    }
}
