"""Small Chrome-format traces as Python values: single events, whole dialects, and files of them.

Times are microseconds, as in the files.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Document = dict[str, Any] | list[Any]

HOST_PID = 4242
HOST_TID = 4242
BASE_NS = 1_790_857_026_000_000_000


# -- single events -------------------------------------------------------------------------------


def complete(category: str | None, name: str, ts: Any, dur: Any, **fields: Any) -> Event:
    """A duration event; `args`, `pid` and `tid` are fields like any other."""
    event = {"ph": "X", "cat": category, "name": name, "pid": HOST_PID, "tid": HOST_TID}
    event |= {"ts": ts, "dur": dur, **fields}
    return {key: value for key, value in event.items() if key != "cat" or category is not None}


def operator(name: str, ts: Any, dur: Any, **args: Any) -> Event:
    return complete("cpu_op", name, ts, dur, args=args)


def annotation(name: str, ts: Any, dur: Any, **args: Any) -> Event:
    return complete("user_annotation", name, ts, dur, args=args)


def step(number: int, ts: Any, dur: Any) -> Event:
    return annotation(f"ProfilerStep#{number}", ts, dur)


def python_call(name: str, ts: Any, dur: Any, **args: Any) -> Event:
    return complete("python_function", name, ts, dur, args=args)


def runtime(name: str, ts: Any, dur: Any, correlation: int, **args: Any) -> Event:
    return complete("cuda_runtime", name, ts, dur, args={"correlation": correlation, **args})


def on_device(
    category: str, name: str, ts: Any, dur: Any, *, device: int = 0, stream: int = 7, **args: Any
) -> Event:
    place = {"device": device, "stream": stream}
    return complete(category, name, ts, dur, pid=device, tid=stream, args={**place, **args})


def kernel(name: str, ts: Any, dur: Any, correlation: int, **args: Any) -> Event:
    return on_device("kernel", name, ts, dur, correlation=correlation, **args)


def memcpy(name: str, ts: Any, dur: Any, correlation: int, **args: Any) -> Event:
    return on_device("gpu_memcpy", name, ts, dur, correlation=correlation, **args)


def memset(name: str, ts: Any, dur: Any, correlation: int, **args: Any) -> Event:
    return on_device("gpu_memset", name, ts, dur, correlation=correlation, **args)


def instant(name: str, ts: Any, **args: Any) -> Event:
    lane = {"pid": HOST_PID, "tid": HOST_TID}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": name,
        **lane,
        "ts": ts,
        "args": args,
    }


def memory(
    ts: Any, size: int, *, address: int = 140_000_000, device: int = 0, total: int = 0
) -> Event:
    return instant(
        "[memory]",
        ts,
        **{
            "Total Reserved": 2 * total,
            "Total Allocated": total,
            "Bytes": size,
            "Device Id": device,
            "Device Type": 1,
            "Addr": address,
        },
    )


def flow(phase: str, number: Any, ts: Any, *, category: str = "ac2g", **fields: Any) -> Event:
    lane = {"pid": HOST_PID, "tid": HOST_TID}
    return {
        "ph": phase,
        "id": number,
        **lane,
        "ts": ts,
        "cat": category,
        "name": category,
        **fields,
    }


def launch(name: str, kernel_name: str, ts: float, correlation: int) -> list[Event]:
    """A runtime call of 10 us, its kernel of 20 us on the device, and the arrow between them."""
    return [
        runtime(name, ts, 10, correlation),
        flow("s", correlation, ts),
        kernel(kernel_name, ts + 15, 20, correlation),
        flow("f", correlation, ts + 15, pid=0, tid=7, bp="e"),
    ]


def counter(name: str, ts: Any, **values: Any) -> Event:
    return {"ph": "C", "name": name, "pid": 0, "ts": ts, "args": values}


def begin(name: str, ts: Any, **fields: Any) -> Event:
    lane = {"pid": HOST_PID, "tid": HOST_TID}
    return {"ph": "B", "cat": "cpu_op", "name": name, **lane, "ts": ts, **fields}


def end(ts: Any, **fields: Any) -> Event:
    return {"ph": "E", "pid": HOST_PID, "tid": HOST_TID, "ts": ts, **fields}


def lane_metadata(kind: str, pid: Any, tid: Any, **args: Any) -> Event:
    return {"name": kind, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": args}


def process_name(pid: Any, name: str) -> Event:
    return lane_metadata("process_name", pid, 0, name=name)


def process_labels(pid: Any, labels: str) -> Event:
    return lane_metadata("process_labels", pid, 0, labels=labels)


def thread_name(pid: Any, tid: Any, name: str) -> Event:
    return lane_metadata("thread_name", pid, tid, name=name)


def kineto(events: Sequence[Any], **fields: Any) -> Document:
    """A document as Kineto lays it out: metadata, events, more metadata."""
    return {"schemaVersion": 1, **fields, "traceEvents": list(events), "displayTimeUnit": "ms"}


# -- whole dialects ------------------------------------------------------------------------------


def cuda_trace() -> Document:
    """PyTorch 2 on NVIDIA: times relative to a base, three decimals."""
    return kineto(
        [
            step(7, 100.0, 400.5),
            operator("aten::mm", 110.125, 60.5, **{"External id": 3, "Input Dims": [[2, 3], []]}),
            runtime("cudaLaunchKernel", 120.001, 10.25, 11, **{"External id": 3, "cbid": 211}),
            flow("s", 11, 120.001),
            kernel(
                "gemm",
                140.002,
                20.003,
                11,
                **{
                    "External id": 3,
                    "grid": [8, 2, 1],
                    "block": [128, 1, 1],
                    "registers per thread": 32,
                    "shared memory": 1024,
                    "blocks per SM": 0.5,
                    "warps per SM": 2.25,
                    "est. achieved occupancy %": 40,
                },
            ),
            flow("f", 11, 140.002, pid=0, tid=7, bp="e"),
            runtime("cudaMemcpyAsync", 180.0, 5.0, 12, **{"External id": 4}),
            memcpy("Memcpy HtoD (Pageable -> Device)", 190.0, 3.0, 12, bytes=640),
            runtime("cudaMemsetAsync", 191.0, 2.0, 13),
            memset("Memset (Device)", 195.0, 1.0, 13, bytes=64),
            complete("cuda_driver", "cuLaunchKernel", 200.0, 2.0, args={"correlation": 14}),
            complete("gpu_user_annotation", "ProfilerStep#7", 140.0, 60.0, pid=0, tid=7),
            memory(210.5, 512, total=4096),
            process_name(HOST_PID, "python"),
            process_labels(0, "GPU 0"),
            complete("Trace", "PyTorch Profiler (0)", 90, 500, pid="Spans", tid="PyTorch Profiler"),
        ],
        deviceProperties=[{"id": 0, "name": "NVIDIA H200", "numSms": 132, "computeMajor": 9}],
        baseTimeNanoseconds=BASE_NS,
    )


def old_trace() -> Document:
    """PyTorch 1.8 to 1.10: capitalised categories, whole microseconds, textual threads."""
    host = {"pid": 24572, "tid": "25738"}
    stream = {"pid": 0, "tid": "stream 7"}
    return {
        "schemaVersion": 1,
        "traceEvents": [
            complete(
                "Operator",
                "aten::add",
                1621401187223197,
                121,
                **host,
                args={"Device": 24572, "External id": 2},
            ),
            complete(
                "Runtime",
                "cudaLaunchKernel",
                1621401187223200,
                9,
                **host,
                args={"cbid": 211, "correlation": 311, "external id": 2},
            ),
            flow("s", 311, 1621401187223200, category="async", pid=24572, tid=25738),
            complete(
                "Kernel",
                "add_kernel",
                1621401187223220,
                4,
                **stream,
                args={"device": 0, "stream": 7, "correlation": 311, "external id": 2},
            ),
            complete(
                "Memcpy",
                "Memcpy DtoH (Device -> Pageable)",
                1621401187223230,
                1,
                **stream,
                args={"device": 0, "stream": 7, "correlation": 312, "bytes": 640},
            ),
            flow("f", 311, 1621401187223220, category="async", **stream, bp="e"),
            complete("Python", "train.py(1): main", 1621401187223100, 300, **host),
        ],
    }


def rocm_trace() -> Document:
    """ROCm: HIP names under CUDA categories, launch geometry on the call, stream 0."""
    on_call = {"kernel": "Cijk_Ailk", "grid": [64, 1, 1], "block": [256, 1, 1], "shared memory": 0}
    return kineto(
        [
            operator("aten::mm", 4203669603187.439, 90.0, **{"External id": 8}),
            runtime("hipExtModuleLaunchKernel", 4203669603200.5, 6.6, 117, stream="0x0", **on_call),
            kernel("Cijk_Ailk", 4203669603220.25, 30.125, 117, stream=0, device=2),
            runtime("hipMemcpyWithStream", 4203669603260.0, 9.0, 118, size="2560", kind="1"),
            memcpy("CopyHostToDevice", 4203669603270.0, 4.0, 118, stream=0, device=2, kind="HtoD"),
        ],
        deviceProperties=[{"id": 2, "name": "AMD Instinct MI300X", "numSms": 304}],
    )


def mlu_trace() -> Document:
    """Cambricon: own categories for calls, copies and arrows; kernels described by task type."""
    return kineto(
        [
            operator("aten::add", 1698918189334300, 80, **{"External id": 15}),
            complete(
                "mlu_runtime",
                "cnrtInvokeKernel",
                1698918189334320,
                20,
                args={"External id": 15, "cbid": 69, "correlation": 28},
            ),
            flow("s", 28, 1698918189334320, category="async_cpu_to_mlu", bp="e"),
            on_device(
                "kernel",
                "MLUKernelAdd",
                1698918189334350,
                4,
                stream=1,
                correlation=28,
                **{"External id": 15, "kernel type": "UNION", "dimx": 4, "dimy": 1, "dimz": 1},
            ),
            flow("f", 28, 1698918189334350, category="async_cpu_to_mlu", pid=0, tid=1, bp="e"),
            complete(
                "privateuse1_runtime",
                "cnMemcpyAsync",
                1698918189334360,
                3,
                args={"correlation": 29},
            ),
            on_device(
                "mlu_memcpy",
                "Memcpy HtoD",
                1698918189334370,
                7,
                stream=1,
                correlation=29,
                bytes=400,
            ),
        ],
        deviceProperties=[{"id": 0, "name": "MLU370", "totalMem(MiB)": 24576, "clusterCount": 8}],
    )


def ascend_trace() -> Document:
    """Ascend: a bare list, times as text, processes that tell what an event is."""
    host, cann, device, comms = {"pid": 10}, {"pid": 20}, {"pid": 30}, {"pid": 40}
    task = {"Model Id": 4294967295, "Stream Id": 2, "Task Id": 5, "Batch Id": 0}

    def event(name: str, ts: str, dur: Any, place: Event, **args: Any) -> Event:
        return {"ph": "X", "name": name, "ts": ts, "dur": dur, "tid": 1, **place, "args": args}

    return [
        process_name(10, "Python"),
        process_name(20, "CANN"),
        process_name(30, "Ascend Hardware"),
        process_name(40, "HCCL"),
        event("aten::mm", "1718180918984140.12", "90.5", host),
        event("AscendCL@aclnnMm", "1718180918984150.120", 10.5, cann, connection_id=77),
        flow("s", "77", "1718180918984150.120", category="async_npu", pid=20, tid=1),
        event(
            "MatMulV2",
            "1718180918984170.001",
            "35.250",
            device,
            **task,
            connection_id=77,
            **{"Task Type": "AI_CORE"},
        ),
        flow("f", "77", "1718180918984170.001", category="async_npu", pid=30, tid=1, bp="e"),
        event(
            "MEMCPY_ASYNC",
            "1718180918984210.0",
            "5.0",
            device,
            **task,
            **{"Task Type": "MEMCPY_ASYNC"},
        ),
        event("hcom_allReduce_", "1718180918984220.5", "40", comms, **{"Stream Id": 3}),
    ]


def xpu_trace() -> Document:
    """Intel: queues are handles, there is no stream."""
    queue = "0x55d0c8a3f7e0"
    return kineto(
        [
            operator("aten::add", 1000.0, 50.0, **{"External id": 5}),
            complete("xpu_runtime", "urEnqueueKernelLaunch", 1010.0, 5.0, args={"correlation": 41}),
            complete(
                "kernel",
                "AddKernel",
                1020.0,
                8.0,
                pid=0,
                tid=3,
                args={"device": 0, "sycl queue": queue, "correlation": 41},
            ),
            complete(
                "xpu_memcpy",
                "Memcpy M2D",
                1040.0,
                2.0,
                pid=0,
                tid=3,
                args={"device": 0, "l0 queue": queue, "correlation": 42, "bytes": 16},
            ),
        ],
        deviceProperties=[{"id": 0, "name": "Intel(R) Data Center GPU Max 1550"}],
    )


def mtia_trace() -> Document:
    """MTIA: one lane per core, the device in the name of the process, copies by their arguments."""
    lane = {"pid": 9, "tid": 801}
    return kineto(
        [
            complete(
                "mtia_runtime",
                "runFunction - job_prep_and_submit_for_execution",
                3605054881190.0,
                9.5,
                args={"correlation": 18},
            ),
            flow("s", 18, 3605054881190.0),
            complete(
                "mtia_ccp_events",
                "fc_kernel",
                3605054881210.125,
                30.5,
                **lane,
                args={"correlation": 18, "stream": 4, "row": 1, "column": 2},
            ),
            flow("f", 18, 3605054881210.125, **lane, bp="e"),
            complete(
                "mtia_ccp_events",
                "dma_request",
                3605054881202.837,
                8.136,
                **lane,
                args={"direction": "DEVICE_TO_HOST", "size": 16, "sqid": 1},
            ),
            process_name(9, "MTIA 9"),
        ],
        deviceProperties=[],
    )


def probe_trace() -> Document:
    """System-wide probes: `host(pid)` processes, devices in lanes, arguments packed as text."""
    lane = {"pid": "node1(1234)", "tid": "device:0 stream 7"}
    packed = {"args": json.dumps({"correlation": 5, "device": 0})}
    return [
        complete(
            "python", "Scheduler.run_batch", 1762935807026558.5, 900.5, pid="node1(1234)", tid="1"
        ),
        complete(
            "cuda_runtime",
            "cudaLaunchKernel",
            1762935807026600.5,
            10.0,
            pid="node1(1234)",
            tid="1",
            args={"correlation": 5},
        ),
        complete("Kernel", "decode_attention", 1762935807026620.5, 50.0, **lane, args=packed),
        complete("Memcpy", "Memcpy HtoD", 1762935807026680.0, 5.0, **lane, args={"correlation": 6}),
        complete("CAT_CPU", "oncpu", 1762935807026500.0, 700.0, pid="node1(1234)", tid="1"),
        complete(
            "CAT_APP", "cuStreamSynchronize", 1762935807026700.0, 9.0, pid="node1(1234)", tid="1"
        ),
        {
            "ph": "C",
            "cat": "CAT_XPU",
            "name": "gpu_sm_util",
            "pid": "node1(1234)",
            "tid": "CAT_XPU_0",
            "ts": 1762935807026000.0,
            "args": {"value": 87.5},
        },
        {
            "ph": "C",
            "cat": "CAT_CPU",
            "name": "host_cpu_usage",
            "pid": "node1(1234)",
            "tid": "1",
            "ts": 1762935807027000.0,
            "args": {"value": 12.25},
        },
    ]


def training_trace(steps: int = 5) -> Document:
    """A clean run with everything a trace may hold, about 24 events a step."""
    events: list[Event] = [process_name(HOST_PID, "python"), process_labels(0, "GPU 0")]
    for number in range(steps):
        events += _training_step(number, 1000.0 * (number + 1))
    return kineto(
        events,
        deviceProperties=[{"id": 0, "name": "NVIDIA H200"}],
        distributedInfo={"backend": "nccl", "rank": 0, "world_size": 1},
        baseTimeNanoseconds=BASE_NS,
    )


def _training_step(number: int, start: float) -> list[Event]:
    first = 10 * number + 1
    events = [
        step(number, start, 900),
        operator(
            "aten::linear", start + 10, 200, **{"External id": first, "Input Dims": [[8, 16], []]}
        ),
        python_call("train.py(12): forward", start + 5, 300, **{"Python id": first}),
        memory(start + 12, 512, total=4096),
        memory(start + 700, -512, total=3584),
        counter("GPU 0 Utilization", start + 20, **{"GPU Utilization": 0.5}),
        flow("s", first, start + 15, category="fwdbwd"),
        flow("f", first, start + 615, category="fwdbwd", bp="e"),
    ]
    for place in range(4):
        kernel_name = f"void gemm<{place}, float>(float const*, int)"
        events += launch("cudaLaunchKernel", kernel_name, start + 50 + 60 * place, first + place)
    return events


DIALECTS = {
    "nvidia": cuda_trace,
    "nvidia, old": old_trace,
    "amd": rocm_trace,
    "cambricon": mlu_trace,
    "ascend": ascend_trace,
    "intel": xpu_trace,
    "mtia": mtia_trace,
    "nvidia, probes": probe_trace,
}
"""A small trace of every dialect, by the vendor it should be recognised as."""


# -- files ---------------------------------------------------------------------------------------


def to_bytes(document: Document, *, indent: int | None = None) -> bytes:
    """As JSON text: compact without `indent`, one field per line with it."""
    separators = (",", ":") if indent is None else None
    return json.dumps(document, indent=indent, separators=separators).encode()


def write(path: Path, content: Document | bytes) -> Path:
    """A file of this document or text, packed as its name says."""
    text = content if isinstance(content, bytes) else to_bytes(content)
    if path.suffix == ".gz":
        text = gzip.compress(text, mtime=0)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.stem, text)
    else:
        path.write_bytes(text)
    return path


def gzip_members(texts: Iterable[bytes]) -> bytes:
    """Texts packed one by one and put behind each other, as appending writers do."""
    return b"".join(gzip.compress(text, mtime=0) for text in texts)
