"""Baselines say what their recordings said, and are refused where they cannot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import timesink
from compared_runs import rank_fields, write_timeline
from timesink.answers.comparison.report import compare
from timesink.comparison.gate import baseline_store as baseline
from timesink.comparison.gate import baseline_store as content
from timesink.comparison.gate.baseline_store import (
    list_baselines,
    load_baseline,
    remove_baseline,
    save_baseline,
)
from timesink.comparison.inputs import SideReadOptions
from timesink.comparison.prefetch import CycleSearch
from timesink.comparison.results import Run
from timesink.errors import NotFoundError, OutputError, TimesinkError, UnreadableError, UsageError
from timesink.sources.kept_answers import Tables

BY_MARKER = SideReadOptions(finding=CycleSearch("decode_step"))
NAMES_OF_PLACES = ("sources", "source", "identifier", "file", "label")


def without_places(answer: Any) -> Any:
    """An answer without what names files; roles in the order of their processes."""
    if isinstance(answer, dict):
        fields = {key: without_places(value) for key, value in answer.items()}
        if "roles" in fields:
            fields["roles"] = sorted(fields["roles"], key=json.dumps)
        return {key: value for key, value in fields.items() if key not in NAMES_OF_PLACES}
    return [without_places(item) for item in answer] if isinstance(answer, list) else answer


def answers(base: Path, new: Path, store: Path, **options: Any) -> tuple[Any, Any]:
    """What comparing says of the recording, and of the baseline made of it."""
    save_baseline("base", base, store)
    plain = timesink.compare(base, new, **options).to_dict()
    from_baseline = compare("@base", new, store=store, **options).to_dict()
    assert from_baseline["sources"][0] == "@base"
    return without_places(plain), without_places(from_baseline)


def write_pair(folder: Path) -> tuple[Path, Path]:
    return (
        write_timeline(folder / "base" / "trace.json", cycles=8),
        write_timeline(folder / "new" / "trace.json", cycles=8, slow=2.0),
    )


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for two recordings, and for what is kept of them."""
    return tmp_path_factory.mktemp("pair")


@pytest.fixture
def pair(read_once: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two recordings that nobody changes."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(read_once / "cache"))
    there = read_once / "base" / "trace.json", read_once / "new" / "trace.json"
    return there if all(path.exists() for path in there) else write_pair(read_once)


@pytest.fixture(scope="module")
def base_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the first of such a pair as `base`."""
    folder = tmp_path_factory.mktemp("saved")
    save_baseline("base", write_pair(folder)[0], folder / "store")
    return folder / "store"


@pytest.fixture
def store(base_store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base_store, tmp_path / "store"))


def test_file_names_no_place(tmp_path):
    run = tmp_path / "run"
    for rank in range(2):
        write_timeline(run / f"rank{rank}.json", cycles=8, **rank_fields(rank))
    (run / "rank1.json").write_text("[{")
    saved = save_baseline("base", run, tmp_path / "store")
    (file,) = (tmp_path / "store").iterdir()
    assert saved.size_bytes == file.stat().st_size < 100_000
    # What is in there is compressed: everything it says is looked at instead.
    text = repr((saved, [role.behaviour.to_dicts() for role in saved.runs]))
    assert "left out: rank1.json: " in text
    assert str(tmp_path) not in text


def test_only_whole_paths_are_shortened(tmp_path):
    shorten = content._without_place
    (tmp_path / "run").mkdir()
    for note in (f"{tmp_path}/run2/x: cut", f"/other{tmp_path}/run/x: cut", "run: a run"):
        assert shorten(note, tmp_path / "run") == note
    assert shorten(f"left out: {tmp_path}/run/x: cut", tmp_path / "run") == "left out: x: cut"
    assert shorten(f"({tmp_path}/run)", tmp_path / "run") == "(run)"


def test_baselines_with_other_cycles_are_refused_in_either_order(tmp_path):
    store = tmp_path / "store"
    run = write_timeline(tmp_path / "trace.json", steps=True, cycles=8)
    save_baseline("a", run, store, reading=SideReadOptions(finding=CycleSearch(by="step")))
    save_baseline("b", run, store, reading=BY_MARKER)
    for names in (("@a", "@b"), ("@b", "@a")):
        with pytest.raises(UsageError, match="saved with other steps") as refused:
            compare(*names, store=store)
        assert all(name in refused.value.message for name in names)
        assert "leave out" not in refused.value.hint


def test_default_store_is_below_the_working_directory(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIMESINK_BASELINES", raising=False)
    save_baseline("base", pair[0])
    assert (tmp_path / ".timesink" / "baselines" / "base.baseline").is_file()
    monkeypatch.setenv("TIMESINK_BASELINES", str(tmp_path / "other"))
    with pytest.raises(NotFoundError):
        load_baseline("base")


# -- cycles ----------------------------------------------------------------------------------------


def test_cycles_of_others_are_found_as_those_of_the_baseline(tmp_path):
    paths = [tmp_path / name / "trace.json" for name in ("base", "new")]
    for path in paths:
        write_timeline(path, steps=True, cycles=8)
    store = tmp_path / "store"
    save_baseline("base", paths[0], store, reading=BY_MARKER)
    comparison = compare("@base", paths[1], store=store)
    assert [role.method for role in comparison.roles] == ["marker", "marker"]
    assert comparison.notes == ()
    again = compare("@base", paths[1], store=store, marker="decode_step")
    assert again.headline == comparison.headline


@pytest.mark.parametrize("options", [{"marker": "aten::gemm"}, {"by": "kernels"}])
def test_other_cycles_than_those_saved_are_refused(pair, store, options):
    with pytest.raises(UsageError, match="its steps are fixed as saved") as refused:
        compare("@base", pair[1], store=store, **options)
    assert "save it again" in refused.value.hint


def test_a_map_of_counters_cannot_be_put_on_a_baseline(pair, store):
    with pytest.raises(UsageError, match="--map"):
        compare("@base", pair[1], store=store, metric_map="map.csv")


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "@", ".", "..", "../x", "a/b", "a\\b", "/etc/x", ".hidden", "a b", "ä", "x\n",
             "-f", "a" * 101, "a\0b"]
)  # fmt: skip
def test_names_that_are_not_safe(tmp_path, name):
    for use in (lambda: save_baseline(name, timesink.sample(), tmp_path / "store"),
                lambda: load_baseline(name, tmp_path / "store"),
                lambda: remove_baseline(name, tmp_path / "store")):  # fmt: skip
        with pytest.raises(UsageError, match="cannot be the name of a baseline"):
            use()
    assert not (tmp_path / "store").exists()


def test_replacing_one_must_be_asked_for(pair, store):
    first = load_baseline("base", store)
    with pytest.raises(OutputError, match="already in") as refused:
        save_baseline("base", pair[1], store)
    assert "--force" in refused.value.hint
    assert load_baseline("base", store).saved_us == first.saved_us
    save_baseline("base", pair[1], store, force=True)
    assert load_baseline("base", store).saved_us > first.saved_us


def test_failing_to_read_a_run_leaves_the_old_baseline(store, tmp_path):
    with pytest.raises(TimesinkError):
        save_baseline("base", tmp_path / "missing", store, force=True)
    assert load_baseline("base", store).name == "base"


def test_unknown_baseline_names_those_there_are(pair, store):
    with pytest.raises(NotFoundError, match="@other: no such baseline") as refused:
        compare("@other", pair[1], store=store)
    assert "@base" in refused.value.hint


def test_remove_and_list(store):
    (store / "torn.baseline").write_bytes(b"timesink")
    (store / "notes.txt").write_text("not one")
    assert [(entry.name, entry.problem is None) for entry in list_baselines(store)] == [
        ("base", True), ("torn", False)]  # fmt: skip
    remove_baseline("@base", store)
    assert [entry.name for entry in list_baselines(store)] == ["torn"]
    with pytest.raises(NotFoundError):
        remove_baseline("base", store)


def test_baselines_and_cases_are_no_runs_to_save(store, tmp_path):
    with pytest.raises(UsageError, match="is a baseline already"):
        save_baseline("other", "@base", store)
    for side in ("normal", "abnormal"):
        write_timeline(tmp_path / "case" / side / "trace.json")
    with pytest.raises(UsageError, match="contains a normal and an abnormal run"):
        save_baseline("other", tmp_path / "case", store)


# -- damage and versions ---------------------------------------------------------------------------


def damage_variants(file_bytes: bytes) -> list[bytes]:
    """Cut, flipped at many places, and other things altogether."""
    places = range(0, len(file_bytes), max(1, len(file_bytes) // 40))
    flipped = [
        file_bytes[:at] + bytes([file_bytes[at] ^ 0x55]) + file_bytes[at + 1 :] for at in places
    ]
    return [
        b"",
        b"\n",
        file_bytes[:-1],
        file_bytes[: len(file_bytes) // 2],
        file_bytes + b"x",
        b"PK\x03\x04",
        *flipped,
    ]


def test_damage_is_said_with_a_way_out(store):
    file = store / "base.baseline"
    for broken in damage_variants(file.read_bytes()):
        file.write_bytes(broken)
        with pytest.raises(UnreadableError, match="@base in ") as refused:
            load_baseline("base", store)
        assert "save it again" in refused.value.hint


def test_another_format_is_said(pair, tmp_path, monkeypatch):
    store = tmp_path / "store"
    monkeypatch.setattr(content, "FORMAT", 7)
    save_baseline("base", pair[0], store)
    monkeypatch.undo()
    with pytest.raises(UnreadableError, match="baseline of format 7, this timesink has 1"):
        compare("@base", pair[1], store=store)


def test_fields_this_version_does_not_know_are_said(pair, tmp_path, monkeypatch):
    store = tmp_path / "store"
    tables_of = content.tables_of

    def with_more(run: Run) -> Tables:
        tables = tables_of(run)
        for anatomy in tables.about["anatomies"].values():
            anatomy["values"]["colour"] = "blue"
        return tables

    monkeypatch.setattr(content, "tables_of", with_more)
    monkeypatch.setattr("timesink.comparison.gate.baseline_store.baseline_of", lambda *_: None)
    save_baseline("base", pair[0], store)
    monkeypatch.undo()
    with pytest.raises(UnreadableError, match="which this one cannot read"):
        load_baseline("base", store)


@pytest.mark.parametrize(
    ("kind", "facts", "names"),
    [
        ("memory_snapshot", {"peaks": {}, "reserved_bytes": 0, "failures": 0}, ["live"]),
        ("memory_snapshot", {"peaks": [], "reserved_bytes": 0, "failures": 0}, ["live"]),
        ("collective_log", {"problems": []}, ["collectives", "ranks"]),
    ],
)
def test_tables_of_other_columns_are_refused(kind: str, facts: dict[str, Any], names: list[str]):
    about = {"marker": None, "by": None, "notes": [], "runs": [], "facts": {}}
    tables = dict.fromkeys(names, pl.DataFrame({"device": [1], "group": [[2]]}))
    sealed = content._sealed({**about, "untimed": [kind, facts]}, tables)
    with pytest.raises(UnreadableError, match="which this one cannot read"):
        content.baseline_of(sealed, "base", "here")


def test_another_version_of_timesink_is_a_note(pair, store, monkeypatch):
    monkeypatch.setattr(baseline, "__version__", "9.9.9")
    assert any("this is 9.9.9" in note for note in compare("@base", pair[1], store=store).notes)


# -- real recordings -------------------------------------------------------------------------------
