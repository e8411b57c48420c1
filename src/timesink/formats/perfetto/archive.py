"""Ranks of one run as an archive that Perfetto opens on one timeline.

A manifest beside the traces says how far the clock of each is from that of the first.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from timesink.formats.perfetto.writer import PacketEncoder
from timesink.formats.written_files import written_aside
from timesink.model.trace import Trace

ENDING = ".zip"
_MANIFEST = "perfetto_manifest.json"
_CLOCK = "BOOTTIME"


class ArchiveMember(msgspec.Struct, frozen=True):
    """One rank of an archive."""

    rank: int
    machine: str
    """What its processes are shown under; no two ranks share one."""
    ahead_ns: int
    """How far its clock is ahead of the common one."""

    @property
    def file(self) -> str:
        return f"rank{self.rank}.pftrace"


def manifest_of(members: Sequence[ArchiveMember]) -> bytes:
    """The manifest of an archive: files, machines, and clocks related to that of the first file.

    >>> members = [ArchiveMember(0, "rank 0", 500), ArchiveMember(1, "rank 1", 200)]
    >>> b'"offset_ns": 300' in manifest_of(members)
    True
    """
    reference = members[0]
    files: list[dict[str, object]] = []
    for member in members:
        entry: dict[str, object] = {"path": member.file, "machine": {"name": member.machine}}
        if member is not reference:
            entry["clocks"] = {
                "clock": _CLOCK,
                "sync_to": {"file": reference.file, "clock": _CLOCK},
                # At one moment this clock shows T and that of the reference T + offset.
                "offset_ns": reference.ahead_ns - member.ahead_ns,
            }
        files.append(entry)
    manifest = {
        "perfetto_manifest": {
            "version": 1,
            "trace_time": {"clock": _CLOCK, "file": reference.file},
            "files": files,
        }
    }
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def write_archive(path: Path, members: Sequence[ArchiveMember], traces: Iterable[Trace]) -> int:
    """Write the traces of members, in their order, and the manifest; the number of events."""
    written = 0
    with (
        written_aside(path) as aside,
        zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive,
    ):
        archive.writestr(_MANIFEST, manifest_of(members))
        for member, trace in zip(members, traces, strict=True):
            encoder = PacketEncoder(with_clock=False)
            with archive.open(member.file, "w", force_zip64=True) as file:
                for packet in encoder.packets(trace):
                    file.write(packet)
            written += encoder.written
    return written
