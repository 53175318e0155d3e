//! Compares the order of time with a store that lists each transmission at once.

use super::*;
use proptest::prelude::*;
use sojourn_units::Duration;

const MSS: u64 = 1000;

#[derive(Clone, Debug)]
enum Step {
    Send,
    /// Resends an outstanding segment, chosen by its place.
    Resend(prop::sample::Index, bool),
    /// SACKs at most this many segments, in one block or in one block each.
    Sack(prop::sample::Index, usize),
    Acknowledge(prop::sample::Index),
    /// Looks at the segments that left up to a step, and marks old ones as lost.
    /// Those are old that left at least this many steps ago.
    Detect(prop::sample::Index, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Send),
        2 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(which, probe)| Step::Resend(which, probe)),
        1 => (any::<prop::sample::Index>(), 1..5usize).prop_map(|(which, count)| Step::Sack(which, count)),
        1 => any::<prop::sample::Index>().prop_map(Step::Acknowledge),
        2 => (any::<prop::sample::Index>(), 0..30u64).prop_map(|(newest, window)| Step::Detect(newest, window)),
    ]
}

/// Does this step, taking acknowledged segments in runs or one by one.
/// Returns the segments that were looked at in the order of time, and how many were lost, SACKed or acknowledged.
fn take(queue: &mut Outstanding, at: u64, step: &Step, in_runs: bool) -> (Vec<(u64, Time)>, u32) {
    let (now, outstanding) = (Time::from_nanos(at), queue.segments.len());
    let mut seen = Vec::new();
    let count = match step {
        Step::Send => {
            let start = (queue.first + outstanding as u64) * MSS;
            queue.push(&(start..start + MSS), now, Sending::default());
            0
        }
        Step::Detect(newest, window) => {
            let newest = Time::from_nanos(newest.index(at as usize) as u64);
            queue.mark_lost_by_time(|segment| {
                seen.push((segment.start, segment.sent));
                (segment.sent <= newest).then_some(segment.sent + Duration::from_nanos(*window) <= now)
            })
        }
        _ if outstanding == 0 => 0,
        Step::Resend(which, probe) => {
            queue.resend(queue.first + which.index(outstanding) as u64, now, *probe);
            0
        }
        Step::Sack(which, count) => {
            let (from, count) = (which.index(outstanding), *count);
            let [start, end] = [from, (from + count).min(outstanding)].map(|place| (queue.first + place as u64) * MSS);
            let mut sacked = 0;
            let block = if in_runs { end - start } else { MSS };
            (start..end).step_by(block as usize).for_each(|at| _ = queue.sack(at, at + block, |run| sacked += run.count));
            sacked
        }
        Step::Acknowledge(which) => {
            let below = (queue.first + which.index(outstanding) as u64) * MSS;
            let mut acknowledged = 0;
            let ends: Vec<u64> = queue.segments.iter().map(Segment::end).filter(|&end| end <= below).collect();
            let steps = if in_runs { &[below][..] } else { &ends };
            steps.iter().for_each(|&end| queue.acknowledge(end, |run| acknowledged += run.count));
            queue.forget_below(below);
            acknowledged
        }
    };
    (seen, count)
}

proptest! {
    #[test]
    fn segments_are_looked_at_in_the_order_in_which_they_left_however_they_are_listed_and_taken(steps in prop::collection::vec(step(), 1..200)) {
        let (mut lazy, mut eager) = (Outstanding::default(), Outstanding::default());
        for (at, step) in (1..).zip(&steps) {
            let seen = take(&mut lazy, at, step, true);
            prop_assert_eq!(&seen, &take(&mut eager, at, step, false));
            prop_assert!(seen.0.is_sorted_by_key(|&(_, sent)| sent));
            let standing = |queue: &Outstanding| (queue.numbers(), queue.in_flight(), queue.head().map(|head| head.start), queue.hint);
            prop_assert_eq!(standing(&lazy), standing(&eager));
            while eager.list_next() {}
        }
    }
}

/// A D-SACK block reports data that arrived twice (rfc2883#4).
#[test]
fn a_reported_duplicate_counts_the_segments_that_were_sent_again_and_takes_them_out_of_flight() {
    let mut queue = Outstanding::default();
    (0..4).for_each(|number| queue.push(&(number * MSS..(number + 1) * MSS), Time::from_nanos(number), Sending::default()));
    (1..3).for_each(|number| _ = queue.resend(number, Time::from_nanos(10), false));
    let _ = queue.sack(2 * MSS, 3 * MSS, |_| ());
    let found = queue.sack_duplicate(0, 4 * MSS);
    assert_eq!((found.count, found.late), (2, Some(2 * MSS)));
    assert_eq!(queue.retrans_out, 0);
    assert_eq!(queue.sack_duplicate(3 * MSS, 4 * MSS).count, 0);
}
