"""Finding programs on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from timesink.errors import CollectError
from timesink.recorder.ncu import executable as program
from timesink.recorder.ncu.executable import crash_of, find_ncu, ncu_version
from timesink.recorder.processes import check_program


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIMESINK_NCU", raising=False)
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "bin"))
    monkeypatch.setattr(program, "_PLACES", ((os.fspath(tmp_path / "opt"), "*/ncu"),))


def test_nowhere():
    assert find_ncu() is None


def test_newest_installed(tmp_path: Path):
    executable(tmp_path / "opt" / "2025.3.1" / "ncu")
    newest = executable(tmp_path / "opt" / "2025.10.0" / "ncu")
    executable(tmp_path / "opt" / "2024.1" / "ncu")
    (tmp_path / "opt" / "2026.1").mkdir()
    (tmp_path / "opt" / "2026.1" / "ncu").touch()
    assert find_ncu() == newest


def test_path_comes_before_what_is_installed_and_the_variable_before_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    executable(tmp_path / "opt" / "2025.3.1" / "ncu")
    on_path = executable(tmp_path / "bin" / "ncu")
    assert find_ncu() == on_path
    chosen = executable(tmp_path / "mine" / "ncu")
    monkeypatch.setenv("TIMESINK_NCU", str(chosen))
    assert find_ncu() == chosen
    assert find_ncu(on_path) == on_path


def test_path_of_this_folder_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    executable(tmp_path / "bin" / "ncu")
    here = executable(tmp_path / "ncu")
    monkeypatch.chdir(tmp_path)
    assert find_ncu("./ncu") == here
    assert find_ncu("bin/ncu") == find_ncu("ncu") == tmp_path / "bin" / "ncu"


def test_one_that_is_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    executable(tmp_path / "bin" / "ncu")
    monkeypatch.setenv("TIMESINK_NCU", "/nowhere/ncu")
    with pytest.raises(CollectError, match="/nowhere/ncu"):
        find_ncu()


def test_version(tmp_path: Path):
    output = "Nsight Compute\\nVersion 2025.3.1.0 (build 3)"
    ncu = executable(tmp_path / "ncu", f"#!/bin/sh\nprintf '{output}\\n'\n")
    assert ncu_version(ncu) == "2025.3.1.0"
    shy = executable(tmp_path / "shy", "#!/bin/sh\necho Nsight Compute\n")
    assert ncu_version(shy) == ""


@pytest.mark.parametrize("text", ["", "echo Version 9.9\n", "exit 3\n"])
def test_what_is_not_the_profiler(tmp_path: Path, text: str):
    stranger = executable(tmp_path / "true", f"#!/bin/sh\n{text}")
    with pytest.raises(CollectError) as caught:
        ncu_version(stranger)
    assert caught.value.message == f"{stranger}: is not Nsight Compute"
    assert "--ncu PATH" in caught.value.hint


def test_what_crashes_instead_of_telling_its_version(tmp_path: Path):
    with pytest.raises(CollectError, match="signal 11, SIGSEGV"):
        ncu_version(executable(tmp_path / "ncu", "#!/bin/sh\nkill -SEGV $$\n"))


def test_signals_that_ended_a_program():
    assert crash_of(-9) == crash_of(137) == "signal 9, SIGKILL"
    assert [crash_of(code) for code in (0, 1, 128, 255)] == [""] * 4


def test_what_cannot_be_run(tmp_path: Path):
    ncu = executable(tmp_path / "ncu", "#!/nowhere/interpreter\n")
    with pytest.raises(CollectError, match="cannot be started"):
        ncu_version(ncu)


def test_programs_to_measure(tmp_path: Path):
    check_program([str(executable(tmp_path / "train"))])
    with pytest.raises(CollectError, match="no such program"):
        check_program(["nosuch"])
    script = tmp_path / "train.py"
    script.touch()
    with pytest.raises(CollectError, match="not a program that can be run") as caught:
        check_program([str(script)])
    assert "python" in caught.value.hint
