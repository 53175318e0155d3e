//! Fluid models of flows and a queue, closed by the registered AQM algorithm itself.
//! The models are delay differential equations.
//!
//! `N_i` flows of class i with windows `W_i` share a link of C packets per second. Its queue q delays them
//! (Misra, Gong and Towsley, SIGCOMM 2000):
//!
//! ```text
//! R_i(t)  = T_i + q(t)/C
//! W_i'(t) = a_i/R_i(t) - d_i W_i(t) W_i(t - R_i) p(t - R_i) / R_i(t - R_i)        Reno: a = 1, d = 1/2
//! q'(t)   = sum of N_i W_i/R_i, less drops, less C        0 <= q <= limit
//! ```
//!
//! A timed law is called at its interval with measurements of the fluid. RED and AVQ decide packet by packet, so they act in
//! the continuous form of the same parameters ([`Control`]). [`simulate`] returns trajectories and [`operating_point`] the steady state.
//! There, [`Response`] is the response of a law to small changes, and [`describe`] computes that to large oscillations.
//!
//! ```
//! use sojourn_aqm::{AqmConfig, Link, algorithms::pi};
//! use sojourn_fluid::{Class, Control, Plant, operating_point};
//! use sojourn_units::{Duration, Rate};
//!
//! // 20 Reno flows with a base RTT of 100 ms share 10 Mbit/s: 1250 packets of 1000 B per second. The queue marks packets.
//! let plant = Plant { classes: vec![Class::reno(20.0, 0.1)], capacity: 1250.0, limit: 500.0, packet: 1000.0, drops: false };
//! let link = Link { rate: Rate::from_bps(10_000_000).unwrap(), delay: Duration::from_millis(50), mean_packet: 1000, limit_packets: 500 };
//! let pi = AqmConfig::Pi(pi::Params { target: 50.0, ..pi::Params::default() });
//! let point = operating_point(&plant, &Control::of(&pi, &link, &plant).unwrap()).unwrap();
//!
//! // PI integrates its error, so its queue settles at the target of 50 packets: a queuing delay of 40 ms.
//! assert!((point.queue - 50.0).abs() < 0.5);
//! // Reno's equilibrium: the window is the square root of 2/p, and N windows fill the pipe of 1250/s times 140 ms.
//! assert!((point.window - 1250.0 * 0.14 / 20.0).abs() < 0.1);
//! assert!((point.probability - 2.0 / (point.window * point.window)).abs() < 1e-3);
//! ```

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
