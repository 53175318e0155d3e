#!/bin/sh
# Checks the Rust dependencies with cargo-deny where it is installed (`cargo install cargo-deny`).
set -eu
cd "$(dirname "$0")/.."
if ! cargo deny --version >/dev/null 2>&1; then
    echo 'deny: cargo-deny is not installed: tests/packaging/test_dependencies.py checks licenses and versions alone'
    exit 0
fi
cargo deny check bans licenses sources
if cargo deny fetch db >/dev/null 2>&1; then
    cargo deny check --disable-fetch advisories
else
    echo 'deny: the database of advisories cannot be had: they are not checked'
fi
