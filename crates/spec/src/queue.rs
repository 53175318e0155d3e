//! A queue: discipline, limit, marking and source of RTTs.

pub mod classes;
pub mod filters;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use classes::{Class, Scheduler};
use filters::Filter;
use sojourn_aqm::algorithms::linux::Linux;
use sojourn_aqm::{AckFilter, AnyAqm, Aqm, AqmConfig, DualFilter, Link, ParamError, QueueController};
use sojourn_units::{Amount, Duration, Limit, Rate, Stream};

/// A queue: its discipline with parameters, its limit, and whether packets are marked.
#[derive(Clone, PartialEq, Debug)]
pub struct Queue {
    /// The discipline and its parameters; default droptail.
    pub aqm: AqmConfig,
    /// The options of every queue of the simulator.
    pub options: QueueOptions,
    /// Classes with queues, which replace the discipline and its options.
    pub classes: Option<Box<Scheduler>>,
}

/// The options of every queue.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueOptions {
    /// Queue limit without the packet in transmission, above zero.
    /// In packets, bytes, time at the link's rate, or BDPs (rate times the longest base RTT of its flows). A time or a BDP is converted to
    /// packets before the run.
    pub limit: Limit,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Source of RTTs and of the number of flows, for disciplines that use them.
    pub hints: Hints,
    /// ACK filtering: drops queued ACKs that a newer ACK makes redundant.
    /// "none" (default), "filter" or "aggressive" (`ack-filter` and `ack-filter-aggressive` of tc-cake).
    pub ack_filter: AckFilter,
    /// Filters of a dual queue (`dualpi2`, `dualq`), at most 64; default: none.
    /// The first filter that matches a packet classifies it. Filters are not applied to packets whose ECN field already assigns them to the
    /// low-latency queue (Linux `tc filter`).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub filters: Vec<Filter>,
}

impl QueueOptions {
    /// The limit in packets or bytes, after conversion.
    pub fn planned_limit(&self) -> Amount {
        self.limit.amount().unwrap_or_else(|| unreachable!("`Queue::build` refuses a limit that is not planned"))
    }

    /// The controller of a queue with these options and `filters`.
    pub fn controller(&self, aqm: AnyAqm, filters: Vec<DualFilter>, random: Stream) -> QueueController {
        let mut controller = QueueController::new(aqm, self.planned_limit(), self.ecn, random);
        controller.ack_filter = self.ack_filter;
        controller.filters = filters;
        controller
    }
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            limit: Amount::Packets(1000).into(),
            ecn: false,
            hints: Hints::default(),
            ack_filter: AckFilter::None,
            filters: Vec::new(),
        }
    }
}

/// Source of a discipline's RTTs and number of flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Hints {
    /// From the senders.
    /// Each data packet carries its sender's smoothed RTT, and active flows are counted exactly.
    #[default]
    Senders,
    /// From headers that the router reads: handshakes, timestamps and their echoes.
    /// A sketch of the flows of each second estimates their number.
    Router,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { aqm: (sojourn_aqm::REGISTRY[0].default)(), options: QueueOptions::default(), classes: None }
    }
}

impl Queue {
    /// A droptail queue with this limit.
    pub fn droptail(limit: Amount) -> Self {
        Queue { options: QueueOptions { limit: limit.into(), ..QueueOptions::default() }, ..Queue::default() }
    }

    /// The names of its parts in the order of measurement.
    /// They are its classes, each followed by its own parts (`class/low-latency`, `outer/inner`), the tins of CAKE, or the two queues of a
    /// dual queue.
    pub fn subqueues(&self) -> Vec<String> {
        let mut names = self.first_subqueues();
        let classes = self.classes.iter().flat_map(|scheduler| scheduler.names().into_iter().zip(&scheduler.classes));
        let within = |(name, class): (String, &Class)| class.queue.subqueues().into_iter().map(move |queue| format!("{name}/{queue}"));
        names.extend(classes.flat_map(within));
        names
    }

    /// The parts that together contain all packets of the queue.
    pub fn first_subqueues(&self) -> Vec<String> {
        match (&self.classes, &self.aqm) {
            (Some(scheduler), _) => scheduler.names(),
            (None, AqmConfig::Linux(_)) => self.in_kernel().ok().flatten().map(|own| own.first_subqueues()).unwrap_or_default(),
            (None, aqm) => aqm.subqueues().into_iter().map(String::from).collect(),
        }
    }

    /// The queues with a discipline: this one, or recursively those of its classes.
    pub fn disciplines(&self) -> impl Iterator<Item = &Queue> {
        let found: Vec<&Queue> = match &self.classes {
            None => Vec::from([self]),
            Some(scheduler) => scheduler.classes.iter().flat_map(|class| class.queue.disciplines()).collect(),
        };
        found.into_iter()
    }

    /// The queues with a discipline, mutable, to convert their limits.
    pub fn disciplines_mut(&mut self) -> Vec<&mut Queue> {
        if self.classes.is_none() {
            return Vec::from([self]);
        }
        self.classes.iter_mut().flat_map(|classes| &mut classes.classes).flat_map(|class| class.queue.disciplines_mut()).collect()
    }

    /// Builds its discipline on a link of `rate` and `delay`.
    /// Packets have `mean_packet` bytes on average.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn build(&self, rate: Rate, delay: Duration, mean_packet: u32) -> Result<AnyAqm, ParamError> {
        let written = self.options.limit;
        let limit = written.amount().ok_or_else(|| ParamError::new("limit", &written, "packets or bytes, as in the plan of a run"))?;
        ParamError::unless(!limit.is_zero(), "limit", &limit, "a limit above zero")?;
        if let Some(own) = self.in_kernel()? {
            let built = own.build(rate, delay, mean_packet).map_err(|error| error.within("linux"))?;
            return Ok(AnyAqm::Linux(Linux::of_ours(&built.needs())));
        }
        self.aqm.build(&Link { rate, delay, mean_packet, limit_packets: limit.in_packets(mean_packet).max(1) })
    }
}

impl Queue {
    /// The simulator's queue that the kernel's discipline `sojourn` runs.
    /// `None` for other disciplines.
    ///
    /// # Errors
    /// The text is not a queue, or the kernel cannot run it.
    pub fn in_kernel(&self) -> Result<Option<Queue>, ParamError> {
        let AqmConfig::Linux(params) = &self.aqm else { return Ok(None) };
        params.own_queue().map(read_own).transpose()
    }
}

/// Parses a queue from a text: a table as in a scenario.
#[cfg(feature = "serde")]
fn read_own(text: &str) -> Result<Queue, ParamError> {
    use crate::written::{Rejected, Written};
    let wrong = |got: &str| ParamError::new("linux", &format!("\"{text}\": {got}"), OWN_QUEUE);
    let table: toml::Table = toml::from_str(&format!("queue = {text}")).map_err(|error| wrong(error.message()))?;
    if let Some(other) = table.keys().find(|key| *key != "queue") {
        return Err(wrong(&format!("unknown field `{other}`, expected `queue`")));
    }
    let value = table.into_iter().map(|(_, value)| value).next().unwrap_or(toml::Value::Boolean(false));
    let queue = serde::Deserialize::deserialize(Written(value)).map_err(|error: Rejected| wrong(&format!("{error}")))?;
    let refused = match &queue {
        Queue { classes: Some(_), .. } => Some("classes"),
        Queue { aqm: AqmConfig::Linux(_) | AqmConfig::External(_), .. } => Some(queue.aqm.name()),
        Queue { options: QueueOptions { hints: Hints::Router, .. }, .. } => Some("hints from the router"),
        Queue { options: QueueOptions { filters, .. }, .. } if !filters.is_empty() => Some("filters"),
        Queue { options: QueueOptions { limit, .. }, .. } if limit.amount().is_none() => Some("a limit in time or BDP"),
        _ => None,
    };
    refused.map_or(Ok(queue), |got| Err(wrong(got)))
}

/// The expectation for the text after `sojourn`.
#[cfg(feature = "serde")]
const OWN_QUEUE: &str =
    "after \"sojourn\" the table of a queue with a registered discipline, such as { aqm = 'pd', limit = '100 packets' }";

/// Without the feature `serde`, no text is a queue.
#[cfg(not(feature = "serde"))]
fn read_own(text: &str) -> Result<Queue, ParamError> {
    Err(ParamError::new("linux", &text, "a queue without a text"))
}

#[cfg(feature = "serde")]
mod writing {
    use super::{Queue, QueueOptions};
    use serde::{Serialize, Serializer};
    use sojourn_aqm::AqmConfig;

    /// A queue in its serialized form: one table.
    #[derive(Serialize)]
    struct Written<'a> {
        #[serde(flatten)]
        aqm: &'a AqmConfig,
        #[serde(flatten)]
        options: Option<&'a QueueOptions>,
    }

    impl Serialize for Queue {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if let Some(classes) = &self.classes {
                return classes.serialize(serializer);
            }
            let own = matches!(self.aqm, AqmConfig::Linux(_));
            Written { aqm: &self.aqm, options: (!own).then_some(&self.options) }.serialize(serializer)
        }
    }
}

#[cfg(feature = "serde")]
mod reading {
    use super::classes::Scheduler;
    use super::{Queue, QueueOptions};
    use crate::tagged::{HOST, Tagged, tracked};
    use alloc::boxed::Box;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use sojourn_aqm::{AqmConfig, REGISTRY};
    use toml::Table;

    /// The keys of [`QueueOptions`], in the same table as the discipline's parameters.
    const OPTIONS: &[&str] = &["limit", "ecn", "hints", "ack_filter", "filters"];

    impl<'de> Deserialize<'de> for Queue {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let table = Table::deserialize(deserializer)?;
            if Queue::has_classes(&table) { Queue::of_classes(table) } else { Queue::of_table(Queue::tagged(table)?) }
        }
    }

    impl Queue {
        /// Whether the table is a queue with classes.
        pub(crate) fn has_classes(table: &Table) -> bool {
            table.contains_key("scheduler") || table.contains_key("classes")
        }

        /// Reads a table of a queue with classes.
        pub(crate) fn of_classes<E: Error>(table: Table) -> Result<Queue, E> {
            let classes = tracked(table, Scheduler::deserialize).map_err(E::custom)?;
            Ok(Queue { classes: Some(Box::new(classes)), ..Queue::default() })
        }

        /// Reads the table of a queue up to the name of its discipline.
        pub(crate) fn tagged<E: Error>(table: Table) -> Result<Tagged<E>, E> {
            Tagged::of(table, "aqm", REGISTRY.iter().map(|entry| entry.name), Some(REGISTRY[0].name))
        }

        /// Reads the queue of a table and rejects further keys.
        pub(crate) fn of_table<E: Error>(mut table: Tagged<E>) -> Result<Queue, E> {
            // A kernel's discipline has its own options.
            let options = if table.name() == HOST { QueueOptions::default() } else { table.split_off(OPTIONS)? };
            let aqm = table.choose(|name, input| AqmConfig::deserialize(name, input).transpose())?;
            Ok(Queue { aqm: aqm.ok_or_else(|| table.unknown())?, options, classes: None })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_keys_split_off_are_those_of_the_options() {
            let filters = alloc::vec![super::super::Filter::default()];
            let table = toml::Table::try_from(QueueOptions { filters, ..QueueOptions::default() }).unwrap();
            assert_eq!(table.len(), OPTIONS.len());
            assert!(OPTIONS.iter().all(|key| table.contains_key(*key)));
        }
    }
}

#[cfg(feature = "schema")]
pub(crate) mod schema {
    use super::classes::Scheduler;
    use super::{Queue, QueueOptions};
    use crate::tagged::schema::{add_properties, describe, optional_tag};
    use alloc::borrow::Cow;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use sojourn_aqm::{AqmConfig, REGISTRY};

    impl JsonSchema for Queue {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("LinkQueue")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let forms = [generator.subschema_for::<Discipline>(), generator.subschema_for::<Scheduler>()];
            json_schema!({ "description": "A queue with a discipline, or classes, each with a queue.", "anyOf": forms })
        }
    }

    /// A placeholder for a queue with a discipline.
    struct Discipline;

    impl JsonSchema for Discipline {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Queue")
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let mut schema = discipline(generator);
            describe(&mut schema, "A queue: its discipline with parameters, its limit, and whether packets are marked.");
            schema
        }
    }

    /// The schema of a queue with a discipline.
    pub(crate) fn discipline(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = AqmConfig::json_schema(generator);
        add_properties(&mut schema, "aqm", &QueueOptions::json_schema(generator));
        optional_tag(&mut schema, "aqm", REGISTRY[0].name);
        schema
    }
}
