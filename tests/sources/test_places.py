"""Where recordings may be asked for: paths, patterns and URLs, told from each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from builders import training_trace, write
from timesink.errors import UnreadableError
from timesink.sources.discovery import find_recordings, one_run
from timesink.sources.places import display_place, is_url, place_of


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for rank in range(3):
        write(tmp_path / f"rank{rank}.json.gz", training_trace(1))
    (tmp_path / "config.json").write_text('{"batch": 8}')
    (tmp_path / "notes.txt").write_text("nothing to read")
    return tmp_path


def names(place: Path | str) -> list[str]:
    return [recording.path.name for recording in find_recordings(place)]


@pytest.mark.parametrize("pattern", ["rank*.json.gz", "rank[0-2].json.gz", "*", "**/rank?.json.gz"])
def test_a_pattern_finds_what_it_fits_and_only_traces(run: Path, pattern: str):
    assert names(f"{run}/{pattern}") == ["rank0.json.gz", "rank1.json.gz", "rank2.json.gz"]


def test_a_pattern_may_choose_some(run: Path):
    assert names(f"{run}/rank[02]*") == ["rank0.json.gz", "rank2.json.gz"]


def test_a_pattern_enters_folders_that_it_fits(run: Path):
    assert names(f"{run.parent}/{run.name[:-1]}*") == names(run)


def test_a_pattern_of_folders_that_hold_folders(tmp_path: Path):
    for host in range(2):
        (tmp_path / f"host{host}" / "profile").mkdir(parents=True)
        write(tmp_path / f"host{host}" / "profile" / f"rank{host}.json", training_trace(1))
    assert [recording.host for recording in find_recordings(f"{tmp_path}/host*")] == [
        "host0",
        "host1",
    ]


def test_two_stars_are_any_folders(tmp_path: Path):
    for folder in ("a/rank_0", "a/rank_1"):
        (tmp_path / folder).mkdir(parents=True)
        write(tmp_path / folder / "trace.json", training_trace(1))
    assert [recording.rank for recording in find_recordings(f"{tmp_path}/**/*.json")] == [0, 1]


def test_a_link_to_what_a_pattern_fits_is_not_another_trace(run: Path):
    (run / "rank9.json.gz").symlink_to(run / "rank0.json.gz")
    assert len(names(f"{run}/rank*")) == 3


def test_a_pattern_that_nothing_fits_says_so(run: Path):
    with pytest.raises(UnreadableError, match="no file fits this pattern") as refused:
        find_recordings(f"{run}/worker*.json")
    assert "**" in refused.value.hint


def test_a_file_with_signs_of_a_pattern_in_its_name_is_that_file(tmp_path: Path):
    file = write(tmp_path / "a[1].json", training_trace(1))
    assert place_of(str(file)) == file
    assert names(str(file)) == ["a[1].json"]


@pytest.mark.parametrize("scheme", ["file://", "local://", "file://localhost", "FILE://"])
def test_a_url_of_this_machine_is_a_path(run: Path, scheme: str):
    place = place_of(f"{scheme}{run}")
    assert place == run
    assert names(f"{scheme}{run}/rank*.gz") == names(run)


def test_signs_in_a_url_of_this_machine_may_be_escaped():
    assert place_of("file:///runs/a%20b/c.json") == Path("/runs/a b/c.json")


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/run/rank*.json",
        "zip://run::file:///runs/a.zip",
        "sftp://me@host:22/runs",
        "nowhere/rank*.json",
    ],
)
def test_a_path_made_of_what_is_none_is_that_again(text: str):
    assert place_of(Path(text)) == text


def test_a_path_with_signs_of_a_pattern_stays_one_where_it_is_there(tmp_path: Path):
    assert place_of(tmp_path / "a[1]") == str(tmp_path / "a[1]")
    (tmp_path / "a[1]").mkdir()
    assert place_of(tmp_path / "a[1]") == tmp_path / "a[1]"


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("s3://bucket/run", True),
        ("zip://rank*.json::s3://bucket/a.zip", True),
        ("simplecache::gs://bucket/run", True),
        ("C:/runs", False),
        ("C://runs", False),
        ("a::b", False),
        ("run/rank*.json", False),
    ],
)
def test_what_is_a_url(text: str, *, remote: bool):
    assert is_url(text) is remote


@pytest.mark.parametrize(
    ("url", "shown_url"),
    [
        ("sftp://me:secret@host:22/runs", "sftp://me@host:22/runs"),
        ("zip://a.json::ftp://me:secret@host/a.zip", "zip://a.json::ftp://me@host/a.zip"),
        ("https://host/a.json?sig=secret", "https://host/a.json?sig=***"),
        ("s3://bucket/run:1/a@b.json", "s3://bucket/run:1/a@b.json"),
    ],
)
def test_secrets_of_a_url_are_not_shown(url: str, shown_url: str):
    assert display_place(url) == shown_url


def test_one_rank_of_a_pattern(run: Path):
    write(run / "other_rank7.json", {**training_trace(2), "distributedInfo": {"rank": 7}})
    trace = timesink.open(f"{run}/*rank*", rank=7)
    assert trace.steps.height == 2
    assert trace.metadata.source == str(run / "other_rank7.json")


def test_traces_that_are_left_out_are_told(run: Path):
    (run / "rank0.json.gz").rename(run / "rank0.pt.trace.json.gz")
    recordings, notes = one_run(find_recordings(run), run)
    assert [recording.path.name for recording in recordings] == ["rank0.pt.trace.json.gz"]
    assert notes == [
        (
            "left out, because others are named as a profiler names them: "
            "rank1.json.gz, rank2.json.gz"
        )
    ]
