#!/bin/sh
# Says in one line what is missing or too old before anything is installed. Usage: preflight.sh PYTHON
set -u
python=${1:-python3}

stop() {
    echo "setup: $1" >&2
    exit 1
}

# True if version $1 is at least $2 (major.minor).
at_least() {
    [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
    [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]
}

command -v "$python" >/dev/null 2>&1 ||
    stop "$python is missing: install Python 3.11 or newer (Debian: apt install python3 python3-venv), or name one: make PYTHON=..."
found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || stop "$python does not run"
at_least "$found" 3.11 || stop "$python is Python $found: install 3.11 or newer, or name one: make PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' >/dev/null 2>&1 || "$python" -m pip --version >/dev/null 2>&1 || "$python" -m virtualenv --version >/dev/null 2>&1 ||
    stop "$python cannot make virtual environments: install its venv module (Debian: apt install python3-venv)"

for tool in cargo rustc; do
    command -v $tool >/dev/null 2>&1 ||
        stop "$tool is missing: install Rust 1.88 or newer from https://rustup.rs, and open a new shell"
    found=$($tool --version 2>/dev/null | cut -d' ' -f2 | cut -d. -f1,2)
    [ -n "$found" ] || stop "$tool does not run: reinstall Rust from https://rustup.rs"
    at_least "$found" 1.88 || stop "$tool is $found: 1.88 or newer is needed: rustup update stable"
done
