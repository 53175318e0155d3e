//! Traces of a link, taken only on request.
//! They are samples of its queue and its throughput at equal steps, and the waits of its packets.

use crate::sent::Sent;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sojourn_aqm::SubqueueSample;
use sojourn_units::{Duration, Items, Memory, Probability, Time, memory_of};

/// A queue sampled at equal steps.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    /// The time of the next sample.
    pub(crate) next: Time,
    every: Duration,
    /// Times in seconds.
    pub t: Vec<f64>,
    /// Packets waiting.
    pub packets: Vec<f64>,
    /// Bytes waiting.
    pub bytes: Vec<f64>,
    /// The wait in seconds of a packet that arrives then, behind all waiting packets.
    pub delay: Vec<f64>,
    /// The discipline's probability; NaN for a discipline without one.
    pub probability: Vec<f64>,
    /// Each of the queues that make it up: classes, tins, or the two of a dual queue.
    pub subqueues: Vec<SubqueueTrace>,
}

/// One of the queues that make up a sampled queue, at the same times.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct SubqueueTrace {
    /// Packets waiting.
    pub packets: Vec<f64>,
    /// Bytes waiting.
    pub bytes: Vec<f64>,
    /// The wait in seconds of the packet that has waited longest; 0 if none waits.
    pub oldest: Vec<f64>,
    /// The probability for its packets; NaN if it has none.
    pub probability: Vec<f64>,
}

impl QueueTrace {
    /// Samples at 0, `every`, 2 `every`, ...
    pub(crate) fn new(every: Duration) -> Self {
        QueueTrace {
            next: Time::ZERO,
            every: every.max(Duration::from_nanos(1)),
            t: Vec::new(),
            packets: Vec::new(),
            bytes: Vec::new(),
            delay: Vec::new(),
            probability: Vec::new(),
            subqueues: Vec::new(),
        }
    }

    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, sample: &QueueSample, subqueues: impl Iterator<Item = SubqueueSample>) {
        self.t.push(self.next.as_secs_f64());
        self.packets.push(f64::from(sample.packets));
        self.bytes.push(sample.bytes as f64);
        self.delay.push(sample.delay.as_secs_f64());
        self.probability.push(sample.probability.map_or(f64::NAN, Probability::get));
        for (at, part) in subqueues.enumerate() {
            if at == self.subqueues.len() {
                self.subqueues.push(SubqueueTrace::default());
            }
            let trace = &mut self.subqueues[at];
            trace.packets.push(f64::from(part.packets));
            trace.bytes.push(part.bytes as f64);
            trace.oldest.push(part.oldest.map_or(0.0, |since| self.next.since(since).as_secs_f64()));
            trace.probability.push(part.probability.map_or(f64::NAN, Probability::get));
        }
        self.next += self.every;
    }
}

impl Memory for QueueTrace {
    fn memory(&self) -> usize {
        let subqueues = Items(&self.subqueues);
        memory_of([&self.t, &self.packets, &self.bytes, &self.delay, &self.probability, &self.subqueues, &subqueues])
    }
}

impl Memory for SubqueueTrace {
    fn memory(&self) -> usize {
        memory_of([&self.packets, &self.bytes, &self.oldest, &self.probability])
    }
}

/// A queue at one time.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// The wait of a packet that arrives now, behind all waiting packets.
    pub delay: Duration,
    /// The discipline's probability; `None` for a discipline without one.
    pub probability: Option<Probability>,
}

/// Throughput in equal steps.
/// Of a packet that is being sent at the end of a step, the bits sent by then count. So no step has more than the rate allows.
#[derive(Clone, Debug)]
pub struct ThroughputTrace {
    /// The end of the present step.
    pub(crate) next: Time,
    every: Duration,
    /// Packets in the order of their transmissions; the first may be unfinished.
    planned: VecDeque<Sent>,
    /// Billionths of a bit that were sent by the end of the last step.
    /// They include all earlier packets.
    sent_before: u128,
    sent_by_last: u128,
    /// Start of each step, in seconds.
    pub t: Vec<f64>,
    /// Throughput in each step, in bit/s.
    pub bps: Vec<f64>,
}

impl ThroughputTrace {
    /// Steps of `every`, the first from 0 on.
    pub(crate) fn new(every: Duration) -> Self {
        let every = every.max(Duration::from_nanos(1));
        let (planned, next) = (VecDeque::new(), Time::ZERO + every);
        ThroughputTrace { next, every, planned, sent_before: 0, sent_by_last: 0, t: Vec::new(), bps: Vec::new() }
    }

    /// Adds the transmission of a packet after those before.
    pub(crate) fn add(&mut self, transmission: Sent) {
        self.planned.push_back(transmission);
    }

    /// Ends the present step.
    pub(crate) fn sample(&mut self) {
        let now = self.next;
        while let Some(sent) = self.planned.front()
            && sent.end() < now
        {
            self.sent_before += sent.all();
            self.planned.pop_front();
        }
        // Several packets can be sent within the nanosecond in which the step ends.
        let in_part = self.planned.iter().map(|planned| planned.sent_by(now)).take_while(|&sent| sent > 0);
        let sent = self.sent_before + in_part.sum::<u128>();
        self.t.push(Time::from_nanos(now.as_nanos() - self.every.as_nanos()).as_secs_f64());
        self.bps.push((sent - self.sent_by_last) as f64 / self.every.as_nanos() as f64);
        self.sent_by_last = sent;
        self.next += self.every;
    }
}

impl Memory for ThroughputTrace {
    fn memory(&self) -> usize {
        memory_of([&self.planned, &self.t, &self.bps])
    }
}

/// The traces of single packets.
#[derive(Clone, Default, Debug)]
pub(crate) struct PacketTraces {
    pub waits: Option<WaitTrace>,
    pub throughput: Option<ThroughputTrace>,
}

/// The wait of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PacketWait {
    /// The time of its arrival.
    pub arrived: Time,
    /// The time from its arrival to the start of its transmission.
    pub wait: Duration,
    /// Its flow, as the packet names it.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// The waits of every n-th packet, in the order in which their transmissions start.
#[derive(Clone, Debug)]
pub(crate) struct WaitTrace {
    one_in: u32,
    /// Packets to skip before the next one that is stored.
    left_out: u32,
    pub packets: Vec<PacketWait>,
}

impl WaitTrace {
    /// Stores the first packet and every `one_in`-th after it.
    pub fn new(one_in: u32) -> Self {
        WaitTrace { one_in: one_in.max(1), left_out: 0, packets: Vec::new() }
    }

    /// Records the start of the transmission of the next packet.
    pub fn add(&mut self, packet: PacketWait) {
        if self.left_out > 0 {
            self.left_out -= 1;
        } else {
            self.packets.push(packet);
            self.left_out = self.one_in - 1;
        }
    }
}

impl Memory for PacketTraces {
    fn memory(&self) -> usize {
        memory_of([&self.waits, &self.throughput])
    }
}

impl Memory for WaitTrace {
    fn memory(&self) -> usize {
        self.packets.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample has five numbers of the queue, and four of each of its parts.
    /// Each number has a list with room for four entries of 8 bytes.
    #[test]
    fn a_trace_of_a_queue_counts_the_memory_of_its_parts() {
        let mut trace = QueueTrace::new(Duration::from_millis(1));
        let sample = QueueSample { packets: 0, bytes: 0, delay: Duration::ZERO, probability: None };
        let part = SubqueueSample { packets: 0, bytes: 0, oldest: None, probability: None };
        let before = trace.memory();
        trace.sample(&sample, [part, part].into_iter());
        let own = trace.subqueues.capacity() * size_of::<SubqueueTrace>();
        assert_eq!(trace.memory() - before, 5 * 4 * 8 + own + 2 * 4 * 4 * 8);
    }
}
