"""Endpoints of QUIC stacks in Rust: quinn, noq and s2n-quic.

The module `sojourn_stacks` has them. It is built in a checkout of the repository, by `make hosts`.

```python
from sojourn import harness
from sojourn.harness.rust import quinn

network = harness.Dumbbell("10 Mbit/s", "40 ms").queue("codel").flow("quic", "quinn").tcp("ours", "cubic")
done = harness.run(network, {"quinn": quinn("sojourn:ledbat++")})
```

All random numbers of a connection follow from the flow's seed, apart from keys, on which no size and no time depends.
"""

from __future__ import annotations

from functools import partial

from sojourn.core.errors import UserError
from sojourn.core.extras import require
from sojourn.harness.endpoint import Endpoint, Host

require("sojourn_stacks")

import sojourn_stacks  # type: ignore[import-not-found, import-untyped, unused-ignore] # noqa: E402 - a missing module comes first


def host(stack: str, controller: str | None = None) -> Host:
    """Makes the endpoints of flows.

    `stack` is "quinn", "noq" or "s2n-quic". `controller` is a congestion controller of the stack, such as "cubic", or
    one of the registry, such as "sojourn:ledbat++" (default: the stack's default). Raises `UserError` for an unknown
    controller.
    """
    names = sojourn_stacks.controllers(stack)
    if controller is not None and controller not in names:
        raise UserError.unknown(f"host: controller of {stack}", controller, names)

    def pair(name: str, seed: int) -> tuple[Endpoint, Endpoint]:
        sender, receiver = sojourn_stacks.pair(stack, controller, name, seed)
        return sender, receiver

    return pair


quinn, noq, s2n_quic = (partial(host, stack) for stack in ("quinn", "noq", "s2n-quic"))
