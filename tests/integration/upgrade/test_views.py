"""Promise S16 for views: older code works beside branches that nobody has begun, and refuses once they are enabled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol.beside.documents import VIEW, BranchCounts
from airflow_coordination.protocol.beside.parts import Branches, Enabling, parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.stores import open_store
from airflow_coordination.testing.forwarding import there
from airflow_coordination.values.blocks import Block, dump_blocks
from tests.integration.stores.earlier import NO_BRANCHES, NO_CHUNKS, NO_FAILURES, NO_INTERVALS, NOTHING_PARKED
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import Old, OldCodeRefused
from tests.upkeep import Dataset

pytestmark = pytest.mark.slow

SOURCE = "flights|PARTITION"
BRANCH = 7
EARLIER: dict[int, tuple[Sequence[str], str]] = {
    9: (NO_FAILURES, "0010"),
    10: (NOTHING_PARKED, "0011"),
    11: (NO_INTERVALS, "0012"),
    12: (NO_CHUNKS, "0013"),
    13: (NO_BRANCHES, "0014"),
}
"""What a store of each schema has not, and its newest migration."""


def branches(store: PartitionStore) -> Branches:
    return there(parts_of(store).branches)


def enabling(store: PartitionStore) -> Enabling:
    return there(parts_of(store).enabling)


def reset_into(store: PartitionStore, key: str, branch: int | None = BRANCH) -> None:
    """Reset a partition into a branch, as whoever has not asked whether branches are enabled."""
    seen = store.get(SOURCE, key)
    assert seen is not None
    said = {"source": SOURCE, "key": key, "op": f"{key}-{branch}", "by": "ana", "why": "test"}
    assert store.act(Act(action=Action.RESET, seen=seen, branch=branch, **said)).applied  # type: ignore[arg-type]


@pytest.fixture
def data(url: str, viewless: Starts, tmp_path: Path) -> Dataset:
    """A dataset in a store that code without views has set up, migrated."""
    viewless(url).does("setup")
    open_store(url).setup()
    return Dataset(open_store(url), tmp_path / "out")


@pytest.fixture
def old(data: Dataset, url: str, viewless: Starts) -> Old:
    """A worker of that code on the same store."""
    return viewless(url)


def test_s16_older_code_works_beside_documents_and_leaves_them_alone(data: Dataset, old: Old) -> None:
    one = data.ingest()
    one.documents.change(VIEW, lambda _: EMPTY.text, "ana", "a test")
    before = one.documents.history(VIEW)
    assert old.does("create", "a", "b") == 2
    old.does("publish", str(data.root), "a", ["1", "2"], "replace")
    old.does("reset", "a")
    old.does("publish", str(data.root), "a", ["3"], "append")
    old.does("publish", str(data.root), "b", ["4"], "replace")
    assert old.does("rows") == sorted(data.rows().elements()) == ["1", "2", "3", "4"]
    assert one.documents.history(VIEW) == before
    found = [data.store.get(SOURCE, key) for key in ("a", "b")]
    assert [each and each.branch for each in found] == [None, None]
    assert branches(data.store).branch_counts(SOURCE, BRANCH) == BranchCounts()


def test_s16_older_code_publishes_a_branch_into_the_base(data: Dataset, old: Old) -> None:
    """Which is why nobody begins a branch before it is kept out: it leaves the branch alone, and does not know it."""
    assert old.does("create", "k") == 1
    old.does("publish", str(data.root), "k", ["1"], "replace")
    reset_into(data.store, "k")
    old.does("publish", str(data.root), "k", ["2"], "replace")
    assert [head.dataset for head in data.store.heads(SOURCE)] == ["clean"]
    assert old.does("rows") == sorted(data.rows().elements()) == ["2"]
    assert branches(data.store).branch_counts(SOURCE, BRANCH) == BranchCounts(1, 1)
    old.does("reset", "k")
    assert branches(data.store).branch_counts(SOURCE, BRANCH) == BranchCounts(1)
    assert data.store.get(SOURCE, "k").branch == BRANCH  # type: ignore[union-attr]
    data.ingest().people.reset("k", by="ana", why="out of it")
    assert branches(data.store).branch_counts(SOURCE, BRANCH) == BranchCounts()


def test_s16_once_branches_are_enabled_older_code_refuses_at_its_start(
    data: Dataset, old: Old, url: str, viewless: Starts
) -> None:
    """What runs already looks no more: the command that enables them says so."""
    assert old.does("create", "k") == 1
    old.does("publish", str(data.root), "k", ["1"], "replace")
    said = enabling(data.store)
    assert not said.branches_enabled()
    assert viewless(url).does("rows") == ["1"]
    for _ in range(2):
        said.enable_branches()
        assert (said.branches_enabled(), said.outputs_enabled()) == (True, True)
    late = viewless(url)
    for call in (("rows",), ("create", "z"), ("setup",)):
        with pytest.raises(OldCodeRefused, match=r"SchemaVersionError.* is too new for this code.*Upgrade airflow-coo"):
            late.does(*call)
    assert old.does("rows") == sorted(data.rows().elements()) == ["1"]
    open_store(url).setup()
    assert said.branches_enabled()


def _fill(url: str, schema: int, number: int) -> None:
    """Give a store head records, and take away what its schema has not."""
    taken, revision = EARLIER[schema]
    engine = create_engine(make_url(url))
    named = "source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token"
    columns = f"{named}, kind, state, published_at"
    with engine.begin() as connection:
        rows = [
            {"key": f"k{place:07}", "blocks": dump_blocks((Block("clean", f"/out/{place}", f"d{place}", 3, 9),))}
            for place in range(number)
        ]
        values = f"('{SOURCE}', 'clean', :key, :blocks, 3, 9, 'g', 'o', 1, 'files', 'applied', 1)"
        connection.execute(text(f"INSERT INTO coordination_heads ({columns}) VALUES {values}"), rows)
        for statement in taken:
            connection.execute(text(statement))
        connection.execute(text(f"UPDATE coordination_schema_history SET version_num = '{revision}'"))
        connection.execute(text(f"UPDATE coordination_meta SET schema_version = {schema}"))
    engine.dispose()


@pytest.mark.parametrize("number", [300, pytest.param(100_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("schema", EARLIER)
@pytest.mark.parametrize("place", ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def test_s16_a_store_with_many_heads_is_migrated_from_each_schema(
    request: pytest.FixtureRequest, place: str, schema: int, number: int
) -> None:
    """Every head record is read as it was, and what is new can be used at once."""
    url = request.getfixturevalue(place)
    made = open_store(url)
    made.setup()
    made.close()
    _fill(url, schema, number)
    began = time.monotonic()
    store = open_store(url)
    store.setup()
    took = time.monotonic() - began
    found = [(head.key, head.blocks[0].digest, head.rows) for head in every_head(store, SOURCE, dataset="clean")]
    assert found == [(f"k{place:07}", f"d{place}", 3) for place in range(number)]
    one = SourceCoordinator(store, "flights", "one")
    one.documents.change(VIEW, lambda _: EMPTY.text, "ana", "a test")
    assert one.documents.view() == EMPTY
    one.create_partitions(["k0000000"])
    reset_into(store, "k0000000")
    assert branches(store).branch_counts(SOURCE, BRANCH) == BranchCounts(1)
    assert one.counts()[PartitionStatus.UNASSIGNED] == 1
    print(f"schema {schema}, {number:,} head records: migrated in {took:.1f} s")
    store.close()
