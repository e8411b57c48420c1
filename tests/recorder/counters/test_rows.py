"""The file of samples: which rows are in it, and how many moments they tell of."""

from __future__ import annotations

import math

from sampling_counters import rows_of, wait_for
from timesink.recorder.counter_probes import Missing, MissingBook, Probe, Sample
from timesink.recorder.counter_sampler import Lane, Rows


def test_rows_before_a_moment_go_and_the_rest_stays(tmp_path):
    rows = Rows(tmp_path / "counters.csv")
    for second in range(100):
        rows.write(second * 1_000_000, [Sample("host_cpu_usage", "Host", float(second))])
    rows.keep_from(90_000_000)
    rows.write(100_000_000, [Sample("host_cpu_usage", "Host", 100.0)])
    rows.keep_from(95_500_000)
    assert rows.moments == 6
    rows.close()
    values = [value for _, _, _, value in rows_of(tmp_path / "counters.csv")]
    assert values == [95, 96, 97, 98, 99, 100]
    assert [file.name for file in tmp_path.iterdir()] == ["counters.csv"]


def test_what_a_driver_noted_down_in_between_makes_no_more_moments(tmp_path):
    rows = Rows(tmp_path / "counters.csv")
    notes = [Sample("gpu_power_instant_mw", "GPU 0", 1.0, second * 100_000) for second in range(50)]
    rows.write(1_000_000, notes)
    assert rows.moments == 50
    for second in (1, 2, 3):
        rows.write(second * 1_000_000, [Sample("gpu_temp", "GPU 0", 41.0)])
    assert rows.moments == 3
    rows.keep_from(3_000_000)
    assert rows.moments == 2
    rows.close()


def test_values_that_are_no_numbers_are_left_out_and_named(tmp_path):
    odd = iter([math.nan, -math.inf])

    def read(_now_s: float) -> list[Sample]:
        return [Sample("gpu_temp", "GPU 0", next(odd, 41.0)), Sample("gpu_usage", "GPU 0", 37.0)]

    file, book = tmp_path / "c.csv", MissingBook()
    rows = Rows(file)
    lane = Lane("x", [Probe(("gpu_temp", "gpu_usage"), read)], 0.001, rows, book)
    lane.start()
    wait_for(lambda: len(rows_of(file)) > 8)
    lane.end()
    lane.join()
    rows.close()
    assert {row[1:] for row in rows_of(file)} == {
        ("gpu_temp", "GPU 0", 41.0),
        ("gpu_usage", "GPU 0", 37.0),
    }
    why = "GPU 0: values that are not finite were left out"
    assert book.named() == (Missing("gpu_temp", why),)


def test_a_lane_that_is_to_go_faster_does_so_at_once(tmp_path):
    file = tmp_path / "c.csv"
    rows = Rows(file)
    probe = Probe(("gpu_temp",), lambda _now_s: [Sample("gpu_temp", "GPU 0", 41)])
    lane = Lane("x", [probe], 60.0, rows, MissingBook())
    lane.start()
    wait_for(lambda: len(rows_of(file)) == 1)
    lane.pace(0.001)
    wait_for(lambda: len(rows_of(file)) > 8)
    lane.end()
    lane.join()
    rows.close()
