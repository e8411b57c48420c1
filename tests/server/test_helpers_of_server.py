"""Small cases of what the helpers of server give."""

from __future__ import annotations

from pathlib import Path

import pytest

from timesink.errors import NotFoundError
from timesink.server.replies import ClientRequest
from timesink.server.site import static_reply


def test_staticfiles() -> None:
    with pytest.raises(NotFoundError, match="no\\ file\\ is\\ named\\ '\\.\\./app\\.py'"):
        static_reply(Path(), ClientRequest(""), "../app.py")
