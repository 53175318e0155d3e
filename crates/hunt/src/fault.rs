//! Faults that a hunt finds, and its execution modes.

/// A violated promise, with details.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The promise. Two worlds with the same fault violate the same promise.
    pub promise: String,
    /// The observation.
    pub seen: String,
}

/// The outcome of a world.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// The world finished.
    Ran {
        /// The fingerprint of the packets.
        fingerprint: String,
        /// The hash of every number in the record.
        record: u64,
        /// The number of packets sent.
        packets: u64,
    },
    /// The world was skipped, because it has too many events in too short a time.
    Dense,
    /// The engine aborted the world with this line.
    Ended(String),
}

/// Returns a fault.
pub fn fault(promise: &str, seen: impl Into<String>) -> Fault {
    Fault { promise: promise.to_string(), seen: seen.into() }
}

/// An execution mode that must yield the same record, or a metamorphic law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Serialized and parsed again.
    Read,
    /// Interrupted at random times.
    Sliced,
    /// Copied during the run.
    Copied,
    /// With an event at every hop.
    AllEvents,
    /// With other traces.
    Traced,
    /// On several threads, together with a run that has a shared beginning.
    Threads,
    /// In parts, each on its own thread.
    Parts,
    /// With a group of flows that starts after the end.
    SilentFlow,
    /// With a link that no route uses.
    UnusedLink,
    /// With other names of nodes.
    RenamedNodes,
    /// With two groups that exchange their names.
    SwappedGroups,
    /// With all times doubled and all rates halved.
    Scaled,
    /// With several constant-rate flows merged into one.
    Merged,
    /// With a longer duration.
    Longer,
    /// With another warm-up.
    Windows,
}

impl Way {
    /// Every mode.
    pub const ALL: [Way; 15] = [
        Way::Read,
        Way::Sliced,
        Way::Copied,
        Way::AllEvents,
        Way::Traced,
        Way::Threads,
        Way::Parts,
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
