"""A plain page that lists runs, workers and spans, with the addresses of their views."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from timesink.server.routes import PLUGIN_PATH, Views
from timesink.server.runs import ALL_WORKERS, Run

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.2rem .3rem 0;
         border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
td a { margin-right: .8rem; white-space: nowrap; }
td.name { white-space: nowrap; }
"""
_NEEDS_MORE = frozenset({"operation/stack"})
"""Routes that cannot be answered without a further parameter."""


def runs_page(logdir: str, runs: Iterable[str], base: str) -> str:
    """Every run, with a link to its page."""
    items = "".join(
        f'<li><a href="{escape(base)}/?{_query(run=run)}">{escape(run)}</a></li>' for run in runs
    )
    listed = (
        f"<ul>{items}</ul>" if items else "<p>No runs yet; they appear as they are written.</p>"
    )
    address = f"{base}{PLUGIN_PATH}/runs"
    return _page(
        f"Runs of {logdir}",
        f'{listed}<p>As JSON: <a href="{escape(address)}">{escape(address)}</a></p>',
    )


def run_page(run: Run, views: Views, base: str) -> str:
    """The workers and spans of a run, with a link to every view."""
    of_trace = [route for route in views.of_trace if route not in _NEEDS_MORE]
    rows = [
        _row(base, of_trace, run=run.name, worker=worker, span=span)
        for worker in run.workers
        for span in run.spans(worker)
    ]
    rows += [
        _row(base, views.of_span, run=run.name, worker=ALL_WORKERS, span=span)
        for span in run.spans(ALL_WORKERS)
    ]
    head = "<tr><th>worker</th><th>span</th><th>views as JSON</th></tr>"
    back = f'<p><a href="{escape(base)}/">All runs</a></p>'
    return _page(run.name, f"{back}<table>{head}{''.join(rows)}</table>")


def _row(base: str, routes: Iterable[str], *, run: str, worker: str, span: str) -> str:
    chosen = _query(run=run, worker=worker, span=span)
    links = " ".join(
        f'<a href="{escape(base)}{PLUGIN_PATH}/{route}?{chosen}">{route}</a>' for route in routes
    )
    return f'<tr><td class="name">{escape(worker)}</td><td>{escape(span)}</td><td>{links}</td></tr>'


def _query(**parameters: str) -> str:
    return escape(urlencode(parameters))


def _page(title: str, body: str) -> str:
    name = escape(title)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{name} - timesink</title><style>{_STYLE}</style></head>"
        f"<body><h1>{name}</h1>{body}</body></html>"
    )
