"""Be a partition on its way through the house, and count where it comes in.

usage: python scripts/walk.py [--check] [--files]

Three ways are walked on SQLite, without Spark: a partition that is drained (acquired, a block published, progress
saved, completed), a zombie whose ending is refused, and an ending by itself. Counted is what is called of the package:
files, functions and rooms that are entered, changes of file and of room, and how deep it goes. ``--check`` says how far
the aims are, and fails where one was passed: a feature that nobody uses is looked up in no file of its own.
``--files`` names the files of each room.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PACKAGE: Final = f"{ROOT / 'airflow_coordination'}/"
DRAIN, ZOMBIE, ENDING = "a partition is drained", "a zombie is refused", "an ending"
AIMS: Final = {DRAIN: 58, ZOMBIE: 28}
"""So many files at most (issue 28)."""
HANDING_ON: Final = 2
"""So many stations of an ending at most whose body is one call with their own arguments."""
TOO_MANY: Final = " too many"


class Entry(NamedTuple):
    """One call of a function of the package.

    :param file: of the function, below the package.
    :param line: where it begins.
    :param name: of it, with its class.
    :param depth: how many of its callers are of the package.
    """

    file: str
    line: int
    name: str
    depth: int

    @property
    def room(self) -> str:
        """The folder at the top; of the stores, that of each."""
        parts = self.file.split("/")
        return "/".join(parts[:2]) if parts[0] == "stores" and len(parts) > 2 else parts[0]


@dataclass(slots=True)
class Walk:
    """What was entered on one way, in all threads that it began.

    :param name: for people.
    :param entries: one for each call.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, as :func:`sys.setprofile` tells it."""
        if event == "call" and _is_ours(frame):
            code = frame.f_code
            file = code.co_filename[len(PACKAGE) :]
            self.entries.append(Entry(file, code.co_firstlineno, code.co_qualname, _depth(frame)))

    @property
    def files(self) -> set[str]:
        """The files entered."""
        return {each.file for each in self.entries}

    @property
    def functions(self) -> set[tuple[str, str]]:
        """The functions entered, by file and name."""
        return {(each.file, each.name) for each in self.entries}

    @property
    def handing_on(self) -> list[str]:
        """The functions entered that do nothing but call another one with what they were given."""
        stations = {(each.file, each.line): each for each in self.entries}
        return [f"{each.file} {each.name}" for where, each in sorted(stations.items()) if where[1] in _layers(where[0])]

    def files_of_rooms(self) -> dict[str, list[str]]:
        """Return the files entered of each room, in the order in which one comes into the rooms."""
        rooms = dict.fromkeys(each.room for each in self.entries)
        return {room: sorted({each.file for each in self.entries if each.room == room}) for room in rooms}

    def row(self) -> str:
        """Return the line of the table."""
        numbers = (
            len(self.entries),
            len(self.functions),
            len(self.files),
            len(self.files_of_rooms()),
            _changes(each.file for each in self.entries),
            _changes(each.room for each in self.entries),
            max(each.depth for each in self.entries),
        )
        return f"| {self.name} | {' | '.join(map(str, numbers))} |"


HEADER: Final = """| way | calls | functions | files | rooms | changes of file | of room | depth |
|---|---|---|---|---|---|---|---|"""


def _is_ours(frame: FrameType) -> bool:
    """Return whether it is a function of the package; comprehensions and lambdas belong to theirs."""
    code = frame.f_code
    return code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")


def _depth(frame: FrameType) -> int:
    depth, caller = 0, frame.f_back
    while caller is not None:
        depth += _is_ours(caller)
        caller = caller.f_back
    return depth


def _changes(places: Iterable[str]) -> int:
    return sum(before != after for before, after in pairwise(places))


@cache
def _layers(file: str) -> set[int]:
    """Return where functions begin that only hand on, by the file's text."""
    tree = ast.parse(Path(PACKAGE, file).read_text())
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    return {min([each.lineno, *(one.lineno for one in each.decorator_list)]) for each in functions if _hands_on(each)}


def _hands_on(function: ast.FunctionDef) -> bool:
    """Return whether the body is one call with the function's own arguments, and at least one of them."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    call = getattr(body[0], "value", None) if len(body) == 1 else None
    if not isinstance(call, ast.Call):
        return False
    arguments = function.args
    own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    given = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    given += [each.value for each in call.keywords]
    return bool(given) and all(isinstance(each, ast.Name) and each.id in own for each in given)


def walked(name: str, call: Callable[[], Any]) -> Walk:
    """Return what is entered while ``call`` is made; its errors propagate.

    :param name: for people.
    """
    walk = Walk(name)
    with profiled_by(walk):
        call()
    return walk


@contextmanager
def profiled_by(hook: Callable[[FrameType, str, Any], object]) -> Iterator[None]:
    """Let this thread, and all that are started meanwhile, call ``hook``, and afterwards what they did before."""
    before = sys.getprofile(), threading.getprofile()
    sys.setprofile(hook)
    threading.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])


class Frame:
    """The two rows of the block."""

    columns = ()

    def count(self) -> int:
        """Return how many rows there are."""
        return 2

    def collect(self) -> list[Any]:
        """Return none of them."""
        return []


class Reader:
    """Reads the block, whatever is asked of it."""

    def format(self, _: str) -> Reader:
        """Take any format."""
        return self

    def options(self, **_: object) -> Reader:
        """Take all options."""
        return self

    def option(self, *_: str) -> Reader:
        """Take any option."""
        return self

    def load(self, _: list[str]) -> Frame:
        """Return what the block holds."""
        return Frame()

    def text(self, _: str) -> Frame:
        """Return what is below the output root, which the driver and Spark both see."""
        return Frame()


class Session:
    """What the driver asks of a Spark session, which does nothing here; all else must look absent."""

    read = Reader()

    def addTag(self, tag: str) -> None:  # noqa: N802
        """Tag what follows."""

    removeTag = registerProgressHandler = removeProgressHandler = interruptTag = addTag  # noqa: N815


def ways(directory: str) -> list[Walk]:
    """Walk all ways in a store of one's own.

    A supplier has run and a hint was followed before, so what is done once in a process is not counted.

    :param directory: an empty one.
    """
    from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
    from airflow_coordination.stores import open_store

    store = open_store(f"sqlite:///{directory}/walk.db")
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "walk")
    coordinator.counts()
    coordinator.run_supplier(lambda state: [PartitionIdentifier("a", payload={"x": 1})])
    coordinator.give_up(coordinator.get_next_partition(hint=coordinator.claimable()[0]))
    try:
        return [_drained(store, f"{directory}/out"), _refused(coordinator), _ended(coordinator)]
    finally:
        store.close()


def _drained(store: Any, output_root: str) -> Walk:
    from airflow_coordination.spark import Complete, drain

    def function(spark: Session, lease: Any) -> Complete:
        with lease.publish("clean", format="json") as block:
            Path(block.path).mkdir(parents=True, exist_ok=True)
            Path(block.path, "part-0.json").write_text("{}\n{}\n")
        lease.save({"row": 2})
        return Complete()

    def call() -> None:
        done = drain(function, store=store, source="flights", spark=Session(), output_root=output_root)
        if done.completed != 1:
            raise AssertionError(f"it was not drained: {done}")

    return walked(DRAIN, call)


def _refused(coordinator: Any) -> Walk:
    from airflow_coordination.leases import PartitionNotOwnedError

    coordinator.create_partitions(["z"])
    zombie = coordinator.acquire_partition("z")
    coordinator.people.release("z", "ana", "its machine hangs")

    def call() -> None:
        try:
            coordinator.complete(zombie)
        except PartitionNotOwnedError:
            return
        raise AssertionError("the zombie was not refused")

    return walked(ZOMBIE, call)


def _ended(coordinator: Any) -> Walk:
    coordinator.create_partitions(["e"])
    lease = coordinator.acquire_partition("e")
    return walked(ENDING, lambda: coordinator.complete(lease))


def against_aims(walks: Iterable[Walk]) -> list[str]:
    """Return a sentence for each aim."""
    by_name = {walk.name: walk for walk in walks}
    said = [
        _aim(f"{name}: {len(by_name[name].files)} files", len(by_name[name].files), aim) for name, aim in AIMS.items()
    ]
    layers = by_name[ENDING].handing_on
    said.append(_aim(f"an ending: {len(layers)} stations only hand on", len(layers), HANDING_ON))
    return [*said, *(f"  {each}" for each in layers)]


def _aim(what: str, number: int, aim: int) -> str:
    return f"{what}, the aim is {aim}: " + ("reached" if number <= aim else f"{number - aim}{TOO_MANY}")


def main(arguments: list[str]) -> int:
    """Print the table, and what was asked for beside it."""
    if unknown := set(arguments) - {"--check", "--files"}:
        print(f"{', '.join(sorted(unknown))}: no such option; there are --check and --files", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="walk-") as directory:
        walks = ways(directory)
    print(HEADER, *(walk.row() for walk in walks), sep="\n")
    if "--files" in arguments:
        for walk in walks:
            print(
                f"\n{walk.name}:",
                *(f"  {room}: {' '.join(files)}" for room, files in walk.files_of_rooms().items()),
                sep="\n",
            )
    if "--check" in arguments:
        said = against_aims(walks)
        print("", *said, sep="\n")
        return int(any(each.endswith(TOO_MANY) for each in said))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
