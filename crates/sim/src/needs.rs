//! Checks that the traffic supplies what queue disciplines need.
//! Scenarios are checked earlier; this is the check of laws that a caller supplies.

use crate::config::{BuildError, WorldConfig};
use sojourn_aqm::Aqm;
use sojourn_spec::flow::Flow;
use sojourn_spec::supply::Supply;

/// The information that the flows over each link supply to its queue.
fn supplies(config: &WorldConfig<'_>) -> Vec<Supply> {
    let mut supplies = vec![Supply::default(); config.links.len()];
    for flow in &*config.flows {
        let Some(stack) = flow.stack.and_then(|stack| config.stacks.get(stack as usize)) else { continue };
        // The requests of a session use the reverse path.
        let [forward, back] = flow.links();
        let requests = back.filter(|_| flow.traffic.opens_connections());
        for link in forward.chain(requests) {
            if let Some(supply) = supplies.get_mut(link as usize) {
                supply.add(stack);
            }
        }
    }
    supplies
}

/// Rejects links whose queues need information that nothing supplies.
pub(crate) fn check(world: &WorldConfig<'_>) -> Result<(), BuildError> {
    for (config, supply) in world.links.iter().zip(supplies(world)).filter(|(config, _)| config.link.rate.is_some()) {
        if let Some(expected) = supply.missing(&config.controller.aqm.needs(), config.hints()) {
            return Err(BuildError::Needs { link: config.link.name.clone(), expected, got: Supply::NOTHING });
        }
    }
    Ok(())
}

/// Whether drops of this flow's packets must be reported at once.
/// A session reuses a slot once its last packet has arrived or was dropped, and a foreign host keeps its own accounts.
pub(crate) fn drops_at_once(flow: &Flow) -> bool {
    flow.traffic.opens_connections() || flow.host.is_some()
}
