//! The laboratory as one function, for hosts without files, clock or threads: web pages.
//!
//! [`answer`] takes a question as JSON and returns JSON, with columns of numbers in a separate array. User errors are answers with `error`,
//! in the usual form. `ask` names the question:
//!
//! | `ask` | with | gives |
//! |---|---|---|
//! | `table` | `toml` | `table`: the scenario as JSON |
//! | `toml` | `table` | `toml`: the scenario as text |
//! | `run` | `toml`, `file`, `seed`, `watch` | `record`, `warnings`, and `series`: for each name its columns, as places in the numbers |
//! | `loop` | `toml`, `file`, `link` | `point`, `margins`, and `bode`: frequency, gain and phase as places in the numbers |
//! | `surface` | `toml`, `file`, `link` | a law as a surface over two inputs: `of` what, `rows`, `columns`, `values` row by row |
//!
//! `file` is the name of the text in messages. `watch` names a link whose queue and waits are traced, with the windows of the first flows,
//! instead of what the scenario traces.
//!
//! ```text
//! {"ask": "run", "toml": "duration = ...", "file": "a.toml", "seed": 1}
//! ```

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "a page calls functions by their names")]
mod abi;
mod answer;
mod flows;
mod law;
mod numbers;
mod run;
mod stability;

pub use answer::{Answer, answer};
pub use law::grid;
pub use run::{MOST_EVENTS, MOST_FLOWS, MOST_MEMORY};
