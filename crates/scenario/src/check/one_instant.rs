//! Rejects too many events at one instant.
//! They are opened connections, and data over links without delay.

use super::Group;
use super::links::Network;
use crate::error::Error;
use crate::path::element;
use crate::written::Access;
use sojourn_units::Duration;

/// The maximum number of segments sent at one instant.
/// A run fails if its time does not advance in ten million events.
const MOST_SEGMENTS: f64 = 4e6;

/// The maximum number of connections opened at one instant.
/// Each uses up to 1.6 kB of the 8 GB of a run.
const MOST_CONNECTIONS: u64 = 5_000_000;

/// Checks all groups.
pub(super) fn check(groups: &[Group], network: &Network) -> Result<(), Error> {
    connections(groups)?;
    segments(groups, network)
}

/// Checks the number of connections opened at one instant.
fn connections(groups: &[Group]) -> Result<(), Error> {
    let mut together = 0;
    for group in groups {
        together += u64::from(group.count) * u64::from(group.traffic.connections_at_once());
        if together > MOST_CONNECTIONS {
            let field = format!("flows.{}.traffic", element(&group.name));
            let expected = format_args!("at most {MOST_CONNECTIONS} connections of all groups that open at one time");
            return Err(Error::got(field, together, expected));
        }
    }
    Ok(())
}

/// Checks the data of groups whose links have no delay.
fn segments(groups: &[Group], network: &Network) -> Result<(), Error> {
    let mut together = 0.0;
    for group in groups.iter().filter(|group| takes_no_time(group, network)) {
        let Some(options) = &group.tcp else { continue };
        together += f64::from(group.count) * group.traffic.segments_at_once(options.mss);
        if together > MOST_SEGMENTS {
            let field = format!("flows.{}", element(&group.name));
            let got = if together.is_finite() { format!("none for about {together:.0} segments") } else { "none".to_string() };
            let expected = match together.is_finite() {
                true => format!("a rate or a delay on the path and back, because more than {MOST_SEGMENTS:.0} segments take no time on it"),
                false => "a rate or a delay on the path and back, because data without end takes no time on it".to_string(),
            };
            return Err(Error::got(field, got, expected));
        }
    }
    Ok(())
}

/// Whether the path of a group and its reverse may have no delay.
fn takes_no_time(group: &Group, network: &Network) -> bool {
    let own = |access: &Option<Access>| access.as_ref().is_none_or(|own| own.rate.is_none() && own.delay.least() < 1.0);
    let none = |link: u32| {
        let link = &network.links[link as usize];
        // A link without a rate has no rate changes.
        link.rate.is_none() && link.delay == Duration::ZERO && !link.impairments.iter().any(|impairment| impairment.takes_time())
    };
    let one_of = |first: &[u32], all: &[Vec<u32>]| {
        let mut paths = all.iter().map(Vec::as_slice).chain([first]);
        paths.any(|path| path.iter().copied().all(none))
    };
    own(&group.access)
        && own(&group.egress)
        && one_of(&group.forward, &group.all_paths.forward)
        && one_of(&group.back, &group.all_paths.back)
}
