//! Flows and a queue as fluids: delay-differential equations closed by the registered algorithm itself.
//!
//! `N_i` flows of class i with windows `W_i` share a link of C packets a second whose queue q delays them
//! (Misra, Gong and Towsley, SIGCOMM 2000):
//!
//! ```text
//! R_i(t)  = T_i + q(t)/C
//! W_i'(t) = a_i/R_i(t) - d_i W_i(t) W_i(t - R_i) p(t - R_i) / R_i(t - R_i)        Reno: a = 1, d = 1/2
//! q'(t)   = sum of N_i W_i/R_i, less drops, less C        0 <= q <= limit
//! ```
//!
//! A timed law is called at its interval with measurements of the fluid. RED and AVQ, which decide packet by packet, act in
//! the continuous form of the same parameters ([`Control`]). [`simulate`] gives trajectories, [`operating_point`] the steady
//! state, [`Response`] the response of a law to small changes there, and [`describe`] that to large oscillations.

mod complex;
mod control;
mod describe;
mod history;
mod linear;
mod margins;
mod plant;
mod point;
mod response;
mod run;
mod solve;
mod system;

pub use complex::Complex;
pub use control::{Control, NoForm};
pub use describe::{Described, Oscillation, describe};
pub use linear::Loop;
pub use margins::{Grid, Margins, margins};
pub use plant::{Class, Plant, Refused};
pub use point::{NoPoint, Point, at_rest, operating_point};
pub use response::{Gain, Response};
pub use run::{Change, Run, Start, Trace};
pub use solve::simulate;
