//! Warnings about a valid scenario: settings without the effect that they suggest.
//!
//! Every warning follows from the scenario alone; none depends on random numbers. None is an error: a comparison sets what only some of its
//! cases use, and `--set duration=...` ends a run before its last change.

mod links;
mod queues;
mod tcp;

use crate::check::{Checked, Group, classes};
use crate::path::element;
use crate::written::Scenario;
use sojourn_spec::link::Link;
use sojourn_spec::queue::Queue;
use sojourn_spec::tcp::TcpOptions;
use std::fmt;

/// A warning about a scenario.
///
/// Its text is the path of the setting and what is wrong with it:
///
/// ```
/// use sojourn_scenario::Document;
///
/// let text = "duration = '10 s'\nlinks = [{ name = 'l', from = 'a', to = 'b', rate = '1 Mbit/s', changes = [{ at = '10 s', delay = '1 ms' }] }]";
/// let lints = Document::from_toml("short.toml", text).unwrap().lints().unwrap();
/// assert_eq!(lints[0].to_string(), "links.l.changes[0].at: 10 s is not before the end of the run (10 s): it never happens");
/// assert_eq!(lints[0].rule, "after-the-end");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lint {
    /// The name of the rule that found it.
    pub rule: &'static str,
    /// The path of the setting.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

/// A setting, and what is wrong with it.
type Finding = (String, String);

/// A rule: its name, and what finds the settings that it warns of.
type Rule = (&'static str, fn(&Subject<'_>) -> Vec<Finding>);

/// All rules in the order of their warnings.
const RULES: &[Rule] = &[
    ("after-the-end", links::after_the_end),
    ("small-bucket", links::small_buckets),
    ("small-queue", links::small_queues),
    ("unused-accecn-option", tcp::unused_accecn_options),
    ("unused-sack-algorithm", tcp::unused_sack_algorithms),
    ("unused-repair", tcp::unused_repairs),
    ("unused-burst", tcp::unused_bursts),
    ("unused-start-up", tcp::unused_start_ups),
    ("ecn-without-marks", queues::ecn_without_marks),
    ("misplaced-ect1", tcp::misplaced_ect1),
    ("uncounted-marks", tcp::uncounted_marks),
    ("held-acks", tcp::held_acks),
    ("threshold-beyond-limit", queues::thresholds_beyond_limits),
    ("target-beyond-limit", queues::targets_beyond_limits),
    ("long-target", queues::long_targets),
    ("shaper-above-rate", queues::shapers_above_rates),
    ("selector-without-threshold", queues::selectors_without_thresholds),
    ("no-threshold", queues::steps_without_thresholds),
    ("marks-of-droptail", queues::marks_of_droptail),
];

/// The warnings about a scenario: as written, and checked.
pub(crate) fn lints(written: &Scenario, checked: &Checked) -> Vec<Lint> {
    let subject = Subject { written, checked };
    let of_rule = |&(rule, find): &Rule| find(&subject).into_iter().map(move |(field, problem)| Lint { rule, field, problem });
    RULES.iter().flat_map(of_rule).collect()
}

/// A valid scenario as rules see it.
struct Subject<'a> {
    written: &'a Scenario,
    checked: &'a Checked,
}

impl<'a> Subject<'a> {
    /// The groups over TCP, with their options.
    fn stacks(&self) -> impl Iterator<Item = (&'a Group, &'a TcpOptions)> {
        self.checked.groups.iter().filter_map(|group| Some((group, group.tcp.as_ref()?)))
    }

    /// The queues with a discipline, those of classes too.
    fn queues(&self) -> impl Iterator<Item = QueueOf<'a>> {
        let of_link = |(number, link): (usize, &'a Link)| {
            let field = format!("{}.queue", link_field(link));
            let disciplines = link.queue.as_deref().map(|queue| classes::disciplines(queue, &field)).unwrap_or_default();
            disciplines.into_iter().map(move |(queue, field)| QueueOf { number: number as u32, link, queue, field })
        };
        self.checked.links.iter().enumerate().flat_map(of_link)
    }
}

/// A queue of a link, or of one of its classes.
struct QueueOf<'a> {
    /// The position of the link.
    number: u32,
    link: &'a Link,
    queue: &'a Queue,
    /// Its path in the scenario.
    field: String,
}

/// The path of a link: the reverse link of a duplex link is `links.NAME.back`.
fn link_field(link: &Link) -> String {
    match link.name.strip_suffix(":back") {
        Some(name) => format!("links.{}.back", element(name)),
        None => format!("links.{}", element(&link.name)),
    }
}

/// The path of a group of flows.
fn group_field(group: &Group) -> String {
    format!("flows.{}", element(&group.name))
}

/// The size of a full packet of these options in bytes.
fn full_packet(tcp: &TcpOptions) -> u64 {
    u64::from(tcp.mss) + u64::from(tcp.header)
}
