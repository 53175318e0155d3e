//! The options of a TCP stack, as the endpoints read them. They are defined in `sojourn-spec`.

pub use sojourn_spec::tcp::{Handshake, Recovery, RttHint, SackAlgorithm, TcpOptions as TcpParams, WindowBasis};
