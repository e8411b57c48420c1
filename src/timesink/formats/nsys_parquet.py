"""Nsight Systems recordings exported with `nsys export --type parquetdir`: a file for each table.

Any of the files stands for all of the folder; a folder is given by the one with the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from timesink.patterns import regex

if TYPE_CHECKING:
    from timesink.formats.read_options import ReadOptions
    from timesink.formats.source_file import SourceFile
    from timesink.model.health import HealthEntry
    from timesink.model.trace import Trace

NAME = "nsys"
_MAGIC = b"PAR1"
_TABLE = regex(
    r"(?:StringIds|CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS|TARGET_INFO_\w+|META_DATA_\w+|OSRT_API"
    r"|CUDNN_EVENTS|CUBLAS_EVENTS|GPU_METRICS|PROCESSES|ThreadNames|EXPORT_META_DATA"
    r"|CUDA_GPU_MEMORY_USAGE_EVENTS|PROFILER_OVERHEAD)(?:_V\d+)?\.parquet",
)


def sniff(head: bytes, name: str) -> bool:
    """A Parquet file with the name of a table of Nsight Systems.

    >>> sniff(b"PAR1....", "StringIds.parquet"), sniff(b"PAR1....", "table.parquet")
    (True, False)
    """
    return head.startswith(_MAGIC) and is_table_of_folder(name)


def is_table_of_folder(name: str) -> bool:
    """Whether a file has the name of a table of an export as Parquet.

    >>> is_table_of_folder("CUPTI_ACTIVITY_KIND_KERNEL_V3.parquet")
    True
    """
    return _TABLE.fullmatch(name) is not None


def read(source: SourceFile, options: ReadOptions) -> Trace:  # noqa: ARG001
    """Read all tables of the folder a file lies in."""
    # Loaded when it is needed: each file is shown to this module first.
    from timesink.formats import nsys  # noqa: PLC0415
    from timesink.formats.nsys_tables import open_parquet_folder  # noqa: PLC0415

    health: list[HealthEntry] = []
    tables = open_parquet_folder(source.path.parent, health)
    return nsys.read_tables(tables, source, health)
