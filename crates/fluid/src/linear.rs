//! The loop around an operating point: linearized flows and queue, closed by the law.
//! Flows and queue are in their exact small-signal form.

use crate::complex::Complex;
use crate::control::Control;
use crate::margins::{Grid, Margins, margins};
use crate::plant::Plant;
use crate::point::{NoPoint, Point, at_rest, operating_point};
use crate::response::{Gain, Response};
use sojourn_units::Duration;

impl Plant {
    /// The responses of the queue (packets) and of the load to the probability at `omega` rad/s.
    pub fn response(&self, point: &Point, omega: f64) -> Gain {
        let s = Complex::new(0.0, omega);
        // The effects on arrivals: of the probability at a constant queue, and of a longer queue.
        let (mut felt, mut moved) = (Complex::ZERO, Complex::ZERO);
        for (class, &rtt) in self.classes.iter().zip(&point.rtts) {
            let delay = Complex::turn(-omega * rtt);
            let window = (class.increase / (class.decrease * point.probability)).sqrt();
            let pole = s.plus(Complex::ONE.plus(delay).scaled(class.increase / (rtt * window)));
            felt = felt.plus(delay.scaled(-class.flows * class.decrease * window * window / (rtt * rtt)).over(pole));
            let less = Complex::ONE.plus(delay.scaled(-1.0));
            moved = moved.plus(less.scaled(-class.flows * class.increase / (rtt * rtt * rtt * self.capacity)).over(pole));
            moved = moved.plus(Complex::new(-class.flows * window / (rtt * rtt * self.capacity), 0.0));
        }
        if point.queue <= 0.0 {
            return Gain { queue: Complex::ZERO, load: felt.scaled(1.0 / self.capacity) };
        }
        let (passing, lost) = if self.drops { (1.0 - point.probability, point.load * self.capacity) } else { (1.0, 0.0) };
        // s q = passing * arrivals - drops.
        let queue = felt.scaled(passing).plus(Complex::new(-lost, 0.0)).over(s.plus(moved.scaled(-passing)));
        Gain { queue, load: felt.plus(moved.times(queue)).scaled(1.0 / self.capacity) }
    }
}

/// A loop at its operating point, with its frequency response.
#[derive(Clone, Debug)]
pub struct Loop {
    plant: Plant,
    /// The operating point.
    pub point: Point,
    interval: Option<Duration>,
    law: Response,
}

impl Loop {
    /// The loop of flows and a control.
    ///
    /// # Errors
    /// There is no operating point, or no steady state there.
    pub fn new(plant: Plant, control: &Control) -> Result<Loop, NoPoint> {
        let point = operating_point(&plant, control)?;
        let control = at_rest(&plant, control, &point).unwrap_or_else(|_| control.clone());
        let law = Response::around(&plant, &control, &point)?;
        Ok(Loop { interval: control.interval(), plant, point, law })
    }

    /// The response of the open loop at `omega` rad/s, with the sign of negative feedback.
    pub fn at(&self, omega: f64) -> Complex {
        let (flows, law) = (self.plant.response(&self.point, omega), self.law.at(omega));
        flows.queue.times(law.queue).plus(flows.load.times(law.load)).scaled(-1.0)
    }

    /// `count` relevant frequencies.
    /// They range from far below the pole of the windows to half of the law's sampling rate.
    pub fn grid(&self, count: usize) -> Grid {
        let slow = self.point.rtts.iter().map(|rtt| 2.0 / (rtt * self.point.window)).fold(f64::INFINITY, f64::min);
        let mut high = 50.0 / self.point.rtts.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(interval) = self.interval {
            high = high.min(std::f64::consts::PI / interval.as_secs_f64());
        }
        Grid::between(1e-4 * slow, high.max(10.0 * slow), count)
    }

    /// The stability margins of the loop.
    pub fn margins(&self) -> Margins {
        margins(|omega| self.at(omega), &self.grid(4000))
    }
}
