"""The kernel's source: Debian's newest package, or a user's copy."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import RunError, UserError

Say = Callable[[str], None]

SUITES = "sid trixie-backports"
"""Debian suites with recent kernels. Only this download uses them."""

SOURCES = """\
Types: deb
URIs: http://deb.debian.org/debian
Suites: {suites}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

OLDEST = (7, 2)
"""The oldest kernel version that the driver supports."""


@dataclass(frozen=True)
class Source:
    """An unpacked copy of a kernel source, which may be changed."""

    folder: Path
    origin: str


def command(arguments: list[str], what: str, folder: Path | None = None) -> str:
    """Runs a program and returns its output. Raises `RunError` with its last line on failure."""
    try:
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise RunError(f"{what}: {arguments[0]}: {error.strerror}") from None
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        telling = [line for line in said if line.lower().startswith(("error", "e:"))] or said[-1:]
        raise RunError(f"{what}: {telling[0] if telling else f'{arguments[0]} failed'}")
    return str(done.stdout)


def newest(packages: str) -> str:
    r"""The newest kernel package among the lines of `apt-cache search`.

    >>> newest("linux-source-7.2 - source\nlinux-source-7.10 - source\nlinux-source-7.10-doc - more")
    'linux-source-7.10'
    """
    found = re.findall(r"^(linux-source-(\d+)\.(\d+)) ", packages, re.MULTILINE)
    known = sorted((int(major), int(minor), name) for name, major, minor in found)
    if not known or known[-1][:2] < OLDEST:
        least = ".".join(map(str, OLDEST))
        got = known[-1][2] if known else "none"
        raise RunError(f"linux build: expected a package linux-source-{least} or newer in {SUITES}, got {got}")
    return str(known[-1][2])


def download(folder: Path, say: Say) -> tuple[Path, str]:
    """Downloads Debian's newest kernel source. Returns its file, and its name with version.

    It neither reads nor changes the machine's apt configuration.
    """
    if shutil.which("apt-get") is None:
        raise UserError("linux build: expected apt-get or --source, got a system without apt-get")
    apt = folder / "apt"
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "parts" / "newer.sources").write_text(SOURCES.format(suites=SUITES), encoding="ascii")
    options = [
        "Dir::Etc::sourcelist=/dev/null",
        f"Dir::Etc::sourceparts={apt / 'parts'}",
        f"Dir::State::lists={apt / 'lists'}",
        f"Dir::Cache={apt / 'cache'}",
        "APT::Sandbox::User=",
        "Acquire::Languages=none",
    ]
    own = [part for option in options for part in ("-o", option)]
    say(f"looking for the newest kernel in Debian's {SUITES}")
    command(["apt-get", *own, "update"], "linux build: apt-get update")
    package = newest(command(["apt-cache", *own, "search", "--names-only", "^linux-source-"], "linux build: apt-cache"))
    shown = command(["apt-cache", *own, "show", "--no-all-versions", package], "linux build: apt-cache")
    version = re.search(r"^Version: (\S+)$", shown, re.MULTILINE)
    origin = f"{package} {version[1] if version else ''}".strip()
    say(f"downloading {origin}")
    for old in folder.glob("linux-source-*.deb"):
        old.unlink()
    command(["apt-get", *own, "download", package], "linux build: apt-get download", folder)
    return next(folder.glob("linux-source-*.deb")), origin


def unpack(what: Path, folder: Path, say: Say) -> Path:
    """Unpacks or copies a source to `folder / "source"`; returns the folder with its Makefile."""
    target = folder / "source"
    if what.is_dir() and (target.resolve().is_relative_to(what) or what.is_relative_to(target.resolve())):
        raise UserError(f'--source "{what}": expected a folder that does not hold {target}, nor is in it')
    say(f"unpacking {what.name}")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if what.is_dir():
        command(["cp", "-a", f"{what}/.", str(target)], "linux build: --source")
    elif what.suffix == ".deb":
        command(["dpkg-deb", "-x", str(what), str(target / "package")], "linux build: dpkg-deb")
        archives = list((target / "package").glob("usr/src/linux-source-*.tar.*"))
        if not archives:
            raise UserError(f'--source "{what}": expected a package linux-source-*, got no archive of a kernel in it')
        command(["tar", "xf", str(archives[0]), "-C", str(target)], "linux build: tar")
        shutil.rmtree(target / "package")
    else:
        command(["tar", "xf", str(what), "-C", str(target)], "linux build: tar")
    found = [
        path.parent for path in (target / "Makefile", *target.glob("*/Makefile")) if (path.parent / "Kconfig").exists()
    ]
    if not found:
        raise UserError(f'--source "{what}": expected a kernel\'s source, got no Makefile and Kconfig in it')
    return found[0]


def version_of(folder: Path) -> str:
    """The version of a source, such as 7.3.4. Raises `UserError` if it is too old."""
    text = (folder / "Makefile").read_text(encoding="utf-8")
    parts = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    numbers = [int(part[1]) for part in parts if part]
    if len(numbers) < 3 or tuple(numbers[:2]) < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise UserError.expected(
            "--source", f"a kernel of version {least} or newer", ".".join(map(str, numbers)) or "none"
        )
    return ".".join(map(str, numbers))


def get_source(folder: Path, given: Path | None, say: Say) -> Source:
    """A source that may be modified: a copy of the user's, or Debian's newest."""
    if given is not None:
        if not given.exists():
            raise UserError(f'--source "{given}": expected a folder, a .deb or an archive, got nothing')
        origin = given.name if given.is_file() else str(given.resolve())
        try:
            return Source(unpack(given.resolve(), folder, say), origin)
        except RunError as error:
            if "No space left" in str(error):
                raise
            raise UserError(f'--source "{given}": expected a folder, a .deb or an archive: {error}') from None
    package, origin = download(folder, say)
    return Source(unpack(package, folder, say), origin)
