//! Checks the classes of a link: their matches and their shares.

use super::Group;
use crate::error::{Error, unknown};
use sojourn_aqm::{Aqm, AqmConfig, Needs, REGISTRY};
use sojourn_spec::queue::Queue;
use sojourn_spec::queue::classes::{Class, ClassOptions, Match, Scheduler, Scheduling};
use sojourn_spec::queue::filters::Filter;
use sojourn_units::{Duration, Rate};
use std::collections::HashSet;

/// All queues with a discipline, and their fields.
/// They are the queue at `field`, or recursively those of its classes.
pub(crate) fn disciplines<'a>(queue: &'a Queue, field: &str) -> Vec<(&'a Queue, String)> {
    let Some(scheduler) = &queue.classes else { return vec![(queue, field.to_string())] };
    let of_class = |(i, class): (usize, &'a Class)| disciplines(&class.queue, &format!("{field}.classes[{i}]"));
    scheduler.classes.iter().enumerate().flat_map(of_class).collect()
}

/// Checks the classes, if any, of the queue at `field` on a link of `rate`.
pub(super) fn check(queue: &Queue, field: &str, rate: Rate, groups: &[Group]) -> Result<(), Error> {
    let Some(Scheduler { scheduler, classes }) = queue.classes.as_deref() else { return Ok(()) };
    if classes.is_empty() || classes.len() > Scheduler::MOST {
        return Err(Error::got(format!("{field}.classes"), classes.len(), format_args!("1 to {} classes", Scheduler::MOST)));
    }
    let mut rates = 0u64;
    for (i, class) in classes.iter().enumerate() {
        let at = format!("{field}.classes[{i}]");
        let last = i + 1 == classes.len();
        match &class.options.matches {
            None if !last => {
                return Err(Error::got(format!("{at}.match"), "none", "what it takes: only the last class takes what is left"));
            }
            Some(_) if last => {
                return Err(Error::got(format!("{at}.match"), "a match", "none: the last class takes what no class before it takes"));
            }
            _ => {}
        }
        class.options.matches.iter().try_for_each(|matches| known_groups(matches, &at, groups))?;
        parts(*scheduler, &class.options, &at, rate)?;
        own_queue(&class.queue, &class.options, &at, rate)?;
        within(*scheduler, class, &at, rate, groups)?;
        rates += class.options.rate.map_or(0, Rate::as_bps);
        if rates > rate.as_bps() {
            let expected = format_args!("rates that are together at most {rate}, that of the link");
            return Err(Error::got(format!("{at}.rate"), class.options.rate.map_or(String::new(), |rate| rate.to_string()), expected));
        }
    }
    let mut names = HashSet::new();
    for (i, name) in queue.classes.iter().flat_map(|classes| classes.names()).enumerate() {
        super::name(format!("{field}.classes[{i}].name"), "class", &name)?;
        if !names.insert(name.clone()) {
            return Err(Error::got(format!("{field}.classes[{i}].name"), format_args!("\"{name}\""), "a name that no other class has"));
        }
    }
    Ok(())
}

/// Checks the classes within a class of the scheduler `outer`.
/// The sum of their rates is at most its rate.
/// In a tree of `htb` only the innermost classes have a priority and a quantum.
fn within(outer: Scheduling, class: &Class, at: &str, rate: Rate, groups: &[Group]) -> Result<(), Error> {
    let ClassOptions { rate: own, ceil, flow_queues, priority, quantum, .. } = class.options;
    let Some(scheduler) = class.queue.classes.as_deref() else { return Ok(()) };
    if [outer, scheduler.scheduler] == [Scheduling::Htb; 2] {
        let given = [("priority", priority.map(|priority| priority.to_string())), ("quantum", quantum.map(|quantum| quantum.to_string()))];
        if let Some((key, got)) = given.into_iter().find_map(|(key, got)| Some((key, got?))) {
            return Err(Error::got(format!("{at}.{key}"), got, "none: among \"htb\" classes only the innermost ones take turns"));
        }
    }
    if let Some(queues) = flow_queues {
        return Err(Error::got(format!("{at}.flow_queues"), format_args!("{queues} with classes"), "them in the classes of this class"));
    }
    let rates = scheduler.classes.iter().filter_map(|class| class.options.rate).map(Rate::as_bps).fold(0u64, u64::saturating_add);
    if let Some(own) = own.filter(|own| rates > own.as_bps()) {
        let expected = format_args!("rates that are together at most {own}, that of the class around them");
        return Err(Error::got(format!("{at}.classes"), format_args!("{rates} bit/s together"), expected));
    }
    check(&class.queue, at, ceil.map_or(rate, |ceil| ceil.min(rate)), groups)
}

/// Checks that the filters of the queue at `field` suit its discipline.
pub(super) fn filters(queue: &Queue, field: &str, groups: &[Group]) -> Result<(), Error> {
    let filters = &queue.options.filters;
    if filters.len() > Filter::MOST {
        return Err(Error::got(format!("{field}.filters"), filters.len(), format_args!("at most {} filters", Filter::MOST)));
    }
    let takes_filters = |aqm: &AqmConfig| aqm.layout().is_some_and(|layout| layout.takes_filters);
    if !filters.is_empty() && !takes_filters(&queue.aqm) {
        let dual: Vec<&str> = REGISTRY.iter().filter(|entry| takes_filters(&(entry.default)())).map(|entry| entry.name).collect();
        let got = format_args!("filters with {}", queue.aqm.name());
        return Err(Error::got(format!("{field}.filters"), got, format_args!("them with a dual queue: {}", dual.join(" or "))));
    }
    filters.iter().enumerate().try_for_each(|(i, filter)| known_groups(&filter.matches, &format!("{field}.filters[{i}]"), groups))
}

/// Checks that a class or a filter has a match, and that its groups exist.
fn known_groups(matches: &Match, at: &str, groups: &[Group]) -> Result<(), Error> {
    if matches.group.is_empty() && matches.dscp.is_empty() && matches.port.is_empty() && matches.ecn.is_empty() {
        return Err(Error::got(format!("{at}.match"), "none of them", "a group, a dscp, a port or an ecn codepoint"));
    }
    let names: Vec<&str> = groups.iter().map(|group| &group.name[..]).collect();
    match matches.group.0.iter().find(|name| !names.contains(&&name[..])) {
        Some(name) => Err(Error::new(format!("{at}.match.group"), unknown("", name, &names))),
        None => Ok(()),
    }
}

/// Checks the share of the link that a class has.
fn parts(scheduler: Scheduling, options: &ClassOptions, at: &str, link: Rate) -> Result<(), Error> {
    let ClassOptions { share, rate, ceil, quantum, .. } = options;
    let only = |key: &str, given: bool, of: Scheduling| {
        let name = if of == Scheduling::Drr { "drr" } else { "htb" };
        match given && scheduler != of {
            true => Err(Error::got(format!("{at}.{key}"), "one with another scheduler", format_args!("it with scheduler = \"{name}\""))),
            false => Ok(()),
        }
    };
    only("share", share.is_some(), Scheduling::Drr)?;
    only("rate", rate.is_some(), Scheduling::Htb)?;
    only("ceil", ceil.is_some(), Scheduling::Htb)?;
    only("quantum", quantum.is_some(), Scheduling::Htb)?;
    if let Some(quantum) = quantum.filter(|quantum| !(1..=10_000_000).contains(&quantum.0)) {
        return Err(Error::got(format!("{at}.quantum"), quantum, "1 B to 10 MB"));
    }
    if let Some(share) = share.filter(|share| !(0.01..=100.0).contains(share)) {
        return Err(Error::got(format!("{at}.share"), share, "a number, 0.01 to 100"));
    }
    match (scheduler, rate, ceil) {
        (Scheduling::Htb, None, _) => Err(Error::got(format!("{at}.rate"), "none", "the rate that the class has whatever the others do")),
        (_, Some(rate), Some(ceil)) if !(*rate..=link).contains(ceil) => {
            Err(Error::got(format!("{at}.ceil"), ceil, format_args!("a rate from that of the class, {rate}, to that of the link, {link}")))
        }
        _ => Ok(()),
    }
}

/// Checks that the queue of a class is one of the simulator's.
/// If the class has flow queues, the queue must support them.
fn own_queue(queue: &Queue, options: &ClassOptions, at: &str, rate: Rate) -> Result<(), Error> {
    if queue.classes.is_some() {
        return Ok(());
    }
    if let AqmConfig::Linux(params) = &queue.aqm {
        return Err(Error::got(format!("{at}.linux"), format_args!("\"{}\"", params.linux), "a discipline of ours in a class"));
    }
    let needs = queue.build(rate, Duration::ZERO, 1500).map_or(Needs::default(), |aqm| aqm.needs());
    let Some(queues) = options.flow_queues else { return Ok(()) };
    if !(1..=65_536).contains(&queues) {
        return Err(Error::got(format!("{at}.flow_queues"), queues, "1 to 65536 queues"));
    }
    match needs.waiting_packets || queue.aqm.layout().is_some() {
        true => Err(Error::got(
            format!("{at}.flow_queues"),
            format_args!("{queues} with {}", queue.aqm.name()),
            "a discipline that has no more than one queue of its own and looks at no waiting packets",
        )),
        false => Ok(()),
    }
}
