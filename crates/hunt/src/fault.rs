//! What a hunt finds, and the ways in which it looks.

/// What is wrong: which promise is broken, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The promise; two worlds with the same fault break the same one.
    pub promise: String,
    /// What was seen.
    pub seen: String,
}

/// What became of a world that holds every promise.
#[derive(Clone, PartialEq, Debug)]
pub enum Fate {
    /// It ran; the fingerprint and a hash of the record.
    Ran {
        /// Of the packets.
        fingerprint: String,
        /// Of every number in the record.
        record: u64,
        /// Packets sent.
        packets: u64,
    },
    /// It was not run: too many events in too short a time.
    Dense,
    /// The engine ended it with this line.
    Ended(String),
}

/// A fault.
pub fn fault(promise: &str, seen: impl Into<String>) -> Fault {
    Fault { promise: promise.to_string(), seen: seen.into() }
}

/// A way to run a world that gives what running it as it is gives, or a metamorphic law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Written and read again: the same scenario.
    Read,
    /// Stopped on the way at random times.
    Sliced,
    /// Copied on the way.
    Copied,
    /// With an event at every hop.
    AllEvents,
    /// With other traces.
    Traced,
    /// On several threads, beside a run that begins alike.
    Threads,
    /// With a group of flows that starts after the end.
    SilentFlow,
    /// With a link that no route takes.
    UnusedLink,
    /// With other names of nodes.
    RenamedNodes,
    /// With two groups that exchange their names.
    SwappedGroups,
    /// Twice as slow.
    Scaled,
    /// With one flow for several at a constant rate.
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
