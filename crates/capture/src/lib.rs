//! Packet captures: pcapng files with IPv4, TCP and UDP headers.
//!
//! [`pcapng::Writer`] writes the packets encoded by [`wire`]: headers with valid lengths and checksums, without the payload of zeros.
//! [`read`] reads the TCP and UDP flows of any capture.

pub mod pcapng;
pub mod read;
pub mod wire;
