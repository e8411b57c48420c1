"""What `timesink kernels` says, as text and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.answers.kernels.document import groups_document, kernels_document
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.tables import KernelChoice
from timesink.output import terminal
from timesink.output.blocks import Document
from timesink.output.markdown import to_markdown as in_markdown


def report_document(
    reports: KernelReport | Sequence[KernelReport], by: str | None, choice: KernelChoice
) -> Document:
    every = [reports] if isinstance(reports, KernelReport) else list(reports)
    if by is not None:
        return groups_document(every, by, choice)
    return kernels_document(every, choice, brief=True)


def to_text(
    reports: KernelReport | Sequence[KernelReport],
    by: str | None,
    choice: KernelChoice,
    width: int = 100,
) -> str:
    return terminal.to_text(report_document(reports, by, choice), width)


def to_markdown(
    reports: KernelReport | Sequence[KernelReport], by: str | None, choice: KernelChoice
) -> str:
    return in_markdown(report_document(reports, by, choice))
