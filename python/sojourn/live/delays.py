"""The delay of a link from a trace."""

from __future__ import annotations

from pathlib import Path

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.core.scenario import Scenario

MOST_CHANGES = 1_000_000
"""The most changes of a run."""


def follow_delays(scenario: Scenario, text: str) -> None:
    """Lets the delay of a link follow a trace, which repeats at its end.

    `text` is `LINK=FILE`. Each line of the file has a time in s and the delay in ms from then on. Times count from the
    first. The last line lasts as long as the one before it. Other changes of the link are replaced.

    Raises
    ------
    UserError
        The text has another form, or the file can't be read.
    """
    link, _, name = text.partition("=")
    if not link or not name:
        raise UserError.expected("--delay-from-trace", "LINK=FILE", text)
    names = [str(each.get("name")) for each in scenario["links"]]
    if link not in names:
        raise UserError.unknown("--delay-from-trace", link, names)
    rows = _rows(Path(name))
    duration = _sojourn.quantity("time", str(scenario["duration"]))
    period = rows[-1][0] + (rows[-1][0] - rows[-2][0] if len(rows) > 1 else duration)
    if (count := duration / period * len(rows)) > MOST_CHANGES:
        raise UserError.expected(f"--delay-from-trace: {name}", f"at most {MOST_CHANGES} changes", round(count))
    changes, start = [], 0.0
    while start < duration:
        changes += [{"at": f"{start + at:.9f} s", "delay": f"{delay:.6f} ms"} for at, delay in rows]
        start += period
    scenario.set(f"links.{link}.delay", changes[0]["delay"])
    scenario.set(f"links.{link}.changes", changes[1:])


def _rows(path: Path) -> list[tuple[float, float]]:
    """The times from the first one in s, and the delays in ms."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--delay-from-trace: {path}: {getattr(error, 'strerror', None) or error}") from None
    rows: list[tuple[float, float]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            at, delay = map(float, line.replace(",", " ").split())
            fine = delay >= 0 and at < float("inf") and delay < float("inf") and (not rows or at > rows[-1][0])
        except ValueError:
            fine = False
        if not fine:
            raise UserError.expected(f"{path}:{number}", "a later time in s and a delay in ms", line[:80])
        rows.append((at, delay))
    if not rows:
        raise UserError.expected(str(path), "lines with a time in s and a delay in ms", "none")
    return [(at - rows[0][0], delay) for at, delay in rows]
