//! The I/O provider of s2n-quic that lets the harness drive an endpoint by hand.

use s2n_quic::provider::io::Provider;
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress, datagram::Header};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::Tuple;
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use sojourn_harness::{Datagram, Ecn};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

/// The largest UDP payload that an endpoint may write.
const LARGEST: usize = 1500;
/// Datagrams that an endpoint may write in one call.
const CAPACITY: usize = 1024;

/// The address of an end. The harness connects the two without addresses.
pub fn address(server: bool) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, if server { 2 } else { 1 }), 4433).into()
}

/// An endpoint of s2n-quic without its types.
pub trait Driven {
    /// Passes a datagram to the endpoint.
    fn arrive(&mut self, now: Duration, datagram: Datagram, server: bool);
    /// Handles the application's calls and appends what the endpoint sends; returns whether there was anything.
    fn advance(&mut self, now: Duration, sent: &mut VecDeque<Datagram>) -> bool;
    /// The time at which the endpoint must advance.
    fn due(&self) -> Option<Duration>;
}

/// The endpoint that a provider was started with.
pub type Slot = Rc<RefCell<Option<Box<dyn Driven>>>>;

/// Moves the endpoint of one end into a slot instead of starting it.
pub struct Captured {
    pub slot: Slot,
    pub server: bool,
}

impl Provider for Captured {
    type PathHandle = Tuple;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, endpoint: E) -> Result<SocketAddress, Infallible> {
        *self.slot.borrow_mut() = Some(Box::new(endpoint));
        Ok(address(self.server).into())
    }
}

/// Time 0 of the run. s2n-quic has no time before 1 µs.
fn base() -> Timestamp {
    NoopClock.get_time()
}

impl<E: Endpoint<PathHandle = Tuple>> Driven for E {
    fn arrive(&mut self, now: Duration, datagram: Datagram, server: bool) {
        let [local, remote] = [server, !server].map(|end| SocketAddress::from(address(end)));
        let path = Tuple { remote_address: remote.into(), local_address: local.into() };
        self.receive(&mut Arrived { path, datagram: Some(datagram) }, &(base() + now));
    }

    fn advance(&mut self, now: Duration, sent: &mut VecDeque<Datagram>) -> bool {
        let (clock, before) = (base() + now, sent.len());
        let woken = self.poll_wakeups(&mut Context::from_waker(Waker::noop()), &clock).is_ready();
        self.transmit(&mut Sent(sent), &clock);
        woken || sent.len() > before
    }

    fn due(&self) -> Option<Duration> {
        self.timeout().map(|at| at.saturating_duration_since(base()))
    }
}

/// A datagram that the endpoint receives.
struct Arrived {
    path: Tuple,
    datagram: Option<Datagram>,
}

impl rx::Queue for Arrived {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some(mut datagram) = self.datagram.take() {
            let ecn = match datagram.ecn {
                Ecn::NotEct => ExplicitCongestionNotification::NotEct,
                Ecn::Ect0 => ExplicitCongestionNotification::Ect0,
                Ecn::Ect1 => ExplicitCongestionNotification::Ect1,
                Ecn::Ce => ExplicitCongestionNotification::Ce,
            };
            on_packet(Header { path: self.path, ecn }, &mut datagram.payload);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagram.is_none()
    }
}

/// The datagrams that an endpoint sends.
struct Sent<'a>(&'a mut VecDeque<Datagram>);

impl tx::Queue for Sent<'_> {
    type Handle = Tuple;
    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        let ecn = match message.ecn() {
            ExplicitCongestionNotification::NotEct => Ecn::NotEct,
            ExplicitCongestionNotification::Ect0 => Ecn::Ect0,
            ExplicitCongestionNotification::Ect1 => Ecn::Ect1,
            ExplicitCongestionNotification::Ce => Ecn::Ce,
        };
        let mut payload = vec![0; LARGEST];
        let len = message.write_payload(tx::PayloadBuffer::new(&mut payload), 0)?;
        payload.truncate(len);
        self.0.push_back(Datagram { payload, ecn });
        Ok(tx::Outcome { len, index: 0 })
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }
}
