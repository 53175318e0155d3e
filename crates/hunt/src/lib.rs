//! A hunt for faults of the simulator: random valid scenarios over everything in the registries, each run in many ways.
//! All of them must give the same record, and the record must keep its bounds. `docs/reliability.md` says what is promised.
//!
//! [`world`] makes a scenario of a seed, [`hunt`] runs it, [`shrink`] makes one that breaks a promise small.

mod bounds;
mod cases;
mod compare;
mod draw;
mod fault;
mod metamorphic;
mod repair;
mod schema;
mod shrink;
mod supplied;
mod valid;
mod ways;
mod world;

pub use cases::{Case, Group, control};
pub use compare::{hash, text};
pub use fault::{Fate, Fault, Way};
pub use metamorphic::{LAWS, Law};
pub use shrink::shrink;
pub use supplied::laws;
pub use valid::World;
pub use ways::hunt;
pub use world::{world, world_of};
