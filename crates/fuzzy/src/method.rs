//! The variants of Mamdani inference.

/// AND: the strength of a rule from the grades of its two conditions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TNorm {
    /// The smaller grade.
    #[default]
    Min,
    /// The product of the grades.
    Product,
    /// `max(0, u + v - 1)`: a rule fires only if the grades of its conditions sum to more than 1.
    Lukasiewicz,
}

/// OR: how several rules for one term, and several sets at one number, are combined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SNorm {
    /// The larger grade.
    #[default]
    Max,
    /// `u + v - uv`.
    ProbabilisticSum,
    /// `min(1, u + v)`.
    BoundedSum,
}

/// How the strength of a term cuts its membership function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Implication {
    /// The set is clipped at the strength.
    #[default]
    Min,
    /// The set is scaled by the strength.
    Product,
}

/// How the active rules become one number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Defuzzifier {
    /// Mean over rules: `sum(mu_k c_k)/sum(mu_k)`, centers weighted by rule strengths.
    /// Two rules for one term count twice (flower-2016#eq11).
    RuleMean,
    /// Mean over terms, after the S-norm has combined the rules for each term.
    /// Two rules for one term count once.
    #[default]
    TermMean,
    /// Exact center of gravity of the union (maximum) of the cut sets.
    /// Requires [`SNorm::Max`], and sets with straight edges and an area (triangles, trapezoids, shoulders).
    Centroid,
    /// Center of gravity of the cut sets combined by the S-norm, by the midpoint rule.
    /// The number of points over the output's range is 2 to 1,000,000. For bells, and for S-norms other than the maximum.
    SampledCentroid(u32),
    /// Centers of gravity of the cut sets, weighted by their areas; exact.
    /// An overlap counts once per set. Requires sets with straight edges and an area.
    CenterOfSums,
}

/// A method of Mamdani inference.
/// Default: minimum for AND and implication, maximum over rules and sets, and the mean of the centers over terms.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Method {
    /// AND inside a rule.
    pub and: TNorm,
    /// How strengths cut sets; no effect on means of centers.
    pub implication: Implication,
    /// How rules for one term, and sets, are combined.
    /// No effect on [`Defuzzifier::RuleMean`].
    pub aggregation: SNorm,
    /// How the sets become a number.
    pub defuzzifier: Defuzzifier,
}

impl TNorm {
    /// The conjunction of two grades.
    #[inline]
    pub fn and(self, u: f64, v: f64) -> f64 {
        match self {
            TNorm::Min => u.min(v),
            TNorm::Product => u * v,
            TNorm::Lukasiewicz => (u + v - 1.0).max(0.0),
        }
    }
}

impl SNorm {
    /// The disjunction of two grades.
    #[inline]
    pub fn or(self, u: f64, v: f64) -> f64 {
        match self {
            SNorm::Max => u.max(v),
            SNorm::ProbabilisticSum => u + v - u * v,
            SNorm::BoundedSum => (u + v).min(1.0),
        }
    }
}

impl Implication {
    /// The grade of the consequent under a rule of this strength.
    #[inline]
    pub fn imply(self, strength: f64, grade: f64) -> f64 {
        match self {
            Implication::Min => strength.min(grade),
            Implication::Product => strength * grade,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn norms_obey_their_laws(u in 0.0f64..=1.0, v in 0.0f64..=1.0) {
            for and in [TNorm::Min, TNorm::Product, TNorm::Lukasiewicz] {
                prop_assert_eq!(and.and(u, v), and.and(v, u));
                prop_assert!((and.and(u, 1.0) - u).abs() < 1e-15);
                prop_assert!(and.and(u, v) >= 0.0 && and.and(u, v) <= u.min(v));
            }
            for or in [SNorm::Max, SNorm::ProbabilisticSum, SNorm::BoundedSum] {
                prop_assert!((or.or(u, v) - or.or(v, u)).abs() < 1e-15);
                prop_assert_eq!(or.or(u, 0.0), u);
                prop_assert!(or.or(u, v) <= 1.0 + 1e-15 && or.or(u, v) >= u.max(v) - 1e-15);
            }
        }
    }
}
