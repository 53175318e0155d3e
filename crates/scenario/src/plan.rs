//! The plan of one run: every link and every flow with its values.
//! The simulator is built from it.

use crate::check::{Checked, LinkProcess, Trace};
use crate::quantity::{Quantity, Varying};
use crate::trace_file::hashed;
use crate::written::{Access, PathChoice};
use sojourn_aqm::{Classification, DualFilter, Rule};
pub use sojourn_spec::flow::Flow;
use sojourn_spec::link::{AccessLink, Link};
use sojourn_spec::paths::Paths;
use sojourn_spec::queue::Queue;
use sojourn_spec::queue::classes::{Class, Dscp, Match};
use sojourn_spec::queue::filters::Filter;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Amount, Stream, Time};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

/// One run: links and flows with all random values drawn.
/// It is a function of the scenario and the seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// The end of the run.
    pub duration: Time,
    /// The start of statistics.
    pub warmup: Time,
    /// Mean packet size in bytes.
    pub packet: u32,
    /// The names of the nodes. The hosts of access links follow them and have no names.
    pub nodes: Vec<String>,
    /// The number of hosts in addition to [`Plan::nodes`].
    pub hosts: u32,
    /// The links of the scenario in its order.
    pub links: Vec<Link>,
    /// Each flow's own links, numbered after the scenario's links.
    /// Their names are `ftp/0:access`, `ftp/0:access:back`, `ftp/0:egress`, `ftp/0:egress:back`.
    pub access_links: Vec<AccessLink>,
    /// The flows, group by group.
    pub flows: Vec<Flow>,
    /// The TCP options of each TCP group. Flows refer to them by index.
    pub stacks: Vec<TcpOptions>,
    /// The groups, in order.
    pub groups: Vec<Group>,
    /// The traces, as indices of [`Plan::links`] and [`Plan::flows`].
    pub trace: Trace,
}

/// A group of flows.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// Its flows, as indices of [`Plan::flows`].
    pub flows: Range<u32>,
    /// The own links of its flows, as indices of [`Plan::access_links`].
    /// All flows have the same number of own links.
    pub access_links: Range<u32>,
    /// The DSCP of their packets.
    pub dscp: Dscp,
    /// The port of their connections.
    pub port: Option<u16>,
}

impl Plan {
    /// The TCP options of one of its flows; `None` over UDP.
    pub fn tcp(&self, flow: &Flow) -> Option<&TcpOptions> {
        flow.stack.map(|stack| &self.stacks[stack as usize])
    }

    /// The link of this number: one of the scenario, or a flow's own.
    pub fn link(&self, number: u32) -> Cow<'_, Link> {
        match self.links.get(number as usize) {
            Some(link) => Cow::Borrowed(link),
            None => Cow::Owned(self.access_link(number - self.links.len() as u32)),
        }
    }

    /// All links in the order of their numbers.
    pub fn all_links(&self) -> impl Iterator<Item = Cow<'_, Link>> {
        (0..(self.links.len() + self.access_links.len()) as u32).map(|number| self.link(number))
    }

    /// A flow's own link at an index of [`Plan::access_links`], with its name.
    fn access_link(&self, at: u32) -> Link {
        let link = self.access_links[at as usize];
        let owner = self.groups.iter().find(|group| group.access_links.contains(&at)).map_or("", |group| {
            let of_flow = group.access_links.len() as u32 / group.flows.len() as u32;
            &self.flows[(group.flows.start + (at - group.access_links.start) / of_flow) as usize].name
        });
        let (host, nodes) = (link.from.max(link.to), self.nodes.len() as u32);
        debug_assert!(host >= nodes, "a flow's own link begins or ends at a host without a name");
        // The first link of a pair carries data. It starts at the sender's host, or ends at the receiver's.
        let (is_back, from) = if at.is_multiple_of(2) { (false, link.from) } else { (true, link.to) };
        let side = if from == host { "access" } else { "egress" };
        link.named(format!("{owner}:{side}{}", if is_back { ":back" } else { "" }))
    }

    /// The packets of each discipline of a queue, in order, in terms of this plan's groups.
    pub fn classifications(&self, queue: &Queue) -> Vec<Classification> {
        let Some(scheduler) = &queue.classes else {
            let of_filter = |filter: &Filter| DualFilter { rule: self.rule(Some(&filter.matches)), class: filter.class };
            let filters = queue.options.filters.iter().map(of_filter).collect();
            return vec![Classification { filters, ..Classification::default() }];
        };
        let of_class = |class: &Class| {
            let rule = self.rule(class.options.matches.as_ref());
            let mut within = self.classifications(&class.queue);
            for packets in &mut within {
                match class.queue.classes {
                    Some(_) => packets.outer.insert(0, rule.clone()),
                    None => packets.rule = rule.clone(),
                }
            }
            within
        };
        scheduler.classes.iter().flat_map(of_class).collect()
    }

    /// The packets that a class or a filter matches, in terms of this plan's groups.
    fn rule(&self, matches: Option<&Match>) -> Rule {
        let Some(Match { group, dscp, port, ecn }) = matches else { return Rule::default() };
        let takes = |of: &Group| {
            let own_port = port.is_empty() || of.port.is_some_and(|number| port.takes(&number));
            group.takes(&of.name) && dscp.takes(&of.dscp) && own_port
        };
        let all = group.is_empty() && dscp.is_empty() && port.is_empty();
        let groups = (0u32..).zip(&self.groups).filter(|(_, of)| takes(of)).map(|(number, _)| number);
        Rule { groups: (!all).then(|| groups.collect()), ecn: (!ecn.is_empty()).then(|| ecn.0.clone()) }
    }
}

/// The limit of the queues of access links, which is larger than any window.
const ACCESS_LIMIT: Amount = Amount::Packets(1_000_000);

impl Checked {
    /// Plans the run with this seed.
    pub fn plan(&self, seed: u64) -> Plan {
        let mut plan = Plan {
            name: self.name.clone(),
            seed,
            duration: Time::ZERO + self.duration,
            warmup: Time::ZERO + self.warmup,
            packet: self.packet,
            nodes: self.nodes.clone(),
            hosts: 0,
            links: self.links.clone(),
            access_links: Vec::new(),
            flows: Vec::new(),
            stacks: Vec::new(),
            groups: Vec::new(),
            trace: self.trace.clone(),
        };
        for LinkProcess { link, process } in &self.processes {
            let link = &mut plan.links[*link as usize];
            link.trace = Some(hashed(process.trace(self.duration, seed, &link.name)));
        }
        for group in &self.groups {
            let (first, first_link) = (plan.flows.len() as u32, plan.access_links.len() as u32);
            let sides = usize::from(group.access.is_some()) + usize::from(group.egress.is_some());
            plan.flows.reserve_exact(group.count as usize);
            plan.access_links.reserve_exact(2 * sides * group.count as usize);
            let stack = group.tcp.as_ref().map(|tcp| {
                plan.stacks.push(tcp.with_accecn_room());
                plan.stacks.len() as u32 - 1
            });
            let is_drawn = group.paths == PathChoice::Flow && !group.all_paths.forward.is_empty();
            let drawn = is_drawn.then(|| Arc::new(Paths { drawn: true, ..group.all_paths.clone() }));
            for i in 0..group.count {
                let flow = FlowLayout { seed, group, i, drawn: drawn.as_ref() }.flow(&mut plan, stack);
                plan.flows.push(flow);
            }
            plan.groups.push(Group {
                name: group.name.clone(),
                flows: first..first + group.count,
                access_links: first_link..plan.access_links.len() as u32,
                dscp: group.dscp,
                port: group.port,
            });
        }
        plan
    }
}

/// The inputs for one flow of a group.
struct FlowLayout<'a> {
    seed: u64,
    group: &'a crate::check::Group,
    i: u32,
    /// The paths among which each flow of the group draws one.
    drawn: Option<&'a Arc<Paths>>,
}

impl FlowLayout<'_> {
    fn flow(&self, plan: &mut Plan, stack: Option<u32>) -> Flow {
        let group = self.group;
        let access = group.access.as_ref().map(|access| self.duplex(plan, "access", access, group.from));
        let egress = group.egress.as_ref().map(|egress| self.duplex(plan, "egress", egress, group.to));
        let (to, from) = (access.map(|(data, _)| data), egress.map(|(data, _)| data));
        let forward = |path: &[u32]| to.into_iter().chain(path.iter().copied()).chain(from).collect::<Vec<_>>();
        // The reverse path begins at the receiver's own link and ends at the sender's.
        let (first, last) = (egress.map(|(_, acks)| acks), access.map(|(_, acks)| acks));
        let returns = group.traffic.uses_reverse_path();
        let back = |path: &[u32]| if returns { first.into_iter().chain(path.iter().copied()).chain(last).collect() } else { Vec::new() };
        let Paths { forward: forwards, back: backs, times, .. } = &group.all_paths;
        let (forward_path, back_path) = (self.path(&group.forward, forwards, "path"), self.path(&group.back, backs, "path_back"));
        let by_packets = (!forwards.is_empty() && self.drawn.is_none()).then(|| {
            let (forward, back) = (forwards.iter().map(|path| forward(path)).collect(), backs.iter().map(|path| back(path)).collect());
            Arc::new(Paths { forward, back, times: times.clone(), drawn: false })
        });
        let end = plan.duration;
        let stop = group.stop.as_ref().map_or(end, |stop| Time::ZERO + self.value(stop, "stop"));
        Flow {
            name: self.name(),
            group: plan.groups.len() as u32,
            start: Time::ZERO + self.value(&group.start, "start"),
            stop: stop.min(end),
            forward: forward(forward_path),
            back: back(back_path),
            paths: self.drawn.cloned().or(by_packets),
            stack,
            traffic: group.traffic.clone(),
            host: group.host.clone(),
        }
    }

    fn name(&self) -> String {
        format!("{}/{}", self.group.name, self.i)
    }

    /// The first path, or the one that this flow has drawn.
    fn path<'a>(&self, first: &'a [u32], all: &'a [Vec<u32>], role: &str) -> &'a [u32] {
        if self.group.paths != PathChoice::Flow || all.is_empty() {
            return first;
        }
        let at = Stream::named(self.seed, &format!("flow/{}/{role}", self.name())).below(all.len() as u64);
        &all[at as usize]
    }

    /// The value of this flow. A random one is drawn from the flow's stream for `role`.
    fn value<T: Quantity>(&self, varying: &Varying<T>, role: impl Display) -> T {
        varying.at(self.i, self.group.count, || Stream::named(self.seed, &format!("flow/{}/{role}", self.name())))
    }

    /// Creates the flow's own links between a host and `node`: one for data, one for ACKs.
    fn duplex(&self, plan: &mut Plan, side: &str, access: &Access, node: u32) -> (u32, u32) {
        let host = plan.nodes.len() as u32 + plan.hosts;
        plan.hosts += 1;
        let (from, to) = if side == "access" { (host, node) } else { (node, host) };
        let rate = access.rate.as_ref().map(|rate| self.value(rate, format_args!("{side}.rate")));
        let delay = self.value(&access.delay, format_args!("{side}.delay"));
        let first = (plan.links.len() + plan.access_links.len()) as u32;
        let data = AccessLink { from, to, rate, delay, limit: ACCESS_LIMIT };
        plan.access_links.extend([data, data.reverse()]);
        (first, first + 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::Document;

    #[test]
    fn acknowledgments_take_the_access_and_egress_links_that_a_flow_has() {
        let reverse_path = |own: &str| {
            let text = format!(
                "duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nduplex = true\n\
                 [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ kind = \"bulk\" }}\n{own}"
            );
            let plan = Document::from_toml("x.toml", &text).unwrap().check().unwrap().plan(1);
            plan.flows[0].back.iter().map(|&link| plan.link(link).name.clone()).collect::<Vec<_>>()
        };
        let (access, egress) = ("access = { delay = \"1 ms\" }\n", "egress = { delay = \"1 ms\" }\n");
        assert_eq!(reverse_path(access), ["b->a", "f/0:access:back"]);
        assert_eq!(reverse_path(egress), ["f/0:egress:back", "b->a"]);
        assert_eq!(reverse_path(&format!("{access}{egress}")), ["f/0:egress:back", "b->a", "f/0:access:back"]);
    }
}
