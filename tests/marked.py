"""Rows of recordings whose cycles are marked: annotations, profiler steps, operators."""

from __future__ import annotations

from timelines import Row


def note(name: str, start: int, length: int, pid: str = "1") -> Row:
    return {"kind": "annotation", "name": name, "pid": pid, "tid": "1"} | {
        "ts_ns": start,
        "dur_ns": length,
    }


def work(start: int, end: int, every: int = 10, pid: str = "1") -> list[Row]:
    """Operators all over a stretch of time."""
    return [
        {"kind": "operator", "name": "mm", "pid": pid, "tid": "1", "ts_ns": at, "dur_ns": every - 2}
        for at in range(start, end, every)
    ]


def mark(number: int, pid: str = "1", tid: str = "1") -> Row:
    return {"step": number, "name": f"ProfilerStep#{number}", "pid": pid, "tid": tid} | {
        "ts_ns": 1_000 * number,
        "dur_ns": 900,
    }
