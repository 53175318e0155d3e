//! Compiles the algorithms of the BPF programs as ordinary C: one library for each.

const SOURCES: &str = "../../python/sojourn/bpf/kernel";
const CONTROLLERS: [&str; 4] = ["ledbat", "ledbatpp", "flower", "flower_plus"];
const SAMPLED: [&str; 1] = ["bbr3"];
const QUEUES: [&str; 5] = ["pi", "pd", "fuzzy_red", "led", "cpc"];

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    for (laws, interface) in [(&CONTROLLERS[..], "native.c"), (&SAMPLED[..], "native_sampled.c"), (&QUEUES[..], "native_queue.c")] {
        for &law in laws {
            let header = format!("\"{law}.h\"");
            cc::Build::new().file(format!("{SOURCES}/{interface}")).define("LAW", header.as_str()).define("PREFIX", law).compile(law);
        }
    }
}
