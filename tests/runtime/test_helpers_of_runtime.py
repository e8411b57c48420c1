"""Small cases of what the helpers of runtime give."""

from __future__ import annotations


def test_other_versions() -> None:
    from timesink.runtime.ray_driver import other_versions

    message = other_versions("node7", ("", "3.12")).message
    start = "the Ray worker on node7 has no timesink and Python 3.12; here are timesink "
    assert message.startswith(start)
