//! Packet captures: pcapng files with IPv4, TCP and UDP headers.
//!
//! [`pcapng::Writer`] writes what [`wire`] encodes: the headers of each packet, with right lengths and checksums and without its
//! payload, which is zeros. [`read`] reads captures of other programs too: the TCP and UDP flows in them.

pub mod pcapng;
pub mod read;
pub mod wire;
