//! A hunt for faults of the simulator by random valid scenarios over all registries.
//! Each scenario is executed in several modes. All modes must yield the same record, and the record must satisfy its invariants.
//! `docs/reliability.md` lists the promises.
//!
//! [`world`] generates a scenario from a seed, [`hunt`] executes it, [`shrink`] minimizes one that violates a promise.

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

pub use cases::{Case, Group, control, start_up};
pub use compare::{hash, text};
pub use fault::{Fate, Fault, Way};
pub use metamorphic::{LAWS, Law};
pub use shrink::shrink;
pub use supplied::laws;
pub use valid::World;
pub use ways::hunt;
pub use world::{world, world_of};
