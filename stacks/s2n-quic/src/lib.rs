//! Endpoints of s2n-quic for `sojourn-harness`.
//!
//! A client opens a unidirectional stream and writes the application's data to it; the server reads it. The provider of I/O captures the
//! endpoint of s2n-quic, and the harness calls it with virtual time. The stack has its own handshake, loss recovery, congestion control,
//! pacer and ECN validation. Its keys and connection IDs are random, but no size and no time depends on them.

mod application;
#[path = "../../choice.rs"]
mod choice;
mod events;
mod io;
mod ours;
mod pacer;
mod random;

use application::{Application, Reader, Writer};
use choice::Unknown;
use events::Observer;
use io::{Captured, Driven, Slot};
use random::Random;
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use s2n_quic::provider::congestion_controller::Provider;
use s2n_quic::{Client, Server};
use sojourn_harness::{Datagram, Endpoint, FlowInfo, Pair, State};
use std::collections::VecDeque;
use std::time::Duration;

pub use choice::Choice;
pub use s2n_quic::provider::congestion_controller::{Bbr, Cubic};

/// The name in the server's certificate.
const SERVER: &str = "server.test";

/// Both ends of a connection, each with this congestion controller.
pub fn pair<C: Provider>(flow: &FlowInfo, controller: impl Fn() -> C) -> Pair {
    // Signatures of Ed25519 have one size; those of ECDSA vary.
    let key = KeyPair::generate_for(&PKCS_ED25519).expect("a key can be generated");
    let params = CertificateParams::new(vec![SERVER.into()]).expect("the name is valid");
    let certificate = params.self_signed(&key).expect("the key can sign").pem();
    let (slots, observer) = ([Slot::default(), Slot::default()], [Observer::default(), Observer::default()]);
    let io = |server| Captured { slot: slots[usize::from(server)].clone(), server };
    let client = Client::builder()
        .with_tls(certificate.as_str())
        .and_then(|builder| Ok(builder.with_io(io(false))?))
        .and_then(|builder| Ok(builder.with_event(observer[0].clone())?))
        .and_then(|builder| Ok(builder.with_random(Random::new(flow, "client"))?))
        .and_then(|builder| Ok(builder.with_congestion_controller(controller())?))
        .expect("the certificate can be read")
        .start()
        .expect("the client starts");
    let server = Server::builder()
        .with_tls((certificate.as_str(), key.serialize_pem().as_str()))
        .and_then(|builder| Ok(builder.with_io(io(true))?))
        .and_then(|builder| Ok(builder.with_event(observer[1].clone())?))
        .and_then(|builder| Ok(builder.with_random(Random::new(flow, "server"))?))
        .and_then(|builder| Ok(builder.with_congestion_controller(controller())?))
        .expect("the key fits the certificate")
        .start()
        .expect("the server starts");
    let ([client_slot, server_slot], [client_observer, server_observer]) = (slots, observer);
    Pair {
        sender: Box::new(Quic::new(client_slot, client_observer, Writer::new(client))),
        receiver: Box::new(Quic::new(server_slot, server_observer, Reader::new(server))),
    }
}

/// Its congestion controllers.
const OWN: [&str; 2] = ["cubic", "bbr"];

/// The names of all controllers.
pub fn names() -> Vec<String> {
    choice::names(OWN)
}

/// Both ends of a connection with the controller of this name; `None` is the stack's default.
///
/// # Errors
/// [`names`] does not contain it.
pub fn pair_named(flow: &FlowInfo, name: Option<&str>) -> Result<Pair, Unknown> {
    match name {
        None | Some("cubic") => Ok(pair(flow, Cubic::default)),
        Some("bbr") => Ok(pair(flow, Bbr::default)),
        Some(name) => {
            let unknown = || Unknown { name: name.into(), known: names() };
            let choice = Choice::named(choice::ours(name).ok_or_else(unknown)?, flow.seed)?;
            Ok(pair(flow, || choice.clone()))
        }
    }
}

/// One end of a connection.
struct Quic<A> {
    endpoint: Box<dyn Driven>,
    application: A,
    observer: Observer,
    sent: VecDeque<Datagram>,
}

impl<A: Application> Quic<A> {
    fn new(slot: Slot, observer: Observer, application: A) -> Self {
        let endpoint = slot.borrow_mut().take().expect("a start fills the slot");
        Quic { endpoint, application, observer, sent: VecDeque::new() }
    }

    /// Lets the application and the endpoint act until both have nothing to do.
    /// The endpoint is last: a call of the application that has to wait may leave it a request.
    fn drive(&mut self, now: Duration) {
        while self.application.advance() | self.endpoint.advance(now, &mut self.sent) {}
    }
}

impl<A: Application> Endpoint for Quic<A> {
    fn write(&mut self, now: Duration, bytes: Option<u64>, last: bool) {
        self.application.write(bytes, last);
        self.drive(now);
    }

    fn stop(&mut self, now: Duration) {
        self.application.stop();
        self.drive(now);
    }

    fn receive(&mut self, now: Duration, datagram: Datagram) {
        self.endpoint.arrive(now, datagram, A::SERVER);
        self.drive(now);
    }

    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        self.sent.pop_front()
    }

    fn timeout(&mut self) -> Option<Duration> {
        self.endpoint.due()
    }

    fn on_timeout(&mut self, now: Duration) {
        self.drive(now);
    }

    fn state(&self) -> State {
        self.application.state(self.observer.state())
    }

    fn fault(&self) -> Option<String> {
        self.application.fault()
    }
}
