//! The options of TCP endpoints and the profiles that set them.
//!
//! An option is one entry of the table in `options.rs`. The entry generates its form in scenarios ([`TcpOverrides`]) and at endpoints
//! ([`TcpOptions`]), merging, checks, the schema, `sojourn list tcp` and the table in docs/tcp.md. A profile is one file in `profiles/` and
//! one line of the registry there.

mod choices;
mod ecn;
mod listing;
mod options;
pub mod profiles;
mod ranges;
mod stored;
mod table;

pub use choices::{AccEcnOption, Control, Handshake, Recovery, RttHint, SackAlgorithm, Switch, WindowBasis};
pub use ecn::{Ecn, EcnChoice};
pub use listing::markdown;
pub use options::{OPTIONS, TcpOptions, TcpOverrides};
pub use profiles::{PROFILES, Profile};
pub use table::OptionEntry;
