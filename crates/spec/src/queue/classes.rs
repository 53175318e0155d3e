//! Classes of a link: their matches, their queues, and their scheduling.

use crate::queue::Queue;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sojourn_aqm::{AnyAqm, ClassConfig, Classification, Ecn, FlowQueuing, Overflow, QdiscConfig, Rule, Shares};
use sojourn_units::{Bytes, Rate, Stream};

/// How the classes of a link share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scheduling {
    /// Strict priority: by `priority`, then by order in the file.
    Strict,
    /// By priority, then by deficit round robin in proportion to `share` (shreedhar-1995).
    Drr,
    /// Each class has a guaranteed rate and borrows up to its `ceil`, as in Linux `htb`.
    /// It borrows from the innermost class around it with spare capacity, or from the link; by priority, then in turns of `quantum`.
    Htb,
}

/// A queue with classes.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduler {
    /// How the classes share the link.
    pub scheduler: Scheduling,
    /// The classes, 1 to 64. A packet belongs to the first class that matches it.
    /// The last class has no `match` and gets all other packets.
    pub classes: Vec<Class>,
}

/// A class: its match, its share of the link, and its queue.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Class {
    /// The options of a class apart from its queue.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub options: ClassOptions,
    /// Its queue.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub queue: Queue,
}

/// The options of a class apart from its queue.
#[derive(Clone, PartialEq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassOptions {
    /// Its name in the record.
    /// Default: the group that it matches, "default" for the class without `match`, else "class0", "class1", ...
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// Packets of this class; default: all packets that no earlier class matches.
    #[cfg_attr(feature = "serde", serde(rename = "match", skip_serializing_if = "Option::is_none"))]
    pub matches: Option<Match>,
    /// Priority, 0 to 255; lower numbers are served first. Default 255.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub priority: Option<u8>,
    /// With "drr": its weight among the classes of its priority, 0.01 to 100; default 1.
    /// Each round it may send `share` times 1514 B.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub share: Option<f64>,
    /// With "htb": its guaranteed rate. The sum over all classes is at most the link's rate.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub rate: Option<Rate>,
    /// With "htb": its maximum rate, from its `rate` to the link's; default: the link's rate.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ceil: Option<Rate>,
    /// With "htb": bytes that it sends per round of spare capacity, 1 B to 10 MB.
    /// Default: 0.1 s at its `rate`, from 1000 B to 200 kB (Linux `r2q` 10).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub quantum: Option<Bytes>,
    /// Number of flow queues, 1 to 65536. Default: one queue for all flows.
    /// They are served in turns as in fq-codel, under the single discipline of the class. On overflow, the longest queue drops.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub flow_queues: Option<u32>,
}

/// The packets that a class or a filter matches: those that satisfy every given condition.
#[derive(Clone, PartialEq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Match {
    /// Group of the flows, or a list of groups, in both directions.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Listed::is_empty"))]
    pub group: Listed<String>,
    /// DSCP of the packets, 0 to 63 or a name such as "ef", or a list of them.
    /// It is the `dscp` of their flows.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Listed::is_empty"))]
    pub dscp: Listed<Dscp>,
    /// `port` of the flows, or a list of ports.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Listed::is_empty"))]
    pub port: Listed<u16>,
    /// ECN codepoint of the packets, or a list of them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Listed::is_empty"))]
    pub ecn: Listed<Ecn>,
}

/// One value, or a list of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed<T>(pub Vec<T>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed(Vec::new())
    }
}

impl<T: PartialEq> Listed<T> {
    /// Whether the condition is absent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the condition is absent, or contains this value.
    pub fn takes(&self, value: &T) -> bool {
        self.is_empty() || self.0.contains(value)
    }
}

/// A Differentiated Services codepoint, 0 to 63 (rfc2474#3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dscp(pub u8);

impl Dscp {
    /// Whether it is 0, the default.
    pub fn is_default(&self) -> bool {
        self.0 == 0
    }

    /// The codepoint with a name.
    /// cs0 to cs7 (rfc2474#4.2.2), af11 to af43 (rfc2597#6), ef (rfc3246#2.7), va (rfc5865#2.3), le (rfc8622#6).
    pub fn named(name: &str) -> Option<Dscp> {
        let digit = |at: usize, most: u8| name.as_bytes().get(at).map(|digit| digit.wrapping_sub(b'0')).filter(|digit| *digit <= most);
        Some(Dscp(match (name, name.len()) {
            ("ef", _) => 46,
            ("va", _) => 44,
            ("le", _) => 1,
            (_, 3) if name.starts_with("cs") => 8 * digit(2, 7)?,
            (_, 4) if name.starts_with("af") => {
                let (class, drop) = (digit(2, 4).filter(|class| *class > 0)?, digit(3, 3).filter(|drop| *drop > 0)?);
                8 * class + 2 * drop
            }
            _ => return None,
        }))
    }
}

/// The default priority, which is served last.
const LAST: u8 = 255;

/// The DRR quantum of share 1: a full packet (Linux `sch_drr.c`).
const ROUND: f64 = 1514.0;

/// The default HTB quantum as a part of a second at the class's rate (Linux `r2q`).
/// Its bounds are in bytes (Linux `sch_htb.c`).
const RATE_TO_QUANTUM: u64 = 10;
const QUANTUM: (u64, u64) = (1_000, 200_000);

impl Scheduler {
    /// The maximum number of classes of a link.
    pub const MOST: usize = 64;

    /// The names of the classes in the record.
    pub fn names(&self) -> Vec<String> {
        let name = |(i, class): (usize, &Class)| {
            let ClassOptions { name, matches, .. } = &class.options;
            let group = matches.as_ref().and_then(|matches| if let [group] = &matches.group.0[..] { Some(group.clone()) } else { None });
            let other = || if matches.is_none() { "default".to_string() } else { format!("class{i}") };
            name.clone().or(group).unwrap_or_else(other)
        };
        self.classes.iter().enumerate().map(name).collect()
    }

    /// Builds the classes for a link of this rate, if it is constant.
    /// `queues` has the implementation and the packets of each discipline, in order. `random` returns the stream of a class by its full
    /// name.
    pub fn build(&self, link: Option<Rate>, queues: Vec<(AnyAqm, Classification)>, random: &dyn Fn(&str) -> Stream) -> Vec<ClassConfig> {
        self.build_within(&Outer { link, depth: 0, name: String::new() }, &mut queues.into_iter(), random)
    }

    fn build_within(&self, outer: &Outer, queues: &mut Queues, random: &dyn Fn(&str) -> Stream) -> Vec<ClassConfig> {
        let class = |(i, (name, class)): (usize, (String, &Class))| {
            let ClassOptions { priority, share, rate, ceil, quantum, .. } = class.options;
            let name = format!("{}{name}", outer.name);
            let by_rate = rate.map(|rate| (rate.as_bps() / 8 / RATE_TO_QUANTUM).clamp(QUANTUM.0, QUANTUM.1));
            let position = if self.scheduler == Scheduling::Strict { i as u32 } else { 0 };
            let (rule, queue) = class.build(outer, name, queues, random);
            ClassConfig {
                rule,
                queue,
                priority: u32::from(priority.unwrap_or(LAST)) * 1000 + position,
                quantum: quantum.map(|quantum| quantum.0).or(by_rate).unwrap_or((ROUND * share.unwrap_or(1.0)) as u64) as u32,
                shares: rate.map(|rate| Shares { rate, ceil, link: outer.link }),
            }
        };
        self.names().into_iter().zip(&self.classes).enumerate().map(class).collect()
    }
}

/// The implementation of each discipline, and its packets.
type Queues = alloc::vec::IntoIter<(AnyAqm, Classification)>;

/// The parent of classes: the link, or a class.
struct Outer {
    /// The total rate of its classes, if it is constant.
    link: Option<Rate>,
    depth: usize,
    /// The names of the enclosing classes, each followed by a slash.
    name: String,
}

impl Class {
    /// Builds the rule of a class, and its queue or its classes.
    fn build(&self, outer: &Outer, name: String, queues: &mut Queues, random: &dyn Fn(&str) -> Stream) -> (Rule, QdiscConfig) {
        if let Some(scheduler) = &self.queue.classes {
            let rule = queues.as_slice().first().and_then(|(_, packets)| packets.outer.get(outer.depth)).cloned().unwrap_or_default();
            let link = outer.link.map(|link| self.options.ceil.map_or(link, |ceil| ceil.min(link)));
            let own = Outer { link, depth: outer.depth + 1, name: format!("{name}/") };
            return (rule, QdiscConfig::Classes(scheduler.build_within(&own, queues, random)));
        }
        let Some((aqm, Classification { rule, filters, .. })) = queues.next() else { unreachable!("each discipline has what runs it") };
        let controller = self.queue.options.controller(aqm, filters, random(&name));
        let queuing =
            |queues| FlowQueuing { queues, quantum: ROUND as u32, perturbation: 0, overflow: Overflow::HeadOfLongest, shows_all: true };
        (rule, QdiscConfig::One(Box::new(controller), self.options.flow_queues.map(queuing)))
    }
}

#[cfg(feature = "serde")]
mod reading {
    use super::{Class, ClassOptions, Dscp, Listed};
    use crate::queue::Queue;
    use crate::tagged::tracked;
    use crate::written::Written;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use toml::{Table, Value};

    /// The keys of [`ClassOptions`], in the same table as the queue.
    const OPTIONS: &[&str] = &["name", "match", "priority", "share", "rate", "ceil", "quantum", "flow_queues"];

    impl<'de> Deserialize<'de> for Class {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let mut table = Table::deserialize(deserializer)?;
            if Queue::has_classes(&table) {
                let own = OPTIONS.iter().filter_map(|key| Some(((*key).to_string(), table.remove(*key)?))).collect();
                let options = tracked(own, ClassOptions::deserialize).map_err(D::Error::custom)?;
                return Ok(Class { options, queue: Queue::of_classes(table)? });
            }
            let mut table = Queue::tagged(table)?;
            let options: ClassOptions = table.split_off(OPTIONS)?;
            Ok(Class { options, queue: Queue::of_table(table)? })
        }
    }

    impl<T: Serialize> Serialize for Listed<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if let [one] = &self.0[..] { one.serialize(serializer) } else { self.0.serialize(serializer) }
        }
    }

    impl<'de, T: DeserializeOwned> Deserialize<'de> for Listed<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let values = match Value::deserialize(deserializer)? {
                Value::Array(values) => values,
                one => vec![one],
            };
            let read = |value: Value| T::deserialize(Written(value)).map_err(D::Error::custom);
            values.into_iter().map(read).collect::<Result<Vec<T>, _>>().map(Listed)
        }
    }

    impl Serialize for Dscp {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Dscp {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let value = Value::deserialize(deserializer)?;
            let known = match &value {
                Value::Integer(number) => u8::try_from(*number).ok().filter(|number| *number < 64).map(Dscp),
                Value::String(name) => Dscp::named(name),
                _ => None,
            };
            known
                .ok_or_else(|| D::Error::invalid_value(unexpected(&value), &"a DSCP: 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\""))
        }
    }

    fn unexpected(value: &Value) -> serde::de::Unexpected<'_> {
        use serde::de::Unexpected;
        match value {
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::String(text) => Unexpected::Str(text),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Array(_) => Unexpected::Seq,
            _ => Unexpected::Map,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use alloc::string::String;

        #[test]
        fn the_keys_split_off_are_those_of_the_options() {
            let all = ClassOptions {
                name: Some(String::new()),
                matches: Some(super::super::Match::default()),
                priority: Some(1),
                share: Some(1.0),
                rate: sojourn_units::Rate::from_bps(1),
                ceil: sojourn_units::Rate::from_bps(1),
                quantum: Some(sojourn_units::Bytes(1)),
                flow_queues: Some(1),
            };
            let table = toml::Table::try_from(all).unwrap();
            assert_eq!(table.len(), OPTIONS.len());
            assert!(OPTIONS.iter().all(|key| table.contains_key(*key)));
        }

        #[test]
        fn codepoints_have_the_names_of_their_rfcs() {
            let known = [("cs0", 0), ("cs7", 56), ("af11", 10), ("af43", 38), ("ef", 46), ("va", 44), ("le", 1)];
            assert!(known.iter().all(|&(name, number)| Dscp::named(name) == Some(Dscp(number))));
            assert!(["cs8", "af40", "af14", "af51", "", "x"].iter().all(|name| Dscp::named(name).is_none()));
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{Class, ClassOptions, Dscp, Listed, Scheduler};
    use crate::queue;
    use crate::tagged::schema::{add_properties, describe};
    use alloc::borrow::Cow;
    use alloc::format;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::Value;

    impl JsonSchema for Class {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Class")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let options = ClassOptions::json_schema(generator);
            let mut within = Scheduler::json_schema(generator);
            if let (Some(Value::Object(properties)), Some(Value::Object(own))) = (within.get_mut("properties"), options.get("properties")) {
                properties.extend(own.clone());
            }
            describe(&mut within, "A class with classes of its own.");
            let mut schema = queue::schema::discipline(generator);
            add_properties(&mut schema, "aqm", &options);
            if let Some(forms) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
                forms.push(within.into());
            }
            describe(&mut schema, "A class: what it takes, its part of the link, and its queue or classes of its own.");
            schema
        }
    }

    impl<T: JsonSchema> JsonSchema for Listed<T> {
        fn schema_name() -> Cow<'static, str> {
            Cow::Owned(format!("Listed_{}", T::schema_name()))
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let one = generator.subschema_for::<T>();
            json_schema!({ "description": "One, or a list.", "anyOf": [one.clone(), { "type": "array", "items": one }] })
        }
    }

    impl JsonSchema for Dscp {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Dscp")
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "description": "A DSCP: 0 to 63, or a name such as \"ef\".", "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 63 },
                { "enum": ["cs0", "cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cs7", "af11", "af12", "af13", "af21", "af22", "af23", "af31", "af32",
                    "af33", "af41", "af42", "af43", "ef", "va", "le"] },
            ] })
        }
    }
}
