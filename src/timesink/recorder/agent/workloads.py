"""What a cycle has to do, read from the arguments of the function that does it.

Only what the host knows is looked at: lengths of lists and shapes, never what a tensor holds.
What is not there, in whichever version of a program, gives no number.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

Values = dict[str, float]
Extractor = Callable[[tuple[Any, ...], dict[str, Any]], "Values | None"]
"""From the arguments of a call; None: the call does nothing, and is no cycle."""

PREFILL, DECODE, MIXED = 1.0, 2.0, 3.0
_MAX_QUESTIONS = 64
"""Of more requests than these, some are asked: what they tell is a mean."""


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def _some(items: Any) -> Sequence[Any]:
    """All of a list, or some from all over it."""
    sequence = items if isinstance(items, (list, tuple)) else list(items or ())
    return (
        sequence
        if len(sequence) <= _MAX_QUESTIONS
        else sequence[:: len(sequence) // _MAX_QUESTIONS + 1]
    )


def _lengths(values: Values, kind: str, lengths: Sequence[int]) -> None:
    if lengths:
        values[f"avg_{kind}_length"] = sum(lengths) / len(lengths)
        values[f"max_{kind}_length"] = float(max(lengths))


def _mode(prompts: int, requests: int) -> float:
    """What a step does of which so many requests are at their prompts."""
    if not prompts:
        return DECODE
    return MIXED if prompts < requests else PREFILL


# Serving engines.


def vllm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
    """A step of a vLLM worker: what its scheduler has decided; lengths are those of contexts.

    >>> from types import SimpleNamespace as Told
    >>> cached = Told(req_ids=["a", "b"], num_computed_tokens=[100, 300], num_output_tokens=[4, 8])
    >>> step = Told(num_scheduled_tokens={"a": 1, "b": 1}, total_num_scheduled_tokens=2,
    ...             scheduled_new_reqs=[], scheduled_cached_reqs=cached)
    >>> told = vllm((None, step), {})
    >>> told["batch_size"], told["forward_mode"], told["avg_input_length"], told["tokens"]
    (2.0, 2.0, 200.0, 2.0)
    """
    step = _argument(args, kwargs, 1, "scheduler_output")
    scheduled = getattr(step, "num_scheduled_tokens", None)
    # Workers without a request take part with steps of nothing.
    if not scheduled or kwargs.get("dummy_run"):
        return None
    tokens = getattr(step, "total_num_scheduled_tokens", None) or sum(scheduled.values())
    values: Values = {"batch_size": float(len(scheduled)), "tokens": float(tokens)}
    new = getattr(step, "scheduled_new_reqs", None) or ()
    cached = getattr(step, "scheduled_cached_reqs", None)
    if isinstance(cached, list):
        # The first versions: one object per request.
        computed = [request.num_computed_tokens for request in cached]
        written: list[int] = []
    else:
        computed = getattr(cached, "num_computed_tokens", None) or []
        written = getattr(cached, "num_output_tokens", None) or []
    if new:
        first = [request.num_computed_tokens + scheduled.get(request.req_id, 0) for request in new]
        computed = [*computed, *first]
    _lengths(values, "input", computed)
    _lengths(values, "output", written)
    # A prompt may take several steps.
    if written:
        prompts = len(new) + written.count(0)
    else:
        prompts = max(len(new), sum(number > 1 for number in scheduled.values()))
    values["forward_mode"] = _mode(prompts, len(scheduled))
    return values


def vllm_before_v1(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
    """A step of a worker of the first vLLM engine, which is told in lists of lengths."""
    step = _argument(args, kwargs, 1, "model_input")
    contexts = getattr(step, "seq_lens", None)
    if not isinstance(contexts, (list, tuple)) or not contexts:
        return {}
    values: Values = {"batch_size": float(len(contexts))}
    _lengths(values, "input", contexts)
    query_lengths = getattr(step, "query_lens", None)
    if isinstance(query_lengths, (list, tuple)) and query_lengths:
        prompts = sum(number > 1 for number in query_lengths)
        values.update(
            tokens=float(sum(query_lengths)), forward_mode=_mode(prompts, len(query_lengths))
        )
    return values


_MODES = {
    "EXTEND": PREFILL, "SPLIT_PREFILL": PREFILL, "DLLM_EXTEND": PREFILL, "DRAFT_EXTEND": PREFILL,
    "DRAFT_EXTEND_V2": PREFILL, "DECODE": DECODE, "TARGET_VERIFY": DECODE, "MIXED": MIXED,
}  # fmt: skip


def sglang(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
    """A batch of SGLang's scheduler; its tensors are not looked at.

    >>> from types import SimpleNamespace as Told
    >>> request = Told(origin_input_ids=[1] * 30, output_ids=[1] * 10)
    >>> batch = Told(forward_mode=Told(name="DECODE"), reqs=[request], seq_lens_sum=40)
    >>> sorted(sglang((None, batch), {}).items())[:3]
    [('avg_input_length', 30.0), ('avg_output_length', 10.0), ('batch_size', 1.0)]
    """
    batch = _argument(args, kwargs, 1, "batch")
    mode = str(getattr(getattr(batch, "forward_mode", None), "name", ""))
    requests = getattr(batch, "reqs", None)
    if requests is None:
        return {}
    if mode in ("IDLE", "PREBUILT") or not requests:
        return None
    values: Values = {"batch_size": float(len(requests))}
    if mode in _MODES:
        values["forward_mode"] = _MODES[mode]
    sample = _some(requests)
    _lengths(values, "input", [len(request.origin_input_ids) for request in sample])
    _lengths(values, "output", [len(request.output_ids) for request in sample])
    extended = getattr(batch, "extend_lens", None)
    if values.get("forward_mode") == DECODE:
        values["tokens"] = values["batch_size"]
    elif isinstance(extended, (list, tuple)):
        values["tokens"] = float(sum(extended))
    contexts = getattr(batch, "seq_lens_sum", None)
    if isinstance(contexts, int):
        values["context_tokens"] = float(contexts)
    return values


def continuous_batching(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Values | None:
    """A step of continuous batching in transformers, as its processor has prepared it."""
    prepared = getattr(args[0], "inputs_and_outputs", None)
    pairs = getattr(prepared, "io_pairs", None)
    if pairs:
        # One batch is prepared while the other is on the device.
        prepared = pairs[prepared.current_pair].host_io  # type: ignore[union-attr]
    requests = getattr(prepared, "requests_in_batch", None)
    if not requests:
        return {}
    values: Values = {"batch_size": float(len(requests))}
    sample = _some(requests)
    queries = [request.query_length for request in sample]
    values["tokens"] = sum(queries) * len(requests) / len(sample)
    prompts = sum(number > 1 for number in queries)
    values["forward_mode"] = _mode(prompts, len(queries))
    _lengths(values, "input", [request.state.position_offset for request in sample])
    _lengths(values, "output", [len(request.state.generated_tokens) for request in sample])
    return values


_PROMPTS = ("input_ids", "inputs_embeds", "input_features", "input_values", "pixel_values")


def generate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
    """A call of `generate` in transformers: prompts, and how much may be written."""
    inputs = _argument(args, kwargs, 1, "inputs")
    if inputs is None:
        inputs = next((kwargs[name] for name in _PROMPTS if kwargs.get(name) is not None), None)
    shape: tuple[int, ...] = getattr(inputs, "shape", ())
    values: Values = {}
    if len(shape) > 0:
        values["batch_size"] = float(shape[0])
    if len(shape) > 1:
        values["avg_input_length"] = values["max_input_length"] = float(shape[1])
    settings = (_argument(args, kwargs, 2, "generation_config"),
                getattr(args[0], "generation_config", None))  # fmt: skip
    allowed = [
        kwargs.get("max_new_tokens"),
        *(getattr(setting, "max_new_tokens", 0) for setting in settings),
    ]
    most = next((number for number in allowed if isinstance(number, int) and number), None)
    if most is not None:
        values["max_output_length"] = float(most)
    return values


def add_output_length(values: Values, outcome: Any) -> None:
    """What `generate` has written: its prompts come first, and count no more."""
    shape: tuple[int, ...] = getattr(getattr(outcome, "sequences", outcome), "shape", ())
    if len(shape) > 1:
        # Where a model has an encoder, what it writes begins anew.
        before = values.get("max_input_length", 0.0)
        written = float(shape[1]) - before if shape[1] > before else float(shape[1])
        values["avg_output_length"] = written


# Training: shapes of what a model is called with.

_MAX_TENSORS = 4
_MAX_LOOKED_AT = 16


def batch(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
    """Shapes of the first tensors among the arguments, also of those within them.

    >>> from types import SimpleNamespace as Tensor
    >>> tokens = Tensor(shape=(8, 128), dtype="torch.int64")
    >>> batch((None, {"input_ids": tokens}), {})
    {'batch_size': 8.0, 'avg_input_length': 128.0, 'input_elements': 1024.0}
    """
    values: Values = {}
    waiting: list[Any] = [*args[:_MAX_TENSORS], *kwargs.values()]
    total = count = 0
    for value in itertools.islice(_flatten(waiting), _MAX_LOOKED_AT):
        shape = getattr(value, "shape", None)
        if shape and isinstance(shape, tuple):
            total += math.prod(shape)
            count += 1
            if count == 1:
                values = _of_first(shape, value)
            elif count == _MAX_TENSORS:
                break
    if count:
        values["input_elements"] = float(total)
    return values


def _flatten(waiting: list[Any]) -> Iterator[Any]:
    """What lists and dictionaries hold, in order."""
    for value in waiting:
        if isinstance(value, (list, tuple)):
            waiting += value[:_MAX_TENSORS]
        elif isinstance(value, Mapping):
            waiting += itertools.islice(value.values(), _MAX_TENSORS)
        else:
            yield value


def _of_first(shape: tuple[int, ...], tensor: Any) -> Values:
    values = {"batch_size": float(shape[0])}
    dimensions = len(shape)
    if dimensions == 3 or (dimensions == 2 and "int" in str(getattr(tensor, "dtype", ""))):
        values["avg_input_length"] = float(shape[1])
    elif dimensions == 4:
        values["image_size"] = float(shape[2] * shape[3])
    return values


EXTRACTORS: dict[str, Extractor] = {
    "vllm": vllm,
    "vllm_before_v1": vllm_before_v1,
    "sglang": sglang,
    "continuous_batching": continuous_batching,
    "generate": generate,
    "batch": batch,
}
OUTCOMES: dict[str, Callable[[Values, Any], None]] = {"generate": add_output_length}
"""What the outcome of a call adds."""


# A function of the user's own.


def own_extractor(name: str) -> Extractor:
    """The function of this name, `package.module:function`; it is imported when first needed."""
    cache: list[Callable[..., Any]] = []

    def extract(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values:
        if not cache:
            module, _, path = name.partition(":")
            owner: Any = _module(module)
            for part in path.split("."):
                owner = getattr(owner, part)
            cache.append(owner)
        return numbers_of(cache[0](*args, **kwargs))

    return extract


def _module(name: str) -> Any:
    """A module; the program is there already, and imported by its name it would run again."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if main and spec and spec.origin and os.path.realpath(main) == os.path.realpath(spec.origin):
        return sys.modules["__main__"]
    return importlib.import_module(name)


def numbers_of(numbers: Any) -> Values:
    """What an extractor returned, if it is numbers; a tensor is none: reading it would wait.

    >>> numbers_of({"batch_size": 8, "ok": True})
    {'batch_size': 8.0, 'ok': 1.0}
    """
    if not isinstance(numbers, Mapping):
        raise TypeError(f"{type(numbers).__name__} instead of a dict of numbers")
    wrong = next((name for name, value in numbers.items() if not isinstance(value, Real)), None)
    if wrong is not None:
        raise TypeError(f"{wrong} is no number but {type(numbers[wrong]).__name__}")
    return {str(name): float(value) for name, value in numbers.items()}


# The batch of a training cycle: what the model of an optimizer is called with.

_DEEPEST = 3
_CALLED_BY_NOW = 3
"""Cycles after which a model that is not called itself has a part that is."""


class BatchShapes:
    """Hears of calls of the outermost module that holds what an optimizer optimizes."""

    def __init__(
        self,
        torch: Any,
        is_compiling: Callable[[], bool],
        extract: Extractor,
        failed: Callable[[str], None],
    ) -> None:
        """`failed` hears why, where what a model is called with cannot be told."""
        self._module_type = torch.nn.Module
        self._is_compiling, self._extract, self._failed = is_compiling, extract, failed
        self._here = threading.local()
        self._heard: list[Any] = []
        self._modules: list[weakref.ref[Any]] = []
        """Those that are listened to; whoever deletes a model wants its memory."""
        self._cycles = self._depth = 0
        self._was_called = False
        self._known: tuple[Any, Values] = (None, {})
        """Shapes of arguments, and what they tell."""

    @property
    def is_looking(self) -> bool:
        """Whether no model was heard of yet, and one may be."""
        return not self._was_called and self._depth <= _DEEPEST

    def look(self, optimizer: Any) -> None:
        """A cycle has ended with a step of this optimizer: it may be time to find its model."""
        self._cycles += 1
        if not self._depth:
            modules = self._roots_of(optimizer)
        elif self._cycles % _CALLED_BY_NOW == 0:
            live_modules = [
                module for reference in self._modules if (module := reference()) is not None
            ]
            parts = [part for module in live_modules for part in module.children()]
            modules = [part for part in parts if next(part.parameters(), None) is not None]
        else:
            return
        self._depth += 1
        self._modules = [weakref.ref(module) for module in modules]
        self._leave_modules()
        for module in modules:
            self._heard.append(module.register_forward_pre_hook(self._called, with_kwargs=True))

    def take(self) -> Values:
        """What was heard on this thread since this was asked."""
        values: Values = getattr(self._here, "values", {})
        self._here.values = {}
        return values

    def leave(self) -> None:
        """Take hooks back, and begin anew with the next optimizer."""
        self._leave_modules()
        self._modules, self._was_called = [], False
        self._cycles = self._depth = 0

    def _leave_modules(self) -> None:
        hooks, self._heard = self._heard, []
        for hook in hooks:
            hook.remove()

    def _called(self, _module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # A compiler that follows this call must find nothing.
        if self._is_compiling():
            return
        try:
            self._was_called = True
            now = self._values_of(args, kwargs)
            before = getattr(self._here, "values", None)
            self._here.values = _together(before, now) if before and now else now or before or {}
        except Exception as error:  # noqa: BLE001 - it would be the program's
            self._failed(f"{type(error).__name__}: {error}")

    def _values_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Values | None:
        """Most batches are like the one before: then nothing is computed."""
        if kwargs or len(args) != 1 or self._extract is not batch:
            return self._extract(args, kwargs)
        shape = getattr(args[0], "shape", None)
        last_shape, values = self._known
        if shape is None or shape != last_shape:
            values = batch(args, kwargs) or {}
            self._known = (shape, values)
        return values

    def _roots_of(self, optimizer: Any) -> list[Any]:
        group = next(iter(optimizer.param_groups), None) or {}
        optimized = {id(parameter) for parameter in group.get("params", ())}
        kind = self._module_type
        # What an object says it is may be computed: its type is not.
        modules = [module for module in gc.get_objects() if issubclass(type(module), kind)]
        inner = {
            id(part) for module in modules for part in vars(module).get("_modules", {}).values()
        }
        outer = [module for module in modules if id(module) not in inner]
        return [
            module
            for module in outer
            if any(id(parameter) in optimized for parameter in module.parameters())
        ][:4]


def _together(first: Values, second: Values) -> Values:
    """Several calls in one cycle: sizes add up, the rest is that of the larger."""
    together = {**first, **second}
    for name in first.keys() & second.keys():
        is_sum = name in ("batch_size", "input_elements", "tokens")
        together[name] = first[name] + second[name] if is_sum else max(first[name], second[name])
    return together
