//! Faults that a hunt finds, and its execution modes.

/// A violated promise, with details.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The promise; two worlds with the same fault violate the same one.
    pub promise: String,
    /// The observation.
    pub seen: String,
}

/// The outcome of a world.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// Finished, with the fingerprint and a hash of the record.
    Ran {
        /// Of the packets.
        fingerprint: String,
        /// Of every number in the record.
        record: u64,
        /// Packets sent.
        packets: u64,
    },
    /// Skipped: too many events in too short a time.
    Dense,
    /// The engine aborted it with this line.
    Ended(String),
}

/// A fault.
pub fn fault(promise: &str, seen: impl Into<String>) -> Fault {
    Fault { promise: promise.to_string(), seen: seen.into() }
}

/// An execution mode that must yield the same record, or a metamorphic law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Serialized and parsed again: the same scenario.
    Read,
    /// Stopped on the way at random times.
    Sliced,
    /// Copied on the way.
    Copied,
    /// With an event at every hop.
    AllEvents,
    /// With other traces.
    Traced,
    /// On several threads, together with a run with a shared beginning.
    Threads,
    /// With a group of flows that starts after the end.
    SilentFlow,
    /// With a link that no route uses.
    UnusedLink,
    /// With other names of nodes.
    RenamedNodes,
    /// With two groups that exchange their names.
    SwappedGroups,
    /// Twice as slow.
    Scaled,
    /// With several constant-rate flows merged into one.
    Merged,
    /// For longer.
    Longer,
    /// With another warm-up.
    Windows,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 14] = [
        Way::Read,
        Way::Sliced,
        Way::Copied,
        Way::AllEvents,
        Way::Traced,
        Way::Threads,
        Way::SilentFlow,
        Way::UnusedLink,
        Way::RenamedNodes,
        Way::SwappedGroups,
        Way::Scaled,
        Way::Merged,
        Way::Longer,
        Way::Windows,
    ];
}
