//! Both ends of a connection of a QUIC stack with the interface of quinn-proto.
//!
//! A client opens one unidirectional stream and writes the application's data to it; the server reads it. The stack is used as published,
//! with its own handshake, loss recovery, congestion control and pacer. The module `api` of each stack holds what differs.

use crate::api::{
    self, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, QuicClientConfig, ServerConfig,
    StackEndpoint, StreamEvent, StreamId, Transmit, TransportConfig,
};
use bytes::BytesMut;
use rustls::{RootCertStore, pki_types::PrivatePkcs8KeyDer};
use sojourn_harness::{Datagram, Ecn, Endpoint, FlowInfo, Pair, State};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name in the server's certificate.
const SERVER: &str = "server.test";
/// Bytes that the application writes at once.
const CHUNK: [u8; 16 * 1024] = [0; 16 * 1024];

/// Both ends of a connection, with this configuration of their transport.
pub fn pair(flow: &FlowInfo, transport: TransportConfig) -> Pair {
    let transport = Arc::new(transport);
    ends(flow, Arc::clone(&transport), transport)
}

/// Both ends of a connection, each with its own configuration.
pub fn ends(flow: &FlowInfo, sender: Arc<TransportConfig>, receiver: Arc<TransportConfig>) -> Pair {
    let signed = rcgen::generate_simple_self_signed(vec![SERVER.into()]).expect("a certificate can be generated");
    let certificate = signed.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("the key fits the certificate");
    server.transport_config(receiver);
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("the certificate is its own root");
    let crypto = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto).expect("TLS 1.3 has an initial suite")));
    client.transport_config(sender);
    let base = Instant::now();
    let end = |config, server, side: u8| {
        let mut seed = [side; 32];
        seed[..8].copy_from_slice(&flow.seed.to_le_bytes());
        Box::new(Quic::new(base, config, server, seed))
    };
    Pair { sender: end(Some(client), None, 1), receiver: end(None, Some(Arc::new(server)), 2) }
}

/// One end of a connection.
struct Quic {
    /// Time 0 of the run. Only differences of times matter.
    base: Instant,
    endpoint: StackEndpoint,
    client: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Datagrams that the endpoint answers without a connection.
    answers: VecDeque<Datagram>,
    /// The stream to which the client writes, or those from which the server reads.
    streams: Vec<StreamId>,
    /// Bytes to write; `None` for data without end.
    to_write: Option<u64>,
    last: bool,
    delivered: u64,
    complete: bool,
    fault: Option<String>,
    /// Packets declared lost, and congestion events.
    signals: Option<(u64, u64)>,
}

impl Quic {
    fn new(base: Instant, client: Option<ClientConfig>, server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> Self {
        Quic {
            base,
            endpoint: api::endpoint(server, seed),
            client,
            connection: None,
            answers: VecDeque::new(),
            streams: Vec::new(),
            to_write: Some(0),
            last: false,
            delivered: 0,
            complete: false,
            fault: None,
            signals: None,
        }
    }

    /// Handles all events of the connection, and writes as much as the stream accepts.
    fn drive(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.client.is_some() => self.streams.extend(connection.streams().open(Dir::Uni)),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        self.streams.push(id);
                    }
                }
                Event::Stream(StreamEvent::Finished { .. }) => self.complete = true,
                Event::ConnectionLost { reason } => self.fault = Some(format!("the connection is lost: {reason}")),
                _ => {}
            }
        }
        self.signals = api::signals(connection);
        for id in self.streams.clone() {
            if self.client.is_some() { self.write_stream(id) } else { self.read_stream(id) }
        }
    }

    /// Discards what was not yet sent. Later data goes to another stream.
    fn discard(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        for id in std::mem::take(&mut self.streams) {
            let _ = connection.send_stream(id).reset(0u8.into());
            self.streams.extend(connection.streams().open(Dir::Uni));
        }
    }

    fn write_stream(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut stream = connection.send_stream(id);
        loop {
            let most = self.to_write.map_or(CHUNK.len(), |left| (left as usize).min(CHUNK.len()));
            if most == 0 {
                break;
            }
            let Ok(written) = stream.write(&CHUNK[..most]) else { return };
            self.to_write = self.to_write.map(|left| left - written as u64);
        }
        if std::mem::take(&mut self.last) {
            let _ = stream.finish();
        }
    }

    fn read_stream(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.delivered += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }

    fn answer(&mut self, transmit: &Transmit, bytes: &[u8]) {
        self.answers.push_back(datagram(transmit, bytes));
    }
}

/// The address of an end. The harness connects the two without addresses.
fn address(server: bool) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, if server { 2 } else { 1 }), 4433).into()
}

fn datagram(transmit: &Transmit, bytes: &[u8]) -> Datagram {
    let ecn = match transmit.ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    };
    Datagram { payload: bytes[..transmit.size].to_vec(), ecn }
}

impl Endpoint for Quic {
    fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) {
        if self.to_write.is_none() && bytes.is_some() {
            self.discard();
            self.to_write = Some(0);
        }
        self.to_write = self.to_write.zip(bytes).map(|(left, bytes)| left + bytes);
        self.last |= last && bytes.is_some();
        if let (None, Some(config)) = (&self.connection, &self.client) {
            let connected = self.endpoint.connect(self.base + now, config.clone(), address(true), SERVER);
            self.connection = Some(connected.expect("the client can connect"));
        }
        self.drive();
    }

    fn stop(&mut self, _: Duration) {
        self.discard();
        self.to_write = Some(0);
    }

    fn receive(&mut self, now: Duration, received: Datagram) {
        let ecn = match received.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let (at, peer, mut buffer) = (self.base + now, address(self.client.is_some()), Vec::new());
        match api::handle(&mut self.endpoint, at, peer, (ecn, BytesMut::from(&received.payload[..])), &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => match self.endpoint.accept(incoming, at, &mut buffer, None) {
                Ok(accepted) => self.connection = Some(accepted),
                Err(refused) => panic!("the server refuses the connection: {}", refused.cause),
            },
            Some(DatagramEvent::Response(transmit)) => self.answer(&transmit, &buffer),
            None => {}
        }
        self.drive();
    }

    fn transmit(&mut self, now: Duration) -> Option<Datagram> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let (_, connection) = self.connection.as_mut()?;
        let mut buffer = Vec::new();
        let transmit = api::poll_transmit(connection, self.base + now, &mut buffer);
        self.drive();
        transmit.map(|transmit| datagram(&transmit, &buffer))
    }

    fn timeout(&mut self) -> Option<Duration> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|at| at.saturating_duration_since(self.base))
    }

    fn on_timeout(&mut self, now: Duration) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(self.base + now);
        }
        self.drive();
    }

    fn state(&self) -> State {
        let connection = self.connection.as_ref().map(|(_, connection)| connection);
        State {
            lost: self.signals.map(|(lost, _)| lost),
            congestion_events: self.signals.map(|(_, events)| events),
            window: connection.and_then(api::window),
            pacing_rate: connection.and_then(api::pacing_rate),
            bandwidth: connection.and_then(api::bandwidth),
            rtt: connection.and_then(api::rtt),
            delivered: self.delivered,
            complete: self.complete,
        }
    }
    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}
