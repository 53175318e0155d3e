//! Parts of a world, simulated apart.
//!
//! The *lookahead* is the shortest time that a packet takes from one part to another. Each part is a copy of the world. It runs the events of its own links and endpoints only. After each lookahead the parts exchange the
//! packets that cross their borders. At the end they are joined into one world, which equals that of a run without parts.

use super::{Starts, World};
use crate::observer::Observer;
use crate::packet::{Packet, flag};
use crate::tcp::AckOptions;
use sojourn_net::{Crossing, Loop, Parts};
use sojourn_units::{Duration, Time};
use std::mem::{swap, take};
use std::sync::Arc;

/// Packets on their way from one part to another.
#[derive(Debug, Default)]
pub struct Mail {
    packets: Vec<Crossing<Packet>>,
    /// The options of those ACKs that have some, in order.
    options: Vec<AckOptions>,
}

impl Mail {
    /// The first arrival, if any packet is in it.
    pub fn first(&self) -> Option<Time> {
        self.packets.iter().map(|crossing| crossing.at).min()
    }
}

/// The parts of a world at time 0.
#[derive(Debug)]
pub struct Division<O: Observer> {
    /// The parts, each a world.
    pub worlds: Vec<World<O>>,
    /// The shortest time that a packet takes from one part to another.
    pub lookahead: Duration,
}

impl<O: Observer + Clone> World<O> {
    /// This many parts of this world, which is at time 0.
    /// `None` if it has none of nearly equal load, or if something in it may act at once in several parts: a session, packets that choose
    /// between paths, endpoints of the caller, links that count flows or share a medium, routers that read ACKs.
    pub fn divide(&self, count: u8) -> Option<Division<O>> {
        if !self.sessions.is_empty() || self.counts_flows || self.accounts.foreign.is_some() {
            return None;
        }
        let loops: Vec<Loop> = self.flows.iter().map(|flow| Loop { forward: flow.routes.forward, back: flow.routes.back }).collect();
        let parts = Arc::new(self.network.parts(&loops, count)?);
        let mut prepared = self.clone();
        prepared.network.prepare_parts(&parts, &loops);
        let worlds = (0..count).map(|here| prepared.part(&parts, here)).collect();
        Some(Division { worlds, lookahead: parts.lookahead })
    }

    /// A copy that runs only what is in this part.
    fn part(&self, parts: &Arc<Parts>, here: u8) -> Self {
        let mut part = self.clone();
        part.network.become_part(parts, here);
        let Starts { waiting } = &mut part.starts;
        waiting.retain(|&index| parts.of_sender(self.flows[index as usize].routes.forward) == here);
        for flow in part.flows.iter_mut().filter(|flow| parts.of_sender(flow.routes.forward) != here) {
            *flow.armed_mut() = Time::NEVER;
        }
        if part.starts.next() != self.starts.next() {
            part.plan_next_start();
        }
        part
    }
}

impl<O: Observer> World<O> {
    /// The time of the next event; `None` without pending events.
    pub fn next_event(&mut self) -> Option<Time> {
        self.network.next_event()
    }

    /// Moves the packets that leave for another part to `mail`, which is empty.
    pub fn send_mail(&mut self, part: usize, mail: &mut Mail) {
        let Some(leaving) = self.network.leaving(part) else { return };
        swap(leaving, &mut mail.packets);
        for Crossing { packet, .. } in mail.packets.iter().filter(|crossing| has_options(&crossing.packet)) {
            mail.options.push(self.accounts.pool.take(packet.extra));
        }
    }

    /// Receives the packets from another part, which leaves `mail` empty.
    pub fn receive_mail(&mut self, mail: &mut Mail) {
        let mut options = mail.options.drain(..);
        for mut crossing in mail.packets.drain(..) {
            if has_options(&crossing.packet) {
                crossing.packet.extra = options.next().map_or(0, |options| self.accounts.pool.store(options));
            }
            self.network.enter(crossing);
        }
    }

    /// Joins all parts of a world at the end of the run.
    /// `absorb` merges the observers of two parts.
    ///
    /// # Errors
    /// A sentence on what does not balance.
    pub fn join(mut worlds: Vec<World<O>>, absorb: impl Fn(&mut O, O)) -> Result<World<O>, String> {
        let Some(parts) = worlds.first().and_then(|world| world.network.own_parts()) else {
            return Err("the world is no part of another".into());
        };
        for index in 0..worlds[0].flows.len() {
            let routes = worlds[0].flows[index].routes;
            let [sender, receiver] = [routes.forward, routes.back].map(|route| usize::from(parts.of_sender(route)));
            let there = &mut worlds[receiver].flows[index];
            let received = (take(&mut there.receiver), there.totals, there.in_window);
            let here = &mut worlds[sender].flows[index];
            (here.receiver, here.totals, here.in_window) = received;
            if let Some((first, others)) = worlds.split_first_mut()
                && sender > 0
            {
                swap(&mut first.flows[index], &mut others[sender - 1].flows[index]);
            }
        }
        let mut whole = worlds.remove(0);
        for part in worlds {
            whole.network.take_part(part.network)?;
            whole.accounts.drops.add_all(&part.accounts.drops);
            whole.completions.extend(part.completions);
            whole.rtts.iter_mut().zip(&part.rtts).for_each(|(here, there)| here.add_all(there));
            whole.fingerprint = whole.fingerprint.wrapping_add(part.fingerprint);
            whole.early += part.early;
            absorb(&mut whole.accounts.observer, part.accounts.observer);
        }
        Ok(whole)
    }
}

/// Whether a packet is an ACK with options, which are stored apart.
fn has_options(packet: &Packet) -> bool {
    packet.has(flag::BACK) && packet.extra != 0
}
