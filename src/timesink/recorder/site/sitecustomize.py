"""Loaded by every Python that a recorded program starts: waits for torch, then lets the agent in.

Whichever Python the program runs must understand this file, so it is written for old ones too.
"""

# Rules for a newer Python do not hold here.
# ruff: noqa: ANN001, ANN003, ANN202, ANN204, ANN205, ARG004, BLE001, INP001, PLC0415, S110
# ruff: noqa: F401, PTH100, PTH110, PTH112, PTH118, PTH120, PTH123, SIM105, UP031
# mypy: ignore-errors

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
_CONTROL = os.environ.get("TIMESINK_RECORD", "")
_OLDEST = (3, 10)


def _note(event, **facts):
    import json

    line = json.dumps(dict(facts, event=event)) + "\n"
    path = os.path.join(_CONTROL, "%d.jsonl" % os.getpid())
    end = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(end, line.encode())
    finally:
        os.close(end)


class _Recorder:
    """Finds this timesink, also where the program's Python has none."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "timesink":
            return None
        from importlib.util import spec_from_file_location

        start = os.path.join(_PACKAGE, "__init__.py")
        return spec_from_file_location(name, start, submodule_search_locations=[_PACKAGE])


class _Torch:
    """Notices when torch is imported; what finds and loads it stays the same.

    Programs also ask where torch is and import it later, so this one stays until it is loaded.
    """

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._watch(spec.loader)
                return spec
        return None

    def _watch(self, loader):
        execute = getattr(loader, "exec_module", None)

        def exec_module(module):
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _let_agent_in()

        try:
            if execute is not None:
                loader.exec_module = exec_module
        except Exception as error:
            _note("failed", why="torch is loaded in a way that cannot be watched: %s" % error)


def _let_agent_in():
    # Whatever goes wrong here is ours: the program must not notice.
    try:
        from timesink.recorder.agent.entry import begin

        begin(_CONTROL)
    except Exception as error:
        _note("failed", why="%s: %s" % (type(error).__name__, error))


def _begin():
    if not _CONTROL or not os.path.isdir(_CONTROL):
        return
    version = "%d.%d.%d" % sys.version_info[:3]
    _note("python", version=version, program=sys.executable)
    if sys.version_info < _OLDEST:
        _note("failed", why="the program runs Python %s, the recorder needs 3.10" % version)
        return
    sys.meta_path.insert(0, _Recorder)
    if "torch" in sys.modules:
        _let_agent_in()
    else:
        sys.meta_path.insert(0, _Torch())


def _is_meant():
    """Whether those who started this program still have the folder; another watcher may have it."""
    mine = os.environ.get("TIMESINK_CHANNEL", "")
    if not mine:
        return True
    with open(os.path.join(_CONTROL, "channel")) as file:
        return file.read() == mine


def _give_way():
    """Load the sitecustomize that this one hides, as if this one were not there."""
    sys.path[:] = [place for place in sys.path if place != _HERE]
    mine = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", mine)


def _absent_in(tree):
    """What git has of the repository and the commit of a work tree does not, below their tops."""
    try:
        with open(os.path.join(os.path.dirname(tree), "absent"), "rb") as file:
            names = file.read().split(b"\0")
    except OSError:
        return frozenset()
    return frozenset(os.fsdecode(name).replace("/", os.sep) for name in names)


def _in_tree(place, top, tree, absent, suffixes=("",)):
    """Where a place of a repository is in a work tree of it; None where only other commits have it.

    What git does not have, as an environment or a build, stays; `suffixes` are those of modules.
    """
    if not isinstance(place, str):
        return place
    for path in (place, os.path.realpath(place)):
        if path == top or path.startswith(top + os.sep):
            inside = path[len(top) + 1 :].rstrip(os.sep)
            moved = os.path.join(tree, inside) if inside else tree
            if any(os.path.exists(moved + suffix) for suffix in suffixes):
                return moved
            return None if any(inside + suffix in absent for suffix in suffixes) else place
    return place


class _Tree:
    """Finds modules at the top of a work tree that nobody else on the path has.

    Folders that hold no module are none, and what Python loads at its start is not looked for.
    """

    def __init__(self, tree):
        self._places = [os.path.join(tree, "src"), tree]

    def find_spec(self, name, path=None, target=None):
        if path is not None or name in ("sitecustomize", "usercustomize"):
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, self._places, target)
        return spec if spec is not None and spec.loader and spec.origin else None


def _move_places():
    """Let an editable install lead to the work tree that is meant, in the order of before."""
    top, _, tree = os.environ.get("TIMESINK_TREE", "").partition(os.pathsep)
    if not tree:
        return
    from importlib.machinery import PathFinder, all_suffixes

    absent = _absent_in(tree)

    def moved(places):
        inside = [_in_tree(place, top, tree, absent) for place in places]
        return [place for place in inside if place is not None]

    # Before finders that others have added: those of editable installs lead to the user's own.
    place = sys.meta_path.index(PathFinder) + 1 if PathFinder in sys.meta_path else 0
    sys.meta_path.insert(place or len(sys.meta_path), _Tree(tree))
    # What stayed would be the code of another commit, and nobody would notice.
    sys.path[:] = moved(sys.path)
    for name, module in list(sys.modules.items()):
        # The finders that setuptools writes: packages, and parts of those without a file.
        if not name.startswith("__editable__"):
            continue
        packages = getattr(module, "MAPPING", {})
        for package, place in list(packages.items()):
            # That of a module has no suffix.
            packages[package] = _in_tree(place, top, tree, absent, ["", *all_suffixes()])
            if packages[package] is None:
                del packages[package]
        parts = getattr(module, "NAMESPACES", {})
        for package, places in list(parts.items()):
            parts[package] = moved(places)
            if places and not parts[package]:
                del parts[package]


if __name__ == "sitecustomize":
    try:
        _move_places()
    except Exception:
        pass
    try:
        if _is_meant():
            _begin()
    except Exception:
        # A folder that cannot be written to must not stop the program.
        pass
    _give_way()
