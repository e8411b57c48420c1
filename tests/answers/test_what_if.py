"""`timesink.whatif`: the answer and its document."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

import timesink
from loaded_cycles import LOADER, Piece, cycles
from timesink.analyses.replay.own_clock import clock_values
from timesink.answers.what_if import what_if_document
from timesink.errors import UnreadableError, UsageError
from timesink.output.json import to_json
from timesink.output.markdown import to_markdown
from timesink.output.terminal import to_text

ASKED = ["scale kernel:cudnn::bn*=0.5", "remove sync:aten::item", "fuse Optimizer.step"]


@pytest.fixture(scope="module")
def found():
    return timesink.whatif(timesink.sample(), ASKED)


def test_the_answer_in_a_sentence(found):
    assert found.headline.startswith("A cycle would take about 2")
    assert "95 % interval" in found.headline
    assert "is decided by kernels, above all" in found.headline
    assert repr(found) == f"<WhatIf of unet_train.pt.trace.json.gz: {found.headline}>"


def test_json_says_everything(found):
    told = json.loads(found.to_json())
    assert told["schema"] == "timesink/whatif/1"
    assert told["clock"] == clock_values(found.trace)
    assert told["today_us"] == told["clock"]["corrected_step_us"]
    assert told["today_us"] - told["cycle_us"] == pytest.approx(told["saving_us"], abs=0.002)
    low, high = told["ci95_us"]
    assert low <= told["cycle_us"] <= high
    assert [one["asked"].split()[0] for one in told["changes"]] == ["--scale", "--remove", "--fuse"]
    saved = sum(one["saving_us"] for one in told["changes"])
    assert saved == pytest.approx(told["saving_us"], abs=0.01)
    assert (told["changes"][0]["activities"], told["changes"][1]["waits"]) == (36, 1)
    assert told["limit"]["kind"] == "kernel"
    for side in ("today_us", "cycle_us"):
        assert sum(one[side] for one in told["critical_path"]) == pytest.approx(told[side], abs=0.1)
    assert "best" not in told


def test_each_change_says_what_it_names(found):
    text = to_text(what_if_document(found), 140)
    assert "36 kernels of" in text
    assert "1 wait of" in text
    assert "What limits next" in text
    assert "whether it is needed is not checked" in text
    assert "A cycle of today is estimated" in text


def test_markdown_and_pages_have_the_same(found):
    document = what_if_document(found)
    assert found.headline in to_markdown(document)
    assert b'"type":"stacks"' in to_json(document)


def test_without_changes_single_ones_are_ranked():
    before = time.process_time()
    told = timesink.whatif(timesink.sample())
    answer = told.to_dict()
    assert time.process_time() - before < 5
    assert told.headline.startswith(f"{told.best['change'][0]} saves most: ")
    assert (told.saving_ns, told.changes) == (0, ())
    assert [one["asked"] for one in answer["best"]] == told.best["change"].to_list()
    assert answer["best"][0]["limit"]["kind"] == "kernel"
    assert set(answer["in_vain"]).isdisjoint(told.best["change"])
    text = to_text(what_if_document(told), 100)
    assert "These save nothing, something else decides meanwhile (" in text


def test_an_idle_device_is_told():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)] * 4)
    text = to_text(what_if_document(timesink.whatif(trace)), 100)
    vain = text[text.index("These save nothing, the device is idle here anyway") :]
    assert "--scale kernel:mm_kernel=0.5" in vain.splitlines()


def test_no_single_change_may_help():
    told = timesink.whatif(cycles([Piece("host", "", 50)]))
    assert told.headline.startswith("No single change that was tried saves a noticeable part")


def test_the_recorded_clock_is_said_to_be_one():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    trace = replace(trace, metadata=replace(trace.metadata, format="nobody's"))
    told = timesink.whatif(trace, ["remove host:aten::mm"])
    assert told.notes[0].startswith("Played on the recorded clock")
    assert told.interval_ns is None
    assert "interval" not in told.headline


def test_time_per_sample():
    trace = cycles([Piece("kernel", "aten::mm", 5, 500)], 6)
    told = timesink.whatif(trace, ["batch 4"])
    assert told.sample_ns == told.cycle_ns / 4
    assert told.to_dict()["per_sample_us"] == round(told.sample_ns / 1000, 3)
    assert " per sample." in told.headline


def test_loading_that_limits_next():
    trace = cycles([Piece("load", LOADER, 900), Piece("kernel", "aten::mm", 5, 5)])
    told = timesink.whatif(trace, ["loader-workers 3"])
    assert (told.limit.kind, told.limit.name) == ("data_loading", "")
    assert told.headline.endswith("Then 100.0 % of it is decided by data loading.")


def test_devices_are_named():
    told = timesink.whatif(timesink.sample(), ["device H100:B200"])
    assert "Peaks are those of H100 SXM and B200." in told.notes
    assert "It was recorded on H200, not on H100 SXM." in told.notes


def test_nothing_changes():
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    told = timesink.whatif(trace, ["scale kernel:*=1"], best=False)
    assert "as it does today" in told.headline
    assert told.saving_ns == 0


@pytest.mark.parametrize("asked", ["remove kernel:nothing_at_all", "scale kernel:x", "faster all"])
def test_refused_at_once(asked):
    trace = cycles([Piece("kernel", "aten::mm", 50, 2)])
    with pytest.raises(UsageError):
        timesink.whatif(trace, [asked])


def test_counters_have_no_timeline():
    with pytest.raises(UnreadableError, match="without a timeline"):
        timesink.whatif(timesink.sample(counters=True))
