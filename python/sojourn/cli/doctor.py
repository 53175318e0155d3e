"""The command `doctor`: what is installed, and what is missing for which commands."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import typer
from rich.table import Table

from sojourn import __version__, _sojourn
from sojourn.cli.output import out, show
from sojourn.core.errors import UserError, one_line
from sojourn.core.examples import folder
from sojourn.core.extras import BUILT, EXTRAS, present
from sojourn.linux.kernel import HOSTS, find_kernel
from sojourn.runs.store import engine_identity

USES = {
    "tables": "run --out, compare --out, sweep; tables in Python",
    "plots": "plot, sweep --plot, figures",
    "analysis": "compare, several seeds, analyze, design",
    "papers": "reproduce, study, gate, new experiment",
    "arrays": "to_xarray",
    "dask": "sweep --executor dask",
    "slurm": "sweeps on Slurm",
    "ray": "sweep --executor ray",
    "gym": "sojourn.gym",
    "aioquic": 'flows with host = "aioquic", sojourn.harness.aioquic',
}
"""What each extra is for. A test compares it with the extras."""

JUDGES = {"ns-2": "ns", "ns-3": "ns3", "Flent": "flent", "Wireshark": "tshark", "tc": "tc"}
"""The program of each implementation that results can be compared with."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(doctor)


def doctor() -> None:
    """Shows what is installed, and what each missing part is for."""
    out.print(one_line(f"sojourn {__version__}, engine {engine_identity()} in {Path(_sojourn.__file__).parent}"))
    out.print(one_line(f"Python {platform.python_version()}, {platform.platform()}"))
    out.print(one_line(f"examples in {folder()}"))
    table = Table(title="extras", title_justify="left")
    for head in ("extra", "for", "state"):
        table.add_column(head)
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if not present(module)]
        state = f"no {', '.join(missing)}: pip install 'sojourn[{extra}]'" if missing else _versions(modules)
        table.add_row(extra, USES[extra], state)
    show(table)
    for module, command in BUILT.items():
        state = "built" if present(module) else f"not built: run `{command}` in a checkout"
        out.print(one_line(f'{module}, for flows with host = "quinn", "noq" or "s2n-quic": {state}'))
    out.print(one_line(f"Linux kernel: {_kernel()}"))
    found = [f"{name} ({'yes' if shutil.which(program) else 'no'})" for name, program in JUDGES.items()]
    out.print(f"to compare with: {', '.join(found)}")


def _versions(modules: tuple[str, ...]) -> str:
    """The versions of installed packages."""
    from importlib.metadata import version  # here, because no other command needs it

    return ", ".join(f"{module} {version(module)}" for module in modules)


def _kernel() -> str:
    """The state of the kernel for `--host linux`."""
    try:
        kernel = find_kernel()
    except UserError as error:
        return str(error)
    if not HOSTS.is_dir():
        return f"Linux {kernel.version}"
    return f"Linux {kernel.version}, {'current' if kernel.is_current else 'stale: run `sojourn linux build`'}"
