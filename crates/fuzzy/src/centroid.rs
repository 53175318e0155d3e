//! Centers of gravity of cut sets with straight edges, computed exactly.

use crate::{Implication, MAX_TERMS};

/// A set that is cut at a strength.
/// It is 0 up to `a`, `height` from `b` to `c`, and 0 from `d` on.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Cut {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    height: f64,
}

/// An area and its first moment about zero.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moments {
    pub area: f64,
    pub moment: f64,
}

/// A straight piece of a cut set: its value at the start and its slope.
#[derive(Clone, Copy)]
struct Line {
    value: f64,
    slope: f64,
}

impl Moments {
    /// Adds the area under a straight line from `(x0, y0)` over the width `w` to `y1`.
    #[inline]
    fn add(&mut self, x0: f64, w: f64, y0: f64, y1: f64) {
        let area = w * (y0 + y1) / 2.0;
        self.area += area;
        // The center of a trapezium is w (y0 + 2 y1) / (3 (y0 + y1)) from its left side.
        self.moment += x0 * area + w * w * (y0 + 2.0 * y1) / 6.0;
    }
}

impl Cut {
    /// The set with these corners, cut by a rule of this strength.
    #[inline]
    pub fn new([a, b, c, d]: [f64; 4], strength: f64, implication: Implication) -> Cut {
        match implication {
            Implication::Min => Cut { a, b: a + (b - a) * strength, c: d - (d - c) * strength, d, height: strength },
            Implication::Product => Cut { a, b, c, d, height: strength },
        }
    }

    /// Area and moment of this set alone.
    #[inline]
    pub fn moments(&self) -> Moments {
        let mut sum = Moments::default();
        sum.add(self.a, self.b - self.a, 0.0, self.height);
        sum.add(self.b, self.c - self.b, self.height, self.height);
        sum.add(self.c, self.d - self.c, self.height, 0.0);
        sum
    }

    /// The piece over an interval that starts at `x` and has its middle at `middle`.
    #[inline]
    fn line(&self, x: f64, middle: f64) -> Line {
        if middle <= self.a || middle >= self.d {
            Line { value: 0.0, slope: 0.0 }
        } else if middle < self.b {
            let slope = self.height / (self.b - self.a);
            Line { value: (x - self.a) * slope, slope }
        } else if middle <= self.c {
            Line { value: self.height, slope: 0.0 }
        } else {
            let slope = -self.height / (self.d - self.c);
            Line { value: (x - self.d) * slope, slope }
        }
    }
}

/// Area and moment of the union (maximum) of at most [`MAX_TERMS`] cut sets.
///
/// Between neighboring corners every set is a straight line, so the union is the upper envelope of lines.
pub(crate) fn union(cuts: &[Cut]) -> Moments {
    let mut corners = [0.0; 4 * MAX_TERMS];
    let mut count = 0;
    for cut in cuts {
        for x in [cut.a, cut.b, cut.c, cut.d] {
            // Insertion sort, because the sets are almost in order.
            let mut at = count;
            while at > 0 && corners[at - 1] > x {
                corners[at] = corners[at - 1];
                at -= 1;
            }
            corners[at] = x;
            count += 1;
        }
    }
    let mut sum = Moments::default();
    let mut lines = [Line { value: 0.0, slope: 0.0 }; MAX_TERMS];
    for pair in corners[..count].windows(2) {
        let (x, width) = (pair[0], pair[1] - pair[0]);
        if width > 0.0 {
            let middle = x + width / 2.0;
            lines.iter_mut().zip(cuts).for_each(|(line, cut)| *line = cut.line(x, middle));
            envelope(&lines[..cuts.len()], x, width, &mut sum);
        }
    }
    sum
}

/// Adds the area under the highest of `lines`, whose values are those at `x`, over `width`.
fn envelope(lines: &[Line], x: f64, width: f64, sum: &mut Moments) {
    let higher = |a: Line, b: Line| if (b.value, b.slope) > (a.value, a.slope) { b } else { a };
    let Some(mut top) = lines.iter().copied().reduce(higher) else { return };
    let mut from = 0.0;
    loop {
        // The next line to cross the top one. Only steeper lines can, so the slope grows each time and the loop ends.
        let mut until = width;
        let mut next = None;
        for line in lines.iter().filter(|line| line.slope > top.slope) {
            let crossing = ((top.value - line.value) / (line.slope - top.slope)).max(from);
            if crossing < until {
                (until, next) = (crossing, Some(*line));
            }
        }
        let at = |offset: f64| top.value + top.slope * offset;
        sum.add(x + from, until - from, at(from), at(until));
        match next {
            Some(line) => (top, from) = (line, until),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn any_set() -> impl Strategy<Value = ([f64; 4], f64)> {
        (prop::array::uniform4(-100i32..=100), 1u32..=100).prop_filter_map("flat", |(mut corners, strength)| {
            corners.sort_unstable();
            (corners[0] < corners[3]).then(|| (corners.map(f64::from), f64::from(strength) / 100.0))
        })
    }

    #[test]
    fn a_triangle_balances_at_the_third_of_its_corners() {
        let sum = Cut::new([0.0, 1.0, 1.0, 5.0], 1.0, Implication::Min).moments();
        assert!((sum.area - 2.5).abs() < 1e-15 && (sum.moment / sum.area - 2.0).abs() < 1e-15);
        let half = Cut::new([0.0, 1.0, 1.0, 5.0], 0.5, Implication::Min).moments();
        // A triangle clipped at m keeps 2m - m^2 of its area.
        assert!((half.area - 2.5 * 0.75).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn the_exact_union_agrees_with_a_fine_quadrature(
            sets in prop::collection::vec(any_set(), 1..8),
            scale in any::<bool>(),
        ) {
            let implication = if scale { Implication::Product } else { Implication::Min };
            let cuts: Vec<Cut> = sets.iter().map(|&(corners, strength)| Cut::new(corners, strength, implication)).collect();
            let exact = union(&cuts);
            let (mut area, mut moment, step) = (0.0, 0.0, 0.01);
            for i in 0..20_000 {
                let x = -100.0 + (f64::from(i) + 0.5) * step;
                let y = cuts.iter().map(|cut| { let line = cut.line(x, x); line.value }).fold(0.0, f64::max);
                (area, moment) = (area + step * y, moment + step * x * y);
            }
            prop_assert!((exact.area - area).abs() < 0.01 * cuts.len() as f64, "{} against {area}", exact.area);
            prop_assert!((exact.moment - moment).abs() < cuts.len() as f64, "{} against {moment}", exact.moment);
        }

        #[test]
        fn a_lone_set_has_the_same_moments_either_way(set in any_set()) {
            let cut = Cut::new(set.0, set.1, Implication::Min);
            let (alone, swept) = (cut.moments(), union(&[cut]));
            prop_assert!((alone.area - swept.area).abs() < 1e-10 && (alone.moment - swept.moment).abs() < 1e-8);
        }
    }
}
