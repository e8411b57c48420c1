"""What the driver of CUDA knows of a graph that is being captured: its nodes, and what they run."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

_KERNEL = 0
_ACTIVE = 1
MAX_SYMBOL = 1024
"""The profiler leaves longer names as they are."""


class _KernelParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


class DriverGraphs:
    """Asks the driver, and changes nothing."""

    def __init__(self, driver: Any = None) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1") if driver is None else driver
        self._names: dict[int, str | None] = {}
        self._demangle = _demangler()

    @property
    def addresses(self) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        """Functions that compiled code calls: of a stream its capture, of a graph its nodes."""
        info, nodes = self._driver.cuStreamGetCaptureInfo_v2, self._driver.cuGraphGetNodes
        return ctypes.cast(info, ctypes.c_void_p), ctypes.cast(nodes, ctypes.c_void_p)

    def graph_of(self, stream: int) -> int | None:
        """The graph into which a stream is captured; None where it is not, or that has failed."""
        status, number, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
        failed = self._driver.cuStreamGetCaptureInfo_v2(
            ctypes.c_void_p(stream),
            ctypes.byref(status),
            ctypes.byref(number),
            ctypes.byref(graph),
            None,
            None,
        )
        return graph.value if not failed and status.value == _ACTIVE else None

    def describe(self, graph: int) -> dict[str, Any]:
        """Nodes in the order in which they were made: sorts, names, geometry, what they follow."""
        count = ctypes.c_size_t()
        self._check(self._driver.cuGraphGetNodes(ctypes.c_void_p(graph), None, ctypes.byref(count)))
        nodes = (ctypes.c_void_p * count.value)()
        if count.value:
            self._check(
                self._driver.cuGraphGetNodes(ctypes.c_void_p(graph), nodes, ctypes.byref(count))
            )
        place = {node: number for number, node in enumerate(nodes)}
        names: dict[str, int] = {}
        sorts, kernels, geometry = [], [], []
        for node in filter(None, nodes):
            sort = ctypes.c_int(-1)
            self._driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(sort))
            sorts.append(sort.value)
            name, sizes = self._kernel(node) if sort.value == _KERNEL else (None, None)
            kernels.append(-1 if name is None else names.setdefault(name, len(names)))
            geometry.append(sizes)
        return {
            "sorts": sorts,
            "names": list(names),
            "kernels": kernels,
            "geometry": geometry,
            "edges": self._edges(graph, place),
        }

    def _kernel(self, node: int) -> tuple[str | None, list[int] | None]:
        parameters = _KernelParameters()
        if self._driver.cuGraphKernelNodeGetParams_v2(
            ctypes.c_void_p(node), ctypes.byref(parameters)
        ):
            return None, None
        name = self._name(parameters.function or 0, parameters.kernel or 0)
        return name, [*parameters.grid, *parameters.block]

    def _name(self, function: int, kernel: int) -> str | None:
        key = function or kernel
        if key in self._names:
            return self._names[key]
        text = ctypes.c_char_p()
        for handle, ask in ((function, "cuFuncGetName"), (kernel, "cuKernelGetName")):
            with suppress(AttributeError):
                if handle and not text.value:
                    getattr(self._driver, ask)(ctypes.byref(text), ctypes.c_void_p(handle))
        name = self._demangle(text.value.decode(errors="replace")) if text.value else None
        self._names[key] = name
        return name

    def _edges(self, graph: int, place: dict[int | None, int]) -> list[int]:
        """Places of nodes, two by two: the second waits for the first."""
        count = ctypes.c_size_t()
        ask = self._driver.cuGraphGetEdges
        self._check(ask(ctypes.c_void_p(graph), None, None, ctypes.byref(count)))
        if not count.value:
            return []
        first, second = (ctypes.c_void_p * count.value)(), (ctypes.c_void_p * count.value)()
        if ask(ctypes.c_void_p(graph), first, second, ctypes.byref(count)):
            # Edges that depend on a part of a kernel have to be asked for otherwise.
            return []
        return [
            number
            for pair in zip(first, second, strict=True)
            for number in (place[pair[0]], place[pair[1]])
        ]

    @staticmethod
    def _check(failed: int) -> None:
        if failed:
            msg = f"the driver does not tell the nodes of a graph (error {failed})"
            raise OSError(msg)


def _demangler() -> Any:
    """What makes `void f<int>(int)` of `_Z1fIiEvi`, as the profiler writes it."""
    try:
        library = getattr(ctypes.CDLL("libstdc++.so.6"), "__cxa_demangle")
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return lambda name: name
    library.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]

    def demangle(name: str) -> str:
        if not name.startswith("_Z") or len(name) > MAX_SYMBOL:
            return name
        status = ctypes.c_int()
        address = library(name.encode(), None, None, ctypes.byref(status))
        if status.value or not address:
            return name
        try:
            return ctypes.string_at(address).decode(errors="replace")
        finally:
            free(address)

    return demangle
