//! The only kind of observer in all tests: it forwards every call to another one.
//! The simulator is compiled for each kind.

use sojourn_net::DropCause;
use sojourn_sim::tcp::{AckOptions, Sender, TcpOptions};
use sojourn_sim::{Completion, HostDoes, Observer, Packet};
use sojourn_units::Time;
use std::cell::RefCell;
use std::rc::Rc;

pub struct Watch(Rc<RefCell<dyn Observer>>);

impl Watch {
    /// Forwards every call to this observer, which can be read after the run.
    pub fn of(observer: &Rc<RefCell<impl Observer + 'static>>) -> Watch {
        Watch(observer.clone())
    }
}

macro_rules! pass_on {
    ($($call:ident($($what:ident: $kind:ty),*);)*) => {
        $(fn $call(&mut self, $($what: $kind),*) {
            self.0.borrow_mut().$call($($what),*);
        })*
    };
}

impl Observer for Watch {
    fn watches_hosts(&self) -> bool {
        self.0.borrow().watches_hosts()
    }

    fn watches_senders(&self) -> bool {
        self.0.borrow().watches_senders()
    }

    pass_on! {
        on_flow(flow: u32, entry: u32, reversed: bool);
        on_arrival(now: Time, link: u32, packet: &Packet, options: &AckOptions);
        on_departure(now: Time, link: u32, packet: &Packet);
        on_host(now: Time, packet: &Packet, does: HostDoes, options: &AckOptions);
        on_send(now: Time, packet: &Packet);
        on_drop(now: Time, link: u32, cause: DropCause, packet: &Packet);
        on_deliver(now: Time, packet: &Packet, bytes: u64);
        on_mark(now: Time, link: u32, flow: u32);
        on_rtt(now: Time, flow: u32, rtt: u64);
        on_window(now: Time, flow: u32, cwnd: f64, ssthresh: f64);
        on_controller(now: Time, flow: u32, sender: &Sender, options: &TcpOptions);
        on_complete(completion: &Completion);
    }
}
