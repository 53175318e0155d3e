//! The states of BBR version 3 (draft-ietf-ccwg-bbr#5.3).

/// `BBR.state` (draft-ietf-ccwg-bbr#5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState` (draft-ietf-ccwg-bbr#5.3.3.9).
    pub fn is_probe_bw(self) -> bool {
        matches!(self, State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// `IsProbingBW` (draft-ietf-ccwg-bbr#5.3.3.9).
    pub fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }
}

/// `BBR.ack_phase` (draft-ietf-ccwg-bbr#2.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}
