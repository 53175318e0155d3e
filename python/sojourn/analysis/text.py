"""Formats frequencies, gains and times.

They are rad/s with Hz in brackets, dB, percent, and seconds or milliseconds.
"""

from __future__ import annotations

import math


def frequency(omega: float) -> str:
    """A frequency in rad/s, with Hz in brackets: `6.28 rad/s (1 Hz)`."""
    return f"{omega:.3g} rad/s ({omega / (2 * math.pi):.3g} Hz)"


def peak(omega: float, lowest: float) -> str:
    """The frequency of a spectrum's peak as text.

    If it is the `lowest` frequency, the text says that the peak may be even lower.
    """
    return frequency(omega) + (" or below" if omega < 1.01 * lowest else "")


def decibels(factor: float) -> str:
    """A factor in dB: `6.02 dB` for 2."""
    return f"{20 * math.log10(factor):.3g} dB"


def span(seconds: float) -> str:
    """A time: in ms below one second, else in s; a whole number from 1000 on."""
    if abs(seconds) < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if abs(seconds) < 1e3 else f"{seconds:.0f} s"


def percent(fraction: float) -> str:
    """A fraction in percent, with three digits: `2.5 %` for 0.025."""
    return f"{100 * fraction:.3g} %"
