"""The walls again, over every file: package ``__init__`` files, imports for type checkers and inside functions."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT, import_graph, module_name, tracked_files

MODULES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
MOST_LINES = 500
MOST_FILES = 20
THIN, MOST_THIN = 60, 5
"""Lines below which a file with one importer is thin, and how many of these there may be."""


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports; read when a test asks, because every process collects this file."""
    return import_graph(MODULES)


def layers() -> dict[str, int]:
    """Return the height of each room, from the import contract; rooms on one line have the same."""
    lines = [line.split(" : ") for line in PROJECT["contracts"][0]["layers"]]
    return {room.strip("()"): len(lines) - number for number, line in enumerate(lines) for room in line}


def room_of(name: str) -> str:
    """Return the room of a module by its dotted name; the package itself has none."""
    return name.split(".")[1] if name.count(".") else ""


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of one circle, the first one again at its end; none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def upward(graph: Mapping[str, set[str]], heights: Mapping[str, int]) -> Iterator[str]:
    """Yield the imports that leave a room without going down."""
    for importer, imported in graph.items():
        here = room_of(importer)
        for name in imported:
            there = room_of(name)
            if here != there and here in heights and not heights.get(there, 0) < heights[here]:
                yield f"{importer} -> {name}"


def test_no_circle_between_modules() -> None:
    """Also none that only a type checker walks: who reads one module must not need another that needs it."""
    assert circle(imports()) == []


@pytest.mark.parametrize("within", [ROOT, ROOT / "scripts"], ids=["all", "scripts"])
def test_no_circle_beside_the_package(within: Path) -> None:
    """The same of what tests and shows it. Scripts find each other in their own folder, and are found from the root."""
    graph = import_graph([path for path in tracked_files() if path.suffix == ".py" and within in path.parents], within)
    assert any(graph.values())
    assert circle(graph) == []


def test_no_arrow_goes_up() -> None:
    """Every room of the contract imports from those below it only."""
    assert list(upward(imports(), layers())) == []


def test_every_room_is_in_the_one_order() -> None:
    """What lies at the top of the package itself is above all rooms, or imports none of them."""
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= layers().keys()
    assert "ignore_imports" not in PROJECT["contracts"][0]
    assert imports()["airflow_coordination.get_provider_info"] == set()
    assert [name for name, imported in imports().items() if "airflow_coordination" in imported] == []


def test_circles_and_arrows_would_be_seen() -> None:
    """The two checks can fail, also for a package's own ``__init__``."""
    graph = {"house.a": {"house.b"}, "house.b": {"house.b.deep"}, "house.b.deep": {"house.a"}, "house.c": set()}
    assert circle(graph) in (
        ["house.a", "house.b", "house.b.deep", "house.a"],
        ["house.b", "house.b.deep", "house.a", "house.b"],
        ["house.b.deep", "house.a", "house.b", "house.b.deep"],
    )
    assert list(upward(graph, {"a": 2, "b": 1})) == ["house.b.deep -> house.a"]
    assert list(upward(graph, {"a": 1, "b": 1})) == ["house.a -> house.b", "house.b.deep -> house.a"]


def test_files_are_small() -> None:
    """A file that grows beyond this has two subjects."""
    lines = {str(module.relative_to(ROOT)): len(module.read_text().splitlines()) for module in MODULES}
    assert {module: count for module, count in lines.items() if count > MOST_LINES} == {}


def test_few_files_are_thin() -> None:
    """What is short and serves one other file mostly belongs there; five have a subject of their own."""
    importers = Counter(found for names in imports().values() for found in names)
    thin = [
        str(module.relative_to(ROOT))
        for module in MODULES
        if module.name != "__init__.py" and importers[module_name(module)] == 1
        if len(module.read_text().splitlines()) < THIN
    ]
    assert len(thin) <= MOST_THIN, thin


def test_folders_are_small() -> None:
    """Who opens one sees what it is about. Migrations are a row, not a folder."""
    files = Counter(str(module.parent.relative_to(ROOT)) for module in MODULES if module.parent.name != "versions")
    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}
