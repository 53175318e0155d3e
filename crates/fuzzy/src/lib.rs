//! Fuzzy control: from membership functions and a rule table to a number, without allocation.
//!
//! ```
//! use sojourn_fuzzy::{Design, Method, Output, Variable};
//!
//! let controller = Design {
//!     row: Variable::partition("e", &[("N", -1.0), ("Z", 0.0), ("P", 1.0)]).unwrap(),
//!     column: Variable::partition("de", &[("N", -1.0), ("Z", 0.0), ("P", 1.0)]).unwrap(),
//!     output: Output::partition("y", (-1.0, 1.0), &[("down", -1.0), ("stay", 0.0), ("up", 1.0)]).unwrap(),
//!     rules: "e\\de  N     Z     P
//!             N      down  down  stay
//!             Z      down  stay  up
//!             P      stay  up    up",
//!     method: Method::default(),
//! }
//! .build()
//! .unwrap();
//! assert_eq!(controller.evaluate(0.5, 0.0), 0.5);
//! ```
//!
//! A [`Variable`] has named terms, each with a [`Membership`]; most papers use a [`Partition`], in which
//! triangles reach their neighbors' centers and at most two terms are active, so that at most four rules
//! fire. A [`RuleTable`] is read from the text of a paper. A [`Controller`] performs Mamdani inference by a
//! [`Method`]; a consequent without a center (FLOWER's reset) is an override that the caller handles, see
//! [`Outcome`]. [`Surface`] and [`IntegerSurface`] are a controller compiled to a table, with a measured
//! bound on their error.
//!
//! An evaluation never fails: an input that is NaN belongs to no term.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod centroid;
mod controller;
mod error;
mod integer;
mod membership;
mod method;
mod output;
mod partition;
mod rules;
mod surface;
mod variable;

pub use controller::{Controller, Design, Fired, Outcome};
pub use error::FuzzyError;
pub use integer::{IntegerAxis, IntegerSurface};
pub use membership::Membership;
pub use method::{Defuzzifier, Implication, Method, SNorm, TNorm};
pub use output::Output;
pub use partition::{Located, Partition};
pub use rules::RuleTable;
pub use surface::{Axis, Surface};
pub use variable::Variable;

/// The maximum number of terms of a variable.
/// A set of terms fits into 32 bits, and their grades on the stack.
pub const MAX_TERMS: usize = 32;
