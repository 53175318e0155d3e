//! What follows from the name of a connection: its random streams and its hash. None of it depends on what else there is in the world.

use sojourn_aqm::FlowHashes;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Stream};

/// A connection in the run with this seed. A flow has one, of the flow's name; those of a session are called `<session>/<number>`, in
/// the order in which it opens them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub seed: u64,
    pub name: &'a str,
}

impl Identity<'_> {
    /// Its random stream for this purpose: `flow/<name>/<of>`.
    pub fn stream(&self, of: &str) -> Stream {
        Stream::named_by_parts(self.seed, ["flow/", self.name, "/", of])
    }

    /// Where in its tick its sender's clock stands at time 0.
    pub fn clock_phase(&self, params: &TcpOptions) -> Duration {
        match params.uses_clock_phase() {
            true => Duration::from_nanos(self.stream("clock").below(params.tick.as_nanos())),
            false => Duration::ZERO,
        }
    }

    /// What routers find its packets by, as by addresses and ports: the same in every run.
    pub fn hash(&self) -> u64 {
        FlowHashes::of_name(self.name)
    }
}
