"""The `sojourn` program: a package of its own, so that Ctrl-C while everything else is loaded is caught, too."""

import sys


def entry() -> None:
    """Runs the command line and exits with its code; 130 where Ctrl-C comes before it is there."""
    try:
        from sojourn.cli import main

        code = main()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)
