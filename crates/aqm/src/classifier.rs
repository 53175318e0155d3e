//! The classes of packets, by the group of their flow and by their ECN codepoint.
//! The same rules select packets for filters.

use crate::{DualClass, Ecn};
use alloc::vec::Vec;

/// The packets that a class or a filter matches.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Rule {
    /// The groups of their flows, by number; `None`: all.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub groups: Option<Vec<u32>>,
    /// Their ECN codepoints; `None`: all.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ecn: Option<Vec<Ecn>>,
}

impl Rule {
    fn takes(&self, group: u32, ecn: Ecn) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.contains(&group)) && self.ecn.as_ref().is_none_or(|known| known.contains(&ecn))
    }
}

/// A filter of a dual queue: a rule and the class of the packets that it matches.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DualFilter {
    /// The packets that it matches.
    pub rule: Rule,
    /// The class of these packets in the dual queue.
    pub class: DualClass,
}

/// The path of packets to a discipline: classes around it, and the filters of its queues.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Classification {
    /// The rule of its class, if it belongs to a class.
    pub rule: Rule,
    /// The rules of the classes around that one, the outermost first.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub outer: Vec<Rule>,
    /// The filters of its dual queue; the first match decides.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub filters: Vec<DualFilter>,
}

/// Finds the class of a packet.
/// The part that depends on its route is looked up before the run.
#[derive(Clone, Default, Debug)]
pub(crate) struct Classifier {
    rules: Vec<Rule>,
    /// The class of each ECN codepoint, for each position on a route at which packets arrive.
    /// Sorted by position.
    places: Vec<(u32, [u16; 4])>,
    /// The class of packets from unknown positions.
    otherwise: [u16; 4],
}

impl Classifier {
    /// A packet belongs to the first class whose rule matches it, or else to the last class.
    pub fn new(rules: Vec<Rule>) -> Self {
        let mut classifier = Classifier { rules, places: Vec::new(), otherwise: [0; 4] };
        classifier.otherwise = classifier.classes_of(u32::MAX);
        classifier
    }

    /// The class of a packet of this group, for each ECN codepoint.
    fn classes_of(&self, group: u32) -> [u16; 4] {
        let last = self.rules.len().saturating_sub(1);
        Ecn::ALL.map(|ecn| self.rules.iter().position(|rule| rule.takes(group, ecn)).unwrap_or(last) as u16)
    }

    /// Registers a position on a route at which packets of this group arrive.
    pub fn add_place(&mut self, place: u32, group: u32) {
        let at = self.places.partition_point(|&(known, _)| known < place);
        self.places.insert(at, (place, self.classes_of(group)));
    }

    /// The class of a packet at this position on its route.
    pub fn class_of(&self, place: u32, ecn: Ecn) -> usize {
        let found = self.places.binary_search_by_key(&place, |&(known, _)| known);
        usize::from(found.map_or(&self.otherwise, |at| &self.places[at].1)[ecn as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn the_first_rule_that_takes_a_packet_has_it() {
        let mut classifier = Classifier::new(vec![
            Rule { groups: Some(vec![1, 2]), ecn: Some(vec![Ecn::Ect1, Ecn::Ce]) },
            Rule { groups: Some(vec![2]), ecn: None },
            Rule::default(),
        ]);
        for (place, group) in [(30, 0), (10, 1), (20, 2)] {
            classifier.add_place(place, group);
        }
        let classes = |place| Ecn::ALL.map(|ecn| classifier.class_of(place, ecn));
        assert_eq!(classes(10), [2, 2, 0, 0]);
        assert_eq!(classes(20), [1, 1, 0, 0]);
        assert_eq!(classes(30), [2; 4]);
        assert_eq!(classes(25), [2; 4]);
    }
}
