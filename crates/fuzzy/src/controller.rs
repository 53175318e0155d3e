//! Mamdani inference with two inputs, without allocating.

use crate::centroid::{Cut, Moments, union};
use crate::rules::NONE;
use crate::{Defuzzifier, FuzzyError, MAX_TERMS, Method, Output, RuleTable, SNorm, Variable};
use alloc::vec::Vec;

/// All parts of a controller. [`Design::build`] checks that they fit together.
#[derive(Clone, Debug)]
pub struct Design<'a> {
    /// The first input; its terms name the rows of the rule table.
    pub row: Variable,
    /// The second input; its terms name the columns.
    pub column: Variable,
    /// The output; its terms are the consequents.
    pub output: Output,
    /// The rules as text, see [`RuleTable::parse`].
    pub rules: &'a str,
    /// The method of inference.
    pub method: Method,
}

impl Design<'_> {
    /// Builds the controller.
    ///
    /// # Errors
    /// The rules cannot be parsed, or the defuzzifier does not support the sets of the output.
    pub fn build(self) -> Result<Controller, FuzzyError> {
        let rules = RuleTable::parse(self.rules, &self.row, &self.column, &self.output)?;
        let (low, high) = self.output.range();
        let corners: Option<Vec<[f64; 4]>> = self.output.sets().iter().map(|set| set.corners(low, high)).collect();
        match self.method.defuzzifier {
            Defuzzifier::Centroid | Defuzzifier::CenterOfSums if corners.is_none() => {
                let expected = "sets with straight edges and an area, or a sampled centroid for bells";
                return Err(FuzzyError::value(self.output.name(), self.method.defuzzifier, expected));
            }
            Defuzzifier::Centroid if self.method.aggregation != SNorm::Max => {
                return Err(FuzzyError::value("aggregation", self.method.aggregation, "the maximum, or a sampled centroid"));
            }
            Defuzzifier::SampledCentroid(points) if !(2..=1_000_000).contains(&points) => {
                return Err(FuzzyError::value("sampled centroid: points", points, "2 to 1,000,000"));
            }
            Defuzzifier::SampledCentroid(_) if self.output.sets().iter().any(|set| set.support().0 == set.support().1) => {
                return Err(FuzzyError::value(self.output.name(), self.method.defuzzifier, "sets with an area, or a mean of centers"));
            }
            _ => {}
        }
        let corners = corners.unwrap_or_default();
        Ok(Controller { row: self.row, column: self.column, output: self.output, rules, method: self.method, corners })
    }
}

/// A fuzzy controller with two inputs.
/// Evaluations take `&self`, allocate nothing and never fail.
#[derive(Clone, PartialEq, Debug)]
pub struct Controller {
    row: Variable,
    column: Variable,
    output: Output,
    rules: RuleTable,
    method: Method,
    /// The corners of the output's sets, if all of them have corners.
    corners: Vec<[f64; 4]>,
}

/// A rule that fired.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fired {
    /// The term of the first input; `None` if the rule ignores it.
    pub row: Option<usize>,
    /// The term of the second input; `None` if the rule ignores it.
    pub column: Option<usize>,
    /// The consequent: a term of the output.
    pub consequent: usize,
    /// Its strength, in `(0, 1]`.
    pub strength: f64,
}

/// The result of an inference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    /// A number within the range of the output.
    Value(f64),
    /// A consequent that is not a number; if several fired, the strongest.
    /// It overrides every number. The caller decides what it means.
    Override {
        /// The term of the output.
        term: usize,
        /// The strength of its rules, combined by the S-norm.
        strength: f64,
    },
    /// No rule fired: the table has a gap at this input, or an input is NaN.
    Nothing,
}

impl Outcome {
    /// The number, or `otherwise` if the result is not a number.
    pub fn value_or(self, otherwise: f64) -> f64 {
        match self {
            Outcome::Value(value) => value,
            Outcome::Override { .. } | Outcome::Nothing => otherwise,
        }
    }
}

/// The strength of each term of the output.
struct Strengths {
    values: [f64; MAX_TERMS],
    /// A bit for every term with a strength above 0.
    active: u32,
}

impl Strengths {
    #[inline]
    fn add(&mut self, term: usize, strength: f64, or: SNorm) {
        let value = &mut self.values[term];
        *value = if self.active >> term & 1 == 1 { or.or(*value, strength) } else { strength };
        self.active |= 1 << term;
    }

    /// The terms with a strength above 0, in order, with their strengths.
    #[inline]
    fn active(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let mut left = self.active;
        core::iter::from_fn(move || {
            let term = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            self.values.get(term).map(|&strength| (term, strength))
        })
    }
}

impl Controller {
    /// The first input.
    pub fn row(&self) -> &Variable {
        &self.row
    }

    /// The second input.
    pub fn column(&self) -> &Variable {
        &self.column
    }

    /// The output.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The rules.
    pub fn rules(&self) -> &RuleTable {
        &self.rules
    }

    /// Calls `visit` for every rule that fires at this input.
    #[inline]
    pub fn for_each_fired(&self, row: f64, column: f64, mut visit: impl FnMut(Fired)) {
        let (mut u, mut v) = ([0.0; MAX_TERMS], [0.0; MAX_TERMS]);
        let (rows, columns) = (self.row.grades(row, &mut u), self.column.grades(column, &mut v));
        let (any_row, any_column) = (self.row.terms().len(), self.column.terms().len());
        let partial = self.rules.partial();
        let mut rule = |i: usize, j: usize, strength: f64| {
            let consequent = self.rules.cell(i, j);
            if strength > 0.0 && consequent != NONE {
                let asked = |term, any| if term == any { None } else { Some(term) };
                visit(Fired { row: asked(i, any_row), column: asked(j, any_column), consequent: usize::from(consequent), strength });
            }
        };
        for i in rows {
            for j in columns.clone() {
                rule(i, j, self.method.and.and(u[i], v[j]));
            }
            if partial {
                rule(i, any_column, u[i]);
            }
        }
        if partial {
            columns.for_each(|j| rule(any_row, j, v[j]));
            rule(any_row, any_column, 1.0);
        }
    }

    /// Returns the result for this input.
    #[inline]
    pub fn infer(&self, row: f64, column: f64) -> Outcome {
        let centers = self.output.centers();
        let mut strengths = Strengths { values: [0.0; MAX_TERMS], active: 0 };
        let (mut weighted, mut weight) = (0.0, 0.0);
        self.for_each_fired(row, column, |fired| {
            strengths.add(fired.consequent, fired.strength, self.method.aggregation);
            if let Some(center) = centers.get(fired.consequent) {
                weighted += fired.strength * center;
                weight += fired.strength;
            }
        });
        let overrides = strengths.active().filter(|&(term, _)| term >= centers.len());
        let strongest = overrides.reduce(|a, b| if b.1 > a.1 { b } else { a });
        if let Some((term, strength)) = strongest {
            return Outcome::Override { term, strength };
        }
        if strengths.active == 0 {
            return Outcome::Nothing;
        }
        let value = match self.method.defuzzifier {
            Defuzzifier::RuleMean => weighted / weight,
            Defuzzifier::TermMean => self.term_mean(&strengths),
            Defuzzifier::Centroid => self.centroid(&strengths),
            Defuzzifier::SampledCentroid(points) => self.sampled_centroid(&strengths, points),
            Defuzzifier::CenterOfSums => self.center_of_sums(&strengths),
        };
        let (low, high) = self.output.range();
        Outcome::Value(value.clamp(low, high))
    }

    /// Returns the number for this input; 0 if no rule or an override fires.
    /// See [`Controller::infer`].
    #[inline]
    pub fn evaluate(&self, row: f64, column: f64) -> f64 {
        self.infer(row, column).value_or(0.0)
    }

    fn term_mean(&self, strengths: &Strengths) -> f64 {
        let centers = self.output.centers();
        let add = |(weighted, weight), (term, strength): (usize, f64)| (weighted + strength * centers[term], weight + strength);
        let (weighted, weight) = strengths.active().fold((0.0, 0.0), add);
        weighted / weight
    }

    /// The center of gravity; if the area is too small, the mean of the centers.
    fn balance(&self, sum: Moments, strengths: &Strengths) -> f64 {
        let center = sum.moment / sum.area;
        if center.is_finite() { center } else { self.term_mean(strengths) }
    }

    fn centroid(&self, strengths: &Strengths) -> f64 {
        let mut cuts = [Cut::default(); MAX_TERMS];
        let mut count = 0;
        for ((term, strength), cut) in strengths.active().zip(&mut cuts) {
            *cut = Cut::new(self.corners[term], strength, self.method.implication);
            count += 1;
        }
        self.balance(union(&cuts[..count]), strengths)
    }

    fn center_of_sums(&self, strengths: &Strengths) -> f64 {
        let mut sum = Moments::default();
        for (term, strength) in strengths.active() {
            let alone = Cut::new(self.corners[term], strength, self.method.implication).moments();
            sum = Moments { area: sum.area + alone.area, moment: sum.moment + alone.moment };
        }
        self.balance(sum, strengths)
    }

    fn sampled_centroid(&self, strengths: &Strengths, points: u32) -> f64 {
        let (low, high) = self.output.range();
        let step = (high - low) / f64::from(points);
        let mut sum = Moments::default();
        for i in 0..points {
            let x = low + (f64::from(i) + 0.5) * step;
            let cut = strengths.active().map(|(term, strength)| self.method.implication.imply(strength, self.output.sets()[term].grade(x)));
            let grade = cut.fold(0.0, |a, b| self.method.aggregation.or(a, b));
            sum = Moments { area: sum.area + grade, moment: sum.moment + grade * x };
        }
        self.balance(sum, strengths)
    }
}
