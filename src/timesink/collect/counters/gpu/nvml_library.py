"""NVIDIA's management library: the binding of nvidia-ml-py, or one of our own."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from timesink.collect.counters.gpu import nvml_binding
from timesink.collect.counters.missing import UnavailableError, reason


def load() -> Any:
    """The library, started; `UnavailableError` says why there is none."""
    library = _nvidia_ml_py() or _own_binding()
    try:
        library.nvmlInit()
    except Exception as error:  # whatever a binding raises, there is no library
        raise UnavailableError(f"NVML does not start ({reason(error)})") from error
    return library


def _nvidia_ml_py() -> Any | None:
    try:
        with warnings.catch_warnings():
            # A package of the same name by others warns when it is imported.
            warnings.simplefilter("ignore")
            return importlib.import_module("pynvml")
    except Exception:  # noqa: BLE001 - a broken package is as good as none
        return None


def _own_binding() -> Any:
    try:
        return nvml_binding.load()
    except OSError as error:
        raise UnavailableError("no NVIDIA driver (libnvidia-ml.so.1 is not there)") from error
