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

/// Builds the library and its header; returns their folder.
fn build() -> PathBuf {
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
    folder.into()
}

/// Compiles files with these arguments and the library, and runs the program with the last ones.
fn run_with(name: &str, files: &[&str], flags: &[&str], given: &[&str]) -> String {
    let folder = build();
    let program = folder.join(name);
    output(
        Command::new("cc")
            .args(files.iter().map(|file| Path::new(PACKAGE).join(file)))
            .arg("-I")
            .arg(&folder)
            .arg(folder.join("libsojourn.a"))
            .args(flags)
            .args(["-lm", "-lpthread", "-ldl", "-o"])
            .arg(&program),
    );
    output(Command::new(program).args(given))
}

const STRICT: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Compiles a file of `examples/` with warnings as errors, and runs it.
fn run(name: &str) -> String {
    run_with(name, &[&format!("examples/{name}.c")], &STRICT, &[])
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

/// The steps of `picoquic/check.c` with the windows after them.
fn picoquic_windows(controller: &str) -> Vec<(String, u64)> {
    let flags: Vec<&str> = STRICT.into_iter().chain(["-DSOJOURN_PICOQUIC_SUBSET"]).collect();
    let printed = run_with("picoquic-check", &["picoquic/check.c", "picoquic/adapter.c"], &flags, &[controller]);
    printed.lines().filter_map(|line| line.split_once(' ')).map(|(step, value)| (step.into(), value.parse().unwrap())).collect()
}

#[test]
fn the_adapter_for_picoquic_reports_what_the_lists_of_packets_tell() {
    let windows = picoquic_windows("reno");
    let expected = [
        ("start", 12_000),
        // Slow start adds the acknowledged bytes. A flight that the adapter has not seen is one of a limited application.
        ("acknowledged", 24_000),
        ("unseen", 24_000),
        ("gap", 24_000 + 5 * 1200),
        ("lost", 30_000 / 2),
        ("spurious", 30_000),
        // A mark reduces the window before its ACK lets it grow (rfc9002#A.7).
        ("marked", 30_000 / 2),
        ("silent", 15_000),
        ("persistent", 2400),
        ("reset", 12_000),
        ("rate", 0),
        ("unknown", 1),
    ];
    assert_eq!(windows, expected.map(|(step, window)| (step.to_string(), window)));
}

#[test]
fn picoquic_gets_the_pace_of_a_controller_that_has_one() {
    let rate = picoquic_windows("bbr3").iter().find(|(step, _)| step == "rate").unwrap().1;
    assert!(rate > 0);
}

/// `PICOQUIC_FLAGS` has the compiler's arguments for headers and libraries of picoquic, picotls and OpenSSL, and `PICOQUIC_CERTS` is the
/// folder with `cert.pem` and `key.pem` in picoquic's sources.
#[test]
#[ignore = "needs picoquic: PICOQUIC_FLAGS and PICOQUIC_CERTS"]
fn picoquic_with_our_cubic_fills_a_link_twice_in_the_same_way() {
    let [flags, certs] = ["PICOQUIC_FLAGS", "PICOQUIC_CERTS"].map(|name| std::env::var(name).expect(name));
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let (certificate, key) = (format!("{certs}/cert.pem"), format!("{certs}/key.pem"));
    let files = ["picoquic/transfer.c", "picoquic/adapter.c"];
    let transfer = || run_with("picoquic-transfer", &files, &flags, &[&certificate, &key, "cubic"]);
    let record = transfer();
    assert_eq!(record, transfer());
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let goodput = record["flows"][0]["goodput_bps"].as_f64().unwrap();
    assert!(goodput > 9e6 && goodput < 10e6, "{goodput}");
}

#[test]
fn an_example_has_at_most_60_lines() {
    for file in std::fs::read_dir(Path::new(PACKAGE).join("examples")).unwrap() {
        let path = file.unwrap().path();
        assert!(std::fs::read_to_string(&path).unwrap().lines().count() <= 60, "{}", path.display());
    }
}
