//! Compiles the algorithms of the BPF programs as ordinary C: one library for each.

const SOURCES: &str = "../../python/sojourn/bpf/kernel";
const LAWS: [&str; 4] = ["ledbat", "ledbatpp", "flower", "flower_plus"];

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    for law in LAWS {
        let header = format!("\"{law}.h\"");
        cc::Build::new().file(format!("{SOURCES}/native.c")).define("LAW", header.as_str()).define("PREFIX", law).compile(law);
    }
}
