"""An access line with too much buffer: 100 Mbit/s down, 20 Mbit/s and 300 ms of buffer up."""

import sojourn as sj
from tests.support.source_tree import ROOT


def access_line() -> sj.Scenario:
    """The line with two downloads, two uploads and a ping.

    Its round-trip propagation delay is 20 ms.
    """
    return sj.load(ROOT / "examples/access-line.toml")
