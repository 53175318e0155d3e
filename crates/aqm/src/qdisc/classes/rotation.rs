//! Classes of one priority take turns: deficit round robin (shreedhar-1995).

use alloc::vec;
use alloc::vec::Vec;

/// Classes that take turns in bytes.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    members: Vec<Member>,
    /// The index of the class whose turn it is.
    turn: usize,
}

#[derive(Clone, Debug)]
struct Member {
    class: usize,
    /// Bytes a round, above zero.
    quantum: i64,
    /// Bytes that it may still send in this round.
    deficit: i64,
}

impl Rotation {
    /// One rotation for each priority, the most urgent first.
    /// `classes` are pairs of priority and quantum.
    pub fn by_priority(classes: &[(u32, u32)]) -> Vec<Rotation> {
        let mut priorities: Vec<u32> = classes.iter().map(|&(priority, _)| priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let mut rotations = vec![Rotation { members: Vec::new(), turn: 0 }; priorities.len()];
        for (class, &(priority, quantum)) in classes.iter().enumerate() {
            let quantum = i64::from(quantum.max(1));
            let at = priorities.partition_point(|&known| known < priority);
            rotations[at].members.push(Member { class, quantum, deficit: quantum });
        }
        rotations
    }

    /// The class whose turn it is, among those that can send.
    pub fn next(&mut self, mut can_send: impl FnMut(usize) -> bool) -> Option<usize> {
        if !self.members.iter().any(|member| can_send(member.class)) {
            return None;
        }
        loop {
            let member = &mut self.members[self.turn];
            if can_send(member.class) {
                if member.deficit > 0 {
                    return Some(member.class);
                }
                member.deficit += member.quantum;
            }
            self.turn = (self.turn + 1) % self.members.len();
        }
    }

    /// Charges a sent packet of `size` bytes to the class whose turn it is.
    pub fn charge(&mut self, size: u32) {
        self.members[self.turn].deficit -= i64::from(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a_priority_share_by_their_quantums_and_a_higher_one_goes_first() {
        let mut rotations = Rotation::by_priority(&[(7, 3000), (7, 1000), (0, 1)]);
        assert_eq!(rotations.len(), 2);
        assert_eq!(rotations[0].next(|class| class == 2), Some(2));
        assert_eq!(rotations[0].next(|class| class != 2), None);
        let mut sent = [0; 3];
        for _ in 0..400 {
            let class = rotations[1].next(|_| true).unwrap();
            rotations[1].charge(500);
            sent[class] += 1;
        }
        assert_eq!(sent, [300, 100, 0]);
        // A class that cannot send loses its turn to the other one.
        (0..10).for_each(|_| {
            assert_eq!(rotations[1].next(|class| class == 1), Some(1));
            rotations[1].charge(1500);
        });
    }
}
