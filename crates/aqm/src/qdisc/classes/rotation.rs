//! The turns of classes of one priority: deficit round robin, as in `drr` or as in `htb`.
//! Source: shreedhar-1995.

use alloc::vec;
use alloc::vec::Vec;

/// The rule by which a turn ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turns {
    /// A class sends while it has a deficit left in this round.
    /// A class that can't send loses its turn.
    Drr,
    /// A class sends at each turn until its deficit is negative (Linux `htb_dequeue_tree`).
    /// A class that can't send loses its turn and keeps its deficit for the next one.
    Htb,
}

/// Classes that take turns in bytes.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    turns: Turns,
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
    pub fn by_priority(classes: &[(u32, u32)], turns: Turns) -> Vec<Rotation> {
        let mut priorities: Vec<u32> = classes.iter().map(|&(priority, _)| priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let mut rotations = vec![Rotation { turns, members: Vec::new(), turn: 0 }; priorities.len()];
        for (class, &(priority, quantum)) in classes.iter().enumerate() {
            let quantum = i64::from(quantum.max(1));
            let at = priorities.partition_point(|&known| known < priority);
            let deficit = if turns == Turns::Drr { quantum } else { 0 };
            rotations[at].members.push(Member { class, quantum, deficit });
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
                if member.deficit > 0 || self.turns == Turns::Htb {
                    return Some(member.class);
                }
                member.deficit += member.quantum;
            }
            self.turn = (self.turn + 1) % self.members.len();
        }
    }

    /// Charges a sent packet of `size` bytes to the class whose turn it is.
    /// `can_send` returns whether another class can send now.
    pub fn charge(&mut self, size: u32, can_send: impl FnMut(usize) -> bool) {
        let member = &mut self.members[self.turn];
        member.deficit -= i64::from(size);
        if self.turns == Turns::Htb && member.deficit < 0 {
            member.deficit += member.quantum;
            self.pass_on(can_send);
        }
    }

    /// Ends the turn of the class that sent last, if it still has it.
    /// Linux: `htb_remove_class_from_row`.
    pub fn end_turn_of(&mut self, class: usize, can_send: impl FnMut(usize) -> bool) {
        if self.turns == Turns::Htb && self.members[self.turn].class == class {
            self.pass_on(can_send);
        }
    }

    /// Passes the turn to the next class that can send now, or else to the first one.
    /// A class before it that can send later does not get the turn back.
    fn pass_on(&mut self, mut can_send: impl FnMut(usize) -> bool) {
        let behind = self.turn + 1;
        let next = self.members[behind..].iter().position(|member| can_send(member.class));
        self.turn = next.map_or(0, |next| behind + next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a_priority_share_by_their_quantums_and_a_higher_one_goes_first() {
        let mut rotations = Rotation::by_priority(&[(7, 3000), (7, 1000), (0, 1)], Turns::Drr);
        assert_eq!(rotations.len(), 2);
        assert_eq!(rotations[0].next(|class| class == 2), Some(2));
        assert_eq!(rotations[0].next(|class| class != 2), None);
        let mut sent = [0; 3];
        for _ in 0..400 {
            let class = rotations[1].next(|_| true).unwrap();
            rotations[1].charge(500, |_| true);
            sent[class] += 1;
        }
        assert_eq!(sent, [300, 100, 0]);
        // A class that cannot send loses its turn to the other one.
        (0..10).for_each(|_| {
            assert_eq!(rotations[1].next(|class| class == 1), Some(1));
            rotations[1].charge(1500, |_| true);
        });
    }

    /// The order of classes that send `packets` of 500 B one after the other.
    fn order(rotation: &mut Rotation, packets: u32, can_send: impl Fn(usize) -> bool) -> Vec<usize> {
        let next = |_| {
            let class = rotation.next(&can_send)?;
            rotation.charge(500, &can_send);
            Some(class)
        };
        (0..packets).map_while(next).collect()
    }

    #[test]
    fn in_htb_a_turn_lasts_until_more_is_sent_than_the_quantum() {
        let mut rotation = Rotation::by_priority(&[(0, 2000), (0, 500)], Turns::Htb).remove(0);
        // The first packet of each class exceeds its deficit of 0; the excess is subtracted from its next quantum.
        assert_eq!(order(&mut rotation, 10, |_| true), [0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn in_htb_a_class_that_leaves_keeps_what_it_may_send_and_loses_its_turn() {
        let mut rotation = Rotation::by_priority(&[(0, 2000), (0, 2000)], Turns::Htb).remove(0);
        assert_eq!(order(&mut rotation, 3, |_| true), [0, 1, 0]);
        rotation.end_turn_of(0, |class| class == 1);
        // The first class has a deficit of 1500 B, and of 1000 B after this packet.
        assert_eq!(order(&mut rotation, 2, |_| true), [1, 1]);
        rotation.end_turn_of(1, |class| class == 0);
        assert_eq!(order(&mut rotation, 4, |_| true), [0, 0, 0, 1]);
    }

    #[test]
    fn in_htb_the_turn_passes_over_classes_that_cannot_send() {
        let mut rotation = Rotation::by_priority(&[(0, 500), (0, 500), (0, 500), (0, 500)], Turns::Htb).remove(0);
        assert_eq!(order(&mut rotation, 6, |class| class % 2 == 1), [1, 3, 1, 3, 1, 3]);
    }

    #[test]
    fn a_quantum_below_a_packet_is_a_packet_in_a_turn() {
        let mut rotation = Rotation::by_priority(&[(0, 100), (0, 100)], Turns::Htb).remove(0);
        assert_eq!(order(&mut rotation, 4, |_| true), [0, 1, 0, 1]);
    }
}
