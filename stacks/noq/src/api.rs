//! The interface of noq-proto as `quic.rs` uses it.

use crate::controller::Factory;
use bytes::BytesMut;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use noq_proto::{EndpointConfig, FourTuple, PathId};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint as StackEndpoint, Event, ServerConfig,
    StreamEvent, StreamId, Transmit, TransportConfig, congestion::ControllerFactory, crypto::rustls::QuicClientConfig,
};

/// Its congestion controllers.
pub fn own() -> [(&'static str, Factory); 3] {
    [("cubic", Arc::new(CubicConfig::default())), ("reno", Arc::new(NewRenoConfig::default())), ("bbr3", Arc::new(Bbr3Config::default()))]
}

/// An endpoint with this seed of its random numbers; with a configuration it is a server.
pub fn endpoint(server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> StackEndpoint {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some(seed));
    StackEndpoint::new(Arc::new(config), server, true)
}

/// Passes a datagram that has arrived from `peer` to the endpoint.
pub fn handle(
    endpoint: &mut StackEndpoint,
    now: Instant,
    peer: SocketAddr,
    (ecn, bytes): (Option<EcnCodepoint>, BytesMut),
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(peer), ecn, bytes, answer)
}

/// The next datagram of a connection.
pub fn poll_transmit(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, buffer)
}

/// The congestion window in bytes.
pub fn window(connection: &Connection) -> Option<u64> {
    Some(connection.congestion_state(PathId::ZERO)?.window())
}

/// The smoothed round-trip time.
pub fn rtt(connection: &Connection) -> Option<Duration> {
    connection.rtt(PathId::ZERO)
}

/// The pacing rate in bit/s, if the controller has one.
pub fn pacing_rate(connection: &Connection) -> Option<u64> {
    Some(8 * connection.congestion_state(PathId::ZERO)?.metrics().pacing_rate?)
}

/// The estimated bandwidth in bit/s, if the controller has one.
pub fn bandwidth(connection: &Connection) -> Option<u64> {
    connection.congestion_state(PathId::ZERO)?.metrics().bandwidth_estimate
}

/// Packets declared lost, and congestion events, since the start.
pub fn signals(connection: &mut Connection) -> Option<(u64, u64)> {
    let path = connection.path_stats(PathId::ZERO)?;
    Some((path.lost_packets, path.congestion_events))
}
