# Builds the engine for a page: sh scripts/wasm.sh FILE. Exit code 3, with one line, where there is no compiler for it; without FILE it
# only finds the compiler.
set -eu
out=${1:-}
build() {
    [ -z "$out" ] || "$@"
}
target=wasm32-unknown-unknown
set -- rustc --quiet --locked --package sojourn-web --lib --crate-type cdylib --profile web --target $target
if [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
    build cargo "$@"
elif [ -x /usr/bin/cargo ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
    # Debian: packages rustc-web, cargo-web and rust-web-src have a compiler and the source of the library. The linker is rustup's or lld.
    lld=$(rustc --print sysroot)/lib/rustlib/$(rustc --print host-tuple)/bin/rust-lld
    [ -x "$lld" ] || lld=$(command -v wasm-ld) || { echo 'playground: no linker for WebAssembly: apt-get install lld' >&2; exit 3; }
    build env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 /usr/bin/cargo "$@" -Zbuild-std=std,panic_abort --config "target.$target.linker=\"$lld\""
else
    echo "playground: no compiler for WebAssembly: rustup target add $target, or Debian's rustc-web, cargo-web and rust-web-src" >&2
    exit 3
fi
[ -n "$out" ] || exit 0
mkdir -p "$(dirname "$out")"
built=${CARGO_TARGET_DIR:-target}/$target/web/sojourn_web.wasm
# Binaryen, if it is installed, makes the engine a little smaller and faster. The features are those that rustc uses.
if command -v wasm-opt > /dev/null; then
    wasm-opt -O3 --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals --enable-multivalue \
        --enable-reference-types "$built" -o "$out"
else
    cp "$built" "$out"
fi
