"""The entry point of the `sojourn` program.

It imports nothing at first, so that Ctrl-C is handled while modules load.
"""

import sys


def entry() -> None:
    """Runs the command line and exits with its code, or with 130 after Ctrl-C during loading."""
    try:
        from sojourn.cli import main

        code = main()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)
