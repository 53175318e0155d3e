//! What follows from the name of a connection: its random streams and its hash.
//! None of it depends on what else is in the world.

use sojourn_aqm::FlowHashes;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Stream};

/// A connection in the run with this seed.
/// The connection of a flow has the flow's name.
/// Those of a session are called `<session>/<number>`, in the order in which it opens them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub seed: u64,
    pub name: &'a str,
}

impl Identity<'_> {
    /// The connection's random stream for this purpose: `flow/<name>/<of>`.
    pub fn stream(&self, of: &str) -> Stream {
        Stream::named_by_parts(self.seed, ["flow/", self.name, "/", of])
    }

    /// The offset of the sender's clock within its tick at time 0.
    pub fn clock_phase(&self, params: &TcpOptions) -> Duration {
        match params.uses_clock_phase() {
            true => Duration::from_nanos(self.stream("clock").below(params.tick.as_nanos())),
            false => Duration::ZERO,
        }
    }

    /// The hash by which routers tell its packets apart; the same in every run.
    /// Real routers use addresses and ports.
    pub fn hash(&self) -> u64 {
        FlowHashes::of_name(self.name)
    }
}
