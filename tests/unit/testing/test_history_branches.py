"""The history checker on branches and the view: what it must explain, and what it must refuse to explain."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import publish, roll_back
from airflow_coordination.duties.retention.hiding import hide, restore
from airflow_coordination.leases import Block, BranchError, InvalidInputError, SourceCoordinator
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.testing.history import (
    FileLog,
    Kind,
    MemoryLog,
    Operation,
    RecordedCoordinator,
    Told,
    check,
    read_logs,
)
from airflow_coordination.values.blocks import Mode
from airflow_coordination.values.errors import OutcomeUnknownError
from airflow_coordination.values.settings import Settings

SETTINGS = Settings(ownership_timeout=timedelta(minutes=1), request_deadline=timedelta(seconds=5))
MONTH, ALL = "2013-01/P1M", Selection(everything=True)


class Source:
    """Partitions ``a`` and ``b`` that have published, and the history of all that is done to them.

    :param log: where it is kept.
    """

    def __init__(self, log: Callable[[FakeClock], MemoryLog]) -> None:
        self.clock = FakeClock()
        self.log = log(self.clock)
        self.store = FaultyStore(InMemoryStore(self.clock), only=("set_document",))
        one = SourceCoordinator(self.store, "flights", "h/d/r/t/0/1", settings=SETTINGS, clock=self.clock)
        enabling = parts_of(self.store).enabling
        assert enabling is not None
        enabling.enable_branches()
        self.one = RecordedCoordinator(one, self.log, "one")
        self.one.create_partitions(["a", "b"])
        self.works("a", "old a")
        self.works("b", "old b")

    def works(self, key: str, digest: str, mode: Mode = "replace") -> None:
        """Publish one block."""
        self.clock.advance(1)
        lease = self.one.acquire_partition(key)
        assert lease is not None
        self.one.complete(lease, [Block("d", f"/{digest}", digest, mode=mode)], interval=MONTH)

    def begins(self, selection: Selection = ALL) -> int:
        """Begin a branch."""
        self.clock.advance(1)
        one = self.one
        return one.change_view(lambda why: begin(one.commands, selection, "ana", why), "begin").number

    def publishes(self, number: int) -> None:
        """Show it."""
        self.clock.advance(1)
        one = self.one
        one.change_view(lambda why: publish(one.commands, number, "ana", why), f"publish {number}")

    def rolls_back(self, number: int) -> None:
        """Roll it back."""
        self.clock.advance(1)
        one = self.one
        one.change_view(lambda why: roll_back(one.commands, number, "ana", why), f"roll {number} back")

    def shown(self) -> dict[str, tuple[str, ...]]:
        """Read."""
        self.clock.advance(1)
        return self.one.shown("d")

    def last(self, kind: Kind) -> Operation:
        """Return the last call of a kind."""
        return [made for made in self.log.operations if made.kind is kind][-1]

    @property
    def operations(self) -> list[Operation]:
        """The history."""
        return self.log.operations

    @property
    def broken(self) -> list[str]:
        """What is wrong with it, by the promises' names."""
        documents = self.one.coordinator.documents.history(VIEW)
        return [violation.promise for violation in check(self.operations, SETTINGS, documents=documents)]


@pytest.fixture
def source() -> Source:
    return Source(lambda clock: MemoryLog(lambda: clock.now().timestamp()))


def published(source: Source) -> int:
    """Run both again in a branch, and show it."""
    number = source.begins()
    source.works("a", "new a")
    source.works("b", "new b")
    source.publishes(number)
    return number


def test_s22_a_branch_is_explained_from_its_beginning_to_its_end(source: Source) -> None:
    number = source.begins()
    assert source.shown() == {"a": ("old a",), "b": ("old b",)}
    source.works("a", "new a")
    assert source.one.published("a") == {"d": ("old a",), f"~{number}~d": ("new a",)}
    source.works("b", "new b")
    assert source.shown() == {"a": ("old a",), "b": ("old b",)}
    source.publishes(number)
    assert source.shown() == {"a": ("new a",), "b": ("new b",)}
    source.one.reset("b")
    source.works("b", "newer b")
    assert source.shown() == {"a": ("new a",), "b": ("newer b",)}
    source.rolls_back(number)
    assert source.shown() == {"a": ("old a",), "b": ("newer b",)}
    source.one.partition("a")
    assert source.broken == []


@pytest.mark.parametrize("digests", [("old a",), ("new a", "old a"), ()])
def test_s22_a_reader_who_sees_something_else_than_what_counts_is_found(
    source: Source, digests: tuple[str, ...]
) -> None:
    published(source)
    source.shown()
    source.last(Kind.SHOWN).result["published"]["a"] = digests
    assert source.broken == ["S5"]


def test_s22_a_branch_that_shows_before_it_is_published_is_found(source: Source) -> None:
    number = source.begins()
    source.works("a", "new a")
    source.shown()
    result = source.last(Kind.SHOWN).result
    result["published"]["a"] = ("new a",)
    assert source.broken == ["S5"]
    result["shown"].append(number)
    assert source.broken == ["S22"], "and so is who has read it under another view"


def test_s22_what_nobody_has_published_is_found(source: Source) -> None:
    source.shown()
    source.last(Kind.SHOWN).result["published"]["stranger"] = ("x",)
    assert source.broken == ["S22"]


def test_s22_a_branch_that_shows_without_a_partition_is_found(source: Source) -> None:
    published(source)
    source.operations.remove(source.last(Kind.COMPLETE))
    assert "S22" in source.broken


def test_s22_a_reset_out_of_a_branch_that_has_begun_is_found(source: Source) -> None:
    source.begins()
    source.clock.advance(1)
    with pytest.raises(BranchError):
        source.one.reset("a")
    assert source.broken == []
    source.last(Kind.RESET).told = Told.OK
    assert source.broken == ["S5"]


def test_s22_a_reset_into_a_branch_that_shows_is_found(source: Source) -> None:
    number = published(source)
    source.clock.advance(1)
    with pytest.raises(InvalidInputError):
        source.one.reset("a", number)
    source.last(Kind.RESET).told = Told.OK
    assert source.broken == ["S5"]


def test_s22_an_ending_in_a_branch_that_was_rolled_back_is_found(source: Source) -> None:
    source.rolls_back(source.begins())
    with pytest.raises(BranchError):
        source.works("a", "new a")
    assert source.broken == []
    source.last(Kind.COMPLETE).told = Told.OK
    assert source.broken == ["S5"]


def test_s22_an_addition_that_hides_what_shows_is_found(source: Source) -> None:
    published(source)
    source.clock.advance(1)
    source.one.reset("a")
    with pytest.raises(BranchError):
        source.works("a", "late a", "append")
    assert source.broken == []
    source.last(Kind.COMPLETE).told = Told.OK
    assert source.broken == ["S5"]


def test_s22_a_publication_into_another_place_is_found(source: Source) -> None:
    """An owner that does not know of branches would publish into the base."""
    source.begins()
    source.works("a", "new a")
    made = source.last(Kind.COMPLETE)
    made.given = {**made.given, "branch": None}
    assert source.broken == ["S5"]


def test_s23_hidden_restored_and_partly_emptied_is_explained(source: Source) -> None:
    number = published(source)
    one = source.one
    one.change_view(lambda why: hide(one.commands, "d", MONTH, "ana", why), "hide")
    assert source.shown() == {}
    one.change_view(lambda why: restore(one.commands, "d", MONTH, "ana", why), "restore")
    assert source.shown() == {"a": ("new a",), "b": ("new b",)}
    source.clock.advance(1)
    seen = one.coordinator.partition("a")
    assert seen is not None
    one.commands.people.purge(seen, ["d"], "ana", "nobody can see it")
    assert one.commands.people is one.commands.cleaning._people is one.people
    assert one.published("a") == {"d": (), f"~{number}~d": ("new a",)}
    assert source.shown() == {"a": ("new a",), "b": ("new b",)}
    assert source.broken == []


def test_s23_more_emptied_than_was_named_is_found(source: Source) -> None:
    number = published(source)
    source.clock.advance(1)
    source.one.act(Action.RETRACT, "a")
    source.one.published("a")
    assert source.broken == []
    source.last(Kind.RETRACT).given = {"datasets": [f"~{number}~d"]}
    assert source.broken == ["S5"]


def test_s23_what_shows_although_it_is_hidden_is_found(source: Source) -> None:
    one = source.one
    one.change_view(lambda why: hide(one.commands, "d", MONTH, "ana", why), "hide")
    source.shown()
    source.last(Kind.SHOWN).result["published"]["a"] = ("old a",)
    assert source.broken == ["S5"]


@pytest.mark.parametrize("applied", [True, False])
def test_s6_a_branch_of_which_nobody_heard_whether_it_shows_is_explained(source: Source, applied: bool) -> None:
    number = source.begins()
    source.works("a", "new a")
    source.works("b", "new b")
    first = len(source.store.calls) + 1
    source.store.faults = dict.fromkeys(range(first, first + 500), Fault.UNAVAILABLE)
    source.store.faults[first] = Fault.APPLIED if applied else Fault.NOT_APPLIED
    with pytest.raises(OutcomeUnknownError):
        source.publishes(number)
    source.store.faults = {}
    assert source.last(Kind.VIEW).told is Told.UNKNOWN
    assert source.shown() == ({"a": ("new a",), "b": ("new b",)} if applied else {"a": ("old a",), "b": ("old b",)})
    assert source.broken == []


def test_a_history_of_branches_in_files_is_the_same(tmp_path: Path) -> None:
    source = Source(lambda clock: FileLog(tmp_path / "one", lambda: clock.now().timestamp()))
    published(source)
    source.shown()
    documents = source.one.coordinator.documents.history(VIEW)
    operations = read_logs([tmp_path / "one"])
    assert not check(operations, SETTINGS, documents=documents)
    shown = next(made for made in operations if made.kind is Kind.SHOWN)
    shown.result["published"]["a"] = ["old a"]
    assert [violation.promise for violation in check(operations, SETTINGS, documents=documents)] == ["S5"]
