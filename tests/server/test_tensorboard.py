"""The plugin in a real TensorBoard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

import timesink
from boards import tensorboard
from former_plugin import differences
from shared_folder import find_shared
from timesink.server.runs import log_folders

pytestmark = pytest.mark.whole

pytest.importorskip("tensorboard", reason="needs TensorBoard: pip install timesink[tensorboard]")

ADDRESSES = ("timesink", "pytorch_profiler")


@dataclass(frozen=True)
class TensorBoard:
    """A running TensorBoard."""

    address: str

    def text(self, route: str, **parameters: str) -> str:
        query = f"?{urlencode(parameters)}" if parameters else ""
        with urlopen(f"{self.address}data/{route}{query}") as response:  # noqa: S310 - our own
            return response.read().decode()

    def get(self, route: str, **parameters: str) -> Any:
        return json.loads(self.text(route, **parameters))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled recording, and those of the golden responses where they are at hand."""
    folder = tmp_path_factory.mktemp("logdir")
    (folder / "unet").mkdir()
    shutil.copy(timesink.sample(), folder / "unet")
    shared = find_shared()
    if shared is not None:
        for run in (shared / "data" / "kineto").glob("resnet50_num_workers_*"):
            shutil.copytree(run, folder / run.name)
    return folder


@pytest.fixture(scope="module")
def board(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    with tensorboard(logdir, tmp_path_factory.mktemp("installed")) as address:
        yield TensorBoard(address)


def test_there_is_one_tab(board: TensorBoard):
    listed = board.get("plugins_listing")
    assert listed["timesink"]["enabled"]
    assert listed["timesink"]["loading_mechanism"]["module_path"].endswith("/static/app.js")
    assert "pytorch_profiler" not in listed


def test_app_finds_its_server(board: TensorBoard):
    (unet,) = (
        run for run in board.get("plugin/timesink/api/runs")["runs"] if run["name"] == "unet"
    )
    chosen = {"run": "unet", "worker": unet["workers"][0]["name"], "span": "default"}
    while "sections" not in (page := board.get("plugin/timesink/api/document", **chosen)):
        assert set(page) == {"doing", "share", "waited_s"}
    assert page["sections"][0]["id"] == "findings"


def test_errors_are_sentences_with_their_status(board: TensorBoard):
    with pytest.raises(HTTPError) as failed:
        board.get("plugin/timesink/api/document", run="other")
    assert failed.value.code == 404
    assert "no run is named 'other'" in json.load(failed.value)["error"]


@pytest.mark.parametrize("plugin", ADDRESSES)
def test_golden_responses_of_the_former_plugin(
    board: TensorBoard, shared_root: Path, tmp_path: Path, plugin: str
):
    def ask(route: str, query: dict[str, str]) -> str:
        return board.text(f"plugin/{plugin}/{route}", **query)

    assert differences(ask, shared_root, tmp_path) == ""


def test_former_plugin_keeps_its_routes_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from tensorboard.plugins.base_plugin import TBContext

    from timesink.server import tensorboard as plugins

    loader, context = plugins.FormerLoader(), TBContext(logdir="/nowhere")
    plugin = loader.load(context)
    assert plugin is not None
    assert not plugin.is_active()
    (tmp_path / "torch_tb_profiler.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert loader.load(context) is None


@pytest.mark.parametrize(
    ("logdir_spec", "folders"),
    [
        ("a:/x,b:/y:z", {"a": "/x", "b": "/y:z"}),
        ("/x:y", {"x:y": "/x:y"}),
        ("gs://bucket/x,/x", {"x": "/x"}),
    ],
)
def test_folders_of_logdir_spec(logdir_spec: str, folders: dict[str, str]):
    assert log_folders("", logdir_spec) == {name: Path(path) for name, path in folders.items()}


def test_folders_on_other_machines_hold_nothing():
    assert log_folders("gs://bucket/logs") == {}
