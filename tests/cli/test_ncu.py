"""`timesink ncu`, with a stand-in for Nsight Compute."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bare import COMMAND, bare_environment
from fake_ncu import MISHAPS
from timesink.cli import ncu
from timesink.formats.source_file import read_trace
from timesink.recorder.ncu.process import _REDRAW_S

TESTS = Path(__file__).resolve().parent.parent
FAKE = TESTS / "fake_ncu.py"
LOOP = "fake_gpu.launch(*['elementwise_kernel', 'gemm'] * 15)\n"

pytestmark = pytest.mark.whole

Program = Callable[..., Path]


@pytest.fixture(autouse=True, scope="module")
def _hangups_are_heard() -> Iterator[None]:
    """Programs do not hear them where the tests themselves run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(autouse=True)
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder and a profiler, on a machine where `timesink kernels` does not work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIMESINK_NCU", str(FAKE))
    for name, value in bare_environment(tmp_path.parent / f"{tmp_path.name}-bare", TESTS).items():
        monkeypatch.setenv(name, value)
    # The stand-in asks for any `python3`: this one, not a program that first looks for one.
    places = (str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    monkeypatch.delenv("FAKE_NCU", raising=False)
    monkeypatch.setattr(ncu, "_STACK", ("nowhere_to_be_found",))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program to measure: `program("fake_gpu.launch('gemm')")`."""

    def write(text: str = LOOP) -> Path:
        path = tmp_path / "train.py"
        path.write_text(f"import os, sys, time\nimport fake_gpu\n{text}")
        return path

    return write


def read_header(path: Path | str = "timesink-ncu.csv") -> dict[str, Any]:
    first = Path(path).read_text().partition("\n")[0]
    return json.loads(first.removeprefix("# timesink-ncu "))


def kernels(path: Path | str = "timesink-ncu.csv") -> Counter[str]:
    """How often each kernel was measured."""
    lines = [line for line in Path(path).read_text().splitlines() if line.startswith('"')]
    names = [row["Kernel Name"] for row in csv.DictReader(io.StringIO("\n".join(lines)))]
    return Counter(name.split("::")[-1].split("<")[0] for name in names if name)


def leftovers() -> list[str]:
    return [path.name for path in Path().iterdir() if path.name.startswith(".timesink")]


def kept_kernels(path: str) -> int:
    """How many kernels a report of the stand-in holds."""
    return len(Path(path).read_text().splitlines())


# -- what is measured ----------------------------------------------------------------------------


def test_every_kernel(run, program: Program):
    outcome = run("ncu", "--", sys.executable, program())
    assert outcome.code == 0
    assert kernels() == {"elementwise_kernel": 15, "gemm": 15}
    assert leftovers() == []
    command, wrote = outcome.err.splitlines()
    assert command.startswith(f"{FAKE} -f -o ")
    assert command.endswith(f"{sys.executable} {program()}")
    assert wrote.startswith("Wrote 30 kernels of NVIDIA H200 to timesink-ncu.csv; ")
    assert "timesink kernels timesink-ncu.csv" in wrote
    # Read to the last digit.
    calls = read_trace(Path("timesink-ncu.csv")).kernel_calls
    assert set(calls["dur_ns"]) == {6176}
    assert set(calls["tensor_pct"]) == {0.801567}


def test_file_says_how_it_came_about(run, program: Program):
    run("ncu", "--every", "7", "--range", "1:3", "--", sys.executable, program(), "--lr", "1")
    header = read_header()
    assert header.pop("started").endswith("+00:00")
    assert header == {
        "version": 1,
        "timesink": "0.1.0",
        "ncu": "2025.3.1.0",
        "command": [sys.executable, str(program()), "--lr", "1"],
        "device": "NVIDIA H200",
        "metrics": "utilisation",
        "every": 7,
        "period": 1000,
        "picked": 143,
        "per": "kernel",
        "range": [1, 3],
        "kernel": None,
        "from_start": True,
        "clock_control": "none",
        "cache_control": "all",
        "exit_code": 0,
        "interrupted": False,
    }
    # What the profiler warned of is kept for those who read the numbers.
    assert "==WARNING== unmodified GPU clocks" in Path("timesink-ncu.csv").read_text()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--every", "7"], {"elementwise_kernel": 3, "gemm": 3}),
        (["--every", "10", "--kernel", "gemm"], {"gemm": 2}),
        (["--kernel", "^elem"], {"elementwise_kernel": 15}),
        (["--range", "10:4"], {"elementwise_kernel": 2, "gemm": 2}),
        (["--range", "29:"], {"gemm": 1}),
        (["--range", ":1"], {"elementwise_kernel": 1}),
    ],
)
def test_choice_of_kernels(run, program: Program, options: list[str], expected: dict[str, int]):
    assert run("ncu", *options, "--", sys.executable, program()).code == 0
    assert kernels() == expected


def test_only_between_start_and_stop(run, program: Program):
    text = "fake_gpu.launch('a'); fake_gpu.profiler_start(); fake_gpu.launch('b')\n"
    path = program(f"{text}fake_gpu.profiler_stop(); fake_gpu.launch('c')\n")
    assert run("ncu", "--from-start", "no", "--", sys.executable, path).code == 0
    assert kernels() == {"b": 1}
    assert read_header()["from_start"] is False


def test_processes_the_program_starts(run, program: Program):
    text = "if os.fork() == 0:\n    fake_gpu.launch('child')\n    os._exit(0)\nos.wait()\n"
    assert run("ncu", "--", sys.executable, program(f"{text}fake_gpu.launch('parent')")).code == 0
    assert kernels() == {"child": 1, "parent": 1}


def test_packed_file_and_report(run, program: Program):
    outcome = run("ncu", "-o", "k.csv.gz", "--keep-report", "k.ncu-rep", "--", sys.executable,
               program())  # fmt: skip
    assert outcome.code == 0
    assert "--import-sass" not in outcome.err
    assert Path("k.csv.gz").read_bytes().startswith(b"\x1f\x8b")
    assert kept_kernels("k.ncu-rep") == 30


def test_summary_follows_where_it_can(run, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ncu, "_STACK", ())
    commands: list[list[str]] = []

    def main(words: list[str]) -> int:
        commands.append(words)
        return 0

    monkeypatch.setattr("timesink.cli.main", main)
    outcome = run("ncu", "--", sys.executable, program())
    assert outcome.err.splitlines()[-1] == "Wrote 30 kernels of NVIDIA H200 to timesink-ncu.csv"
    assert commands == [["kernels", "timesink-ncu.csv"]]


def test_dry_run_shows_commands_and_does_nothing(run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TIMESINK_NCU", "/nowhere/ncu")
    outcome = run("ncu", "--dry-run", "-o", "my file.csv", "--", "nosuch", "a b")
    profile, show = outcome.out.splitlines()
    assert profile.startswith("ncu -f -o 'my file' --target-processes all")
    assert profile.endswith("nosuch 'a b'")
    assert show.startswith("ncu --import 'my file.ncu-rep' --csv --page raw")
    assert show.endswith("> 'my file.csv'")
    assert list(Path().iterdir()) == []


def test_older_version_knows_fewer_options(run, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NCU", "old")
    assert run("ncu", "--", sys.executable, program()).code == 0
    assert (kernels().total(), read_header()["ncu"]) == (30, "2021.2.0.0")


def test_table_printed_instead_of_a_report(run, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NCU", "table")
    outcome = run("ncu", "--", sys.executable, program("print('mine')\n" + LOOP))
    assert (outcome.code, outcome.out) == (0, "mine\n")
    assert kernels() == {"elementwise_kernel": 60, "gemm": 60}
    assert "Wrote 30 kernels to" in outcome.err


def test_metrics_nobody_knows_are_named(run, program: Program):
    outcome = run("ncu", "--metrics", "nosuch.sum,dram__bytes.sum", "--", sys.executable, program())
    assert outcome.code == 0
    assert "warning: no kernel has a value of nosuch.sum: unknown to this ncu" in outcome.err
    assert "hint: ncu --query-metrics" in outcome.err
    assert read_header()["metrics"] == "custom"


def test_roofline_asks_for_more_than_any_device_has(run, program: Program):
    outcome = run("ncu", "--metrics", "roofline", "--", sys.executable, program())
    assert "dram__bytes.sum" in outcome.err
    assert "warning" not in outcome.err


# -- output of the program -----------------------------------------------------------------------


def test_output_of_the_program_is_unchanged(program: Program):
    text = """
print("one", flush=True)
fake_gpu.launch("gemm")
print("50 %\\r", end="", flush=True)
fake_gpu.launch("gemm")
sys.stdout.buffer.write(b"\\xff== two")
sys.stdout.flush()
print("oops", file=sys.stderr, flush=True)
fake_gpu.launch("gemm")
print(" three")
"""
    program(text)
    command = ["ncu", "--", sys.executable, "train.py"]
    process = subprocess.run([*COMMAND, *command], capture_output=True, check=True)
    plain = subprocess.run([sys.executable, "train.py"], capture_output=True, check=True)
    assert process.stdout.startswith(plain.stdout)
    assert b"\noops\n" in process.stderr
    assert b"==PROF==" not in process.stdout + process.stderr


def test_program_reads_what_is_typed(program: Program):
    program("fake_gpu.launch(input('name? '))")
    process = subprocess.run(
        [*COMMAND, "ncu", "--", sys.executable, "train.py"],
        input="gemm\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout.startswith("name? ")
    assert kernels() == {"gemm": 1}


def test_terminal_for_a_terminal(program: Program):
    pty = pytest.importorskip("pty")
    terminal_check = "print('on a terminal:', sys.stdout.isatty(), sys.stderr.isatty())\n"
    program(f"{terminal_check}time.sleep({_REDRAW_S})\n{LOOP}")
    reading, writing = pty.openpty()
    terminal_output = b""
    with subprocess.Popen(
        [*COMMAND, "ncu", "--", sys.executable, "train.py"],
        stdin=subprocess.DEVNULL, stdout=writing, stderr=writing,
    ):  # fmt: skip
        os.close(writing)
        while piece := _read(reading):
            terminal_output += piece
    os.close(reading)
    assert b"on a terminal: True True\r\n" in terminal_output
    assert b"profiling kernel 1" in terminal_output
    assert b"==PROF==" not in terminal_output


def _read(end: int) -> bytes:
    try:
        return os.read(end, 4096)
    except OSError:
        return b""


def test_output_that_stays_open(program: Program):
    """A process the program leaves behind does not hold up the result."""
    left = "import subprocess\nleft = subprocess.Popen(['sleep', '1000'])\n"
    program(f"{left}open('pid', 'w').write(str(left.pid))\n{LOOP}")
    command = [*COMMAND, "ncu", "--", sys.executable, "train.py"]
    subprocess.run(command, capture_output=True, check=True)
    os.kill(int(Path("pid").read_text()), signal.SIGKILL)
    assert kernels().total() == 30


# -- failures ------------------------------------------------------------------------------------


def last_words(outcome: Any) -> tuple[str, str]:
    message, hint = outcome.err.splitlines()[-2:]
    assert message.startswith("timesink: ")
    assert hint.startswith("hint: ")
    return message, hint


def test_program_that_fails_leaves_what_was_measured(run, program: Program):
    outcome = run("ncu", "--", sys.executable, program(LOOP + "sys.exit(3)"))
    message, hint = last_words(outcome)
    assert (outcome.code, message) == (1, "timesink: the program ended with exit code 3")
    assert "in the file" in hint
    assert (kernels().total(), read_header()["exit_code"]) == (30, 3)


def test_program_that_is_killed_leaves_what_was_measured(run, program: Program):
    outcome = run("ncu", "--", sys.executable, program(LOOP + "os.kill(os.getpid(), 11)"))
    assert last_words(outcome)[0] == "timesink: the program was killed by signal 11 (SIGSEGV)"
    assert (outcome.code, kernels().total()) == (1, 30)


def test_nothing_to_measure(run, program: Program):
    outcome = run("ncu", "--", sys.executable, program("print('no GPU here')"))
    message, hint = last_words(outcome)
    assert (outcome.code, outcome.out) == (1, "no GPU here\n")
    assert "no kernel was measured" in message
    assert "NVIDIA GPU" in hint
    assert [path.name for path in Path().iterdir()] == ["train.py"]


def test_filters_that_leave_nothing(run, program: Program):
    outcome = run("ncu", "--range", "1000:", "--", sys.executable, program())
    assert last_words(outcome)[1] == "hint: try without --range"


@pytest.mark.parametrize(
    ("mishap", "remedy"),
    [
        ("permission", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("busy", "one profiler at a time"),
        ("driver", "--ncu PATH"),
        ("strange", "by hand"),
    ],
)
def test_profiler_that_fails(
    run, program: Program, monkeypatch: pytest.MonkeyPatch, mishap: str, remedy: str
):
    monkeypatch.setenv("FAKE_NCU", mishap)
    outcome = run("ncu", "--", sys.executable, program())
    message, hint = last_words(outcome)
    assert outcome.code == 1
    assert message == f"timesink: Nsight Compute: {MISHAPS[mishap].removeprefix('==ERROR== ')}"
    assert remedy in hint


def test_profiler_that_crashes(run, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NCU", "crash")
    message, hint = last_words(run("ncu", "--", sys.executable, program()))
    assert message == "timesink: Nsight Compute itself crashed (signal 11, SIGSEGV)"
    assert "newer" in hint
    assert leftovers() == []


def test_what_is_not_the_profiler(decline, program: Program):
    path = program("open('ran', 'w')")
    message, _ = decline("ncu", "--ncu", "/bin/true", "--", sys.executable, path)
    assert message == "/bin/true: is not Nsight Compute"
    assert not Path("ran").exists()


def test_profiler_in_this_folder(run, program: Program):
    Path("ncu").symlink_to(FAKE)
    assert run("ncu", "--ncu", "./ncu", "--", sys.executable, program()).code == 0
    assert kernels().total() == 30


def test_report_that_cannot_be_read_is_not_thrown_away(
    run, program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_NCU", "unreadable")
    outcome = run("ncu", "--", sys.executable, program())
    message, hint = last_words(outcome)
    assert "Failed to load report" in message
    assert hint == "hint: the report is kept as timesink-ncu.ncu-rep"
    assert kept_kernels("timesink-ncu.ncu-rep") == 30


def test_table_that_breaks_off_is_no_table(run, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FAKE_NCU", "torn")
    outcome = run("ncu", "--", sys.executable, program())
    message, hint = last_words(outcome)
    assert outcome.code == 1
    assert message == "timesink: Nsight Compute cannot print its own report: Out of words"
    assert hint == "hint: the report is kept as timesink-ncu.ncu-rep"
    assert kept_kernels("timesink-ncu.ncu-rep") == 30
    assert not Path("timesink-ncu.csv").exists()
    assert leftovers() == []


def test_table_that_breaks_off_is_printed_with_other_options(
    run, program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_NCU", "picky")
    assert run("ncu", "--", sys.executable, program()).code == 0
    assert kernels().total() == 30


def test_report_that_is_kept_takes_no_name_of_another(
    run, program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_NCU", "unreadable")
    for name in ("k.ncu-rep", "k-2.ncu-rep"):
        Path(name).write_text("mine")
    outcome = run("ncu", "--force", "-o", "k.csv.gz", "--", sys.executable, program())
    assert last_words(outcome)[1] == "hint: the report is kept as k-3.ncu-rep"
    assert kept_kernels("k-3.ncu-rep") == 30
    assert {Path(name).read_text() for name in ("k.ncu-rep", "k-2.ncu-rep")} == {"mine"}


def test_report_that_is_asked_for_is_kept_there_whatever_happens(
    run, program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_NCU", "unreadable")
    outcome = run("ncu", "--keep-report", "mine.ncu-rep", "--", sys.executable, program())
    assert last_words(outcome)[1] == "hint: the report is kept as mine.ncu-rep"
    assert kept_kernels("mine.ncu-rep") == 30


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (csv.Error("line contains NUL"), "Error: line contains NUL"),
        (MemoryError(), "out of memory"),
    ],
)
def test_report_is_kept_whatever_happens_after_measuring(
    run, program: Program, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("timesink.recorder.ncu.table.look_at", fail)
    outcome = run("ncu", "--", sys.executable, program())
    assert last_words(outcome) == (
        f"timesink: {words}",
        "hint: the report is kept as timesink-ncu.ncu-rep",
    )
    assert kept_kernels("timesink-ncu.ncu-rep") == 30
    assert leftovers() == []


def test_report_goes_elsewhere_when_its_place_vanished(run, program: Program):
    """The table is written all the same."""
    Path("reports").mkdir()
    path = program(LOOP + "os.rmdir('reports')")
    outcome = run("ncu", "--keep-report", "reports/k.ncu-rep", "--", sys.executable, path)
    message, hint = last_words(outcome)
    assert (outcome.code, kernels().total()) == (1, 30)
    assert message == "timesink: reports/k.ncu-rep: cannot be written"
    assert hint == "hint: the report is kept as timesink-ncu.ncu-rep"
    assert kept_kernels("timesink-ncu.ncu-rep") == 30


def test_program_that_fails_and_report_that_goes_elsewhere(run, program: Program):
    Path("reports").mkdir()
    path = program(LOOP + "os.rmdir('reports'); sys.exit(3)")
    outcome = run("ncu", "--keep-report", "reports/k.ncu-rep", "--", sys.executable, path)
    message, hint = last_words(outcome)
    assert message == "timesink: the program ended with exit code 3"
    assert hint.endswith("in the file; the report is kept as timesink-ncu.ncu-rep")


def test_no_profiler(decline, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TIMESINK_NCU")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("timesink.recorder.ncu.executable._PLACES", ())
    message, hint = decline("ncu", "--", sys.executable, program())
    assert "ncu) is not installed" in message
    assert "--ncu PATH or TIMESINK_NCU" in hint


@pytest.mark.parametrize("word", ["nosuch", "./nosuch", "train.py"])
def test_no_program(decline, program: Program, word: str):
    program()
    message, _ = decline("ncu", "--", word)
    assert message.startswith(f"{word}: ")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-o", "there.csv"], "already exists"),
        (["--keep-report", "there.ncu-rep"], "already exists"),
        (["-o", "there.csv/k.csv"], "cannot be written"),
        (["-o", "."], "it is a folder"),
        (["-o", "train.py", "--force"], "part of the program"),
    ],
)
def test_output_is_checked_first(decline, program: Program, options: list[str], problem: str):
    text = program("raise SystemExit('ran')").read_text()
    for name in ("there.csv", "there.ncu-rep"):
        Path(name).write_text("mine")
    message, _ = decline("ncu", *options, "--", sys.executable, program(text))
    assert problem in message
    assert Path("there.csv").read_text() == "mine"


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--force"]])
def test_one_file_for_table_and_report(decline, program: Program, more: list[str]):
    words = ["-o", "s.ncu-rep", "--keep-report", "./s.ncu-rep", *more]
    message, hint = decline("ncu", *words, "--", sys.executable, program(), code=2)
    assert "both the table and the report" in message
    assert "--keep-report" in hint


@pytest.mark.parametrize("options", [["-o", "shut/k.csv"], ["--keep-report", "shut/k.ncu-rep"]])
def test_folder_that_takes_nothing(
    decline, program: Program, monkeypatch: pytest.MonkeyPatch, options: list[str]
):
    Path("shut").mkdir()
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "shut" and allowed(path, mode)
    )
    message, _ = decline("ncu", *options, "--", sys.executable, program("raise SystemExit('ran')"))
    assert "no permission" in message


def test_full_disk_is_noticed_first(decline, program: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("timesink.recorder.folder._MIN_FREE_BYTES", 2**80)
    assert "left on its disk" in decline("ncu", "--", sys.executable, program())[0]


def test_overwriting_is_allowed_when_asked(run, program: Program):
    Path("timesink-ncu.csv").write_text("old")
    program()
    code = f"import train  # {'long ' * 1000}"
    assert run("ncu", "--force", "--", sys.executable, "-c", code).code == 0
    assert kernels().total() == 30


@pytest.mark.parametrize(
    "options",
    [
        ["--every", "1"],
        ["--every", "1001"],
        ["--every", "x"],
        ["--range", "5"],
        ["--range", ":"],
        ["--range", "-1:2"],
        ["--range", "1:0"],
        ["--kernel", ""],
        ["--kernel", "("],
        ["--zork"],
        ["--clock-control", "boost"],
        ["--keep-report", "report.txt"],
        ["-o", "-"],
    ],
)
def test_wrong_usage(run, options: list[str]):
    outcome = run("ncu", *options, "--", "train")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: timesink ncu")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--range=-1:5"], "START and COUNT are whole numbers from 0"),
        (["--range", "-1:5"], "for one that starts with a dash write --range=VALUE"),
        (["-o", "--force"], "for one that starts with a dash write --output=VALUE"),
        (["--kernel", "("], "'(' is not a regular expression: missing )"),
        (["--zork"], "timesink ncu: error: unrecognized arguments: --zork"),
    ],
)
def test_wrong_usage_is_explained(run, options: list[str], words: str):
    assert words in run("ncu", *options, "--", "train").err


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_table_under_the_name_of_a_page(decline, more: list[str]):
    _, hint = decline("ncu", "-o", "x.html", *more, "--", sys.executable, "-V", code=2)
    assert hint == "write a .csv file, then timesink kernels FILE.csv -o x.html"


@pytest.mark.parametrize(
    "words",
    [[], ["--"], ["--metrics", "a b", "--", "x"], ["--every", "7", "--kernel", "a::b", "--", "x"]],
)
def test_wrong_combinations(decline, words: list[str]):
    decline("ncu", "--dry-run", *words, code=2)


# -- interruptions -------------------------------------------------------------------------------

FOREVER = """
fake_gpu.launch("gemm")
open("running", "w").close()
while True:
    time.sleep(0.05)
"""


def start(
    path: Path, *options: str, signals_all: bool = False, until: str = "running"
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*COMMAND, "ncu", *options, "--", sys.executable, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=signals_all,
    )  # fmt: skip
    wait_for(Path(until))
    return process


def last_said(err: str) -> list[str]:
    """What we said last: a program that is killed may leave a line of its own half written."""
    return err[err.rindex("timesink: ") :].splitlines()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("everyone", [True, False], ids=["terminal", "only us"])
def test_interruption_keeps_what_was_measured(program: Program, *, everyone: bool):
    """A terminal signals all of its programs; `kill` only the one it is given."""
    process = start(program(FOREVER), signals_all=everyone)
    if everyone:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert last_said(err) == ["timesink: interrupted"]
    assert "stopping;" in err
    assert kernels() == {"gemm": 1}
    assert read_header()["interrupted"] is True
    assert leftovers() == []


def test_interruption_before_the_first_kernel(program: Program):
    process = start(program("open('running', 'w').close()\ntime.sleep(60)\n"))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 143
    # The program may write a traceback of its own in between.
    assert "stopping (once more: stop at once)" in err.splitlines()
    assert last_said(err) == ["timesink: interrupted; nothing was measured"]
    assert not Path("timesink-ncu.csv").exists()
    assert leftovers() == []


def test_interruption_without_a_result_tells_of_the_file_from_before(program: Program):
    Path("timesink-ncu.csv").write_text("old")
    path = program("open('running', 'w').close()\ntime.sleep(60)\n")
    process = start(path, "--force")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert last_said(err) == [
        "timesink: interrupted; nothing was measured",
        "hint: timesink-ncu.csv is from before, and was not touched",
    ]
    assert Path("timesink-ncu.csv").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_while_the_report_is_printed(
    program: Program, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
):
    monkeypatch.setenv("FAKE_NCU", "slow")
    process = start(program(), until="printing")
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 128 + number
    assert last_said(err) == [
        "timesink: interrupted",
        "hint: the report is kept as timesink-ncu.ncu-rep",
    ]
    assert kept_kernels("timesink-ncu.ncu-rep") == 30
    assert leftovers() == []


def test_dropped_connection_keeps_what_was_measured(program: Program):
    """The end of a session reaches all of its programs."""
    process = start(program(FOREVER), signals_all=True)
    os.killpg(process.pid, signal.SIGHUP)
    process.communicate()
    assert process.returncode == 128 + signal.SIGHUP
    assert kernels() == {"gemm": 1}
    assert leftovers() == []


def test_interruption_and_a_report_that_cannot_be_read(
    program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_NCU", "unreadable")
    process = start(program(FOREVER))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    message, hint = last_said(err)
    assert message.startswith("timesink: interrupted; Nsight Compute cannot print")
    assert hint == "hint: the report is kept as timesink-ncu.ncu-rep"
    assert kept_kernels("timesink-ncu.ncu-rep") == 1


def test_second_interruption_kills_everything(program: Program):
    text = "import signal\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
    mine = "open('pid', 'w').write(str(os.getpid()))\n"
    process = start(program(text + mine + FOREVER))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping;" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert last_said(err) == ["timesink: interrupted; what was measured is lost"]
    assert not is_running(int(Path("pid").read_text()))
    assert leftovers() == []


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
