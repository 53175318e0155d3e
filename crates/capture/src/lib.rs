//! Packet captures: writes pcapng files, reads TCP and UDP flows of pcap and pcapng files.
//!
//! A simulated packet has no payload, so [`wire`] encodes only its IPv4, TCP or UDP headers, with valid lengths and checksums.
//! [`pcapng::Writer`] writes them to a file. [`read::summary`] reads a capture from any tool and returns its flows.
//!
//! ```
//! use sojourn_capture::pcapng::{Captured, Interface, Writer};
//! use sojourn_capture::read::summary;
//! use sojourn_capture::wire::{Endpoint, Ip, udp};
//! use sojourn_units::Time;
//!
//! // Two datagrams of 1200 B, 20 ms apart.
//! let source = Endpoint { address: [192, 0, 2, 1], port: 5004 };
//! let destination = Endpoint { address: [198, 51, 100, 7], port: 6000 };
//! let mut file = Writer::new(Vec::new(), "two datagrams", &[Interface { name: "uplink", rate: None }]).unwrap();
//! for id in 0..2 {
//!     let headers = udp(&Ip { source, destination, dscp: 0, ecn: 0, id }, 1200);
//!     let at = Time::from_nanos(u64::from(id) * 20_000_000);
//!     file.packet(&Captured { interface: 0, at, bytes: headers.bytes(), length: headers.length, comment: "" }).unwrap();
//! }
//! let bytes = file.finish().unwrap();
//!
//! let summary = summary(bytes.as_slice()).unwrap();
//! assert_eq!(summary.span, 20_000_000);
//! assert_eq!(summary.datagrams.len(), 1, "both datagrams belong to one flow");
//! assert_eq!(summary.datagrams[0].ends[1].to_string(), "198.51.100.7:6000");
//! ```

pub mod pcapng;
pub mod read;
pub mod wire;
