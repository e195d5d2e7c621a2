"""Reading an export into another store: checked as a whole first, then partition by partition, again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.moving import Life, Moved
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.transfer.checking import check_life, check_supplier_life
from airflow_coordination.transfer.documents import (
    check_kept,
    is_of_a_branch,
    needs_branches,
    other_default_rules,
    settle,
)
from airflow_coordination.transfer.exporting import SUPPLIER
from airflow_coordination.transfer.lines import (
    DEFAULT,
    DOCUMENT,
    MAX_LINE_BYTES,
    Heading,
    document_of,
    heading_of,
    life_of,
    parsed,
)
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError, printable, shown
from airflow_coordination.values.program import TYPED

_OP_LENGTH: Final = 24


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was read once, and is whole.

    :param path: the file.
    :param heading: what is in it.
    :param op: the operation that creates its partitions, the same for the same file.
    :param supplier: what the supplier remembers.
    :param places: where the line of each partition begins, in the order in which they were created.
    :param documents: the newest version of each document: its view, its rules.
    :param branches: whether there are branches or hidden intervals in it.
    :param default_rules: those that decided of it where it comes from, after its own.
    """

    path: Path
    heading: Heading
    op: str
    supplier: Partition | None
    places: Sequence[int]
    documents: Sequence[Document] = ()
    branches: bool = False
    default_rules: Document | None = None

    def lives(self) -> Iterator[Life]:
        """Yield the partitions in the order in which they were created."""
        with self.path.open("rb") as lines:
            for place in self.places:
                lines.seek(place)
                yield life_of(parsed(lines.readline(MAX_LINE_BYTES))[1], "")


def read_export(path: Path) -> Export:
    """Read a file, and check that it is whole; nothing is written anywhere.

    :raises SettingsError: when it cannot be read.
    :raises InvalidInputError: naming the line that is not what it must be.
    """
    try:
        with path.open("rb") as lines:
            return _Reader(path).read(lines)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SettingsError("file", str(path), problem, f"Name a file that `{TYPED} export` wrote") from error


class _Reader:
    """Reads one file from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._path, self._number = path, 0
        self._digest = hashlib.sha256()
        self._found: list[tuple[int, int]] = []
        self._keys: set[bytes] = set()
        self._heading: Heading | None = None
        self._supplier: Partition | None = None
        self._documents: dict[str, Document] = {}
        self._default: Document | None = None
        self._branches = False

    def read(self, lines: BinaryIO) -> Export:
        """Return what is in it."""
        place = 0
        while line := lines.readline(MAX_LINE_BYTES):
            self._number += 1
            try:
                name, value = parsed(line)
                if name == "end":
                    return self._ended(value, lines.read(1))
                self._take(name, value, place)
            except KeyError as error:
                raise self._wrong(f"it has no {error}") from error
            except Exception as error:  # whatever a line holds, it is named
                raise self._wrong(printable(str(error) or type(error).__name__)) from error
            self._digest.update(line)
            place += len(line)
        raise self._wrong("the file ends here, without its last line: it was cut off")

    def _take(self, name: str, value: Any, place: int) -> None:
        if (self._number == 1) is not (name == "heading"):
            raise ValueError("the heading has to be the first line, and no other")
        if name == "heading":
            self._heading = heading_of(value)
        elif name == SUPPLIER:
            self._take_supplier(life_of(value, "").partition)
        elif name == DOCUMENT:
            self._take_document(document_of(value, ""))
        elif name == DEFAULT:
            self._take_default(document_of(value, ""))
        elif name == "life":
            life = life_of(value, "")
            check_life(life)
            self._branches = self._branches or is_of_a_branch(life)
            self._once(life.key)
            self._found.append((life.partition.ordinal if life.partition else -1, place))
        else:
            raise ValueError(f"{name!r} is no line of an export")

    def _take_supplier(self, supplier: Partition | None) -> None:
        if supplier is None or self._supplier is not None:
            raise ValueError("it is no memory of a supplier, or the second one")
        check_supplier_life(supplier)
        self._supplier = supplier

    def _take_document(self, document: Document) -> None:
        if document.name in self._documents:
            raise ValueError(f"document {document.name!r} stands in the file twice")
        self._documents[document.name] = document

    def _take_default(self, document: Document) -> None:
        if self._default is not None:
            raise ValueError("the default rules stand in the file twice")
        self._default = document

    def _once(self, key: str) -> None:
        short = hashlib.sha256(key.encode()).digest()[:16]
        if short in self._keys:
            raise ValueError(f"partition {shown(key)} stands in the file twice")
        self._keys.add(short)

    def _ended(self, value: Any, more: bytes) -> Export:
        if more or self._heading is None:
            raise ValueError("there is something behind the last line, or nothing before it")
        if (value["partitions"], value["sha256"]) != (len(self._found), self._digest.hexdigest()):
            raise ValueError("the sum is another than that of the lines before it: the file was changed")
        places = [place for _, place in sorted(self._found)]
        op, documents = self._digest.hexdigest()[:_OP_LENGTH], tuple(self._documents.values())
        branches = self._branches or needs_branches(documents)
        return Export(self._path, self._heading, op, self._supplier, places, documents, branches, self._default)

    def _wrong(self, problem: str) -> InvalidInputError:
        remedy = "Export the source again, and copy the file as it is"
        problem = f"cannot be imported; line {self._number}: {problem}"
        return InvalidInputError("file", self._path.name, problem, remedy)


def import_(
    coordinator: SourceCoordinator, export: Export, by: str, told: Callable[[int], object] = lambda done: None
) -> Moved:
    """Let a source go on in the coordinator's store; it is paused there, and stays so until somebody resumes it.

    Interrupted, it is called again with the same file, and goes on.

    :param coordinator: of the same source.
    :param by: who asks for it, for the audit.
    :param told: hears how many partitions are done so far.
    :raises SettingsError: when the file is of another source, comes from this very store, or has what this one does not
        keep: documents, or branches and hidden intervals before ``store enable branches``.
    """
    check_place(coordinator, export)
    coordinator.supplying.register(**export.heading.facts)
    if not coordinator.pausing.current_pause().unending:
        coordinator.pausing.pause(by, f"import from {export.heading.store}")
    coordinator.moving.wait_until_paused()
    if export.supplier is not None:
        coordinator.moving.settle_supplier_in(export.supplier, export.op)
    others = other_default_rules(coordinator, export.default_rules)
    done = Moved(documents=settle(coordinator, export.documents, export.heading, by) + others)
    lives = export.lives()
    while page := tuple(islice(lives, coordinator.store.create_page)):
        done += coordinator.moving.settle_in(page, export.op)
        told(done.here + len(done.different))
    return done


def check_place(coordinator: SourceCoordinator, export: Export) -> None:
    """Refuse to import a source into the store that it comes from, as another one, or where something of it were lost.

    :raises SettingsError: naming both, or what is to be done before.
    """
    heading, store = export.heading, coordinator.store
    if store.store_id == heading.store_id:
        problem = "is the store that the file comes from"
        raise SettingsError("store", store.description, problem, "Name the store that the source is moved to")
    given, wanted = coordinator.partition_prefix, heading.partition_prefix
    if (coordinator.source, given) != (heading.source, wanted):
        problem = f"is not the source in the file: {heading.source!r} under partition_prefix {wanted!r}"
        raise SettingsError("source", coordinator.source, problem, "Import it as what it is")
    check_kept(coordinator, export.documents, branches=export.branches)
