"""The command line: its output, its errors and its exit codes."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import which

import pytest

import sojourn_program
from sojourn.cli import main
from sojourn.core import files
from sojourn.core.errors import Interrupted
from sojourn.core.files import together, write_atomic
from sojourn.sweep.plan import read_plan
from tests.support.source_tree import ROOT


def refused(capsys, *arguments):
    """The single line on stderr of a command that must be rejected."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for word in ("droptail", "red", "fuzzy-red", "pd", "reno", "bulk", "lehto-2005"):
        assert word in printed


def printed_by(capsys, *arguments):
    """The output of a command that succeeds."""
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert printed_by(capsys, "--version") == f"sojourn {project['version']}\n"


@pytest.mark.parametrize("command", [(), ("run",), ("list",), ("completion",)])
def test_every_command_explains_itself(capsys, command):
    assert printed_by(capsys, *command, "-h") == printed_by(capsys, *command, "--help")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_the_program(capsys, shell):
    printed = printed_by(capsys, "completion", shell)
    assert f"_SOJOURN_COMPLETE=complete_{shell}" in printed
    if which(shell):
        subprocess.run([shell, "-n"], input=printed, text=True, check=True)


COMPLETIONS = [
    ("sojourn comp", ["compare", "completion"]),
    ("sojourn list a", ["aqm"]),
    ("sojourn list aqm fq-c", ["fq-codel"]),
    ("sojourn list measures tot", ["total"]),
    ("sojourn run --see", ["--seed", "--seeds"]),
    ("sojourn compare x --cc reno,cub", ["reno,cubic"]),
    ("sojourn compare x --queues fq-c", ["fq-codel"]),
    ("sojourn compare x --cdf wait,comp", ["wait,completion"]),
    ("sojourn run x --set tcp.prof", ["tcp.profile="]),
    ("sojourn run examples/dumbbell.toml --set links.bo", ["links.bottleneck."]),
    ("sojourn run examples/dumbbell.toml --set links.bottleneck.ra", ["links.bottleneck.rate="]),
]


@pytest.fixture(scope="module")
def completions():
    """The program's completions for a shell, by the words of the command line.

    One process computes all.
    """
    code = (
        "import os, sys; sys.argv[0] = 'sojourn'; from sojourn_program import entry\n"
        "for words in sys.stdin.read().splitlines():\n"
        "    os.environ |= {'COMP_WORDS': words, 'COMP_CWORD': str(words.count(' '))}\n"
        "    try: entry()\n"
        "    except SystemExit: print('end')\n"
    )
    asked = [words for words, _ in COMPLETIONS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "_SOJOURN_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="\n".join(asked),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(asked, [part.split() for part in done.stdout.split("end\n")[:-1]], strict=True))


@pytest.mark.parametrize(("words", "found"), COMPLETIONS)
def test_a_shell_gets_completions(completions, words, found):
    assert completions[words] == found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "x", "--seeds", "abc"], '--seeds: expected a whole number, got "abc"'),
        (["run", "x", "--seeds", "0"], '--seeds: expected a number of at least 1, got "0"'),
        (["run", "x", "--threads", "9999"], '--threads: expected a number of at most 1024, got "9999"'),
        (["completion", "tcsh"], 'shell: expected one of bash, zsh, fish, got "tcsh"'),
        (["run"], "file: expected a value, got none"),
    ],
)
def test_a_wrong_command_line_is_refused_as_a_wrong_file_is(capsys, arguments, said):
    assert refused(capsys, *arguments) == f"error: {said}\n"


def test_a_sweep_is_no_scenario_for_any_command(capsys):
    sweep = str(ROOT / "examples" / "sweep.toml")
    for arguments in (["run", sweep], ["compare", sweep, "--queues", "red"]):
        assert "expected a scenario with `duration` and `links`, got a sweep: `sojourn sweep" in refused(
            capsys, *arguments
        )


def test_list_shows_the_values_that_an_option_can_take(capsys):
    codel = printed_by(capsys, "list", "aqm", "codel")
    for shown in ("rfc8289, 2012", "true, false", '"1500 B"', "2012: One less"):
        assert shown in codel, codel
    recovery = printed_by(capsys, "list", "tcp", "recovery")
    assert "values: one of reno newreno sack" in recovery
    assert "what it is" not in recovery  # a column without an entry


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["list", "aqm", "coddel"], "codel"),
        (["list", "tcp", "msss"], "mss"),
        (["list", "measure"], "measures"),
        (["lst"], "list"),
        (["run", "{scenario}", "--sed", "1"], "--seed"),
    ],
)
def test_the_nearest_name_is_suggested(capsys, dumbbell, arguments, nearest):
    assert nearest in refused(capsys, *(argument.format(scenario=dumbbell) for argument in arguments))


@pytest.mark.parametrize(
    ("kind", "definition", "key"),
    [
        ("aqm", "Queue", "aqm"),
        ("cc", "Control", "cc"),
        ("traffic", "Traffic", "kind"),
        ("impairment", "Impairment", "kind"),
        ("profile", "Profile", None),
    ],
)
def test_list_names_what_scenario_files_take_and_nothing_else(kind, definition, key):
    _sojourn = pytest.importorskip("sojourn._sojourn")
    taken = json.loads(_sojourn.schema())["$defs"][definition]["oneOf"]
    names = [
        one["properties"][key]["const"] if key else one["const"] for one in taken if key is None or "properties" in one
    ]
    assert [entry["name"] for entry in json.loads(_sojourn.registry())[kind]] == names


def test_check_says_whether_it_can_be_run(capsys, dumbbell):
    assert main(["check", str(dumbbell)]) == 0
    assert "can be run" in capsys.readouterr().out
    assert main(["check", str(dumbbell), "--resolved"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 1


def test_schema_is_json(capsys):
    assert main(["schema"]) == 0
    assert "$schema" in json.loads(capsys.readouterr().out)


def test_what_a_linux_host_supplies_is_chosen_by_its_own_key_in_the_schema_too(capsys):
    assert main(["schema"]) == 0
    definitions = json.loads(capsys.readouterr().out)["$defs"]
    for table, tag in (("Queue", "aqm"), ("Control", "cc")):
        linux = next(each for each in definitions[table]["oneOf"] if each["properties"][tag]["const"] == "linux")
        assert (set(linux["properties"]), linux["required"]) == ({tag, "linux"}, ["linux"])


def test_run_prints_what_was_measured(capsys, dumbbell):
    assert main(["run", str(dumbbell), "--set", "links.bottleneck.queue.aqm=red", "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "seed 7" in printed
    assert "bottleneck" in printed
    assert "ftp" in printed


def test_run_prints_json_and_nothing_else(capsys, dumbbell, here):
    assert main(["run", str(dumbbell), "--json", "--seeds", "3"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["seed"] for record in records] == [1, 2, 3]
    files = ("--out", str(here / "d"), "--pcap", str(here / "a.pcapng"), "--qlog", str(here / "a.qlog"))
    assert main(["run", str(dumbbell), "--set", "duration=2 s", "--set", "warmup=0 s", "--json", *files]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["seed"] == 1
    assert "wrote " not in printed.out
    assert printed.err.count("wrote ") == 2


def test_run_writes_and_plot_draws(capsys, dumbbell, here):
    trace = 'trace={queue={links=["bottleneck"],every="100 ms"}}'
    assert main(["run", str(dumbbell), "--out", "out", "--set", trace]) == 0
    assert (here / "out" / "record.json").exists()
    assert main(["plot", "out"]) == 0
    assert (here / "out" / "queue.pdf").stat().st_size > 1000
    assert "wrote out/" in capsys.readouterr().out


def test_several_seeds_are_shown_with_their_interval(capsys, dumbbell):
    assert main(["run", str(dumbbell), "--seeds", "3"]) == 0
    said = capsys.readouterr().out
    assert "±" in said
    titles = ["bottleneck: 3 seeds", "bottleneck:back: 3 seeds", "all flows: 3 seeds"]
    assert [line for line in said.splitlines() if line.endswith("seeds")] == titles
    assert said.count("Jain's index") == 1  # of all flows, and of no link


def test_compare_prints_means_and_differences(capsys, dumbbell, here):
    assert main(["compare", str(dumbbell), "--queues", "droptail,red(min=5,max=15)", "--seeds", "3", "--out", "c"]) == 0
    printed = capsys.readouterr().out
    assert "red(min=5,max=15)" in printed
    assert "difference from droptail" in printed
    assert {"summary.csv", "runs.parquet", "overview.pdf"} <= {file.name for file in (here / "c").iterdir()}


def test_sweep_writes_its_tables_and_plot_draws_them(dumbbell, here):
    (here / "grid.toml").write_text(
        'scenario = "dumbbell.toml"\nreplications = 2\n[axes]\n"flows.ftp.count" = [1, 2]\n'
    )
    assert main(["sweep", "grid.toml", "--plot", "total.goodput_bps"]) == 0
    assert (here / "results" / "grid" / "summary.parquet").exists()
    assert (here / "results" / "grid" / "total.goodput_bps.png").exists()
    assert main(["plot", "results/grid", "--measure", "links.bottleneck.queue.sd", "--out", "p"]) == 0
    assert (here / "p" / "links.bottleneck.queue.sd.png").exists()


def test_bad_input_is_one_line_and_exit_code_2(capsys, dumbbell, here):
    assert "none.toml" in refused(capsys, "run", "none.toml")
    assert "expected path=value" in refused(capsys, "run", str(dumbbell), "--set", "seed")
    assert 'got "top"' in refused(capsys, "run", str(dumbbell), "--set", "links.top.rate=1")
    assert "colour" in refused(capsys, "run", str(dumbbell), "--set", "colour=red")
    assert "-3 Mbit/s" in refused(capsys, "check", write(here, dumbbell.read_text().replace("10 Mbit/s", "-3 Mbit/s")))
    assert "expected one of aqm" in refused(capsys, "list", "queues")
    assert " names, such as " in refused(capsys, "list", "aqm", "purple")
    assert "lehto-2005" in refused(capsys, "reproduce", "nobody-1999")
    assert "table2" in refused(capsys, "reproduce", "lehto", "table9")
    assert "purple" in refused(capsys, "compare", str(dumbbell), "--queues", "red,purple")
    assert "record.json" in refused(capsys, "plot", str(here))
    assert "got none: add a [trace] table" in " ".join(plot_without_series(capsys, dumbbell, here).split())
    for arguments in (["run"], ["fly"], ["run", str(dumbbell), "--seeds", "0"], ["run", str(dumbbell), "--fast"]):
        refused(capsys, *arguments)


def test_a_folder_that_is_a_file_is_refused_before_the_run(capsys, dumbbell, here):
    (here / "file").touch()
    for command in (["run", str(dumbbell)], ["compare", str(dumbbell), "--queues", "red"], ["reproduce", "lehto"]):
        assert "expected a folder, got the file" in refused(capsys, *command, "--out", "file/deep")


def test_what_is_not_a_summary_is_refused(capsys, here):
    for text in ("", "a,b\n1,2\n"):
        with together(here):
            write_atomic(here / "summary.csv", text)
        assert "expected a summary" in refused(capsys, "plot", str(here))


def test_seeds_and_threads_out_of_range_are_refused(capsys, dumbbell):
    for option, value in (("--seed", "-1"), ("--seed", str(2**63)), ("--threads", "100000"), ("--threads", "-1")):
        assert option in refused(capsys, "run", str(dumbbell), option, value)


def test_a_changed_scenario_is_refused_without_the_place_of_a_text_that_nobody_wrote(capsys, dumbbell):
    said = refused(capsys, "run", str(dumbbell), "--set", "links.bottleneck.rate=10")
    assert f"{dumbbell} with links.bottleneck.rate=10: links.bottleneck.rate: " in said


def test_a_mark_before_the_text_is_no_matter(dumbbell):
    dumbbell.write_bytes(b"\xef\xbb\xbf" + dumbbell.read_bytes())
    assert main(["check", str(dumbbell)]) == 0


def write(folder, text):
    (folder / "bad.toml").write_text(text)
    return str(folder / "bad.toml")


def plot_without_series(capsys, dumbbell, here):
    main(["run", str(dumbbell), "--out", "plain"])
    capsys.readouterr()
    return refused(capsys, "plot", "plain")


def test_refused_input_leaves_no_file(capsys, dumbbell, here):
    before = sorted(here.iterdir())
    refused(capsys, "run", str(dumbbell), "--set", "colour=red", "--out", "out")
    refused(capsys, "compare", str(dumbbell), "--queues", "red,purple", "--out", "out")
    assert sorted(here.iterdir()) == before


def test_a_full_disk_is_one_line(capsys, dumbbell, here, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["run", str(dumbbell), "--out", "out"]) == 1
    error = capsys.readouterr().err
    assert "disk full" in error
    assert error.count("\n") == 1
    assert not [file for file in (here / "out").rglob("*") if file.is_file()]
    assert files.DiskError is not OSError


def test_a_disk_that_fills_up_leaves_no_part_of_a_result(capsys, dumbbell, here, monkeypatch):
    real, left = os.fsync, [3]

    def filling(handle):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", filling)
    assert main(["run", str(dumbbell), "--out", "out"]) == 1
    assert capsys.readouterr().err.startswith("error: disk full: out")
    assert not (here / "out").exists()


@pytest.mark.parametrize("error", [ImportError("initialization failed"), SystemError(), RuntimeError("x")])
def test_ctrl_c_while_a_library_loads_is_an_interruption(capsys, dumbbell, monkeypatch, error):
    def load(_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise error from None

    monkeypatch.setattr("sojourn.cli.runs.load", load)
    assert main(["run", str(dumbbell)]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_command_the_program_says_what_commands_there_are(capsys):
    assert main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Usage")
    assert all(f"\n  {name} " in said for name in ("run", "compare", "sweep", "reproduce"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyze", "{scenario}", "--seed", "-3"], "--seed"),
        (["analyze", "{scenario}", "--out", "{scenario}/x"], "expected a folder, got the file"),
        (["run", "{scenario}", "--flent", "{scenario}/x.flent.gz"], "--flent"),
        (["sweep", "{scenario}", "--cache", "{scenario}"], "expected a sweep"),
        (["compare", "{scenario}", "--queues", "red", "--cache", "{scenario}"], "--cache"),
        (["design", "pid", "--flows", "60", "--rate", "3750pps", "--rtt", "246ms", "--margin", "400"], "--margin"),
        (["design", "pi", "--flows", "60", "--rate", "3750pps", "--rtt", "246ms", "--target", "nan"], "--target"),
        (["design", "red", "--flows", "1e300", "--rate", "3750pps", "--rtt", "1s"], "--flows: expected"),
        (["design", "red", "--flows", "60", "--rate", "0pps", "--rtt", "1s"], "--rate: expected"),
        (
            ["design", "red", "--flows", "60", "--rate", "15", "--rtt", "1s"],
            'or in packets a second "3750pps", got "15"',
        ),
    ],
)
def test_what_no_command_can_use_is_refused_before_the_first_run(capsys, dumbbell, arguments, said):
    assert said in refused(capsys, *(argument.format(scenario=dumbbell) for argument in arguments))


def test_a_run_has_no_measures_to_choose_from(capsys, dumbbell, here):
    assert main(["run", str(dumbbell), "--out", "out"]) == 0
    assert "expected a sweep or comparison" in refused(capsys, "plot", "out", "--measure", "queue")


def test_names_are_printed_as_they_are(capsys, dumbbell):
    assert main(["run", str(dumbbell), "--seeds", "2"]) == 0
    assert "bottleneck:back: 2 seeds" in capsys.readouterr().out


def test_an_interruption_is_one_line(capsys, dumbbell, monkeypatch):
    def stop(*_, **__):
        raise Interrupted(2, 5, True)

    monkeypatch.setattr("sojourn.cli.runs.run_many", stop)
    assert main(["run", str(dumbbell)]) == 130
    assert "2 of 5 runs" in capsys.readouterr().err


def test_an_interruption_while_the_program_is_loading_is_one_line(capsys, monkeypatch):
    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == "sojourn.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "sojourn.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as stopped:
        sojourn_program.entry()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_the_program_loads_nothing_heavy_before_it_knows_the_command():
    code = "import sys, sojourn_program, sojourn.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "sojourn.cli" in loaded
    assert loaded.isdisjoint({"pandas", "scipy", "matplotlib", "control", "pyarrow", "asyncio"})


@pytest.mark.parametrize("command", ["list", "check", "schema", "run", "compare", "sweep", "plot", "reproduce"])
def test_every_command_has_help(capsys, command):
    assert main([command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.name)
def test_every_example_can_be_run(capsys, file, here):
    assert "can be run" in printed_by(capsys, "check", str(file))


def test_check_says_of_a_sweep_how_many_runs_it_is(capsys):
    axes = "queue, links.bottleneck.queue.limit, flows.ftp.count"
    said = printed_by(capsys, "check", str(ROOT / "examples" / "sweep.toml"))
    assert " ".join(said.split()).endswith(f": a sweep of 12 points × 5 seeds over {axes}: 60 runs, all can be run")
    resolved = ("check", str(ROOT / "examples" / "sweep.toml"), "--resolved")
    assert "--resolved: expected a scenario, got the sweep" in refused(capsys, *resolved)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (
            '[axes]\n"links.bottleneck.queue" = [{}, { aqm = "red" }, { aqm = "red", min = 10, max = 5 }]',
            'got 5 (in the run with links.bottleneck.queue = { aqm = "red", min = 10, max = 5 })',
        ),
        ('[axes]\n"flows.ftp.count" = [1, 2, 0]', "got 0 (in the run with flows.ftp.count = 0)"),
        (
            '[variants.size]\na.seed = 1\nb.seed = 2\nc."flows.fpt.count" = 1',
            'did you mean "ftp"? (in the run with size = "c")',
        ),
    ],
)
def test_a_sweep_with_a_point_that_cannot_be_run_is_refused_before_the_first_run(capsys, dumbbell, here, axes, said):
    Path("grid.toml").write_text(f'scenario = "dumbbell.toml"\n{axes}\n')
    assert refused(capsys, "check", "grid.toml").endswith(f"{said}\n")
    assert refused(capsys, "sweep", "grid.toml").endswith(f"{said}\n")
    assert not (here / "results").exists()  # no run is in the cache


def test_a_sweep_takes_changes_of_its_scenario(capsys, dumbbell, here):
    (here / "s.toml").write_text(f'scenario = "{dumbbell}"\n[axes]\n"flows.ftp.count" = [1, 2]\n')
    before = read_plan(here / "s.toml", {"links.bottleneck.rate": "5 Mbit/s"})
    assert {point.scenario["links"][0]["rate"] for point in before.points} == {"5 Mbit/s"}
    assert main(["sweep", "s.toml", "--no-cache", "--out", "o", "--set", "duration=2 s"]) == 0
    assert 'got "flows.ftp.count"' in refused(capsys, "sweep", "s.toml", "--set", "flows.ftp.count=3")


def test_every_summary_of_a_command_is_whole(capsys):
    assert main(["-h"]) == 0
    assert "..." not in capsys.readouterr().out.split("Commands:")[1]
