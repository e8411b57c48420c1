"""What is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from timesink.comparison.inputs import check_given
from timesink.errors import UnreadableError, UsageError


def test_what_is_not_there_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        check_given([tmp_path, tmp_path / "gone"])
    with pytest.raises(UsageError, match="nothing to compare"):
        check_given([])
