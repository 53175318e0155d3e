//! Nested classes: the classification of packets, and the measured parts.

use crate::Ecn;
use crate::classifier::Classifier;
use alloc::vec::Vec;

/// The classes of a class, or of the link.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) classifier: Classifier,
    pub(super) members: Vec<Member>,
}

/// A class.
#[derive(Clone, Debug)]
pub(super) enum Member {
    /// A class with a queue, by its index.
    Leaf(usize),
    /// A class with classes.
    Inner(Group),
}

impl Group {
    /// The leaf to which a packet belongs.
    pub(super) fn leaf_of(&self, place: u32, ecn: Ecn) -> usize {
        match &self.members[self.classifier.class_of(place, ecn)] {
            Member::Leaf(leaf) => *leaf,
            Member::Inner(group) => group.leaf_of(place, ecn),
        }
    }

    pub(super) fn add_place(&mut self, place: u32, group: u32) {
        self.classifier.add_place(place, group);
        for member in &mut self.members {
            if let Member::Inner(within) = member {
                within.add_place(place, group);
            }
        }
    }

    /// The leaves of all its classes.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let of_member = |member: &Member| match member {
            Member::Leaf(leaf) => Vec::from([*leaf]),
            Member::Inner(group) => group.leaves(),
        };
        self.members.iter().flat_map(of_member).collect()
    }

    /// The measured parts of the group. `queues` has the number of queues of each leaf.
    pub(super) fn parts(&self, queues: &[usize]) -> Vec<Part> {
        let whole = |member: &Member| match member {
            Member::Leaf(leaf) => Part::Classes(Vec::from([*leaf])),
            Member::Inner(group) => Part::Classes(group.leaves()),
        };
        let within = |member: &Member| match member {
            Member::Leaf(leaf) => (0..queues[*leaf]).map(|queue| Part::Queue(*leaf, queue)).collect(),
            Member::Inner(group) => group.parts(queues),
        };
        self.members.iter().map(whole).chain(self.members.iter().flat_map(within)).collect()
    }
}

/// A measured part: a class, by its leaves, or one queue of a leaf.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Classes(Vec<usize>),
    Queue(usize, usize),
}
