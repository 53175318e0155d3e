//! Converts limits of queues: a time or a BDP becomes packets.

use super::links::Network;
use super::{Group, classes};
use crate::error::Error;
use crate::quantity::Varying;
use crate::written::Access;
use sojourn_spec::link::Link;
use sojourn_spec::queue::Queue;
use sojourn_units::{Duration, Stream};
use std::sync::Arc;

/// Converts every limit that is a time or a BDP into packets of `packet` bytes.
/// The rate is the link's at the start, or the mean of its trace, also for classes.
pub(super) fn plan(network: &mut Network, groups: &[Group], packet: u32) -> Result<(), Error> {
    for i in 0..network.links.len() {
        let (link, field) = (&network.links[i], format!("{}.queue", network.fields[i]));
        let (Some(queue), Some(rate)) = (&link.queue, link.rate) else { continue };
        if queue.disciplines().all(|queue| queue.options.limit.amount().is_some()) {
            continue;
        }
        let mut planned = Queue::clone(queue);
        let fields: Vec<String> = classes::disciplines(queue, &field).into_iter().map(|(_, at)| at).collect();
        for (queue, at) in planned.disciplines_mut().into_iter().zip(fields) {
            let limit = queue.options.limit;
            let rtt = if limit.is_bdp() { base_rtt(&network.links, i as u32, groups) } else { Ok(Duration::ZERO) };
            let rtt = rtt.map_err(|expected| Error::got(format!("{at}.limit"), limit, expected))?;
            queue.options.limit = limit.planned(rate, packet, rtt).map_err(|error| Error::parameter(&at, error))?.into();
        }
        network.links[i].queue = Some(Arc::new(planned));
    }
    Ok(())
}

/// The longest base RTT of the flows over a link in either direction.
/// It is the sum of the propagation delays of their paths at the start.
///
/// # Errors
/// No flow has a base RTT, or it is random. The error states which limits are possible.
fn base_rtt(links: &[Link], number: u32, groups: &[Group]) -> Result<Duration, &'static str> {
    let crosses = |group: &&Group| group.forward_links().chain(group.back_links()).any(|link| link == number);
    let mut longest = Duration::ZERO;
    for group in groups.iter().filter(crosses).filter(|group| group.traffic.uses_reverse_path()) {
        let own = own_delay(group).ok_or("packets, bytes or a time, where delays of `access` or `egress` are drawn")?;
        let of_path = |path: &[u32]| path.iter().fold(Duration::ZERO, |sum, &link| sum + links[link as usize].delay);
        let of_paths = |first: &[u32], all: &[Vec<u32>]| all.iter().map(|path| of_path(path)).fold(of_path(first), Duration::max);
        let paths = &group.all_paths;
        longest = longest.max(of_paths(&group.forward, &paths.forward) + of_paths(&group.back, &paths.back) + own);
    }
    if longest == Duration::ZERO { Err("packets, bytes or a time, where no flow has a base round trip above zero") } else { Ok(longest) }
}

/// The longest round trip of a flow of the group over its own links.
/// `None` if the delays of these links are random.
fn own_delay(group: &Group) -> Option<Duration> {
    let sides: Vec<&Varying<Duration>> = group.access.iter().chain(&group.egress).map(|access: &Access| &access.delay).collect();
    if sides.iter().any(|delay| delay.drawn_from().is_some()) {
        return None;
    }
    let of_flow = |i| sides.iter().fold(Duration::ZERO, |sum, delay| sum + delay.at(i, group.count, || Stream::named(0, "not drawn")) * 2);
    (0..group.count).map(of_flow).max()
}
