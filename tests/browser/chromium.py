"""Which Chromium drives the pages; `python tests/browser/chromium.py` installs one if need be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first needs least of the processor: it draws no window of its own, which nobody sees."""
_PACKAGES = ("chromium-headless-shell", "chromium")
"""The first that there is; not all systems have the one without windows."""
_FONTS = "fonts-liberation"
_OF_PLAYWRIGHT = (
    "chromium_headless_shell-*/chrome-*/*headless*shell",
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)


def find_chromium() -> str | None:
    """The browser of $TIMESINK_CHROMIUM, of this machine, or one that Playwright brought."""
    chosen = os.environ.get("TIMESINK_CHROMIUM")
    paths = [chosen] if chosen else [shutil.which(name) for name in NAMES]
    return next((path for path in paths if path), None) or _of_playwright()


def _of_playwright() -> str | None:
    usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    place = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or usual / "ms-playwright")
    paths = (max(map(str, place.glob(pattern)), default=None) for pattern in _OF_PLAYWRIGHT)
    return next((path for path in paths if path), None)


def install() -> int:
    """Install a browser where there is none: from the system's packages, else from Playwright."""
    if find_chromium() is None and not (_from_packages() and find_chromium()):
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if find_chromium() is None:
        sys.stderr.write(
            "no Chromium could be installed for the tests of pages\n"
            "hint: install one, or say in TIMESINK_CHROMIUM where it is\n"
        )
        return 1
    return 0


def _from_packages() -> bool:
    """Whether `apt-get`, where there is one and it may, has installed them."""
    if shutil.which("apt-get") is None:
        return False
    allowed = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if allowed and shutil.which("sudo") is None:
        return False
    apt = [*allowed, "apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=120"]
    # A list of packages that cannot be brought up to date may do all the same.
    subprocess.run([*apt, "update"], check=False)
    install = [*apt, "install", "--no-install-recommends", _FONTS]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return any(
        subprocess.run([*install, package], check=False, env=quiet).returncode == 0
        for package in _PACKAGES
    )


if __name__ == "__main__":
    sys.exit(install())
