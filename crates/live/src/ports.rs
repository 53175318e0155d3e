//! A router between file descriptors, in the time of the machine.

use crate::lateness::Lateness;
use crate::router::Router;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};
use sojourn_lab::Error;
use sojourn_units::{Duration, Time};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

/// The largest packet with an Ethernet header, in bytes.
const LARGEST: usize = 65_535 + 18;

/// Packets that are read from one descriptor before others have a turn.
const BATCH: usize = 16;

/// The longest sleep: then the caller can end the run.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// A copy of a file descriptor of this process by its number.
///
/// # Errors
/// The number is not open, or the kernel is older than 5.6.
pub fn adopt(number: i32) -> std::io::Result<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(own, number, PidfdGetfdFlags::empty())?)
}

/// The time since an arbitrary start.
fn clock() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Duration::from_nanos(tv_sec as u64 * 1_000_000_000 + tv_nsec as u64)
}

/// The descriptors of all hosts, and the clock of the run.
/// Each read returns a packet, and each write sends one, as with a TUN device or a packet socket. They must not block.
pub struct Ports {
    hosts: Vec<OwnedFd>,
    start: Duration,
    lateness: Lateness,
}

impl Ports {
    /// The ports of hosts in the order of their numbers. The run starts now.
    pub fn new(hosts: Vec<OwnedFd>) -> Self {
        // Without it, timers of a normal thread may be 50 us late. The kernel may refuse nothing here.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Ports { hosts, start: clock(), lateness: Lateness::default() }
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        Time::ZERO + Duration::from_nanos(clock().as_nanos() - self.start.as_nanos())
    }

    /// How late packets were delivered.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Passes packets until `until` or until `visit` returns true.
    /// `visit` is called after each pass, at least every 20 ms.
    ///
    /// # Errors
    /// A descriptor can't be read, or the capture can't be written.
    pub fn serve(
        &mut self,
        router: &mut Router<'_>,
        until: Time,
        visit: &mut dyn FnMut(&mut Router<'_>, &Ports) -> bool,
    ) -> Result<(), Error> {
        let mut buffer = vec![0; LARGEST];
        let mut ready = vec![true; self.hosts.len()];
        loop {
            for (host, _) in (0u32..).zip(&ready).filter(|(_, ready)| **ready) {
                self.read(host, &mut buffer, router)?;
            }
            let now = self.now();
            if now >= until {
                return Ok(());
            }
            self.deliver(now, router)?;
            if visit(router, self) {
                return Ok(());
            }
            let next = router.next_event().unwrap_or(Time::NEVER).min(until);
            self.sleep(next, &mut ready)?;
        }
    }

    /// Reads some packets of a host.
    fn read(&self, host: u32, buffer: &mut [u8], router: &mut Router<'_>) -> Result<(), Error> {
        for _ in 0..BATCH {
            match read(&self.hosts[host as usize], &mut *buffer) {
                Ok(length) => router.offer(self.now(), host, &buffer[..length]),
                Err(Errno::AGAIN | Errno::INTR | Errno::NETDOWN) => break,
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    fn deliver(&mut self, now: Time, router: &mut Router<'_>) -> Result<(), Error> {
        let Ports { hosts, start, lateness } = self;
        router.advance(now, &mut |leaving| {
            let accepted = write(&hosts[leaving.host as usize], leaving.bytes).is_ok();
            let late = clock().as_nanos().saturating_sub(start.as_nanos()).saturating_sub(leaving.due.as_nanos());
            lateness.add(Duration::from_nanos(late));
            accepted
        })
    }

    /// Sleeps until `next` or until a host has sent a packet, and notes which hosts have.
    fn sleep(&self, next: Time, ready: &mut [bool]) -> Result<(), Error> {
        let left = next.since(self.now().min(next)).min(LONGEST_SLEEP).as_nanos();
        let timeout = Timespec { tv_sec: 0, tv_nsec: left as i64 };
        let mut polled: Vec<_> = self.hosts.iter().map(|host| PollFd::new(host, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(std::io::Error::from(error).into()),
        }
        ready.iter_mut().zip(&polled).for_each(|(ready, polled)| *ready = !polled.revents().is_empty());
        Ok(())
    }
}
