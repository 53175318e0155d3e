"""Optional dependencies: the modules of each extra, and errors that name what to install."""

from __future__ import annotations

import importlib.util
import sys

from sojourn.core.errors import UserError

# The modules of each extra. A test compares them with `[project.optional-dependencies]` of pyproject.toml.
EXTRAS = {
    "tables": ("pandas", "pyarrow"),
    "plots": ("matplotlib",),
    "analysis": ("scipy", "control"),
    "papers": ("jinja2", "pydantic"),
    "arrays": ("xarray",),
    "dask": ("distributed",),
    "slurm": ("submitit",),
    "ray": ("ray",),
    "gym": ("gymnasium", "pettingzoo"),
}


class MissingExtraError(UserError, ImportError):
    """An optional dependency is not installed. The message says how to install it.

    Parameters
    ----------
    module : str
        The name of the missing module.
    """

    def __init__(self, module: str) -> None:
        extra = next((extra for extra, modules in EXTRAS.items() if module in modules), "all")
        super().__init__(f"{module} is not installed: pip install 'sojourn[{extra}]'")


def require(*modules: str) -> None:
    """Raises `MissingExtraError` for the first of these modules that can't be imported.

    Loads none of them.

    ```python
    require("pandas", "pyarrow")
    ```
    """
    for module in modules:
        if not _present(module):
            raise MissingExtraError(module)


def _present(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """The one-line error for a failed import of an optional dependency; None for other modules."""
    module = (error.name or "").partition(".")[0]
    known = any(module in modules for modules in EXTRAS.values())
    return MissingExtraError(module) if known else None
