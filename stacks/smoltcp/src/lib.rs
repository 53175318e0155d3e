//! Endpoints of smoltcp for `sojourn-harness`.
//!
//! Each end is an interface with one TCP socket. Its device passes the TCP segment as payload, and the IPv4 header is
//! [`Endpoint::headers`]. The network has no addresses, so the device of the other end writes the IPv4 header again.
//! smoltcp tells neither its window nor its RTT, and its TCP has no SACK, no pacing and no ECN.

mod device;

use device::{IP_HEADER, SegmentDevice, address};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use sojourn_harness::{Datagram, Endpoint, FlowInfo, Pair, State};
use std::time::Duration;

pub use smoltcp::socket::tcp::CongestionControl;

/// The receiving port.
const PORT: u16 = 4433;
/// Bytes of the send buffer and of the receive buffer: more than a window of the paths that tests use.
const BUFFER: usize = 1 << 20;
/// Bytes that the application writes at once.
const CHUNK: [u8; 16 * 1024] = [0; 16 * 1024];

/// Both ends of a connection whose sender has this congestion controller.
///
/// A `stop` does not discard what is in the send buffer: smoltcp has no call for it.
pub fn pair(flow: &FlowInfo, controller: CongestionControl) -> Pair {
    let end = |server| Box::new(Smoltcp::new(server, flow.seed, controller));
    Pair { sender: end(false), receiver: end(true) }
}

/// One end of a connection.
struct Smoltcp {
    interface: Interface,
    device: SegmentDevice,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The last time of a call, for `timeout`.
    now: Instant,
    server: bool,
    connected: bool,
    /// Bytes to write; `None` for data without end.
    to_write: Option<u64>,
    last: bool,
    delivered: u64,
}

impl Smoltcp {
    fn new(server: bool, seed: u64, controller: CongestionControl) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed ^ u64::from(server);
        let mut device = SegmentDevice::new(server);
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address(server).into(), 24)).expect("an interface has room for one address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let mut tcp = tcp::Socket::new(buffer(), buffer());
        tcp.set_congestion_control(controller);
        if server {
            tcp.listen(PORT).expect("a new socket can listen");
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(tcp);
        let (connected, to_write, last) = (server, Some(0), false);
        Smoltcp { interface, device, sockets, socket, now: Instant::ZERO, server, connected, to_write, last, delivered: 0 }
    }

    /// Exchanges segments and data with the socket until neither changes.
    fn drive(&mut self, now: Duration) {
        self.now = instant(now);
        loop {
            self.interface.poll(self.now, &mut self.device, &mut self.sockets);
            let moved = if self.server { self.read() } else { self.send() };
            if moved == 0 {
                return;
            }
        }
    }

    /// Reads all data that has arrived; returns its bytes.
    fn read(&mut self) -> usize {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
        let mut read = 0;
        while let Ok(bytes) = socket.recv(|data| (data.len(), data.len()))
            && bytes > 0
        {
            read += bytes;
        }
        if socket.state() == tcp::State::CloseWait {
            socket.close();
        }
        self.delivered += read as u64;
        read
    }

    /// Writes what the application has and the send buffer accepts; returns its bytes.
    fn send(&mut self) -> usize {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
        let mut sent = 0;
        while self.to_write != Some(0) {
            let most = self.to_write.map_or(CHUNK.len(), |left| (left as usize).min(CHUNK.len()));
            let Ok(bytes @ 1..) = socket.send_slice(&CHUNK[..most]) else { break };
            self.to_write = self.to_write.map(|left| left - bytes as u64);
            sent += bytes;
        }
        if self.last && self.to_write == Some(0) && socket.may_send() {
            socket.close();
        }
        sent
    }
}

/// smoltcp's clock has microseconds. Its time is never ahead of the run's.
fn instant(now: Duration) -> Instant {
    Instant::from_micros(now.as_micros() as i64)
}

impl Endpoint for Smoltcp {
    fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) {
        if self.to_write.is_none() {
            self.to_write = Some(0);
        }
        self.to_write = self.to_write.zip(bytes).map(|(left, bytes)| left + bytes);
        self.last |= last && bytes.is_some();
        if !std::mem::replace(&mut self.connected, true) {
            let socket = self.sockets.get_mut::<tcp::Socket>(self.socket);
            socket.connect(self.interface.context(), (address(true), PORT), PORT).expect("a new socket can connect");
        }
        self.drive(now);
    }

    fn stop(&mut self, now: Duration) {
        self.to_write = Some(0);
        self.drive(now);
    }

    fn receive(&mut self, now: Duration, datagram: Datagram) {
        self.device.arrive(&datagram.payload);
        self.drive(now);
    }

    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        self.device.depart()
    }

    fn timeout(&mut self) -> Option<Duration> {
        // A due time is rounded up to the clock's next microsecond.
        let at = self.interface.poll_at(self.now, &self.sockets)?;
        Some(Duration::from_micros(at.max(self.now).total_micros() as u64))
    }

    fn on_timeout(&mut self, now: Duration) {
        self.drive(now);
    }

    fn headers(&self) -> usize {
        IP_HEADER
    }

    fn state(&self) -> State {
        let socket = self.sockets.get::<tcp::Socket>(self.socket);
        let complete = self.last && self.to_write == Some(0) && socket.send_queue() == 0;
        State { delivered: self.delivered, complete, ..State::default() }
    }
}
