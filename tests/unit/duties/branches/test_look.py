"""A look at a branch: each partition of it by what readers see without the branch, and with it."""

from __future__ import annotations

import pytest

from airflow_coordination.duties.branches.look import BranchLook, Change, KeyLook, look_at
from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.leases.outcomes import CompleteRequest
from airflow_coordination.outputs.heads import pages
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError, SettingsError
from airflow_coordination.values.status import PartitionStatus
from tests.branches import begun, held, hidden, reset, rolled_back, shown

KEYS = ("a", "b", "c", "d", "e")


@pytest.fixture
def flights() -> SourceCoordinator:
    """Five partitions of ten rows each, in one dataset."""
    c = SourceCoordinator(open_store("memory://"), "flights", "me", max_failures=9)
    c.create_partitions(KEYS)
    for day, key in enumerate(KEYS, 1):
        publish(c, key, 10, interval=f"2013-01-0{day}/P1D")
    return c


def publish(c: SourceCoordinator, key: str, *rows: int, interval: str | None = None) -> None:
    """Publish to ``clean``, and to ``more`` where a second number is given."""
    lease = held(c, key)
    names = zip(("clean", "more"), rows, strict=False)
    blocks = [Block(name, f"/{key}/{lease.fence.token}/{name}", lease.fence.nonce, n, 10 * n) for name, n in names]
    c.complete(lease, blocks, interval=interval)


def changes(look: BranchLook) -> dict[tuple[str, str], Change]:
    return {(each.key, each.dataset): each.change for each in look.keys}


def one(look: BranchLook, key: str, dataset: str = "clean") -> KeyLook:
    [found] = [each for each in look.keys if (each.key, each.dataset) == (key, dataset)]
    return found


def test_each_partition_of_the_branch_is_one_of_seven_kinds(flights: SourceCoordinator) -> None:
    flights.create_partitions(["new", "other"])
    publish(flights, "other", 10)
    hidden(flights, "clean", "2013-01-05/P1D")
    branch = begun(flights, [*KEYS, "new"])
    publish(flights, "a", 12, interval="2013-01-01/P1D")
    flights.complete(held(flights, "b"))
    flights._end(held(flights, "c"), CompleteRequest(empty=("clean",)), ())
    publish(flights, "e", 11, interval="2013-01-05/P1D")
    publish(flights, "new", 7)
    look = look_at(flights, branch)
    assert changes(look) == {
        ("a", "clean"): Change.CHANGED,
        ("b", "clean"): Change.MISSING,
        ("c", "clean"): Change.GONE,
        ("d", "clean"): Change.UNFINISHED,
        ("e", "clean"): Change.HIDDEN,
        ("new", "clean"): Change.NEW,
    }
    assert (look.rows_before, look.rows_after) == (40, 12 + 10 + 0 + 10 + 0 + 7)
    assert (look.bytes_before, look.bytes_after) == (400, 390)
    assert (look.unfinished, look.silent, look.datasets) == (("d",), ("b",), ("clean",))
    assert one(look, "d").status is PartitionStatus.UNASSIGNED
    assert one(look, "e").hidden is not None
    assert [each.key for each in look.missing] == ["b"]


def test_it_says_what_publication_then_shows(flights: SourceCoordinator) -> None:
    """What shows after it are the head records that the look has named; and then it says what a roll back would do."""
    branch = begun(flights, KEYS)
    for key in KEYS:
        publish(flights, key, 3, interval="2013-01-01/P1D")
    before = look_at(flights, branch)
    shown(flights, branch)
    after = look_at(flights, branch)
    assert after.keys == before.keys
    assert (after.rows_before, after.rows_after) == (50, 15)
    assert (before.branch.state, after.branch.state) == ("begun", "published")


def test_what_has_published_in_the_base_since_stays(flights: SourceCoordinator) -> None:
    branch = begun(flights, ["a", "b"])
    publish(flights, "a", 3)
    publish(flights, "b", 3)
    shown(flights, branch)
    reset(flights, "a", None)
    publish(flights, "a", 20)
    look = look_at(flights, branch)
    assert changes(look) == {("a", "clean"): Change.SINCE, ("b", "clean"): Change.CHANGED}
    assert (one(look, "a").rows_before, one(look, "a").rows_after, one(look, "a").status) == (20, 20, None)


def test_each_dataset_is_judged_alone(flights: SourceCoordinator) -> None:
    reset(flights, "a", None)
    publish(flights, "a", 10, 2)
    branch = begun(flights, ["a", "b"])
    publish(flights, "a", 9)
    publish(flights, "b", 9, 4)
    found = {
        ("a", "clean"): Change.CHANGED,
        ("a", "more"): Change.MISSING,
        ("b", "clean"): Change.CHANGED,
        ("b", "more"): Change.NEW,
    }
    assert changes(look_at(flights, branch)) == found
    assert changes(look_at(flights, branch, "more")) == {k: v for k, v in found.items() if k[1] == "more"}
    assert look_at(flights, branch, "more").silent == ()


def test_another_branch_that_shows_is_what_it_is_compared_with(flights: SourceCoordinator) -> None:
    first = begun(flights, ["a"])
    publish(flights, "a", 5)
    shown(flights, first)
    second = begun(flights, ["a"])
    publish(flights, "a", 6)
    look = look_at(flights, second)
    assert (one(look, "a").rows_before, one(look, "a").rows_after) == (5, 6)
    assert changes(look_at(flights, first)) == {("a", "clean"): Change.CHANGED}
    rolled_back(flights, first)
    assert one(look_at(flights, second), "a").rows_before == 10


def test_what_was_rolled_back_or_never_begun_is_refused(flights: SourceCoordinator) -> None:
    branch = begun(flights, ["a"])
    rolled_back(flights, branch)
    with pytest.raises(InvalidInputError, match="was rolled back"):
        look_at(flights, branch)
    with pytest.raises(InvalidInputError, match="is not there"):
        look_at(flights, 7)
    with pytest.raises(InvalidKeyError, match="dataset"):
        look_at(flights, branch, "")


def test_one_that_nothing_compares_says_how(flights: SourceCoordinator) -> None:
    branch = begun(flights, ["a"])
    with pytest.raises(SettingsError, match=r"spark\.branch_look\.look_at"):
        look_at(flights, branch).contents(None)


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_head_records_are_read_once_in_pages(
    flights: SourceCoordinator, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """Those of one partition may lie in two pages."""
    branch = begun(flights, KEYS)
    for key in KEYS:
        publish(flights, key, 3, 1)
    expected = look_at(flights, branch).keys
    monkeypatch.setattr(pages, "PAGE", page)
    store = FaultyStore(flights.store, only=("heads", "document", "branch_partitions"))
    assert look_at(SourceCoordinator(store, "flights", "me"), branch).keys == expected
    assert store.calls.count("document") == 2
    assert store.calls.count("heads") == 15 // page + 1
    assert store.calls.count("branch_partitions") == 2


def test_a_view_that_changes_meanwhile_is_read_again(flights: SourceCoordinator) -> None:
    """Never half of it as of one version, and half of it as of another."""
    branch = begun(flights, KEYS)
    for key in KEYS:
        publish(flights, key, 3, interval="2013-01-01/P1D")

    class Hides(FaultyStore):
        hides = True

        def forward(self, name, call):
            found = super().forward(name, call)
            if name == "heads" and self.hides:
                self.hides = False
                hidden(flights, "clean", "2013-01-01/P1D")
            return found

    store = Hides(flights.store, only=("heads", "document"))
    look = look_at(SourceCoordinator(store, "flights", "me"), branch)
    assert {each.change for each in look.keys} == {Change.HIDDEN}
    assert store.calls == ["document", "heads", "document", "heads", "document"]
