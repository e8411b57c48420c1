"""Small cases of what the helpers of server give."""

from __future__ import annotations

import pytest

from timesink.errors import NotFoundError
from timesink.server.replies import Asked
from timesink.server.site import StaticFiles


def test_staticfiles() -> None:
    with pytest.raises(NotFoundError, match="no\\ file\\ is\\ named\\ '\\.\\./app\\.py'"):
        StaticFiles().reply(Asked(""), "../app.py")
