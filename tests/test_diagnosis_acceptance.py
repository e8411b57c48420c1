"""Reference figures of diagnoses, from outside: recorded faults, healthy runs, parts of runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import timesink
from timesink.analyses.summary import summarise
from timesink.cli import main
from timesink.comparison.causes.diagnosis import diagnose
from timesink.comparison.causes.slow_steps import only_cycles_of
from timesink.comparison.results import Process
from timesink.comparison.steps.verdict import compare_roles

Answer = dict[str, Any]
FIRST_ANOMALY = {
    "gpu_clock": {"gpu_clock"},
    "cpu_squeeze": {"cpu_contention"},
    "gpu_contention": {"gpu_contention"},
    # Whoever fills the memory of a device keeps it busy as well.
    "hbm_saturation": {"hbm_contention"},
}
FIRST_CAUSE = {
    "python_stall": "host_code",
    "sync_bug": "synchronisation",
    "fp32_regression": "precision_change",
    "cpu_squeeze": "cpu_contention",
    "gpu_clock": "gpu_clock",
}
REGRESSIONS = ("normal_b", "cpu_squeeze", "python_stall", "sync_bug", "hbm_saturation", "gpu_clock")
FAULTS = sorted({*FIRST_ANOMALY, *FIRST_CAUSE})
RUNS = ("normal", "gpu_contention", "cpu_squeeze")
"""A run that was not disturbed, and two that others disturbed now and then."""
PUBLISHED = {
    "gpu_instability": "gpu_clock",
    "gpu_memory_squeeze_out_NVLink": "nvlink_contention",
    "cpu_frequency_reduction": "cpu_clock",
}


def halves(count: int) -> tuple[range, range]:
    """Places of the first and of the second half of some cycles."""
    return range(count // 2), range(count // 2, count)


def alternate(count: int) -> tuple[range, range]:
    """Places of every other cycle, and of those between."""
    return range(0, count, 2), range(1, count, 2)


SPLITS: dict[str, Callable[[int], tuple[range, range]]] = {
    "halves": halves,
    "even_odd": alternate,
}


@pytest.fixture(autouse=True)
def kept_recordings(common_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings are read once for all of these."""
    monkeypatch.setenv("TIMESINK_CACHE_DIR", str(common_cache))


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Answer]:
    """What `timesink compare` says as JSON; each question is asked once, whoever asks."""
    answers_folder = tmp_path_factory.mktemp("answers")
    # Processes that run tests side by side have folders beside each other.
    root = tmp_path_factory.getbasetemp()
    common = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "answers"
    common.mkdir(exist_ok=True)

    def ask(*paths: Path) -> Answer:
        name = sha256("\n".join(map(str, paths)).encode()).hexdigest()
        file = common / f"{name}.json"
        if not file.exists():
            full, small = answers_folder / f"{name}.json", answers_folder / f"{name}.small.json"
            assert main(["compare", *map(str, paths), "-o", str(full)]) == 0
            small.write_bytes(without_tables(full))
            small.replace(file)
        answer_: Answer = json.loads(file.read_bytes())
        return answer_

    return ask


def without_tables(path: Path) -> bytes:
    """An answer without its long tables, which are not looked at here."""
    answer = json.loads(path.read_bytes())
    for pair in answer["pairs"]:
        for name in ("rows", "times", "families", "equal_work"):
            del pair[name]
    return json.dumps(answer).encode()


def faults(shared: Path) -> Path:
    return shared / "data" / "h200" / "faults"


def case(shared: Path, name: str) -> Path:
    return shared / "data" / "latencyprism" / "SGLang" / name


def names_of(entries: list[Answer]) -> list[str]:
    return [entry["cause"] for entry in entries]


# -- faults ----------------------------------------------------------------------------------------


@pytest.fixture
def fault(shared_root: Path, answers: Callable[..., Answer]) -> Callable[[str], Answer]:
    return lambda name: answers(faults(shared_root) / "normal", faults(shared_root) / name)


@pytest.mark.parametrize("name", FIRST_ANOMALY)
def test_the_first_anomaly_is_what_was_done_to_the_machine(
    fault: Callable[[str], Answer], name: str
) -> None:
    assert names_of(fault(name)["anomalies"])[0] in FIRST_ANOMALY[name]


@pytest.mark.parametrize("name", FIRST_CAUSE)
def test_the_first_cause_is_what_was_done(fault: Callable[[str], Answer], name: str) -> None:
    assert names_of(fault(name)["causes"])[0] == FIRST_CAUSE[name]


@pytest.mark.parametrize("name", REGRESSIONS)
def test_longer_cycles_are_a_regression(fault: Callable[[str], Answer], name: str) -> None:
    answer = fault(name)
    assert answer["verdict"] == "regression"
    low, high = answer["cycle_time"]["ci95_pct"]
    assert 0 < low <= answer["cycle_time"]["change_pct"] <= high


def test_a_lowered_clock_explains_the_growth_of_kernels(fault: Callable[[str], Answer]) -> None:
    cause = fault("gpu_clock")["causes"][0]
    assert cause["explained_us"] == pytest.approx(5300, rel=0.15)
    anomaly = fault("gpu_clock")["anomalies"][0]
    assert (anomaly["base"], anomaly["new"], anomaly["device"]) == (1980, 345, "GPU 0")
    assert anomaly["explained_us"] == pytest.approx(cause["explained_us"])


def test_a_crowded_processor_explains_most_of_the_wait(fault: Callable[[str], Answer]) -> None:
    answer = fault("cpu_squeeze")
    times = answer["cycle_time"]
    assert answer["causes"][0]["explained_us"] > 0.5 * (times["new_us"] - times["base_us"])


def test_a_stall_is_found_in_its_place(fault: Callable[[str], Answer]) -> None:
    cause = fault("python_stall")["causes"][0]
    assert cause["explained_us"] == pytest.approx(10_000, rel=0.35)
    assert "after the last " in cause["sentence"]


def test_added_synchronisations_are_counted(fault: Callable[[str], Answer]) -> None:
    cause = fault("sync_bug")["causes"][0]
    calls = [item for item in cause["evidence"] if item["kind"] == "calls"]
    assert any(item["new"] - item["base"] == pytest.approx(100, abs=1) for item in calls)


def test_other_kernels_are_a_cause_though_cycles_hardly_move(
    fault: Callable[[str], Answer],
) -> None:
    answer = fault("fp32_regression")
    assert answer["verdict"] == "no_change"
    # 5.34 ms of kernels, all of which lie in steps that end with their device work, and up to
    # 1.05 ms of the host to launch them.
    assert answer["causes"][0]["explained_us"] == pytest.approx(5340 + 1050, rel=0.15)
    assert names_of(answer["anomalies"]) == []


@pytest.mark.parametrize("name", ["gpu_clock", "cpu_squeeze"])
def test_nobody_else_is_blamed(fault: Callable[[str], Answer], name: str) -> None:
    assert set(names_of(fault(name)["anomalies"])) == FIRST_ANOMALY[name]


@pytest.mark.parametrize("name", sorted({*FAULTS, "normal_b"}))
def test_parts_add_up_to_the_measured_change(fault: Callable[[str], Answer], name: str) -> None:
    check_sums(fault(name))


def check_sums(answer: Answer) -> None:
    times = answer["cycle_time"]
    change = times["new_us"] - times["base_us"]
    total = sum(part["delta_us"] for part in answer["attribution"])
    assert total == pytest.approx(change, rel=0.01, abs=0.01)
    explained = sum(cause["explained_us"] for cause in answer["causes"])
    assert explained + answer["unexplained_us"] == pytest.approx(total, rel=1e-6, abs=0.01)


# -- where the change is ---------------------------------------------------------------------------


def parts(answer: Answer) -> dict[str, Answer]:
    return {part["component"]: part for part in answer["attribution"]}


def test_a_lower_clock_is_in_the_kernels(fault: Callable[[str], Answer]) -> None:
    computing = [
        part for part in fault("gpu_clock")["attribution"] if part["part"] == "device_compute"
    ]
    grown = sum(part["delta_us"] for part in computing)
    assert 5000 < grown < 5500
    same_launches_us = sum(part["same_launches_us"] or 0 for part in computing)
    assert same_launches_us == pytest.approx(grown, rel=0.02)


def test_more_and_other_kernels_are_not_the_same_ones(fault: Callable[[str], Answer]) -> None:
    gemms = parts(fault("fp32_regression"))["device_compute/gemm"]
    assert gemms["delta_us"] > 5000
    assert abs(gemms["same_launches_us"] or 0) < 50


def test_a_busy_host_lets_the_process_wait_for_a_core(fault: Callable[[str], Answer]) -> None:
    answer = fault("cpu_squeeze")
    change = answer["cycle_time"]["new_us"] - answer["cycle_time"]["base_us"]
    assert 0.8 < parts(answer)["run_queue"]["delta_us"] / change < 0.95


def test_a_stall_is_idle(fault: Callable[[str], Answer]) -> None:
    assert 10_000 < parts(fault("python_stall"))["idle"]["delta_us"] < 12_000


# -- quiet when it should be -----------------------------------------------------------------------


def test_a_slower_host_is_a_regression_that_nothing_explains(
    fault: Callable[[str], Answer],
) -> None:
    answer = fault("normal_b")
    assert answer["verdict"] == "regression"
    assert answer["anomalies"] == []
    assert answer["causes"] == []
    change = answer["cycle_time"]["new_us"] - answer["cycle_time"]["base_us"]
    assert answer["unexplained_us"] == pytest.approx(change, rel=0.01)


def assert_parts_are_alike(role: Process, split: str) -> None:
    cycles = role.behaviour["cycle"].unique().sort()
    sides = [
        only_cycles_of(role, tuple(cycles.gather(list(places))))
        for places in SPLITS[split](len(cycles))
    ]
    diagnosis = diagnose(compare_roles(*sides, "strict"))
    assert (diagnosis.verdict, diagnosis.anomalies, diagnosis.causes) == ("no_change", (), ())


@pytest.mark.parametrize(("name", "split"), [("normal", "halves"), ("gpu_contention", "even_odd")])
def test_parts_of_a_run_are_the_same(shared_root: Path, name: str, split: str) -> None:
    assert_parts_are_alike(
        timesink.compare(faults(shared_root) / "normal", faults(shared_root) / name).pair.new, split
    )


@pytest.mark.parametrize(
    ("name", "side", "split"), [("gpu_memory_squeeze_out_NVLink", "new", "even_odd")]
)
def test_parts_of_a_published_run_are_the_same(
    shared_root: Path, name: str, side: str, split: str
) -> None:
    pair = timesink.compare(case(shared_root, name)).pairs[-1].pair
    assert_parts_are_alike(getattr(pair, side), split)


# -- published cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_faults_are_found(
    shared_root: Path, answers: Callable[..., Answer], name: str
) -> None:
    answer = answers(case(shared_root, name))
    assert names_of(answer["anomalies"])[0] == PUBLISHED[name]
    for pair in (answer, *answer["pairs"]):
        check_sums(pair)


@pytest.mark.parametrize("name", ["gpu_instability", "gpu_memory_squeeze_out_NVLink"])
def test_no_regression_is_claimed_where_there_is_none(
    shared_root: Path, answers: Callable[..., Answer], name: str
) -> None:
    assert answers(case(shared_root, name))["verdict"] == "no_change"


def test_unequal_work_is_said(shared_root: Path, answers: Callable[..., Answer]) -> None:
    answer = answers(case(shared_root, "cpu_frequency_reduction"))
    assert answer["verdict"] == "incomparable"
    assert "64" in answer["reason"]


# -- text ------------------------------------------------------------------------------------------


def test_slow_cycles_of_a_run_are_diagnosed(shared_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "slow.json"
    assert main(["diagnose", str(faults(shared_root) / "pcie_saturation"), "-o", str(out)]) == 0
    answer = json.loads(out.read_text(encoding="utf-8"))
    assert answer["schema"] == "timesink/diagnosis/1"
    assert answer["verdict"] == "regression"
    assert set(range(19, 31)) <= set(answer["processes"][0]["slow_cycles"])
    check_sums(answer)


def test_runs_of_one_machine_name_its_device(shared_root: Path) -> None:
    """The last of all: other tests have read these recordings by now."""
    recordings = shared_root / "data" / "h200"
    paths = [
        *recordings.glob("faults/*/trace.json.gz"),
        *recordings.glob("traces/ddp8_*/rank[03].*"),
    ]
    assert len(paths) == 14
    for path in paths:
        trace = timesink.open(path)
        assert trace.metadata.vendor == "nvidia"
        assert {device.name for device in trace.metadata.devices} == {"NVIDIA H200"}
        summary = summarise(trace)
        assert 0 <= summary.device_busy_ns <= summary.device_span.length_ns
