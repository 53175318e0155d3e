//! Writes the header of the C interface beside the library: `sojourn.h` in the folder of the profile, such as `target/stacks/debug`.

use std::path::PathBuf;

fn main() {
    let [sources, out] = ["CARGO_MANIFEST_DIR", "OUT_DIR"].map(|name| PathBuf::from(std::env::var_os(name).expect("cargo sets it")));
    // OUT_DIR is `<profile>/build/<package>/out`.
    let folder = out.ancestors().nth(3).expect("cargo's folders");
    let header = cbindgen::generate(sources).expect("the interface has a header");
    header.write_to_file(folder.join("sojourn.h"));
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=cbindgen.toml");
}
