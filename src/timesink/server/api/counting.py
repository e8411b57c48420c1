"""How well the kernels of a run use the hardware, where Nsight Compute counted it."""

from __future__ import annotations

from timesink.errors import NotFoundError
from timesink.reports.plugin.query import Query
from timesink.server.answers import Encoded
from timesink.server.desk import Desk
from timesink.server.progress import Report

_MOST_FILES = 8


def utilisation(desk: Desk, query: Query) -> Encoded:
    """What `timesink kernels FILE...` says of the files in the folder of the run."""
    run = desk.library.run(query.required("run"))
    if not run.counters:
        raise NotFoundError(
            f"{run.name}: no counters of Nsight Compute",
            "record them with  timesink ncu  and put the file into the folder of the run",
        )

    def make(report: Report) -> Encoded:
        from timesink.answers.kernels import kernels_document  # noqa: PLC0415
        from timesink.output.json import to_json  # noqa: PLC0415 - loads much
        from timesink.reports.kernels import kernels  # noqa: PLC0415

        files = run.counters[:_MOST_FILES]
        run.inside.check(files)
        reports = [
            kernels(
                path,
                cache=desk.library.cache,
                jobs=desk.library.jobs,
                progress=report.start(f"reading {path.name}"),
            )
            for path in files
        ]
        return Encoded(to_json(kernels_document(reports)))

    return desk.document(("utilisation", run.state), make)
