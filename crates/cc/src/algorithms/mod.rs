//! The controllers: one file and one line each.

extern crate alloc;
use crate::registry::{Entry, registry};
use crate::{Ack, Classic, CongestionController, CongestionEvent, DelayBased, ParamError, Source, Start};
use alloc::boxed::Box;
use sojourn_units::Time;

registry! {
    reno "reno" Reno(Classic<reno::Reno>): "additive increase, half the window after congestion (RFC 5681)",
    cubic "cubic" Cubic(Classic<cubic::Cubic>): "the window is a cubic function of the time since the last reduction (RFC 9438, or v2.1 of Linux 2.6.22)",
    ledbat "ledbat" Ledbat(Box<DelayBased<ledbat::Ledbat>>): "holds the queuing delay at a target and yields to other flows (RFC 6817, or the ns-2 module)",
    ledbatpp "ledbat++" LedbatPp(Box<DelayBased<ledbatpp::LedbatPp>>): "LEDBAT with a multiplicative decrease and periodic slowdowns (draft-irtf-iccrg-ledbat-plus-plus)",
    rledbat "rledbat" RLedbat(Classic<cubic::Cubic>): "LEDBAT++ at the receiver, which limits a CUBIC sender by the receive window (RFC 9840)",
    fledbat "fledbat" Fledbat(Box<DelayBased<fledbat::Fledbat>>): "LEDBAT with a multiplicative decrease, fair to flows that start later (Carofiglio et al. 2013)",
    tcp_lp "tcp-lp" TcpLp(Box<DelayBased<tcp_lp::TcpLp>>): "Reno that halves its window at the first sign of queuing delay (Kuzmanovic and Knightly 2006)",
    flower "flower" Flower(Box<DelayBased<flower::Flower>>): "a fuzzy law over LEDBAT's queuing delay (Trang and Lochin 2016)",
    flower_plus "flower+" FlowerPlus(Box<DelayBased<flower_plus::FlowerPlus>>): "FLOWER with a lower target, a multiplicative decrease and periodic slowdowns",
}
