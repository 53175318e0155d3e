//! The interface of quinn-proto as `quic.rs` uses it.

use crate::controller::Factory;
use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint as StackEndpoint, Event, ServerConfig,
    StreamEvent, StreamId, Transmit, TransportConfig, congestion::ControllerFactory, crypto::rustls::QuicClientConfig,
};

/// Its congestion controllers.
pub fn own() -> [(&'static str, Factory); 3] {
    [("cubic", Arc::new(CubicConfig::default())), ("reno", Arc::new(NewRenoConfig::default())), ("bbr", Arc::new(BbrConfig::default()))]
}

/// An endpoint with this seed of its random numbers; with a configuration it is a server.
pub fn endpoint(server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> StackEndpoint {
    StackEndpoint::new(Arc::new(quinn_proto::EndpointConfig::default()), server, true, Some(seed))
}

/// Passes a datagram that has arrived from `peer` to the endpoint.
pub fn handle(
    endpoint: &mut StackEndpoint,
    now: Instant,
    peer: SocketAddr,
    (ecn, bytes): (Option<EcnCodepoint>, BytesMut),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer, None, ecn, bytes, answer)
}

/// The next datagram of a connection.
pub fn poll_transmit(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, buffer)
}

/// The congestion window in bytes.
pub fn window(connection: &Connection) -> Option<u64> {
    Some(connection.congestion_state().window())
}

/// The smoothed round-trip time.
pub fn rtt(connection: &Connection) -> Option<Duration> {
    Some(connection.rtt())
}

/// Its controllers have no pacing rate: quinn-proto paces by 1.25 windows a round trip.
pub fn pacing_rate(_: &Connection) -> Option<u64> {
    None
}

/// Its BBR does not tell the bandwidth.
pub fn bandwidth(_: &Connection) -> Option<u64> {
    None
}

/// Packets declared lost, and congestion events, since the start.
pub fn signals(connection: &mut Connection) -> Option<(u64, u64)> {
    let path = connection.stats().path;
    Some((path.lost_packets, path.congestion_events))
}
