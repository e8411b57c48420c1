"""Where results go: refused before the long work where that cannot work, and written in the end."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from timesink.cli.command_line import print_stderr
from timesink.errors import OutputError, UsageError
from timesink.formats.stored_names import BASELINE_ENDING, is_folder
from timesink.formats.written_files import make_folder
from timesink.patterns import regex

if TYPE_CHECKING:
    import polars as pl
    from rich.progress import Progress

    from timesink.output.blocks import Document
    from timesink.sources.discovery import Input


Source: TypeAlias = "str | Path | Input"
"""What is read: as the user wrote it, or resolved already."""


def check_output(path: Path, source: Source | None, *, force: bool) -> None:
    """Refuse an output file that cannot work before the long work starts.

    What is read (`source`, if anything is) is never overwritten, whatever `force` says.
    """
    if path.is_dir():
        raise OutputError.unwritable(path, "it is a folder")
    if path.suffix == BASELINE_ENDING:
        raise OutputError.unwritable(path, "this ending is kept for baselines")
    _check_place(path, source, force=force)


def check_output_folder(path: Path, source: Source, *, force: bool) -> None:
    """Refuse an output folder that cannot work; what others wrote is never replaced."""
    check_folder(path)
    _check_place(path, source, force=force)
    if path.is_dir() and any(path.iterdir()) and not is_folder(path):
        message = f"{path}: this folder was not written by timesink export and is not replaced"
        raise OutputError(message, "choose another -o")


def _check_place(path: Path, source: Source | None, *, force: bool) -> None:
    if path.exists():
        # Writing would destroy what is read: the file itself, or a folder around it.
        around = path.resolve() if path.is_dir() else None
        if source is not None and any(
            path.samefile(file) or around in file.resolve().parents for file in _files_of(source)
        ):
            raise OutputError.overwrites(path)
        check_own(path, force=force)
    check_around(path)


def _files_of(source: Source) -> Iterator[Path]:
    from timesink.sources.discovery import input_of  # noqa: PLC0415 - only where a file is at risk

    return input_of(source).files()


_REPORT = regex(
    rb'<meta name="generator" content="timesink |"schema": ?"timesink/(?!run/|baseline/|lab-r)'
    rb'|<testsuite [^>]* package="timesink"|^## timesink: '
)
"""How answers of timesink begin; recordings and baselines are no answers."""


def check_own(path: Path, *, force: bool) -> None:
    """Refuse to replace a file that holds anything but an answer of timesink, unless by `force`.

    Pages, JSON, test results and comments say what they are; tables and text are known by their
    digest, which is kept when they are written.  Devices and pipes hold nothing.
    """
    if force or is_stream(path):
        return
    if path.is_dir() and (is_folder(path) or not any(path.iterdir())):
        return
    if path.is_file():
        with path.open("rb") as file:
            if _REPORT.search(file.read(2000)):
                return
        from timesink.sources.cache import Cache  # noqa: PLC0415 - only where a file is at risk

        if Cache.default().has_written(path):
            return
    raise OutputError.not_ours(path)


def is_stream(path: Path) -> bool:
    """Whether this is a device or a pipe, as /dev/null."""
    return path.exists() and not (path.is_file() or path.is_dir())


def check_around(path: Path) -> None:
    """Refuse a place whose folders cannot be made."""
    around = next(place for place in (path, *path.absolute().parents) if place.exists())
    if around == path:
        return
    if not around.is_dir():
        raise OutputError.unwritable(path, f"{around} is a file")
    if not os.access(around, os.W_OK):
        raise OutputError.unwritable(path, f"no permission to write to {around}")


def output_folder(output: Path | None) -> Path | None:
    """The folder results go to: one that is there, or a name without an ending."""
    if output is None or is_stream(output):
        return None
    return output if output.is_dir() or not output.suffix else None


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or made, before the long work starts."""
    if folder.is_file():
        raise OutputError.unwritable(folder, "it is a file")
    check_around(folder)


def format_of(options: argparse.Namespace, formats: tuple[str, ...]) -> str:
    """The format asked for, else the one the output's name ends in, else text."""
    if options.format:
        return str(options.format)
    suffix = options.output.suffix.lower().lstrip(".") if options.output is not None else ""
    if suffix in ("", "txt"):
        return "text"
    if suffix not in formats:
        endings = ", ".join(".txt" if name == "text" else f".{name}" for name in formats)
        raise UsageError(
            f"{options.output}: .{suffix} is not a format of this command",
            f"end the name in {endings}, or add --format",
        )
    return suffix


def check_page(form: str) -> None:
    """Refuse a page that nothing would show before the long work starts."""
    if form == "html":
        from timesink.output.html import bundle  # noqa: PLC0415 - other forms need none

        bundle()


def check_answer(options: argparse.Namespace, form: str, *sources: Source | None) -> None:
    """Refuse an answer that cannot be given before the long work starts; `sources` are read."""
    check_page(form)
    if options.output is not None:
        # What is not given is not read, but a file that is none of ours is still at risk.
        for source in sources:
            check_output(options.output, source or None, force=options.force)


def answer_form(
    options: argparse.Namespace, formats: tuple[str, ...], *sources: Source | None
) -> str:
    """The format of an answer, which can be given as far as is known before the long work."""
    form = format_of(options, formats)
    check_answer(options, form, *sources)
    return form


def give(text: str, path: Path | None) -> None:
    """Hand over a result: on the screen, or in a file."""
    if path is None:
        print(text)
    else:
        write_bytes(as_bytes(text), path)


def give_document(
    document: Document, form: str, path: Path | None, width: int | None = None
) -> None:
    """Hand over an answer for people: as text, Markdown or a page, on the screen or in a file.

    Text in a file has lines of `width`, by default of as many characters as people read well.
    """
    if form == "text":
        from timesink.output import terminal  # noqa: PLC0415 - programs need no layout

        if path is None:
            terminal.print_text(document, width or terminal.WIDEST)
        else:
            give(terminal.to_text(document, width or terminal.FILE_WIDTH), path)
    elif form == "md":
        from timesink.output.markdown import to_markdown  # noqa: PLC0415 - start-up time

        give(to_markdown(document), path)
    else:
        from timesink.output.html import report_html  # noqa: PLC0415 - start-up time

        give(report_html(document), path)


def give_frame(frame: pl.DataFrame, form: str, path: Path | None) -> None:
    """Hand over a table for programs, as JSON or CSV."""
    from timesink.output.json import frame_csv  # noqa: PLC0415 - people need no such

    give(frame.write_json() if form == "json" else frame_csv(frame), path)


def give_json(content: bytes, path: Path | None) -> None:
    """Hand over JSON in lines that people can read too."""
    from timesink.output.json import indent_json  # noqa: PLC0415 - people need no such

    give(indent_json(content), path)


def as_bytes(text: str) -> bytes:
    r"""Text as a file holds it, whatever is in its names."""
    return f"{text}\n".encode(errors="backslashreplace")


def write_bytes(content: bytes, path: Path) -> None:
    """Write a result to a file and say so."""
    save(content, path)
    print_stderr(f"Wrote {path}")


def save(content: bytes, path: Path) -> None:
    """Write a file, and the folder around it; what cannot be written is refused in words."""
    make_folder(path.parent)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OutputError.unwritable(path, error) from None
    remember_folder(path)


def remember_folder(path: Path) -> None:
    """Know this file again as one that timesink wrote; a page says so itself."""
    if path.is_file() and path.suffix.lower() != ".html":
        from timesink.sources.cache import Cache  # noqa: PLC0415 - the screen needs none

        Cache.default().note_written(path)


class ReadingBar:
    """How reading goes: in bytes of one file, or in ranks of a set of them.

    It is drawn at the first news: a trace from the cache brings none.
    """

    def __init__(self) -> None:
        self._drawn: Progress | None = None
        self._since: tuple[float, int] | None = None

    def __call__(self, done: int, total: int) -> None:
        """So many bytes of the file are read."""
        from timesink.model.units import size_bytes  # noqa: PLC0415 - only a terminal needs it

        self._show(done, total, f"reading, {size_bytes(done)} of {size_bytes(total)}")

    def of_set(self, done: int, total: int, damaged: int) -> None:
        """So many ranks are read, and so many of these cannot be."""
        now = time.monotonic()
        started, before = self._since = self._since or (now, done)
        a_second = (done - before) / (now - started) if now - started > 1 else 0
        self._show(done, total, set_words(done, total, damaged, a_second))

    def close(self) -> None:
        """Take it off the screen."""
        if self._drawn is not None:
            self._drawn.stop()

    def _show(self, done: int, total: int, text: str) -> None:
        if self._drawn is None:
            from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

            columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
            self._drawn = Progress(*columns, console=Console(stderr=True), transient=True)
            self._drawn.add_task(text, total=total, completed=done)
            self._drawn.start()
        (task,) = self._drawn.task_ids
        self._drawn.update(task, completed=done, total=total, description=text)


def set_words(done: int, total: int, damaged: int, a_second: float) -> str:
    """How far a set is."""
    from timesink.model.units import count  # noqa: PLC0415 - only a terminal needs it

    parts = [f"ranks {count(done)} of {count(total)}"]
    if a_second:
        parts.append(
            f"{a_second:.2g} per second" if a_second < 10 else f"{a_second:.0f} per second"
        )
    if damaged:
        parts.append(f"{count(damaged)} damaged")
    return ", ".join(parts)
