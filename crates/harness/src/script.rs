//! Scripts: what happens to chosen packets of a flow before they enter the network.

use crate::endpoint::Ecn;
use std::ops::Range;
use std::time::Duration;

/// An action on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet is lost.
    Drop,
    /// The packet gets a congestion mark if it is ECN-capable.
    Mark,
    /// The packet is held back for this time; later ones overtake it.
    Delay(Duration),
    /// The packet is held back until this many later packets have entered the network.
    /// They are of its flow and direction.
    Behind(u64),
}

/// A rule for packets of one flow and direction, by number from 1 and by time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub flow: String,
    pub back: bool,
    pub first: u64,
    pub last: u64,
    /// The time from which it applies, and that at which it ends.
    pub during: Range<Duration>,
    /// The number of packets to which it applies at most.
    pub most: u64,
    pub fate: Fate,
}

/// A packet of a flow: its direction, its number in that direction, and its ECN field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    pub back: bool,
    pub number: u64,
    pub ecn: Ecn,
}

/// The rules of a run, and the packets so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Script {
    pub rules: Vec<Rule>,
}

impl Script {
    /// The fate of a flow's packet of this number; `None` if no rule concerns it.
    pub fn fate(&mut self, flow: &str, now: Duration, packet: Numbered) -> Option<Fate> {
        let concerns = |rule: &&mut Rule| {
            let of_flow = rule.back == packet.back && rule.flow == flow && rule.most > 0;
            of_flow && (rule.first..=rule.last).contains(&packet.number) && rule.during.contains(&now)
        };
        let rule = self.rules.iter_mut().find(concerns)?;
        rule.most -= 1;
        (rule.fate != Fate::Mark || packet.ecn != Ecn::NotEct).then_some(rule.fate)
    }
}
