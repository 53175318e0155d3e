//! Complex numbers.

/// A complex number.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    /// The number 0.
    pub const ZERO: Complex = Complex::new(0.0, 0.0);
    /// The number 1.
    pub const ONE: Complex = Complex::new(1.0, 0.0);

    /// The number `re + j im`.
    pub const fn new(re: f64, im: f64) -> Self {
        Complex { re, im }
    }

    /// e^(j `angle`).
    pub fn turn(angle: f64) -> Complex {
        Complex::new(libm::cos(angle), libm::sin(angle))
    }

    /// The sum.
    pub fn plus(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }

    /// The product with a real number.
    pub fn scaled(self, factor: f64) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }

    /// The product.
    pub fn times(self, other: Complex) -> Complex {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }

    /// The quotient.
    pub fn over(self, other: Complex) -> Complex {
        let size = other.re * other.re + other.im * other.im;
        Complex::new((self.re * other.re + self.im * other.im) / size, (self.im * other.re - self.re * other.im) / size)
    }

    /// The absolute value.
    pub fn size(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    /// The angle in radians, above -π and up to π.
    pub fn angle(self) -> f64 {
        libm::atan2(self.im, self.re)
    }
}
