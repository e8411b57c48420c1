"""`timesink.whatif`: the answer and its document."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

import timesink
from loaded_cycles import LOADER, Piece, cycles
from timesink.answers.common_json import ClockJson
from timesink.answers.what_if import what_if_document
from timesink.errors import UnreadableError, UsageError
from timesink.formats.small_files import plain_values
from timesink.output.json import to_json
from timesink.output.markdown import to_markdown
from timesink.output.terminal import to_text

CHANGES = ["scale kernel:cudnn::bn*=0.5", "remove sync:aten::item", "fuse Optimizer.step"]


@pytest.fixture(scope="module")
def sample_whatif():
    return timesink.whatif(timesink.sample(), CHANGES)


def test_the_answer_in_a_sentence(sample_whatif):
    assert sample_whatif.headline.startswith(
        "With cudnn::bn kernels twice as fast, waits in aten::item removed, Optimizer.step fused: "
        "predicted step time about 2"
    )
    assert "95 % interval" in sample_whatif.headline
    assert "% of the critical path), mainly" in sample_whatif.headline
    assert (
        repr(sample_whatif) == f"<WhatIf of unet_train.pt.trace.json.gz: {sample_whatif.headline}>"
    )


def test_json_says_everything(sample_whatif):
    answer = json.loads(sample_whatif.to_json())
    assert answer["schema"] == "timesink/whatif/1"
    assert answer["clock"] == plain_values(ClockJson.of_trace(sample_whatif.trace))
    assert answer["today_us"] == answer["clock"]["corrected_step_us"]
    assert answer["today_us"] - answer["cycle_us"] == pytest.approx(answer["saving_us"], abs=0.002)
    low, high = answer["ci95_us"]
    assert low <= answer["cycle_us"] <= high
    assert [change["asked"].split()[0] for change in answer["changes"]] == [
        "--scale",
        "--remove",
        "--fuse",
    ]
    saved = sum(change["saving_us"] for change in answer["changes"])
    assert saved == pytest.approx(answer["saving_us"], abs=0.01)
    assert (answer["changes"][0]["activities"], answer["changes"][1]["waits"]) == (36, 1)
    assert answer["limit"]["kind"] == "kernel"
    for side in ("today_us", "cycle_us"):
        assert sum(row[side] for row in answer["critical_path"]) == pytest.approx(
            answer[side], abs=0.1
        )
    assert "best" not in answer


def test_each_change_says_what_it_names(sample_whatif):
    text = to_text(what_if_document(sample_whatif), 140)
    assert "36 kernels of" in text
    assert "1 wait of" in text
    assert "Next limits" in text
    assert "needs it is not checked" in text


def test_markdown_and_pages_have_the_same(sample_whatif):
    document = what_if_document(sample_whatif)
    assert sample_whatif.headline in to_markdown(document)
    assert b'"type":"stacks"' in to_json(document)


def test_without_changes_single_ones_are_ranked():
    before = time.process_time()
    whatif = timesink.whatif(timesink.sample())
    answer = whatif.to_dict()
    assert time.process_time() - before < 5
    headline = timesink.analyze(timesink.sample()).headline
    biggest = headline[headline.index("Biggest saving: ") :]
    assert whatif.headline.startswith(biggest)
    assert whatif.best["change"][0] in whatif.headline.removeprefix(biggest)
    assert answer["savings"][0]["rule"] == "layout-conversions"
    assert (whatif.saving_ns, whatif.changes) == (0, ())
    assert [candidate["asked"] for candidate in answer["best"]] == whatif.best["change"].to_list()
    assert answer["best"][0]["limit"]["kind"] == "kernel"
    assert set(answer["in_vain"]).isdisjoint(whatif.best["change"])


def test_an_idle_device_is_told():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)] * 4)
    text = to_text(what_if_document(timesink.whatif(trace)), 100)
    vain = text[text.index("No saving: the device is idle at that time") :]
    assert "--scale kernel:mm_kernel=0.5" in vain.splitlines()


def test_no_single_change_may_help():
    whatif = timesink.whatif(cycles([Piece("host", "", 50)]))
    assert whatif.headline.startswith("No single change that was tried saves a noticeable part")


def test_the_recorded_clock_is_said_to_be_one():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    trace = replace(trace, metadata=replace(trace.metadata, format="nobody's"))
    whatif = timesink.whatif(trace, ["remove host:aten::mm"])
    assert whatif.notes[0].startswith("Step times are as recorded")
    assert whatif.interval_ns is None
    assert "interval" not in whatif.headline


def test_time_per_sample():
    trace = cycles([Piece("kernel", "aten::mm", 5, 500)], 6)
    whatif = timesink.whatif(trace, ["batch 4"])
    assert whatif.sample_ns == whatif.cycle_ns / 4
    assert whatif.to_dict()["per_sample_us"] == round(whatif.sample_ns / 1000, 3)
    assert " Time per sample: " in whatif.headline


def test_loading_that_limits_next():
    trace = cycles([Piece("load", LOADER, 900), Piece("kernel", "aten::mm", 5, 5)])
    whatif = timesink.whatif(trace, ["loader-workers 3"])
    assert (whatif.limit.kind, whatif.limit.name) == ("data_loading", "")
    assert whatif.headline.endswith("Next bottleneck: data loading (100 % of the critical path).")


def test_devices_are_named():
    whatif = timesink.whatif(timesink.sample(), ["device H100:B200"])
    assert "Peaks are those of H100 SXM and B200." in whatif.notes
    assert "The recording is from H200, not from H100 SXM." in whatif.notes


def test_nothing_changes():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    whatif = timesink.whatif(trace, ["scale kernel:*=1"], best=False)
    assert ", unchanged" in whatif.headline
    assert whatif.saving_ns == 0


@pytest.mark.parametrize("change", ["remove kernel:nothing_at_all", "scale kernel:x", "faster all"])
def test_refused_at_once(change):
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    with pytest.raises(UsageError):
        timesink.whatif(trace, [change])


def test_counters_have_no_timeline():
    with pytest.raises(UnreadableError, match="without a timeline"):
        timesink.whatif(timesink.sample(counters=True))
