"""The app as a plugin of TensorBoard, and the routes of PyTorch's former one.

TensorBoard finds both loaders by their entry points (`pip install timesink[tensorboard]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from weakref import WeakKeyDictionary

from starlette.applications import Starlette
from tensorboard.backend.experimental_plugin import ExperimentalPlugin
from tensorboard.plugins import base_plugin

from timesink.server.api import API
from timesink.server.app import create_app
from timesink.server.former import PLUGIN_PATH, VIEWS, former_routes
from timesink.server.library import RunLibrary
from timesink.server.pages import STATIC_FILES
from timesink.server.runs import log_folders
from timesink.server.wsgi import WsgiApp, wsgi_app

_FORMER_PLUGIN = "torch_tb_profiler"

_served: WeakKeyDictionary[base_plugin.TBContext, tuple[RunLibrary, Starlette]] = (
    WeakKeyDictionary()
)
"""Both plugins of one TensorBoard share their runs and traces."""


class _AppPlugin(base_plugin.TBPlugin):
    def __init__(self, context: base_plugin.TBContext) -> None:
        """Show the folders TensorBoard was started with."""
        if context not in _served:
            flags = context.flags
            folders = log_folders(context.logdir or "", getattr(flags, "logdir_spec", "") or "")
            folder_list = ", ".join(str(folder) for folder in folders.values())
            library = RunLibrary(folder_list, folders=folders)
            _served[context] = library, create_app(library)
        self._library, self._app = _served[context]

    def data_plugin_names(self) -> tuple[str, ...]:
        """Nothing of ours is in event files."""
        return ()


class TimesinkPlugin(_AppPlugin):
    """The tab with the app."""

    plugin_name = "timesink"

    def get_plugin_apps(self) -> Mapping[str, WsgiApp]:
        paths = [f"static/{name}" for name in STATIC_FILES] + [f"api/{name}" for name in API]
        site_apps = {f"/{path}": wsgi_app(self._app, f"/{path}") for path in paths}
        return {**site_apps, **_former_apps(self._app)}

    def is_active(self) -> bool:
        return self._library.holds_runs()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(
            es_module_path="/static/app.js", tab_name="timesink", disable_reload=True
        )


class FormerPlugin(_AppPlugin, ExperimentalPlugin):
    """The routes of PyTorch's profiler plugin at their own address.

    It has nothing to show: TensorBoard does not list plugins that are marked as experimental.
    """

    plugin_name = "pytorch_profiler"

    def get_plugin_apps(self) -> Mapping[str, WsgiApp]:
        return _former_apps(self._app)

    def is_active(self) -> bool:
        return False


def _former_apps(app: Starlette) -> dict[str, WsgiApp]:
    return {f"/{name}": wsgi_app(app, f"{PLUGIN_PATH}/{name}") for name in former_routes(VIEWS)}


class TimesinkLoader(base_plugin.TBLoader):
    """Entry point of the app."""

    def load(self, context: base_plugin.TBContext) -> TimesinkPlugin:
        return TimesinkPlugin(context)


class FormerLoader(base_plugin.TBLoader):
    """Entry point of the former plugin's routes; where that is installed, it has them itself."""

    def load(self, context: base_plugin.TBContext) -> FormerPlugin | None:
        return None if find_spec(_FORMER_PLUGIN) else FormerPlugin(context)
