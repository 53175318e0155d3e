//! The example in C, compiled against the generated header and run.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a command to its end; returns what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Builds the library and its header, compiles a file of `examples/` with warnings as errors, and runs it.
fn run(name: &str) -> String {
    // OUT_DIR is `<profile>/build/<package>/out`, and the library and its header are in the folder of the profile.
    let folder = Path::new(env!("OUT_DIR")).ancestors().nth(3).unwrap();
    let manifest = PathBuf::from(PACKAGE).join("Cargo.toml");
    output(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(folder.parent().unwrap()),
    );
    let program = folder.join(name);
    output(
        Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .arg(Path::new(PACKAGE).join(format!("examples/{name}.c")))
            .arg("-I")
            .arg(folder)
            .arg(folder.join("libsojourn.a"))
            .args(["-lm", "-lpthread", "-ldl", "-o"])
            .arg(&program),
    );
    output(&mut Command::new(program))
}

#[test]
fn a_window_of_20_packets_has_the_goodput_of_20_packets_a_round_trip() {
    let record: serde_json::Value = serde_json::from_str(&run("window")).unwrap();
    let goodput = record["flows"][0]["goodput_bps"].as_f64().unwrap();
    // A round trip has 40 ms and the transmission of 1500 bytes at 10 Mbit/s.
    let expected = 20.0 * 1460.0 * 8.0 / (0.040 + 0.0012);
    assert!((goodput / expected - 1.0).abs() < 0.01, "expected {expected}, got {goodput}");
}

#[test]
fn cubic_fills_a_link_and_its_losses_are_those_of_a_full_queue() {
    let record: serde_json::Value = serde_json::from_str(&run("cubic")).unwrap();
    let flow = &record["flows"][0];
    // 40 ms are 33 packets, so the queue of 40 is not empty after a reduction to 0.7 of 73: the link stays full after slow start.
    let goodput = flow["goodput_bps"].as_f64().unwrap();
    let full = 10e6 * 1460.0 / 1500.0;
    assert!(goodput > 0.95 * full && goodput <= full, "expected about {full}, got {goodput}");
    assert!(flow["dropped"].as_u64().unwrap() > 0);
}

#[test]
fn an_example_has_at_most_60_lines() {
    for file in std::fs::read_dir(Path::new(PACKAGE).join("examples")).unwrap() {
        let path = file.unwrap().path();
        assert!(std::fs::read_to_string(&path).unwrap().lines().count() <= 60, "{}", path.display());
    }
}
