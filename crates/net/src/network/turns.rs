//! Links that take turns on a shared medium.

use super::Network;
use crate::medium::Station;
use crate::observer::LinkObserver;
use crate::packet::Packet;
use alloc::format;
use alloc::string::String;
use sojourn_units::{Duration, Time};

impl<P: Packet> Network<P> {
    /// A link that takes turns has something to send, and waits for its turn from now on.
    /// It may wait already.
    pub(super) fn contend(&mut self, now: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        let Some(station) = self.stations[link].as_mut().filter(|station| !station.contends) else { return };
        station.contends = true;
        let medium = station.medium;
        self.media[medium].join(link);
        self.give_turn(now, medium, observer);
        self.links[link].waits_for_turn(now);
    }

    /// A link that has the turn has sent a packet: it sends another, or its turn ends.
    pub(super) fn after_transmission(&mut self, now: Time, link: usize, observer: &mut impl LinkObserver<P>) {
        let Some(Station { medium, .. }) = self.stations[link] else { return };
        if self.media[medium].goes_on(now) {
            let end = self.links[link].continue_turn(now);
            self.after_buffering(now, link, observer);
            if end.is_some() {
                return;
            }
        }
        if let Some(turn) = self.media[medium].end() {
            self.links[link].end_turn(turn, now);
        }
        let waits = self.links[link].has_waiting();
        self.set_contending(link, waits);
        if waits {
            self.media[medium].join(link);
        }
        self.give_turn(now, medium, observer);
    }

    /// Starts the next turn on a medium if no link has it.
    fn give_turn(&mut self, now: Time, medium: usize, observer: &mut impl LinkObserver<P>) {
        while let Some(link) = self.media[medium].next() {
            let end = self.links[link].start_turn(now, self.media[medium].overhead());
            self.after_buffering(now, link, observer);
            match end {
                Some(_) => self.media[medium].begin(now),
                None => self.set_contending(link, false),
            }
        }
    }

    fn set_contending(&mut self, link: usize, contends: bool) {
        if let Some(station) = &mut self.stations[link] {
            station.contends = contends;
        }
    }

    /// Ends the run: unfinished turns count up to now. Then all are audited.
    ///
    /// # Errors
    /// If turns took more than the time of the run, or a packet waited although no link had the turn.
    pub(super) fn finish_turns(&mut self, end: Time) -> Result<(), String> {
        for medium in 0..self.media.len() {
            let turn = self.media[medium].end();
            let mut airtime = Duration::ZERO;
            for (station, link) in self.stations.iter().zip(&mut self.links) {
                let Some(station) = station.filter(|station| station.medium == medium) else { continue };
                if link.has_waiting() && !link.may_hold_back() && (turn.is_none() || !station.contends) {
                    return Err(format!("link {}: packets wait for no turn, or for one that nobody has", link.name()));
                }
                if let Some(turn) = turn.filter(|_| link.is_sending()) {
                    link.end_turn(turn, end);
                }
                airtime = airtime + link.stats().turns.map_or(Duration::ZERO, |turns| turns.airtime);
            }
            self.media[medium].check(airtime, self.window)?;
        }
        Ok(())
    }
}
