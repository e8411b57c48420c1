"""What the label of a counter means."""

from __future__ import annotations

from timesink.analyses.behaviour.counters import place_of

LABELS = [
    ("GPU 3", "device 3"),
    ("GPU 0 (virtual)", "device 0"),
    ("gpu3", "device 3"),
    ("NPU 1", "device 1"),
    ("CAT_XPU_2", "device 2"),
    ("cuda:1", "device 1"),
    ("GPU-8f2c", "device GPU-8f2c"),
    ("1", "device 1"),
    ("42", "pid 42"),
    ("7", "host"),
    ("node1(42)", "pid 42"),
    ("pid 944615", "pid 944615"),
    ("Host", "host"),
    ("Host on node1", "host on node1"),
    ("GPU 2 on node1", "device 2 on node1"),
    ("eth0", "host"),
    ("", "host"),
    (None, "host"),
]


def test_labels():
    label_places = [(label, place_of(label, ["42", "node1(42)"], [0, 1])) for label, _ in LABELS]
    assert label_places == LABELS
