//! What queue disciplines need from the traffic, checked before a run.

use crate::config::{BuildError, WorldConfig};
use crate::tcp::{Handshake, RttHint};
use sojourn_aqm::{Aqm, Needs};
use sojourn_spec::queue::Hints;

/// What the flows over a link can tell its queue.
#[derive(Clone, Copy, Default)]
struct Supply {
    /// Some TCP flow sends over it.
    tcp: bool,
    /// Some of these write round-trip times into their packets.
    rtt_hints: bool,
    /// Some of these have a handshake or time stamps, from which a router can find round-trip times.
    headers: bool,
}

/// What the flows over each link can tell its queue.
fn supplies(config: &WorldConfig) -> Vec<Supply> {
    let mut supplies = vec![Supply::default(); config.links.len()];
    let mut add = |links: &[u32], stack: u32| {
        let stack = config.stacks.get(stack as usize);
        let rtt_hints = stack.is_some_and(|stack| stack.rtt_hint != RttHint::Off);
        let headers = stack.is_some_and(|stack| stack.handshake != Handshake::None || stack.timestamps);
        for &link in links {
            if let Some(supply) = supplies.get_mut(link as usize) {
                *supply = Supply { tcp: true, rtt_hints: supply.rtt_hints || rtt_hints, headers: supply.headers || headers };
            }
        }
    };
    for flow in &config.flows {
        let Some(stack) = flow.stack else { continue };
        add(&flow.forward, stack);
        if flow.traffic.opens_connections() {
            // Its requests.
            add(&flow.back, stack);
        }
    }
    supplies
}

/// What a queue with these needs expects of the flows over its link and does not get; `None` if it gets everything.
fn missing(needs: &Needs, hints: Hints, supply: Supply) -> Option<&'static str> {
    if hints == Hints::Router {
        let lacks_headers = needs.rtt_hints && !supply.headers;
        return lacks_headers.then_some("TCP flows with a handshake or `timestamps = true`, from which its router finds round-trip times");
    }
    if needs.flow_count && !supply.tcp {
        return Some("TCP flows, because its discipline uses the number of active TCP flows");
    }
    let lacks_hints = needs.rtt_hints && !supply.rtt_hints;
    lacks_hints
        .then_some("TCP flows with `rtt_hint = true`, or `hints = \"router\"`, because its discipline uses round-trip times of packets")
}

/// Refuses links whose queues need what nothing supplies.
pub(crate) fn check(world: &WorldConfig) -> Result<(), BuildError> {
    for (config, supply) in world.links.iter().zip(supplies(world)).filter(|(config, _)| config.link.rate.is_some()) {
        if let Some(expected) = missing(&config.controller.aqm.needs(), config.hints(), supply) {
            return Err(BuildError::Needs { link: config.link.name.clone(), expected, got: "none over this link" });
        }
    }
    Ok(())
}
