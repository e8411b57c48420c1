"""Structures of NVIDIA's management library, as nvml.h lays them out."""

from __future__ import annotations

from ctypes import Structure, Union, c_double, c_int, c_longlong, c_uint, c_ulong, c_ulonglong

UNKNOWN_MEMORY = 2**64 - 1


class Utilization(Structure):
    """Percent of time of kernels, and of reads and writes."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class Memory(Structure):
    """Bytes."""

    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class ProcessInfo(Structure):
    """A process that has a context on a device."""

    _fields_ = (
        ("pid", c_uint),
        ("usedGpuMemory", c_ulonglong),
        ("gpuInstanceId", c_uint),
        ("computeInstanceId", c_uint),
    )


class ProcessUtilization(Structure):
    """Percent of time of one process."""

    _fields_ = (
        ("pid", c_uint),
        ("timeStamp", c_ulonglong),
        ("smUtil", c_uint),
        ("memUtil", c_uint),
        ("encUtil", c_uint),
        ("decUtil", c_uint),
    )


class _Value(Union):
    _fields_ = (
        ("dVal", c_double),
        ("uiVal", c_uint),
        ("ulVal", c_ulong),
        ("ullVal", c_ulonglong),
        ("sllVal", c_longlong),
        ("siVal", c_int),
    )


class FieldValue(Structure):
    """A value asked for by number, with an error of its own."""

    _fields_ = (
        ("fieldId", c_uint),
        ("scopeId", c_uint),
        ("timestamp", c_longlong),
        ("latencyUsec", c_longlong),
        ("valueType", c_uint),
        ("nvmlReturn", c_uint),
        ("value", _Value),
    )


class NotedSample(Structure):
    """A value the driver noted down, with the Unix time in microseconds."""

    _fields_ = (("timeStamp", c_ulonglong), ("sampleValue", _Value))
