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
    "aioquic": ("aioquic",),
}


# Modules that no extra has, and the command in a checkout of the repository that builds them.
BUILT = {"sojourn_stacks": "make hosts"}


# The extras that an extra contains.
CONTAINED = {"papers": ("tables", "plots", "analysis")}


class MissingExtraError(UserError, ImportError):
    """Optional dependencies are not installed. The message says how to install all of them.

    Parameters
    ----------
    *missing : str
        The names of the missing modules.
    """

    def __init__(self, *missing: str) -> None:
        if missing[0] in BUILT:
            command = BUILT[missing[0]]
            super().__init__(f"{missing[0]} is not built: run `{command}` in a checkout of Sojourn's repository")
            return
        extras = [extra for extra, modules in EXTRAS.items() if set(modules) & set(missing)] or ["all"]
        inside = {each for extra in extras for each in CONTAINED.get(extra, ())}
        extras = [extra for extra in extras if extra not in inside]
        are = "is" if len(missing) == 1 else "are"
        super().__init__(f"{', '.join(missing)} {are} not installed: pip install 'sojourn[{','.join(extras)}]'")


def require(*modules: str) -> None:
    """Raises `MissingExtraError` for the modules that can't be imported.

    Loads none of them.

    ```python
    require("pandas", "pyarrow")
    ```
    """
    if missing := [module for module in dict.fromkeys(modules) if not present(module)]:
        raise MissingExtraError(*missing)


def present(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """The one-line error for a failed import of an optional dependency; None for other modules."""
    module = (error.name or "").partition(".")[0]
    known = any(module in modules for modules in EXTRAS.values())
    return MissingExtraError(module) if known else None
