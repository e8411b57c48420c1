"""The app as a plugin of TensorBoard, and the routes of PyTorch's former one.

TensorBoard finds both loaders by their entry points (`pip install timesink[tensorboard]`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from weakref import WeakKeyDictionary

from tensorboard.backend.experimental_plugin import ExperimentalPlugin
from tensorboard.plugins import base_plugin

from timesink.server.api import API
from timesink.server.library import RunLibrary
from timesink.server.replies import PLUGIN_PATH, VIEWS
from timesink.server.runs import log_folders
from timesink.server.site import STATIC_FILES, Site, WsgiApp, former_routes, wsgi_app

_FORMER_PLUGIN = "torch_tb_profiler"

_sites: WeakKeyDictionary[base_plugin.TBContext, Site] = WeakKeyDictionary()
"""Both plugins of one TensorBoard share their runs and traces."""


class _SitePlugin(base_plugin.TBPlugin):
    def __init__(self, context: base_plugin.TBContext) -> None:
        """Show the folders TensorBoard was started with."""
        if context not in _sites:
            flags = context.flags
            folders = log_folders(context.logdir or "", getattr(flags, "logdir_spec", "") or "")
            folder_list = ", ".join(str(folder) for folder in folders.values())
            _sites[context] = Site(RunLibrary(folder_list, folders=folders))
        self._site = _sites[context]

    def data_plugin_names(self) -> tuple[str, ...]:
        """Nothing of ours is in event files."""
        return ()


class TimesinkPlugin(_SitePlugin):
    """The tab with the app."""

    plugin_name = "timesink"

    def get_plugin_apps(self) -> Mapping[str, WsgiApp]:
        paths = [f"static/{name}" for name in STATIC_FILES] + [f"api/{name}" for name in API]
        site_apps = {f"/{path}": wsgi_app(self._site, path) for path in paths}
        return {**site_apps, **_former_apps(self._site)}

    def is_active(self) -> bool:
        return self._site.library.holds_runs()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(
            es_module_path="/static/app.js", tab_name="timesink", disable_reload=True
        )


class FormerPlugin(_SitePlugin, ExperimentalPlugin):
    """The routes of PyTorch's profiler plugin at their own address.

    It has nothing to show: TensorBoard does not list plugins that are marked as experimental.
    """

    plugin_name = "pytorch_profiler"

    def get_plugin_apps(self) -> Mapping[str, WsgiApp]:
        return _former_apps(self._site)

    def is_active(self) -> bool:
        return False


def _former_apps(site: Site) -> dict[str, WsgiApp]:
    base = PLUGIN_PATH.strip("/")
    return {f"/{name}": wsgi_app(site, f"{base}/{name}") for name in former_routes(VIEWS)}


class TimesinkLoader(base_plugin.TBLoader):
    """Entry point of the app."""

    def load(self, context: base_plugin.TBContext) -> TimesinkPlugin:
        return TimesinkPlugin(context)


class FormerLoader(base_plugin.TBLoader):
    """Entry point of the former plugin's routes; where that is installed, it has them itself."""

    def load(self, context: base_plugin.TBContext) -> FormerPlugin | None:
        return None if find_spec(_FORMER_PLUGIN) else FormerPlugin(context)
