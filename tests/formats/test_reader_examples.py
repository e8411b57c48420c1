"""What single functions of `readers` answer, by example."""

from __future__ import annotations

import gzip
from pathlib import Path

import fsspec
import numpy as np
import polars as pl

import timesink
from timesink.formats.behaviour import type_in_name
from timesink.formats.chrome.columns import Tally, Vocabulary, float_us_to_ns, text_us_to_ns
from timesink.formats.chrome.container import (
    closes_document,
    event_starts,
    find_events,
    looks_like_events,
    split_end,
    value_end,
)
from timesink.formats.chrome.decode import group_of_category
from timesink.formats.chrome.repair import mend_text
from timesink.formats.chrome.tables import _text_of_raw
from timesink.formats.counters import device_of_lane, with_processes_apart
from timesink.formats.csv_text import (
    count_foreign_lines,
    header_of,
    microseconds_as_ns,
    separator_of,
    texts_of,
)
from timesink.formats.file_names import (
    folder_of,
    host_in_name,
    is_named_as_table,
    is_profiler_name,
    rank_in_head,
    rank_in_name,
    rank_of_folder,
    stem_of,
    without_rank,
    worker_and_span,
)
from timesink.formats.finish import find_oddities
from timesink.formats.ncu.launches import is_of_machine
from timesink.formats.ncu.numbers import (
    ahead,
    all_quoted_rows,
    count_lines,
    is_missing,
    stretches,
    to_numbers,
    unit_of,
)
from timesink.formats.ncu.pages import split_at_headers
from timesink.formats.ncu.table import CsvTable
from timesink.formats.read_options import tell_of_set
from timesink.formats.source_file import head_of_packed
from timesink.model.recorded_run import RecordedRun
from timesink.model.schema import TABLES
from timesink.model.trace import Metadata
from timesink.recorder.processes import safe_text
from timesink.sources.discovery import (
    files_at,
    matching_traces,
    one_run,
    recordings_in,
    runs_among,
    stated_rank,
    told_apart,
    traces_in,
    traces_left_out,
)
from timesink.sources.places import (
    display_place,
    folders_below,
    is_pattern,
    is_url,
    is_wild,
    password_in,
    place_of,
    without_password,
)
from timesink.sources.recordings import Recording, recording_of
from timesink.sources.remote import RemoteUrl, connect, remote_recordings, why
from timesink.sources.run_facts import run_health
from timesink.sources.sidecars import (
    belongs_beside,
    counters_name,
    head_may_be_trace,
    is_named_as_event_table,
    is_named_by_rank_alone,
)


def test_behaviour_type_in_name() -> None:
    assert (
        type_in_name("result_prefill_perf_data.csv.gz"),
        type_in_name("result_perf_data.csv"),
    ) == ("prefill", "generic")


def test_beside_belongs_beside() -> None:
    assert belongs_beside("a.counters.csv", "a.json", shared=False)
    assert not (belongs_beside("counters.csv", "a.json", shared=False))


def test_beside_head_may_be_trace() -> None:
    assert head_may_be_trace(b'{"traceEvents": [', is_whole=False)
    assert not (head_may_be_trace(b'{"batch": 8}', is_whole=True))


def test_beside_is_named_as_event_table() -> None:
    assert (
        is_named_as_event_table("run_micro_event.csv.gz"),
        is_named_as_event_table("a.csv"),
    ) == (True, False)


def test_beside_is_named_by_rank_alone() -> None:
    assert (
        is_named_by_rank_alone("kineto-trace-0-of-64"),
        is_named_by_rank_alone("rank0.log"),
    ) == (True, False)


def test_checks_find_oddities() -> None:
    tables = {name: table.empty() for name, table in TABLES.items()}
    metadata = Metadata("empty.json", "kineto", "cpu", events=0)
    assert ([entry.code for entry in find_oddities(tables, metadata)]) == [
        "rank_assumed",
        "no_device_activity",
        "no_host_activity",
    ]


def test_chrome_assemble_text_of_raw() -> None:
    assert (_text_of_raw(b"[[2,8], []]"), _text_of_raw(b'"a.py(1): f"')) == (
        "[[2, 8], []]",
        "a.py(1): f",
    )


def test_chrome_columns_vocabulary() -> None:
    words = Vocabulary()
    assert (words.encode(["a", "b", "a", None]).tolist()) == [0, 1, 0, -1]


def test_chrome_container_closes_document() -> None:
    assert (closes_document(b', "displayTimeUnit": "ms"}'), closes_document(b', {"ph": "X"}]')) == (
        True,
        False,
    )


def test_chrome_container_event_starts() -> None:
    assert (event_starts(b'}, {"ph": "X"}', 1), event_starts(b'}, {"dims": [1]}', 1)) == (
        True,
        False,
    )


def test_chrome_container_find_events() -> None:
    assert (find_events(b'{"schemaVersion": 1, "traceEvents": [ {"ph": "X"}]}')) == (37, False)
    assert (find_events(b'[{"ph": "X"}]')) == (1, True)


def test_chrome_container_looks_like_events() -> None:
    assert looks_like_events(b'{"traceEvents": [{"ph": "X", "ts": 1}]}')
    assert not (looks_like_events(b"[[1, 2], [3, 4]]"))


def test_chrome_container_split_end() -> None:
    assert (split_end(b'[{"ph": "X"}], "displayTimeUnit": "ms"}', bare=False)) == (
        b'[{"ph": "X"}]',
        b', "displayTimeUnit": "ms"}',
    )


def test_chrome_container_value_end() -> None:
    assert (value_end(b'{"a": [1, "}"]}, 2', 0)) == 15


def test_chrome_decode_group_of_category() -> None:
    assert (
        group_of_category("Kernel"),
        group_of_category("cuda_driver"),
        group_of_category(None),
    ) == ("device", "runtime", "untyped")


def test_chrome_timestamps_float_us_to_ns() -> None:
    assert (float_us_to_ns(np.array([3844466275784.390, float("nan")])).tolist()) == [
        3844466275784390,
        -9223372036854775808,
    ]


def test_chrome_timestamps_text_us_to_ns() -> None:
    assert (text_us_to_ns([b"1794701473054949.011", b'"12.5"', b"-3", b"null"]).tolist()) == [
        1794701473054949011,
        12500,
        -3000,
        -9223372036854775808,
    ]


def test_chrome_whole_piece_mend_text() -> None:
    assert (
        mend_text(b'{"occupancy": N/A, "name": "N/A"}', Tally())
    ) == b'{"occupancy": null, "name": "N/A"}'


def test_counters_names_device_of_lane() -> None:
    assert (device_of_lane("CAT_XPU_3"), device_of_lane("CAT_CPU"), device_of_lane("GPU 0")) == (
        "GPU 3",
        "Host",
        "GPU 0",
    )


def test_counters_names_with_processes_apart() -> None:
    samples = pl.DataFrame({"counter": ["process_cpu_usage_17"], "device": ["Host"]})
    assert (with_processes_apart(samples).rows()) == [("process_cpu_usage", "pid 17")]


def test_csv_text_count_foreign_lines() -> None:
    assert (count_foreign_lines(b"name\ncaf\xe9\ncaf\xc3\xa9")) == 1


def test_csv_text_header_of() -> None:
    assert (header_of(b'\xef\xbb\xbf"Cycle", pid\r\n1,2'), header_of(b"cycle;pid")) == (
        ["cycle", "pid"],
        ["cycle", "pid"],
    )


def test_csv_text_separator_of() -> None:
    assert (separator_of(b"a,b;c\n"), separator_of(b"a;b\n1,5;2"), separator_of(b"a\n")) == (
        b",",
        b";",
        b",",
    )


def test_csv_text_texts_of() -> None:
    assert (texts_of(b'n,name\n1,"a,b"\n\n2,"c\n3,d\n', numbers="n").rows()) == [
        ("1", "a,b"),
        ("2", "c"),
        ("3", "d"),
    ]


def test_csv_text_decimal_commas() -> None:
    texts = texts_of(b"a;b\n1,5;1,5\n2.5;x\nx,y;z\n", numbers="a", decimals=["a"])
    assert texts["a"].to_list() == ["1.5", "2.5", "x,y"]
    assert texts["b"].to_list() == ["1,5", "x", "z"]


def test_discover_recording_of() -> None:
    assert (recording_of(Path("run/rank_3/trace.json")).rank) == 3


def test_discover_recordings_in() -> None:
    assert ([recording.worker for recording in recordings_in(timesink.sample().parent)]) == [
        "unet_train"
    ]


def test_discover_sayable() -> None:
    assert (safe_text("caf\udce9")) == "caf\\xe9"


def test_discover_stated_rank() -> None:
    assert (stated_rank(Recording(Path("rank3.json"), "rank3", rank=3))) == 3


def test_discover_told_apart() -> None:
    files = [Recording(Path("a.json"), "a"), Recording(Path("a.json.gz"), "a")]
    assert ([recording.worker for recording in told_apart(files)]) == ["a", "a.json.gz"]


def test_exact_times_microseconds_as_ns() -> None:
    assert (
        microseconds_as_ns(pl.Series(["1762935807026558.7500", "0.0005", "1e3", "soon"])).to_list()
    ) == [1762935807026558750, 1, 1000000, None]


def test_folder_names_folder_of() -> None:
    assert (folder_of("rank_0/iteration_10").pattern, folder_of("normal").pattern) == (
        "rank_*/iteration_10",
        "normal",
    )


def test_folder_names_host_of() -> None:
    assert (
        folder_of("host3/rank_1").host,
        folder_of("dgx-07").host,
        folder_of("3").host,
    ) == ("host3", "dgx-07", None)


def test_folder_names_number_of() -> None:
    assert (
        folder_of("rank_3").number,
        folder_of("7").number,
        folder_of("host3").number,
    ) == (3, 7, None)


def test_folder_names_rank_of_folder() -> None:
    assert (rank_of_folder("rank_3"), rank_of_folder("stall_rank3"), rank_of_folder("worker3")) == (
        3,
        None,
        None,
    )


def test_local_files_files_at() -> None:
    assert ([file.name for file in files_at(timesink.sample())]) == ["unet_train.pt.trace.json.gz"]


def test_local_files_folders_below() -> None:
    assert ([folder.name for folder in folders_below(timesink.sample().parent)]) == ["samples"]


def test_local_files_matching() -> None:
    assert ([file.name for file in matching_traces(f"{timesink.sample().parent}/unet*")]) == [
        "unet_train.pt.trace.json.gz"
    ]


def test_local_files_traces_in() -> None:
    assert ([file.name for file in traces_in(timesink.sample().parent)]) == [
        "unet_train.pt.trace.json.gz"
    ]


def test_local_files_traces_left_out() -> None:
    assert (traces_left_out(timesink.sample().parent)) == []


def test_names_host_in_name() -> None:
    assert (host_in_name("dgx-07.cluster_8123.1623143089861.pt.trace.json.gz")) == "dgx-07.cluster"
    assert (host_in_name("worker_0.1623143089861.pt.trace.json"), host_in_name("a_1.json")) == (
        None,
        None,
    )


def test_names_is_named_as_table() -> None:
    assert (is_named_as_table("result_perf_data.csv.gz"), is_named_as_table("counters.csv")) == (
        True,
        False,
    )


def test_names_is_profiler_name() -> None:
    assert (is_profiler_name("worker0.1.pt.trace.json.gz"), is_profiler_name("trace.json")) == (
        True,
        False,
    )


def test_names_rank_in_head() -> None:
    assert (
        rank_in_head(b'{"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}')
    ) == 3


def test_names_rank_in_name() -> None:
    assert (
        rank_in_name("rank-34.Jul_15.pt.trace.json.gz"),
        rank_in_name("worker0.pt.trace.json"),
    ) == (34, None)
    assert (
        rank_in_name("dp0_pp0_tp1_rank5.17.pt.trace.json"),
        rank_in_name("kineto-trace-3-of-64"),
    ) == (5, 3)
    assert (rank_in_name("17-TP-3.trace.json.gz"), rank_in_name("17-TP-3-PP-1.trace.json.gz")) == (
        3,
        None,
    )


def test_names_stem_of() -> None:
    assert (stem_of("rank0.17.pt.trace.json.gz"), stem_of("a.json")) == ("rank0.17", "a")


def test_names_without_rank() -> None:
    assert (
        without_rank("trace_rank0_step10.json.gz"),
        without_rank("trace_rank17_step10.json"),
    ) == ("trace_rank_step10", "trace_rank_step10")


def test_names_worker_and_span() -> None:
    assert (worker_and_span("worker0.1623143089861.pt.trace.json.gz")) == ("worker0", 1623143089861)


def test_ncu_csv_pages_split_at_headers() -> None:
    assert (list(split_at_headers(b"hi\nID,Process ID,Kernel Name\n0,7,a\n"))) == [
        (False, b"hi\n"),
        (True, b"ID,Process ID,Kernel Name\n"),
        (False, b"0,7,a\n"),
    ]


def test_ncu_lines_ahead() -> None:
    assert (list(ahead(iter([1, 2, 3])))) == [1, 2, 3]


def test_ncu_lines_all_quoted_rows() -> None:
    assert (all_quoted_rows(b'"0","a"\n"1","b"\n'), all_quoted_rows(b'"0","a"\nhello\n')) == (
        True,
        False,
    )


def test_ncu_lines_count_lines() -> None:
    assert (count_lines(b"a\nb"), count_lines(b"a\nb\n")) == (2, 2)


def test_ncu_lines_stretches() -> None:
    assert (list(stretches([b"a\r\nb", b"c\nd"], size=2))) == [b"a\n", b"bc\n", b"d"]


def test_ncu_metrics_is_of_machine() -> None:
    assert (is_of_machine("device__attribute_display_name"), is_of_machine("dram__bytes.sum")) == (
        True,
        False,
    )


def test_ncu_numbers_is_missing() -> None:
    assert (is_missing(pl.Series(["n/a", "", None, "-nan", "PolicySpread"])).to_list()) == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_ncu_numbers_to_numbers() -> None:
    assert (to_numbers(pl.Series(["26,336", "0.5", "1 234,5", "n/a"]), ".").to_list()) == [
        26336.0,
        0.5,
        1234.5,
        None,
    ]
    assert (to_numbers(pl.Series(["26,336", "5.984"]), ",", pl.Series(["", "e3"])).to_list()) == [
        26.336,
        5984000.0,
    ]


def test_ncu_table_csvtable_from_header() -> None:
    assert (CsvTable.from_header(b'"ID","Process ID","Kernel Name"').place) == {
        "ID": "launch_id",
        "Process ID": "pid",
        "Kernel Name": "name",
    }


def test_ncu_units_unit_of() -> None:
    assert unit_of("usecond") == ("ns", 3)
    assert unit_of("Kbyte/block") == ("byte/block", 3)
    assert unit_of("cycle/nsecond") == ("hz", 9)


def test_options_tell_of_set() -> None:
    reports: list[tuple[int, int]] = []
    tell_of_set(lambda done, total: reports.append((done, total)), 3, 8, 0)
    assert reports == [(3, 8)]


def test_places_is_pattern() -> None:
    assert (is_pattern("run/rank*.json"), is_pattern("run"), is_pattern(Path("run/*"))) == (
        True,
        False,
        False,
    )


def test_places_is_url() -> None:
    assert (
        is_url("gs://bucket/run"),
        is_url("zip://*.json::s3://bucket/a.zip"),
        is_url("C:/runs"),
    ) == (True, True, False)


def test_places_is_wild() -> None:
    assert (is_wild("rank[0-3].json"), is_wild("rank0.json")) == (True, False)


def test_places_password_in() -> None:
    assert (password_in("ftp://me:secret@host/runs"), password_in("ftp://host:22/runs")) == (
        "secret",
        None,
    )


def test_places_place_of() -> None:
    assert place_of("s3://bucket/run") == "s3://bucket/run"
    assert place_of("file:///runs/a") == Path("/runs/a")
    assert place_of("run") == Path("run")
    assert place_of(Path("s3://bucket/run")) == "s3://bucket/run"


def test_places_shown() -> None:
    assert (display_place("sftp://me:secret@host/runs"), display_place(Path("runs"))) == (
        "sftp://me@host/runs",
        "runs",
    )


def test_places_without_password() -> None:
    assert (without_password("sftp://me:secret@host:22/runs")) == "sftp://me@host:22/runs"
    assert (without_password("sftp://host:22/runs@home")) == "sftp://host:22/runs@home"
    assert (
        without_password("no answer from ftp://me:a/b@c@host, ftp://host")
    ) == "no answer from ftp://me@host, ftp://host"
    assert (
        without_password("https://host/a.json?X-Amz-Signature=0123&part=1")
    ) == "https://host/a.json?X-Amz-Signature=***&part=1"


def test_recording_recording_source() -> None:
    assert (Recording(Path("a.json"), "a").source) == "a.json"


def test_remote_listing_remote_recordings() -> None:
    fsspec.filesystem("memory").pipe_file("/example/rank0.json", b'{"traceEvents": []}')
    assert ([recording.rank for recording in remote_recordings("memory://example")]) == [0]


def test_remote_places_connected() -> None:
    _, place = connect("memory://runs/a")
    assert (place) == "/runs/a"


def test_remote_places_why() -> None:
    assert (why(OSError("no way to ftp://me:secret@host"))) == "no way to ftp://me@host"


def test_remote_urls_remoteurl_of() -> None:
    assert (
        RemoteUrl.of("sftp://me:secret@host/runs/a", "/runs/a").url_of("/runs/a/rank0.json")
    ) == "sftp://me:secret@host/runs/a/rank0.json"
    assert (
        RemoteUrl.of("zip://a/*::s3://bucket/run.zip", "a/*").url_of("a/rank0.json")
    ) == "zip://a/rank0.json::s3://bucket/run.zip"


def test_remote_urls_remoteurl_path_of() -> None:
    parts = RemoteUrl.of("zip://*.json::file:///runs/a.zip", "*.json")
    assert (parts.path_of("rank0.json").as_posix()) == "file:/runs/a.zip/zip:/rank0.json"


def test_run_file_counters_name() -> None:
    assert (counters_name(RecordedRun())) == "counters.csv"


def test_run_health_run_health() -> None:
    assert ([entry.code for entry in run_health(RecordedRun(complete=False), None)]) == [
        "partial_recording"
    ]


def test_runs_one_run() -> None:
    pair = [Recording(Path("rank0.json"), "rank0"), Recording(Path("rank1.json"), "rank1")]
    assert ([recording.worker for recording in one_run(pair, Path())[0]]) == ["rank0", "rank1"]


def test_runs_runs_among() -> None:
    assert (sorted(runs_among([Recording(Path("a/x.json"), "x", run="a")]))) == ["a"]


def test_source_head_of_packed() -> None:
    assert (head_of_packed(gzip.compress(b"events")), head_of_packed(b"events")) == (
        b"events",
        b"events",
    )
