"""Small files that lie beside recordings or that users write: read within bounds, or refused.

Whoever serves a folder of others' recordings reads what others put there.  A file that is too
large, nested too deeply, no UTF-8, no JSON (or TOML), of another shape, or no file at all (a pipe,
which nobody fills) is *damaged*, and that is one error with one line.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, overload

from timesink.errors import UnreadableError, UsageError, reason_of
from timesink.patterns import regex
from timesink.recorder.processes import sayable_values

HAS_MSGSPEC = find_spec("msgspec") is not None
"""Programs that run beside PyTorch, with the standard library alone, read such files as well."""
if HAS_MSGSPEC:
    import msgspec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 16 * 1024 * 1024
"""Descriptions take kilobytes; the largest that timesink writes, series of a watch, some 2 MB."""
MAX_DEPTH = 64
"""Nested containers; timesink writes at most nine.  Whatever walks the values may recurse."""
_BLOCK = 64 * 1024
"""Files of which the system knows no size, such as those in `/proc`, have no more."""
_LONGEST_REASON = 160
Content = TypeVar("Content")

_STRINGS = regex(rb'"(?:[^"\\]+|\\.)*"?', re.DOTALL)
_BRACKETS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NON_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)


class DamagedError(UnreadableError):
    """A small file that is there, and cannot be used; `content` is as much of it as was read."""

    def __init__(self, path: Path | str, reason: str, hint: str = "", content: bytes = b"") -> None:
        super().__init__(f"{path}: damaged ({reason})", hint)
        self.path = path
        self.reason = reason
        self.content = content

    def __reduce__(self) -> tuple[type[DamagedError], tuple[Path | str, str, str, bytes]]:
        """As it was made, for another process."""
        return type(self), (self.path, self.reason, self.hint, self.content)


def small_content(path: Path, hint: str = "", *, most_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a small file; FileNotFoundError and NotADirectoryError where it is not there.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "ab.json"
    >>> _ = file.write_bytes(b"12345")
    >>> small_content(file), small_content(file, most_bytes=5)
    (b'12345', b'12345')
    >>> small_content(file, most_bytes=4)
    Traceback (most recent call last):
    timesink.formats.small_files.DamagedError: ...ab.json: damaged (larger than 4 bytes)
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise DamagedError(path, "no regular file", hint)
            # Room for what is asked for is taken at once, so no more than the file has.
            content = file.read(min(max(about.st_size, _BLOCK), most_bytes) + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except IsADirectoryError:
        raise DamagedError(path, "a folder", hint) from None
    except (OSError, ValueError) as error:
        reason = reason_of(error if isinstance(error, OSError) else str(error))
        raise DamagedError(path, f"cannot be opened: {reason}", hint) from None
    if len(content) > most_bytes:
        raise _too_large(path, hint, content, most_bytes)
    return content


def small_text(path: Path, hint: str = "", *, most_bytes: int = MAX_BYTES) -> str:
    """The text of a small file that a user named, which may be a pipe; OSError as it comes."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        is_regular = stat.S_ISREG(about.st_mode)
        size = min(max(about.st_size, _BLOCK), most_bytes) if is_regular else most_bytes
        content = file.read(size + 1)
    if len(content) > most_bytes:
        raise _too_large(path, hint, content, most_bytes)
    text = _decode_or_raise(lambda: content.decode("utf-8-sig"), path, hint, content)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def option_text(path: Path, option: str, hint: str) -> str:
    """What a file says that an option named; `hint` says what it should hold."""
    try:
        return small_text(path, hint)
    except FileNotFoundError:
        raise UnreadableError.missing(path) from None
    except IsADirectoryError:
        raise UsageError(f"{option}: {path} is a folder", hint) from None
    except DamagedError as error:
        is_large = len(error.content) == MAX_BYTES
        why = f"is {error.reason}" if is_large else "is not text"
        raise UsageError(f"{option}: {path} {why}", hint) from None
    except OSError as error:
        raise UnreadableError.denied(path, error) from error


def joined_blocks(blocks: Iterable[bytes], path: Path, *, most_bytes: int = MAX_BYTES) -> bytes:
    """A small file as it is unpacked, so that a few bytes do not become all memory.

    >>> joined_blocks([b"12", b"345"], Path("a.csv.gz"), most_bytes=4)
    Traceback (most recent call last):
    timesink.formats.small_files.DamagedError: a.csv.gz: damaged (larger than 4 bytes)
    """
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most_bytes:
            raise _too_large(path, "", bytes(content), most_bytes)
    return bytes(content)


def last_lines(path: Path, number: int) -> list[str]:
    """The last lines of a text, which may be long, with what is no text replaced."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _BLOCK))
        return file.read(_BLOCK).decode(errors="replace").rstrip().splitlines()[-number:]


def _too_large(path: Path, hint: str, content: bytes, most_bytes: int) -> DamagedError:
    problem = f"larger than {most_bytes:,} bytes".replace(",", " ")
    return DamagedError(path, problem, hint, content[:most_bytes])


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe is opened, too, without somebody who writes into it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_small_json(
    path: Path, hint: str = "", *, most_bytes: int = MAX_BYTES, shape: type[Any] = dict
) -> Any:
    """What a small JSON file holds, of a shape: a dictionary, unless another type is named.

    Raises FileNotFoundError where there is none, and DamagedError where it cannot be used.
    """
    return decode_small_json(small_content(path, hint, most_bytes=most_bytes), path, hint, shape)


@overload
def decode_small_json(content: bytes, name: Path | str, hint: str = "") -> dict[str, Any]: ...
@overload
def decode_small_json(
    content: bytes, name: Path | str, hint: str, shape: type[Content]
) -> Content: ...
def decode_small_json(
    content: bytes, name: Path | str, hint: str = "", shape: type[Any] = dict
) -> Any:
    """What JSON says, wherever it came from; DamagedError where it cannot be used.

    >>> decode_small_json(b'{"pid": 7}', "status.json")
    {'pid': 7}
    >>> decode_small_json(b"[7]", "status.json")
    Traceback (most recent call last):
    timesink.formats.small_files.DamagedError: status.json: damaged (Expected `object`, got `array`)
    """
    content = content.removeprefix(b"\xef\xbb\xbf")
    if _depth(content) > MAX_DEPTH:
        problem = f"nested more than {MAX_DEPTH} deep"
        raise DamagedError(name, problem, hint, content)
    if not HAS_MSGSPEC:
        return _decode_or_raise(lambda: _plainly(content, shape), name, hint, content)
    if b"\\ud" in content.lower() and (decoded := _with_lone_surrogates(content)) is not None:
        return _decode_or_raise(lambda: msgspec.convert(decoded, shape), name, hint, content)
    return _decode_or_raise(lambda: msgspec.json.decode(content, type=shape), name, hint, content)


def _plainly(content: bytes, shape: type[Any]) -> Any:
    """The same by the standard library, for shapes that are containers."""
    values = json.loads(content, parse_constant=_refuse_constant)
    if not isinstance(values, shape):
        raise TypeError(f"not a {shape.__name__}")
    return values


def _with_lone_surrogates(content: bytes) -> Any:
    """What JSON says in which names stand that are no text, as Python writes them; else None."""
    with suppress(ValueError):
        return sayable_values(json.loads(content, parse_constant=_refuse_constant))
    return None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def encode_json(values: Any, enc_hook: Callable[[Any], Any] | None = None) -> bytes:
    r"""JSON in one line of whatever is told; what is no text in it is written out.

    >>> encode_json({"path": os.fsdecode(b"a\xff.json")})
    b'{"path":"a\\\\xff.json"}'
    """
    try:
        return msgspec.json.encode(values, enc_hook=enc_hook)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(values, enc_hook=enc_hook)
        return msgspec.json.encode(sayable_values(plain), enc_hook=enc_hook)


def plain_values(record: Any) -> dict[str, Any]:
    """A record as its JSON has it: dictionaries, lists, text, numbers and None."""
    values: dict[str, Any] = msgspec.json.decode(encode_json(record))
    return values


def decode_small_toml(text: str, name: Path | str, hint: str = "") -> dict[str, Any]:
    """What TOML says; DamagedError where it cannot be used.

    >>> decode_small_toml('a = 1', "budgets.toml")
    {'a': 1}
    """
    return _decode_or_raise(lambda: tomllib.loads(text), name, hint, b"")


def _decode_or_raise(
    decode: Callable[[], Content], name: Path | str, hint: str, content: bytes
) -> Content:
    try:
        return decode()
    except UnicodeDecodeError:
        raise DamagedError(name, "holds bytes that are not UTF-8", hint, content) from None
    except RecursionError:
        raise DamagedError(name, "nested too deeply", hint, content) from None
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise DamagedError(name, reason, hint, content) from None


def _depth(content: bytes) -> int:
    """How deep containers are nested in JSON, strings left out."""
    if content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return 0  # as in nearly every file
    brackets = _STRINGS.sub(b"", content).translate(None, _NON_BRACKETS)
    return max(accumulate(_BRACKETS[byte] for byte in brackets), default=0)
