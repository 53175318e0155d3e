//! Checks queues before the run.
//! Flows must supply the information that a discipline requires, and timers must not expire too often.

use super::links::Network;
use super::{Checked, Group, classes};
use crate::error::Error;
use crate::path::element;
use sojourn_aqm::{Aqm, AqmConfig};
use sojourn_cc::CcConfig;
use sojourn_spec::link::Link;
use sojourn_spec::supply::Supply;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::Duration;

/// The maximum number of timer expirations of a queue in a run.
const MOST_UPDATES: u64 = 1_000_000_000;

/// Checks the queues of all links.
pub(super) fn check(network: &Network, groups: &[Group], packet: u32, duration: Duration) -> Result<(), Error> {
    let supplies = supplies(network, groups);
    for ((link, field), supply) in network.links.iter().zip(&network.fields).zip(supplies) {
        let (Some(queue), Some(rate)) = (&link.queue, link.rate) else { continue };
        classes::check(queue, &format!("{field}.queue"), rate, groups)?;
        for (queue, at) in classes::disciplines(queue, &format!("{field}.queue")) {
            let aqm = queue.build(rate, link.delay, packet).map_err(|error| Error::parameter(&at, error))?;
            classes::filters(queue, &at, groups)?;
            if let Some(expected) = supply.missing(&aqm.needs(), queue.options.hints) {
                return Err(Error::got(at, Supply::NOTHING, expected));
            }
            let interval = aqm.update_interval().or(external(&queue.aqm, &at)?).unwrap_or(duration);
            if duration.as_nanos() / interval.as_nanos().max(1) > MOST_UPDATES {
                let expected = format_args!("a time between two updates that the run has at most {MOST_UPDATES} of");
                return Err(Error::got(at, interval, expected));
            }
        }
    }
    Ok(())
}

/// The interval of the queue's external law, if it has one.
///
/// # Errors
/// The law has no name.
fn external(aqm: &AqmConfig, at: &str) -> Result<Option<Duration>, Error> {
    match aqm {
        AqmConfig::External(law) if law.law.is_empty() => Err(Error::got(format!("{at}.law"), "none", "the name of a law of the caller")),
        AqmConfig::External(law) => Ok(Some(law.interval)),
        _ => Ok(None),
    }
}

impl Checked {
    /// Rejects a queue or a group whose external law or controller is not in `known`.
    ///
    /// # Errors
    /// The first such queue or group.
    pub fn check_laws(&self, known: &[&str]) -> Result<(), Error> {
        self.links.iter().try_for_each(|link| check_laws(link, known))?;
        let mut stacks = self.groups.iter().filter_map(|group| Some((group, group.tcp.as_ref()?)));
        stacks.try_for_each(|(group, tcp)| check_controller(&group.name, tcp, known))
    }
}

/// Rejects a link whose queue has an external law that is not in `known`.
///
/// # Errors
/// As [`Checked::check_laws`].
pub fn check_laws(link: &Link, known: &[&str]) -> Result<(), Error> {
    let Some(queue) = &link.queue else { return Ok(()) };
    for (queue, at) in classes::disciplines(queue, &format!("links.{}.queue", element(&link.name))) {
        let AqmConfig::External(params) = &queue.aqm else { continue };
        if !known.contains(&params.law.as_str()) {
            let names = if known.is_empty() { "a law".to_string() } else { format!("one of {}", known.join(", ")) };
            let expected = format!("{names} that `--law FILE.py`, or `laws` in Python, supplies");
            return Err(Error::got(format!("{at}.law"), format_args!("\"{}\"", params.law), expected));
        }
    }
    Ok(())
}

/// Rejects the TCP options of a group whose external controller is not in `known`.
///
/// # Errors
/// The expectation.
pub fn check_controller(group: &str, tcp: &TcpOptions, known: &[&str]) -> Result<(), Error> {
    let CcConfig::External(params) = &tcp.control else { return Ok(()) };
    if known.contains(&params.controller.as_str()) {
        return Ok(());
    }
    let names = if known.is_empty() { "a controller".to_string() } else { format!("one of {}", known.join(", ")) };
    let expected = format!("{names} that `--controller FILE.py`, or `laws` in Python, supplies");
    let field = format!("flows.{}.tcp.control.controller", element(group));
    Err(Error::got(field, format_args!("\"{}\"", params.controller), expected))
}

/// The information that the flows over each link supply to its queue.
fn supplies(network: &Network, groups: &[Group]) -> Vec<Supply> {
    let mut supplies = vec![Supply::default(); network.links.len()];
    for group in groups {
        let Some(options) = &group.tcp else { continue };
        // The requests of a session use the reverse path.
        let requests = group.back_links().filter(|_| group.traffic.opens_connections());
        for link in group.forward_links().chain(requests) {
            supplies[link as usize].add(options);
        }
    }
    supplies
}
