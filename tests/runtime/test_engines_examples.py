"""Small examples of functions that other tests use only in passing."""

from __future__ import annotations

import pickle

from timesink.runtime.engine import (
    Call,
    LocalEngine,
    _environment,
    engine_of,
    internal,
    last_words,
    make,
    name_of,
    worker_killed,
)


def test_calling_make():
    assert make(Call("os", "fsencode"), pickle.dumps("gemm")) == (b"gemm", None)


def test_calling_name_of():
    assert name_of("runs/rank3.json") == "runs/rank3.json"


def test_calling_internal():
    assert (
        internal("rank3.json", KeyError("pid")).message
        == "rank3.json: internal error (KeyError: 'pid')"
    )


def test_calling_killed():
    assert (
        worker_killed("rank3.json", "killed by SIGKILL", "try --jobs 1").message
        == "rank3.json: the process that read it died each time (killed by SIGKILL)"
    )


def test_choosing_engine_of():
    assert engine_of("local", jobs=4).name == "local"


def test_local_localengine():
    engine = LocalEngine(jobs=2)
    done = engine.run(Call("os", "fsencode"), ["b", "a", "c"])
    assert sorted((result.place, result.value) for result in done) == [
        (0, b"b"),
        (1, b"a"),
        (2, b"c"),
    ]


def test_ray_engine_environment():
    assert ["RAY_AUTH_TOKEN" in _environment(address) for address in (None, "head:6379")] == [
        True,
        False,
    ]


def test_ray_engine_last_words():
    assert (
        last_words("[2026-11-16 02:46:00,900 E 25 26] rpc_client.h:204: GCS is gone. See its log.")
        == "GCS is gone"
    )
