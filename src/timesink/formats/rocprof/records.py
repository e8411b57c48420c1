"""Shapes of what rocprofv3 writes, and decoding that survives a record of another shape.

Only the fields the model uses are spelled; msgspec skips the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec

from timesink.model.health import HealthEntry

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that fits a column."""
Text = str | int
"""Names of the empty first symbol are written as 0."""

_Shape = TypeVar("_Shape")


class Handle(msgspec.Struct, frozen=True, gc=False):
    handle: int = 0


class Correlation(msgspec.Struct, frozen=True, gc=False):
    internal: Integer | None = None


class Extent(msgspec.Struct, frozen=True, gc=False):
    x: Integer = 1
    y: Integer = 1
    z: Integer = 1


class Record(msgspec.Struct, frozen=True, gc=False):
    """What every record of a buffer has; calls have nothing else of interest."""

    kind: Integer | None = None
    operation: Integer | None = None
    thread_id: Integer | None = None
    correlation_id: Correlation = Correlation()
    start_timestamp: Integer | None = None
    end_timestamp: Integer | None = None


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    agent_id: Handle = Handle()
    queue_id: Handle = Handle()
    kernel_id: Integer | None = None
    group_segment_size: Integer | None = None
    workgroup_size: Extent = Extent()
    grid_size: Extent = Extent()


class KernelRecord(Record, frozen=True, gc=False):
    dispatch_info: Dispatch = Dispatch()
    stream_id: Handle = Handle()


class Copy(Record, frozen=True, gc=False):
    src_agent_id: Handle = Handle()
    dst_agent_id: Handle = Handle()
    stream_id: Handle = Handle()
    bytes: Integer | None = None


class Allocation(Record, frozen=True, gc=False):
    agent_id: Handle = Handle()
    address: Text = 0
    allocation_size: Integer | None = None


class Symbol(msgspec.Struct, frozen=True, gc=False):
    kernel_id: Integer
    formatted_kernel_name: Text = ""
    demangled_kernel_name: Text = ""
    truncated_kernel_name: Text = ""
    kernel_name: Text = ""
    arch_vgpr_count: Integer | None = None


class Bank(msgspec.Struct, frozen=True, gc=False):
    size_in_bytes: int = 0


class Agent(msgspec.Struct, frozen=True, gc=False):
    id: Handle
    type: int = 0
    node_id: int = 0
    name: str = ""
    product_name: str = ""
    cu_count: int | None = None
    simd_count: int | None = None
    wave_front_size: int | None = None
    max_waves_per_simd: int | None = None
    lds_size_in_kb: int | None = None
    num_xcc: int | None = None
    max_engine_clk_fcompute: int | None = None
    mem_banks: tuple[Bank, ...] = ()


class Operations(msgspec.Struct, frozen=True, gc=False):
    """Names of the operations of one kind; kinds are numbered by position."""

    kind: str = ""
    operations: tuple[str, ...] = ()


class Marker(msgspec.Struct, frozen=True, gc=False):
    """Text of a marker, under the correlation of its record."""

    key: Integer
    value: str


class Node(msgspec.Struct, frozen=True):
    hostname: str = ""
    release: str = ""


class ProcessFacts(msgspec.Struct, frozen=True):
    pid: int | None = None
    node: Node = Node()
    command: tuple[str, ...] = ()


class Strings(msgspec.Struct, frozen=True):
    buffer_records: msgspec.Raw = msgspec.Raw(b"[]")
    marker_api: msgspec.Raw = msgspec.Raw(b"[]")


class Process(msgspec.Struct, frozen=True):
    """One entry of the file; its lists stay raw until their shape is known."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    agents: msgspec.Raw = msgspec.Raw(b"[]")
    strings: Strings = Strings()
    kernel_symbols: msgspec.Raw = msgspec.Raw(b"[]")
    callback_records: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)
    buffer_records: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class File(msgspec.Struct, frozen=True):
    processes: list[Process] = msgspec.field(name="rocprofiler-sdk-tool")


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes sections, collecting what had another shape than expected."""

    health: list[HealthEntry]

    def one(self, raw: msgspec.Raw, shape: type[_Shape], section: str) -> _Shape | None:
        try:
            return msgspec.json.decode(raw, type=shape)
        except msgspec.ValidationError as error:
            self.health.append(HealthEntry("bad_metadata", 1, f"{section}: {error}"))
            return None

    def many(
        self, raw: msgspec.Raw, shape: type[_Shape], section: str, code: str = "bad_metadata"
    ) -> list[_Shape]:
        """The items of a section; those of another shape are counted under the code."""
        try:
            return msgspec.json.decode(raw, type=list[shape])  # type: ignore[valid-type]
        except msgspec.ValidationError as error:
            first_error = f"{section}: {error}"
        try:
            items = msgspec.json.decode(raw, type=list[msgspec.Raw])
        except msgspec.ValidationError:
            self.health.append(HealthEntry(code, 1, first_error))
            return []
        decoded = list(_decode_valid(items, shape))
        self.health.append(HealthEntry(code, len(items) - len(decoded), first_error))
        return decoded

    def skip(self, raw: msgspec.Raw, section: str) -> None:
        """Count a section that the model has no place for."""
        try:
            items = len(msgspec.json.decode(raw, type=list[msgspec.Raw]))
        except msgspec.ValidationError:
            items = 1
        self.health.append(HealthEntry("unknown_phase", items, section))


def _decode_valid(items: list[msgspec.Raw], shape: type[_Shape]) -> Iterator[_Shape]:
    decoder = msgspec.json.Decoder(shape)
    for item in items:
        with suppress(msgspec.ValidationError):
            yield decoder.decode(item)
