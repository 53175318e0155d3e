"""Builds the kernel.

The inputs are its source with our edits, the driver, the configuration, and the network as a Rust library.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

from sojourn.core.errors import RunError, UserError
from sojourn.core.files import write_atomic, written_elsewhere
from sojourn.linux.kernel import CRATES, HOSTS, Kernel, cache_folder, code_identity, sha256_of, store_kernel
from sojourn.linux.source import Say, Source, command, get_source, version_of

TOOLS = ("make", "gcc", "ld", "objcopy", "flex", "bison", "bc", "tar", "cargo")
STEPS = 650
"""Approximate number of compiled files, for the progress bar."""

Progress = Callable[[int, int], None]


def build(given: Path | None, say: Say, on_progress: Progress) -> Kernel:
    """Builds the kernel in the cache folder, from Debian's newest source or a given one.

    An earlier build is reused. If only the repository's code has changed, this takes less than a minute. Raises
    `UserError` for a missing program or an unusable source, and `RunError` if a step fails.
    """
    if not HOSTS.is_dir():
        raise UserError(
            "linux build: expected a clone of the repository, whose code becomes part of the kernel, got an installed "
            "package: run `make setup` and `.venv/bin/sojourn linux build` in a clone; the package uses that kernel"
        )
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise UserError(f"linux build: expected the programs {', '.join(TOOLS)}, got no {', '.join(missing)}")
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    code = code_identity()
    source = _source(folder, given, say)
    version = version_of(source.folder)
    say("compiling the network (Rust)")
    library(folder, source.folder / "net" / "sojourn")
    say(f"compiling Linux {version}: the first time about 5 minutes on 2 cores")
    built = folder / "build"
    make(source.folder, built, ["allnoconfig"], {"KCONFIG_ALLCONFIG": str(HOSTS / "kernel.config")})
    check_config(built / ".config")
    make(source.folder, built, [f"-j{os.cpu_count() or 1}"], {}, on_progress)
    program = folder / "kernel"
    with written_elsewhere(program) as unfinished:
        shutil.copy2(built / "linux", unfinished)
    kernel = Kernel(
        program,
        version,
        source.origin,
        sha256_of(built / ".config"),
        sha256_of(program),
        code,
    )
    store_kernel(kernel)
    return kernel


def _source(folder: Path, given: Path | None, say: Say) -> Source:
    """The edited source.

    The source of the last build is reused if origin and edits are the same.
    """
    edits = (HOSTS / "edits.toml").read_bytes()
    wanted = {"given": str(given.resolve()) if given else None, "edits": hashlib.sha256(edits).hexdigest()}
    note = folder / "source.json"
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if all(known.get(key) == value for key, value in wanted.items()) and Path(known["folder"]).is_dir():
        source = Source(Path(known["folder"]), known["origin"])
    else:
        note.unlink(missing_ok=True)
        shutil.rmtree(folder / "build", ignore_errors=True)
        source = get_source(folder, given, say)
        edit(source.folder, tomllib.loads(edits.decode("utf-8"))["edit"])
        about = {**wanted, "folder": str(source.folder), "origin": source.origin}
        write_atomic(note, json.dumps(about, indent=1) + "\n")
    driver = source.folder / "net" / "sojourn"
    driver.mkdir(exist_ok=True)
    for path in (HOSTS / "kernel").iterdir():
        target = driver / path.name
        if not target.exists() or target.read_bytes() != path.read_bytes():
            shutil.copyfile(path, target)
    return source


def edit(folder: Path, edits: list[dict[str, str]]) -> None:
    """Applies the edits to a source.

    Raises `RunError`, and changes nothing, unless each text occurs exactly once.
    """
    texts: dict[Path, str] = {}
    for each in edits:
        path = folder / each["file"]
        text = texts.get(path) or (path.read_text(encoding="utf-8") if path.is_file() else "")
        found = text.count(each["before"])
        if found != 1:
            first = each["before"].strip().splitlines()[0]
            raise RunError(f'linux build: {each["file"]}: expected "{first.strip()}" once, got it {found} times')
        texts[path] = text.replace(each["before"], each["after"])
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def library(folder: Path, driver: Path) -> None:
    """Compiles the network into one object file that exports its C interface only."""
    abi = HOSTS / "abi"
    target = folder / "rust"
    # Use the workspace's versions; cargo ignores unused entries.
    shutil.copyfile(CRATES.parent / "Cargo.lock", abi / "Cargo.lock")
    command(
        [
            "cargo",
            "build",
            "--quiet",
            "--release",
            "--manifest-path",
            str(abi / "Cargo.toml"),
            "--target-dir",
            str(target),
        ],
        "linux build: cargo",
    )
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((abi / "src").glob("*.rs")))
    names = re.findall(r'#\[unsafe\(no_mangle\)\]\s+pub (?:unsafe )?extern "C" fn (\w+)', text)
    whole, shown = target / "library.o", target / "library.names"
    shown.write_text("\n".join(names) + "\n", encoding="ascii")
    wanted = [part for name in names for part in ("-u", name)]
    archive = target / "release" / "libsojourn_kernel.a"
    command(["ld", "-r", "--gc-sections", "-e", names[0], *wanted, "-o", str(whole), str(archive)], "linux build: ld")
    new, shipped = driver / "library.new", driver / "library.o_shipped"
    command(
        ["objcopy", "--strip-debug", f"--keep-global-symbols={shown}", str(whole), str(new)], "linux build: objcopy"
    )
    if shipped.exists() and shipped.read_bytes() == new.read_bytes():
        new.unlink()
    else:
        new.replace(shipped)


def check_config(config: Path) -> None:
    """Raises `RunError` for the first line of the configuration that the kernel's lacks."""
    has = config.read_text(encoding="utf-8").splitlines()
    for line in (HOSTS / "kernel.config").read_text(encoding="utf-8").splitlines():
        if line.startswith("CONFIG_") and line not in has:
            raise RunError(f"linux build: hosts/linux/kernel.config: expected what the source knows, got {line}")
        off = re.fullmatch(r"# (CONFIG_\w+) is not set", line)
        if off and any(known.startswith(f"{off[1]}=") for known in has):
            raise RunError(f"linux build: hosts/linux/kernel.config: expected {off[1]} to be off, got it")


def make(
    source: Path, built: Path, targets: list[str], environment: dict[str, str], on_progress: Progress | None = None
) -> None:
    """Runs `make` for User-Mode Linux; its full output goes to a log.

    Raises `RunError` with the compiler's first error.
    """
    arguments = ["make", "ARCH=um", f"O={built}", "-C", str(source), *targets]
    log = built.parent / "build.log"
    first, done = "", 0
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            arguments,
            env={**os.environ, "LC_ALL": "C", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            assert process.stdout
            for line in process.stdout:
                file.write(line)
                done += line.startswith("  CC")
                if on_progress and line.startswith("  CC"):
                    on_progress(min(done, STEPS), STEPS)
                if not first and re.search(r"\berror\b|undefined reference|\*\*\* ", line):
                    first = line.strip()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise RunError(f"linux build: make: {first or 'it failed'}; {log} has more")
