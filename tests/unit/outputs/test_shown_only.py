"""What is compared, counted and named of a dataset is what readers see of it, or will see beside a branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.outputs import OutputError, published_accounting
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.values.accounting import Accounting, SinkCounts
from tests.branches import begun, held, hidden, rolled_back, shown
from tests.unit.outputs.test_schemas import Publisher, schema_of

NUMBER, TEXT = schema_of(x="integer"), schema_of(x="string")


@pytest.fixture
def c() -> SourceCoordinator:
    store = open_store("memory://")
    enabling_of(store).enable_branches()
    return SourceCoordinator(store, "flights", "a test", max_failures=100)


@pytest.fixture
def publish(c: SourceCoordinator, tmp_path: Path) -> Publisher:
    publish = Publisher(c, tmp_path)
    for key in "abc":
        publish(key, NUMBER, interval="2013-01/P1M")
    return publish


def anew(publish: Publisher) -> Publisher:
    """Return another driver, which knows nothing yet."""
    return Publisher(publish.coordinator, publish.root)


def test_e12_a_branch_is_compared_with_what_shows_beside_it(c: SourceCoordinator, publish: Publisher) -> None:
    """E12: also by a driver that has published to the base before."""
    begun(c, ["a", "b"])
    with pytest.raises(OutputError, match="'x' is string in partition 'a' and integer in partition 'c'"):
        publish("a", TEXT)
    with pytest.raises(OutputError, match="'x' is string in partition 'b' and integer in partition 'c'"):
        anew(publish)("b", TEXT)


def test_e12_a_branch_may_change_the_type_of_all_it_has(c: SourceCoordinator, publish: Publisher) -> None:
    """E12: what it replaces does not show beside it; what it has itself does."""
    begun(c, ["a", "b", "c"])
    publish("a", TEXT)
    anew(publish)("b", TEXT)
    with pytest.raises(OutputError, match="'x' is integer in partition 'c' and string in partition 'a'"):
        anew(publish)("c", NUMBER)


def test_e12_beside_a_branch_the_base_is_compared_with_what_shows(c: SourceCoordinator, publish: Publisher) -> None:
    """E12: what has begun anew in a branch shows until that does."""
    number = begun(c, ["a", "b", "c"])
    for key in "abc":
        publish(key, TEXT)
    with pytest.raises(OutputError, match="'x' is string in partition 'd' and integer in partition 'a'"):
        anew(publish)("d", TEXT)
    anew(publish)("e", NUMBER)
    c.people.retract("e", by="ana", why="it was only tried")
    shown(c, number)
    with pytest.raises(OutputError, match="'x' is integer in partition 'f' and string in partition 'a'"):
        anew(publish)("f", NUMBER)
    anew(publish)("g", TEXT)
    c.people.retract("g", by="ana", why="it was only tried")
    rolled_back(c, number)
    anew(publish)("h", NUMBER)


def test_e12_what_is_hidden_is_no_matter(c: SourceCoordinator, publish: Publisher) -> None:
    """E12: rows of a wrong type are hidden to publish right ones."""
    with pytest.raises(OutputError, match="'x' is string"):
        publish("d", TEXT)
    hidden(c, "clean", "2013-01/P1M")
    anew(publish)("e", TEXT)


def test_e12_what_was_merged_is_found_for_a_branch_too(c: SourceCoordinator, publish: Publisher, monkeypatch) -> None:
    """E12: overlays are those of the dataset as users name it."""
    asked = []
    monkeypatch.setattr(
        "airflow_coordination.outputs.schema_compatibility.overlays_of",
        lambda store, source, dataset: asked.append(dataset),
    )
    begun(c, ["a", "b"])
    publish("a", NUMBER)
    [head] = c.store.heads("flights|PARTITION", "~1~clean", "a")
    Path(head.blocks[0].address.removeprefix("file://")).unlink()
    with pytest.raises(AttributeError):  # what was asked has answered nothing
        anew(publish)("b", NUMBER)
    assert asked == ["clean"]


def counted(read: int) -> Accounting:
    return Accounting(read=read, delivered_everywhere=read, sinks={"s": SinkCounts(owed=read, delivered=read)})


def test_s26_the_counts_are_those_of_what_shows(c: SourceCoordinator) -> None:
    """S26: of a branch from the instant on at which its rows are read."""
    c.create_partitions(["a", "b"])
    for key in "ab":
        c.complete(held(c, key), [Block("clean", f"/{key}", key)], counted(10), interval="2013-01/P1M")
    number = begun(c, ["a"])
    c.complete(held(c, "a"), [Block("clean", "/a2", "a2")], counted(7), interval="2013-02/P1M")

    def read() -> int:
        return published_accounting(c.store, "flights", "clean").read

    assert read() == 20
    shown(c, number)
    assert read() == 17
    hidden(c, "clean", "2013-01/P1M")
    assert read() == 7
    rolled_back(c, number)
    assert read() == 0


def test_a10_what_does_not_show_is_said_to_be_there(c: SourceCoordinator) -> None:
    """A10: and by the name that users give, never by the one it is stored under."""
    c.create_partitions(["a", "b"])
    begun(c, ["a"])
    c.complete(held(c, "a"), [Block("clean", "/a", "a")])
    asked = {"store": c.store, "source": "flights"}
    with pytest.raises(OutputError, match="has output of it that does not show: it is hidden, or of a branch that is"):
        read_completed(None, **asked, dataset="clean")
    with pytest.raises(OutputError, match=r"has no published output of it \(published datasets: none\)"):
        read_completed(None, **asked, dataset="claen")
    c.complete(held(c, "b"), [Block("more", "/b", "b")], interval="2013-01/P1M")
    with pytest.raises(OutputError, match=r"\(published datasets: 'more'\). Did you mean the dataset 'more'\?"):
        read_completed(None, **asked, dataset="mroe")
    hidden(c, "more", "2013-01/P1M")
    with pytest.raises(OutputError, match="has output of it that does not show"):
        read_completed(None, **asked, dataset="more")
