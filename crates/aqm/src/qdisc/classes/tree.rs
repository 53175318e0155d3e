//! Classes with rates that lend to each other, level by level (Linux `sch_htb.c`).
//!
//! A class with credit at its own rate sends by itself. One without borrows from the class around it, if that has credit, or through it from
//! the class around that one, up to the link. Who borrows from an inner level goes before who borrows further out. At each level the lowest
//! priority number goes first, and classes of one priority take turns: a leaf by its quantum, an inner class by a round of its classes. The
//! priority and the quantum of an inner class do not matter.
//!
//! What a class borrows is not taken from its own rate, nor from that of a class through which it borrows.

use super::shares::{Credits, Shares, Turn};
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::Time;

/// A set of priorities, by their rank among those of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Priorities([u64; 4]);

impl Priorities {
    /// The number of ranks. Higher ones count as the last.
    const MOST: usize = 256;

    fn only(rank: usize) -> Self {
        Priorities(core::array::from_fn(|word| if word == rank / 64 { 1 << (rank % 64) } else { 0 }))
    }

    fn has(self, rank: usize) -> bool {
        self.0[rank / 64] & 1 << (rank % 64) != 0
    }

    fn and(self, other: Self) -> Self {
        Priorities(core::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    fn without(self, other: Self) -> Self {
        Priorities(core::array::from_fn(|word| self.0[word] & !other.0[word]))
    }
}

/// A class: a leaf, or one around others.
#[derive(Clone, Debug)]
struct Node {
    /// The class around it; `None`: the link.
    parent: Option<usize>,
    credits: Credits,
    /// Its mode at the last update, and the priorities of its packets that could be sent.
    turn: Turn,
    waiting: Priorities,
    /// Both before the last packet was sent.
    before: (Turn, Priorities),
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Leaf {
        class: usize,
        priority: usize,
        quantum: i64,
        /// Bytes that it may still send in its turn, by level.
        deficits: Vec<i64>,
    },
    /// The level at which it lends, and those that borrow from it or through it, by priority.
    Inner { level: usize, borrowers: Vec<Ring> },
}

/// A round of nodes.
#[derive(Clone, Default, Debug)]
struct Ring {
    members: Vec<usize>,
    /// The index of the node whose turn it is; the length of `members` at the end of a round.
    at: usize,
}

impl Ring {
    /// Moves to the first member from `from` on that is active, or to the end.
    fn seek(&mut self, from: usize, is_active: impl Fn(usize) -> bool) {
        let found = self.members.iter().skip(from).position(|&node| is_active(node));
        self.at = found.map_or(self.members.len(), |found| from + found);
    }
}

/// The leaf that sends next, and the level that lends to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    /// The class.
    pub class: usize,
    leaf: usize,
    level: usize,
    priority: usize,
}

/// The classes, without their packets.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// A class comes before those within it.
    nodes: Vec<Node>,
    /// The rounds by level and priority.
    /// The levels are leaves, inner classes from the innermost out, and borrowers of the link.
    rows: Vec<Vec<Ring>>,
    /// Inner classes on the way to a leaf.
    way: Vec<usize>,
}

/// The configuration of a class of the tree.
#[derive(Clone, Debug)]
pub(super) enum Branch {
    Leaf { shares: Shares, class: usize, priority: u32, quantum: u32 },
    Inner { shares: Shares, within: Vec<Branch> },
}

impl Branch {
    fn depth(&self) -> usize {
        match self {
            Branch::Leaf { .. } => 0,
            Branch::Inner { within, .. } => 1 + within.iter().map(Branch::depth).max().unwrap_or(0),
        }
    }

    fn priorities(&self, found: &mut Vec<u32>) {
        match self {
            Branch::Leaf { priority, .. } => found.push(*priority),
            Branch::Inner { within, .. } => within.iter().for_each(|branch| branch.priorities(found)),
        }
    }
}

impl Tree {
    /// The tree of these classes.
    pub fn new(branches: &[Branch]) -> Self {
        let depth = branches.iter().map(Branch::depth).max().unwrap_or(0);
        let mut priorities = Vec::new();
        branches.iter().for_each(|branch| branch.priorities(&mut priorities));
        priorities.sort_unstable();
        priorities.dedup();
        priorities.truncate(Priorities::MOST);
        let mut tree = Tree { nodes: Vec::new(), rows: vec![vec![Ring::default(); priorities.len()]; depth + 2], way: Vec::new() };
        branches.iter().for_each(|branch| drop(tree.add(branch, None, depth, &priorities)));
        tree
    }

    /// Adds a class at this level and returns the priorities of its packets.
    fn add(&mut self, branch: &Branch, parent: Option<usize>, level: usize, priorities: &[u32]) -> Vec<usize> {
        let (at, last) = (self.nodes.len(), self.rows.len() - 1);
        let node = |credits, kind| Node {
            parent,
            credits,
            turn: Turn::Wait,
            waiting: Priorities::default(),
            before: (Turn::Wait, Priorities::default()),
            kind,
        };
        let (found, level) = match branch {
            Branch::Leaf { shares, class, priority, quantum } => {
                let priority = priorities.partition_point(|known| known < priority).min(Priorities::MOST - 1);
                let (quantum, deficits) = (i64::from((*quantum).max(1)), vec![0; last + 1]);
                self.nodes.push(node(Credits::new(*shares), Kind::Leaf { class: *class, priority, quantum, deficits }));
                (Vec::from([priority]), 0)
            }
            Branch::Inner { shares, within } => {
                let borrowers = vec![Ring::default(); priorities.len()];
                self.nodes.push(node(Credits::new(*shares), Kind::Inner { level, borrowers }));
                let mut found: Vec<usize> = within.iter().flat_map(|branch| self.add(branch, Some(at), level - 1, priorities)).collect();
                found.sort_unstable();
                found.dedup();
                (found, level)
            }
        };
        for &priority in &found {
            self.rows[level][priority].members.push(at);
            self.borrowers(parent, priority).members.push(at);
        }
        found
    }

    /// The round of those that borrow from or through this class; `None`: from the link.
    fn borrowers(&mut self, lender: Option<usize>, priority: usize) -> &mut Ring {
        let last = self.rows.len() - 1;
        match lender.map(|lender| &mut self.nodes[lender].kind) {
            Some(Kind::Inner { borrowers, .. }) => &mut borrowers[priority],
            _ => &mut self.rows[last][priority],
        }
    }

    /// Updates which classes may send at `now`. `is_ready` returns whether a class has a packet.
    fn look(&mut self, now: Time, is_ready: impl Fn(usize) -> bool) {
        self.nodes.iter_mut().for_each(|node| node.waiting = Priorities::default());
        for at in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[at];
            if let Kind::Leaf { class, priority, .. } = node.kind {
                node.waiting = if is_ready(class) { Priorities::only(priority) } else { Priorities::default() };
            }
            node.turn = if node.waiting == Priorities::default() { Turn::Wait } else { node.credits.turn(now) };
            let (parent, waiting) = (node.parent, if node.turn == Turn::Spare { node.waiting } else { Priorities::default() });
            if let Some(parent) = parent {
                self.nodes[parent].waiting = self.nodes[parent].waiting.and(waiting);
            }
        }
    }

    /// Whether the node may send packets of this priority in the mode `as_who`.
    fn is_active(nodes: &[Node], node: usize, priority: usize, as_who: Turn) -> bool {
        nodes[node].turn == as_who && nodes[node].waiting.has(priority)
    }

    /// The class whose turn it is at `now`.
    pub fn choose(&mut self, now: Time, is_ready: impl Fn(usize) -> bool) -> Option<Chosen> {
        self.look(now, is_ready);
        let last = self.rows.len() - 1;
        for level in 0..=last {
            let as_who = if level == last { Turn::Spare } else { Turn::Own };
            for priority in 0..self.rows[level].len() {
                let nodes = &self.nodes;
                let mut members = self.rows[level][priority].members.iter();
                if members.any(|&node| Tree::is_active(nodes, node, priority, as_who)) {
                    return Some(self.descend(level, priority, as_who));
                }
            }
        }
        None
    }

    /// The leaf whose turn it is in a round with an active member (Linux `htb_lookup_leaf`).
    fn descend(&mut self, level: usize, priority: usize, as_who: Turn) -> Chosen {
        let mut way = core::mem::take(&mut self.way);
        way.clear();
        let class = loop {
            let mut ring = match way.last() {
                Some(&inner) => core::mem::take(self.borrowers(Some(inner), priority)),
                None => core::mem::take(&mut self.rows[level][priority]),
            };
            let as_one = if way.is_empty() { as_who } else { Turn::Spare };
            let nodes = &self.nodes;
            let is_active = |node| Tree::is_active(nodes, node, priority, as_one);
            ring.seek(ring.at, is_active);
            let round_is_over = ring.at == ring.members.len();
            if round_is_over {
                ring.seek(0, is_active);
            }
            let next = ring.members[ring.at];
            match way.last() {
                Some(&inner) => *self.borrowers(Some(inner), priority) = ring,
                None => self.rows[level][priority] = ring,
            }
            if round_is_over && let Some(inner) = way.pop() {
                // The round of its classes ends the turn of a class.
                let above = way.last().copied();
                self.pass_on(above, level, priority, (inner, if way.is_empty() { as_who } else { Turn::Spare }));
                continue;
            }
            match self.nodes[next].kind {
                Kind::Leaf { class, .. } => break Chosen { class, leaf: next, level, priority },
                Kind::Inner { .. } => way.push(next),
            }
        };
        self.way = way;
        class
    }

    /// Ends the turn of a node, if it is its turn.
    /// The round is that of the borrowers of `above`; `None`: that of the level.
    fn pass_on(&mut self, above: Option<usize>, level: usize, priority: usize, (node, as_who): (usize, Turn)) {
        let mut ring = match above {
            Some(inner) => core::mem::take(self.borrowers(Some(inner), priority)),
            None => core::mem::take(&mut self.rows[level][priority]),
        };
        if ring.members.get(ring.at) == Some(&node) {
            let nodes = &self.nodes;
            ring.seek(ring.at + 1, |other| Tree::is_active(nodes, other, priority, as_who));
        }
        match above {
            Some(inner) => *self.borrowers(Some(inner), priority) = ring,
            None => self.rows[level][priority] = ring,
        }
    }

    /// Charges a packet of `size` bytes that the chosen class sent at `now`.
    /// As Linux `htb_dequeue_tree` and `htb_charge_class`.
    pub fn sent(&mut self, chosen: Chosen, size: u32, now: Time, is_ready: impl Fn(usize) -> bool) {
        let Chosen { leaf, level, priority, .. } = chosen;
        let parent = self.nodes[leaf].parent;
        if let Kind::Leaf { quantum, deficits, .. } = &mut self.nodes[leaf].kind {
            deficits[level] -= i64::from(size);
            if deficits[level] < 0 {
                deficits[level] += *quantum;
                match level {
                    0 => self.pass_on(None, 0, priority, (leaf, Turn::Own)),
                    _ => self.pass_on(parent, self.rows.len() - 1, priority, (leaf, Turn::Spare)),
                }
            }
        }
        let mut node = Some(leaf);
        while let Some(at) = node {
            let Node { credits, kind, parent, .. } = &mut self.nodes[at];
            let own = if let Kind::Inner { level, .. } = kind { *level } else { 0 };
            credits.spend(if own >= level { Turn::Own } else { Turn::Spare }, size);
            node = *parent;
        }
        self.nodes.iter_mut().for_each(|node| node.before = (node.turn, node.waiting));
        self.look(now, is_ready);
        // With what is left a class keeps its turn until the next packet; one that can no longer send or lend by itself loses it at once
        // (Linux `htb_deactivate_prios`).
        for at in 0..self.nodes.len() {
            let Node { before: (before, waited), turn, waiting, kind, .. } = &self.nodes[at];
            let lost = match (before, turn) {
                (Turn::Own, Turn::Own) => waited.without(*waiting),
                (Turn::Own, _) => *waited,
                _ => continue,
            };
            let row = if let Kind::Inner { level, .. } = kind { *level } else { 0 };
            (0..self.rows[row].len()).filter(|priority| lost.has(*priority)).for_each(|priority| {
                self.pass_on(None, row, priority, (at, Turn::Own));
            });
        }
    }

    /// The time at which each class may send, by itself or by borrowing.
    /// The link lends from the time `link` on.
    pub fn ready(&self, link: Time) -> impl Iterator<Item = (usize, Time)> {
        self.nodes.iter().filter_map(move |node| {
            let Kind::Leaf { class, .. } = node.kind else { return None };
            let (mut ready, mut highest, mut around) = (node.credits.own_ready(), node.credits.ready(), node.parent);
            while let Some(at) = around {
                let Node { credits, parent, .. } = &self.nodes[at];
                ready = ready.min(highest.max(credits.own_ready()));
                highest = highest.max(credits.ready());
                around = *parent;
            }
            Some((class, ready.min(highest.max(link))))
        })
    }
}
