"""What commands have in common: help, wrong usage, unreadable inputs, interruptions."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import timesink
from builders import training_trace, write
from timesink.cli import info, main
from timesink.cli.command_line import COMMANDS, FORMER_NAMES, GROUPS, build_parser
from timesink.errors import UnreadableError
from timesink.runtime.native import NATIVE_VARIABLE, is_native, native_state

SQL = "select * from host"


# -- help and usage ------------------------------------------------------------------------------


def test_version(run):
    assert run("--version").out == f"timesink {timesink.__version__}\n"


@pytest.mark.parametrize("state", ["0", "1"])
def test_version_says_what_reads_traces(run, state, monkeypatch):
    monkeypatch.setenv(NATIVE_VARIABLE, state)
    version, reads, python = run("--version", "--verbose").out.splitlines()
    assert version == f"timesink {timesink.__version__}"
    assert reads == f"traces are read by: {native_state()}"
    assert ("native" in reads) is (is_native() and state == "1")
    assert "python" in python.lower()


def test_help_lists_every_command(run):
    outcome = run("--help")
    assert outcome.code == 0
    listed = [name for group in GROUPS.values() for name in group]
    assert all(f"\n  {name} " in outcome.out for name in listed)
    assert "lab" not in listed


def test_help_says_in_eight_words_what_a_command_does():
    lengths = {name: len(summary.split()) for name, (_, summary) in COMMANDS.items()}
    assert {name: count for name, count in lengths.items() if count > 8} == {}


@pytest.mark.parametrize(("former", "name"), FORMER_NAMES.items())
def test_former_names_of_commands_work(run, former: str, name: str):
    assert run(former, "--help").out == run(name, "--help").out
    assert run(former, "/nowhere").err == run(name, "/nowhere").err


def test_help_of_every_command(run):
    outcomes = {command: run(command, "--help") for command in COMMANDS}
    assert {name: outcome.code for name, outcome in outcomes.items()} == dict.fromkeys(COMMANDS, 0)
    begin = {
        name: outcome.out.startswith(f"usage: timesink {name}")
        for name, outcome in outcomes.items()
    }
    assert begin == dict.fromkeys(COMMANDS, True)


@pytest.mark.parametrize(
    ("command", "former", "alias"),
    [
        ("record", ("--cycles", "7", "--plain", "3"), ("--steps", "7", "--unprofiled", "3")),
        ("record", ("--plain-only",), ("--unprofiled-only",)),
        ("ab", ("--plain", "3"), ("--unprofiled", "3")),
        ("watch run", ("--cycles", "7", "--plain", "3"), ("--steps", "7", "--unprofiled", "3")),
        ("compare x y", ("--cycles", "decode"), ("--step-type", "decode")),
        ("gate x y", ("--cycles", "decode"), ("--step-type", "decode")),
        ("slow-steps x", ("--cycles", "decode"), ("--step-type", "decode")),
    ],
)
def test_options_go_by_the_words_of_the_glossary_too(
    command: str, former: tuple[str, ...], alias: tuple[str, ...]
):
    parse = build_parser().parse_args
    expected = parse([*command.split(), *former])
    assert parse([*command.split(), *alias]) == expected
    assert expected != parse(command.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("info",),
        ("info", ""),
        ("info", "a", "--format", "pdf"),
        ("info", "a", "--jobs", "0"),
        ("info", "a", "--jobs", "two"),
        ("query", "a"),
        ("export", "a"),
        ("cache",),
        ("completion", "fish"),
    ],
)
def test_wrong_usage_exits_with_2(run, arguments: tuple[str, ...]):
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: timesink")


def test_timesink_alone_shows_the_commands(run):
    outcome = run()
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == run("--help").out


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("analyse", "analyze"),
        ("report", "analyze"),
        ("diff", "compare"),
        ("view", "serve"),
        ("anlyze", "analyze"),
        ("Compare", "compare"),
        ("diagnoze", "slow-steps"),
    ],
)
def test_a_command_that_is_not_there_suggests_the_right_one(run, word: str, suggestion: str):
    outcome = run(word, "trace.json")
    assert outcome.code == 2
    assert outcome.err.endswith(f"invalid choice: '{word}' (did you mean {suggestion}?)\n")


def test_only_what_is_close_is_suggested(run):
    assert "did you mean operators?" in run("analyze", "a", "--view", "operator").err
    assert "did you mean" not in run("nonsense").err


@pytest.mark.parametrize("name", ["a.txt", "a.json", "a.csv", "a.md", "a.html"])
def test_an_answer_goes_to_a_new_folder_and_replaces_only_answers(
    run, decline, tmp_path: Path, name: str
):
    output = tmp_path / "new" / "folder" / name
    command = ("query", timesink.sample(), "select * from steps", "-o", output)
    if name.endswith(".html"):
        command = ("info", timesink.sample(), "-o", output)
    for _ in range(2):
        assert run(*command).code == 0
    output.write_text("my own notes")
    message, hint = decline(*command)
    assert "already exists, and timesink did not write it" in message
    assert "--force" in hint
    assert output.read_text() == "my own notes"
    message, _ = decline(*command[:-1], output / name)
    assert f"{output} is a file" in message


def test_a_recording_is_no_answer_and_is_not_replaced(decline, tmp_path: Path):
    run_file = tmp_path / "run.json"
    run_file.write_text('{"schema": "timesink/run/1"}')
    message, _ = decline("info", timesink.sample(), "-o", run_file)
    assert "already exists" in message


def test_an_answer_may_go_to_a_device(run):
    outcome = run("compare", *timesink.sample_runs(), "-o", os.devnull)
    assert (outcome.code, outcome.err) == (0, f"Wrote {os.devnull}\n")
    assert run("query", timesink.sample(), "select 1", "-o", os.devnull).code == 0
    run("compare", "nowhere", "neither", "--fail-on", "5%", "-o", os.devnull)
    assert Path(os.devnull).exists()


# -- inputs that cannot be read ------------------------------------------------------------------


def missing_file(folder: Path) -> Path:
    return folder / "nowhere.json"


def empty(folder: Path) -> Path:
    (folder / "empty.json").touch()
    return folder / "empty.json"


def empty_inside(folder: Path) -> Path:
    (folder / "empty.json.gz").write_bytes(gzip.compress(b""))
    return folder / "empty.json.gz"


def binary(folder: Path) -> Path:
    (folder / "binary.json").write_bytes(bytes(range(256)) * 8)
    return folder / "binary.json"


def prose(folder: Path) -> Path:
    (folder / "notes [draft].txt").write_text("Dear diary,\ntoday I profiled.\n")
    return folder / "notes [draft].txt"


def other_json(folder: Path) -> Path:
    (folder / "config.json").write_text('{"learning_rate": 0.1}')
    return folder / "config.json"


def broken_archive(folder: Path) -> Path:
    (folder / "trace.json.zip").write_bytes(b"PK\x03\x04 and no more")
    return folder / "trace.json.zip"


def folder_without_traces(folder: Path) -> Path:
    (folder / "notes.txt").write_text("no trace")
    return folder


def device_file(folder: Path) -> Path:
    del folder
    return Path(os.devnull)


def forbidden(folder: Path) -> Path:
    file = folder / "secret.json"
    file.write_text("{}")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    return file


UNREADABLE = [
    missing_file,
    empty,
    empty_inside,
    binary,
    prose,
    other_json,
    broken_archive,
    folder_without_traces,
    device_file,
    forbidden,
]


@pytest.mark.parametrize("make", UNREADABLE)
@pytest.mark.parametrize("command", ["info", "query", "export"])
def test_one_line_and_a_hint(decline, tmp_path: Path, make, command: str):
    place = tmp_path / "input"
    place.mkdir()
    path = make(place)
    more = {"query": [SQL], "export": ["-o", tmp_path / "out.json"]}
    message, hint = decline(command, path, *more.get(command, []))
    assert str(path) in message
    assert hint
    assert "internal error" not in message


# -- outputs that would destroy inputs -----------------------------------------------------------


def write_over(command: str, path: Path, output: Path) -> list[object]:
    more = [SQL] if command == "query" else []
    return [command, path, *more, "-o", output, "--force"]


@pytest.mark.parametrize("command", ["analyze", "info", "query", "export"])
def test_what_is_read_is_never_overwritten(decline, tmp_path: Path, command: str):
    trace = write(tmp_path / "trace.json", training_trace(1))
    before = trace.read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(trace)
    for path, output in ((trace, trace), (tmp_path, trace), (trace, link), (link, trace)):
        message, _ = decline(*write_over(command, path, output))
        assert "this is the input" in message
    assert trace.read_bytes() == before


def test_counters_beside_a_trace_are_read_as_well(decline, tmp_path: Path):
    trace = write(tmp_path / "trace.json", training_trace(1))
    counters = tmp_path / "trace.counters.csv"
    counters.write_text("mine")
    decline("query", trace, SQL, "-o", counters, "--force")
    assert counters.read_text() == "mine"


def test_an_export_is_not_written_over_itself(run, decline, tmp_path: Path):
    tables = tmp_path / "tables"
    run("export", timesink.sample(), "-o", tables)
    for output in (tables, tables / "trace.json"):
        message, _ = decline("export", tables, "-o", output, "--force")
        assert "this is the input" in message
    assert timesink.open(tables).device.height == 982


def test_a_result_may_lie_beside_what_was_read(run, tmp_path: Path):
    write(tmp_path / "trace.json", training_trace(1))
    for _ in range(2):
        assert run("info", tmp_path, "-o", tmp_path / "answer.html", "--force").code == 0


@pytest.mark.parametrize("command", ["export", "demo"])
@pytest.mark.parametrize("output", ["-", ""])
def test_what_needs_a_file(run, command: str, output: str):
    outcome = run(command, *([timesink.sample()] if command == "export" else []), "-o", output)
    assert (outcome.code, outcome.out) == (2, "")


def test_debug_shows_where_it_came_from(run, tmp_path: Path):
    with pytest.raises(UnreadableError):
        run("info", tmp_path / "nowhere.json", "--debug")


def test_debug_says_which_limits_an_answer_rests_on(run, sample_copy: Path):
    outcome = run("analyze", sample_copy, "--debug")
    plain = run("analyze", sample_copy)
    assert outcome.out == plain.out
    lines = outcome.err.splitlines()
    assert "limits this answer rests on:" in lines
    assert any(line.startswith("  rules.idle.min_idle = 0.2: ") for line in lines)
    assert "limits" not in plain.err


# -- surprises -----------------------------------------------------------------------------------


def test_bug_is_one_line_that_asks_for_a_report(decline, monkeypatch: pytest.MonkeyPatch):
    def fail(_options: object) -> int:
        message = "first\nsecond"
        raise ValueError(message)

    monkeypatch.setattr(info, "run", fail)
    message, hint = decline("info", "x")
    assert message == "internal error (ValueError: first)"
    assert "--debug" in hint


def test_interruption(run, monkeypatch: pytest.MonkeyPatch):
    def interrupt(_options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "run", interrupt)
    outcome = run("info", "x")
    assert (outcome.code, outcome.err) == (130, "timesink: interrupted\n")


# -- as a program --------------------------------------------------------------------------------


def test_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "timesink", "query", timesink.sample(), SQL]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, "--format", "csv"], stdout=pipe, stderr=pipe, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline().startswith("index,kind")
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0


@pytest.mark.parametrize("arguments", [("info",), ("query", f"{SQL} limit 60")])
def test_no_colours_but_on_a_terminal(
    run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
):
    command, *rest = arguments
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run(command, timesink.sample(), *rest)
    assert outcome.out
    assert "\x1b" not in outcome.out + outcome.err
    assert all(line == line.rstrip() and len(line) <= 80 for line in outcome.out.splitlines())


def test_terminal_without_unicode(monkeypatch: pytest.MonkeyPatch):
    screen = io.BytesIO()
    # As Python begins where the terminal is said to know no more.
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(screen, encoding="ascii"))
    assert main(["query", str(timesink.sample()), "select name from device"]) == 0
    assert rb"\u2026" in screen.getvalue()


# -- completion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_the_commands(run, shell: str):
    script = run("completion", shell).out
    assert all(name in script for name in COMMANDS)


def test_bash_accepts_its_completion(run):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    script = run("completion", "bash").out
    checked = subprocess.run(
        [bash, "-n"], input=script, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
