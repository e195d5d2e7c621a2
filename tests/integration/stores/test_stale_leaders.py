"""A leader that is stopped before any call of its run, and goes on when others have long led, changes nothing (S25)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.copies import group as duties_of_copies
from airflow_coordination.duties.copies.group import BalanceSegments, UnloadUnused
from airflow_coordination.duties.groups.compacting import CompactSegments
from airflow_coordination.duties.groups.deleting import KillStalePending, KillUnused
from airflow_coordination.duties.groups.hiding import RunRules
from airflow_coordination.duties.groups.round import GroupDuty
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.duties.retention.hiding import hide, restore
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.planning.copies.deciding import balance
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import SystemClock
from tests.backfills import Month
from tests.copying import Copying, Duties
from tests.faults.sleeping import Sleeping
from tests.simulation.dynamodb.engine import Engine as SimulatedEngine
from tests.unit.duties.compaction.made import work as merge
from tests.upkeep import DATASET

pytestmark = pytest.mark.slow
T = TypeVar("T")
WHO = ("ana", "why")
AT_ONCE = Margins(duration_to_retain=Period(), buffer=Period(), i_know=True)
DROP_FIRST = '[{"type": "dropByInterval", "interval": "2013-01-01/P1D"}, {"type": "loadForever"}]'
KEEP_ALL = '[{"type": "loadForever"}]'
SKIP_NOTHING = '{"granularitySpec": {"segmentGranularity": "MONTH"}, "skipOffsetFromLatest": "P0D"}'
DISABLED = SKIP_NOTHING.replace("{", '{"enabled": false, ', 1)
FIRST = "2013-01-01/P1D"
OLD = {f"2013-01-0{day} old" for day in (1, 2, 3)}
Step = Callable[[Month], object]


class Coordination:
    """A month under duties.

    :param month: on a store of its own.
    :param duty: what its group has.
    """

    def __init__(self, month: Month, duty: GroupDuty) -> None:
        self.month = month
        self._group = Group(name="G", period=Period(0).rest, duties=[duty], arguments={"killStalePending": NO_MARGIN})

    def lead(self, store: PartitionStore, owner: str) -> None:
        """Run the group once."""
        GroupRunner(
            store,
            owner,
            start_delay=Period(0).rest,
            margins=AT_ONCE,
            output_root=str(self.month.root),
        ).run(self._group)

    def lead_late(self, at: int, meanwhile: Callable[[], object]) -> list[str]:
        """Run it as one that is stopped before a call, until others have led; return its calls."""

        def others() -> None:
            found = GroupRunner(self.month.store, "a person").duties
            seen = found.partition("group|G")
            if seen is not None and seen.owner == "late":
                found.people.release("group|G", "ana", "it sleeps")
            meanwhile()
            self.lead(self.month.store, "new")

        sleeping = Sleeping(self.month.store, at, others)
        with suppress(PartitionNotOwnedError):  # unless it slept before it led, or when it had ended
            self.lead(sleeping, "late")
        return sleeping.calls


NO_MARGIN = {"olderThan": "PT0S"}


def _on_sqlite(request: pytest.FixtureRequest, place: Path) -> PartitionStore:
    store = open_store(f"sqlite:///{place}/store.db")
    store.setup()
    return store


def _on_postgresql(request: pytest.FixtureRequest, place: Path) -> PartitionStore:
    return open_store(request.getfixturevalue("empty_again")())


def _on_dynamodb(request: pytest.FixtureRequest, place: Path) -> PartitionStore:
    """Return a store on the engine in this process, which is compared with DynamoDB Local by requests."""
    engine = SimulatedEngine(SystemClock().now)
    store = DynamoDBStore(DynamoDBOptions(table_name="any", billing_mode="on_demand"), client=lambda _: engine)
    store.setup()
    return store


STORES = {"sqlite": _on_sqlite, "postgresql": _on_postgresql, "dynamodb": _on_dynamodb}


@pytest.fixture(
    params=[
        "dynamodb",
        pytest.param("sqlite", marks=pytest.mark.long),
        pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long]),
    ]
)
def new_month(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Month]]:
    """Makes months, each on a source and an output root of its own, on one store: no run sees those before it."""
    made: list[PartitionStore] = []

    def make() -> Month:
        place = tmp_path / str(len(made))
        place.mkdir()
        store = STORES[request.param](request, place)
        made.append(store)
        month = Month(store, place)
        month.c.supplying.register_dag("ingest")
        month.filled(1, 2, 3)
        set_config(month.c, {"millisToWaitBeforeDeleting": 0}, *WHO)
        return month

    yield make
    for store in made:
        store.close()


def every_stop(new_month: Callable[[], Month], duty: GroupDuty, before: Step, meanwhile: Step, check: Step) -> int:
    """Stop a leader before each of its calls in turn, and check what is there when it has gone on and ended."""
    at = 0
    while True:
        at += 1
        month = new_month()
        before(month)
        calls = Coordination(month, duty).lead_late(at, lambda month=month: meanwhile(month))
        if len(calls) < at:
            return at - 1
        check(month)


def test_s25_rules_that_were_changed_while_it_slept_are_applied_and_not_those_it_has_read(new_month) -> None:
    stops = every_stop(
        new_month,
        RunRules(),
        lambda month: set_rules(month.c, DATASET, DROP_FIRST, *WHO),
        lambda month: set_rules(month.c, DATASET, KEEP_ALL, *WHO),
        lambda month: _equal(set(month.read()), OLD),
    )
    assert stops > 8


def test_s25_what_was_restored_while_it_slept_is_not_purged(new_month) -> None:
    restored: list[bool] = []

    def try_to_restore(month: Month) -> None:
        try:
            restore(month.c, DATASET, FIRST, *WHO)
            restored.append(True)
        except InvalidInputError:  # it was marked before: nobody can restore it
            restored.append(False)

    def check(month: Month) -> None:
        _equal(set(month.read()), OLD if restored[-1] else OLD - {"2013-01-01 old"})

    def hidden(month: Month) -> None:
        restored.append(False)
        hide(month.c, DATASET, FIRST, *WHO)

    stops = every_stop(new_month, KillUnused(), hidden, try_to_restore, check)
    assert stops > 8
    assert {True, False} <= set(restored)


@pytest.mark.parametrize(
    "said", [{"killDataSourceWhitelist": ["another"]}, {"pauseCoordination": True}], ids=["whitelist", "pause"]
)
def test_s25_what_nobody_may_delete_any_more_stays(new_month, said) -> None:
    """But for the write that it was about to send when it was stopped: a mark, or a retract, after its last look."""
    left: list[tuple[int, int]] = []
    marked: list[int] = []
    emptied: list[int] = []

    def forbid(month: Month) -> None:
        set_config(month.c, said, *WHO)
        left.append((_marked(month), _full(month)))

    def check(month: Month) -> None:
        marked.append(_marked(month) - left[-1][0])
        emptied.append(left[-1][1] - _full(month))

    stops = every_stop(new_month, KillUnused(), lambda month: hide(month.c, DATASET, FIRST, *WHO), forbid, check)
    assert stops > 8
    assert (marked.count(1), emptied.count(1)) == (1, 1), (marked, emptied)
    assert {2, 3} == {full for _, full in left}, "it was forbidden before, and after"


def test_s25_who_pauses_stops_a_purge_that_runs(new_month) -> None:
    month = new_month()
    hide(month.c, DATASET, "2013-01-01/P1M", *WHO)
    retracts = 0

    class Pausing(ForwardingStore):
        def forward(self, name: str, call: Callable[[], T]) -> T:
            nonlocal retracts
            found = call()
            retracts += name == "act"
            if name == "act" and retracts == 1:
                set_config(month.c, {"pauseCoordination": True}, *WHO)
            return found

    Coordination(month, KillUnused()).lead(Pausing(month.store), "one")
    assert (retracts, _full(month)) == (1, 2)


def test_s25_what_was_published_while_it_slept_is_not_collected(new_month) -> None:
    def publish_again(month: Month) -> None:
        month.c.people.reset("2013-01-01", *WHO)
        month.work("2013-01-01", ["2013-01-01 new"], interval=FIRST)

    def check(month: Month) -> None:
        assert {line.removesuffix(" new").removesuffix(" old") for line in month.read()} == {
            line.removesuffix(" old") for line in OLD
        }

    assert every_stop(new_month, KillStalePending(), publish_again, publish_again, check) > 8


def test_s25_groups_that_were_merged_while_it_slept_are_not_merged_twice(new_month) -> None:
    def check(month: Month) -> None:
        merge(month)
        _equal(set(month.read()), OLD)
        for group in month.groups().looking.each():
            assert len(month.groups().history(group.key)) == 1, "it was merged once"

    def plan_and_merge(month: Month) -> None:
        Coordination(month, CompactSegments()).lead(month.store, "another")
        merge(month)

    assert (
        every_stop(
            new_month,
            CompactSegments(),
            lambda month: set_compaction(month.c, DATASET, SKIP_NOTHING, *WHO),
            plan_and_merge,
            check,
        )
        > 8
    )


@pytest.mark.parametrize("said", ["disabled", "pause"])
def test_s25_what_nobody_wants_merged_any_more_is_not_made_claimable(new_month, said) -> None:
    """But for what it was about to write, and what it reads between the configuration and that."""
    there: list[int] = []
    begun: list[int] = []

    def forbid(month: Month) -> None:
        if said == "disabled":
            set_compaction(month.c, DATASET, DISABLED, *WHO)
        else:
            set_config(month.c, {"pauseCoordination": True}, *WHO)
        there.append(len(month.groups().partitions()))

    stops = every_stop(
        new_month,
        CompactSegments(),
        lambda month: set_compaction(month.c, DATASET, SKIP_NOTHING, *WHO),
        forbid,
        lambda month: begun.append(len(month.groups().partitions()) - there[-1]),
    )
    assert stops > 8
    assert set(there) == {0, 1}, "it was forbidden before, and after"
    _check_last_calls(begun)


def test_s25_copies_that_rules_want_again_are_not_dropped(new_month) -> None:
    """But for the one that it was about to drop when it was stopped."""
    there: list[int] = []
    dropped: list[int] = []

    def too_many(month: Month) -> None:
        copies = _copied(month)
        copies.want(hot=2)
        Duties(copies).settle()
        copies.want(hot=1)
        Coordination(month, UnloadUnused()).lead(month.store, "one")
        GroupRunner(month.store, "a person").run_now("G", *WHO)

    def want_again(month: Month) -> None:
        copies = Copying(month.store, month.root)
        copies.want(hot=2)
        there.append(len(copies.copied()))

    def check(month: Month) -> None:
        copies = Copying(month.store, month.root)
        dropped.append(there[-1] - len(copies.copied()))
        assert copies.rows_in("hot") == copies.rows()

    assert every_stop(new_month, UnloadUnused(), too_many, want_again, check) > 8
    assert set(dropped) == {0, 1}, dropped
    assert {6, 5, 4, 3} == set(there), "it was wanted again before, in the middle, and after"


@pytest.mark.parametrize("duty", [RunRules(), BalanceSegments()], ids=["load", "balance"])
def test_s25_copies_are_not_asked_for_where_nobody_wants_them_any_more(new_month, duty) -> None:
    """But for what it was about to write, and what it reads between the configuration and that."""
    there: list[int] = []
    begun: list[int] = []

    def uneven(month: Month) -> None:
        copies = _copied(month, "hot-1")
        copies.want(hot=1)
        if isinstance(duty, BalanceSegments):
            Duties(copies).settle()
        _place(copies, "hot-1", "hot-2")

    def drain_both(month: Month) -> None:
        set_config(month.c, {"decommissioningNodes": ["hot-1", "hot-2"]}, *WHO)
        there.append(_asked(month))

    stops = every_stop(new_month, duty, uneven, drain_both, lambda month: begun.append(_asked(month) - there[-1]))
    assert stops > 8
    assert {0, max(there)} == set(there), "it was drained before, and after"
    _check_last_calls(begun)
    assert max(there) > 0, "it was drained before, and after"


def test_s25_what_was_balanced_while_it_slept_is_not_moved_once_more(new_month, monkeypatch) -> None:
    """Chance takes another copy to move than the others took: of the same one nothing would be left to be moved."""
    moved: list[int] = []
    seed = 1
    monkeypatch.setattr(duties_of_copies, "balance", lambda look, _, **limits: balance(look, seed, **limits))

    def uneven(month: Month) -> None:
        copies = _copied(month, "hot-1")
        copies.want(hot=1)
        Duties(copies).settle()
        _place(copies, "hot-1", "hot-2")

    def balance_and_copy(month: Month) -> None:
        nonlocal seed
        seed = 4
        Duties(Copying(month.store, month.root)).settle()
        seed = 1

    def check(month: Month) -> None:
        moved.append(_asked(month))
        copies = Copying(month.store, month.root)
        assert copies.rows_in("hot") == copies.rows()

    assert every_stop(new_month, BalanceSegments(), uneven, balance_and_copy, check) > 8
    _check_last_calls(moved)


def _check_last_calls(begun: Sequence[int]) -> None:
    """Check that something was begun only by who was stopped between its last look and the creation of partitions."""
    late = [number for number, each in enumerate(begun) if each]
    assert 0 < len(late) <= 4, begun  # at most one look more, and the creation, which takes three calls
    assert late == list(range(late[0], late[-1] + 1)), begun


def _copied(month: Month, *locations: str) -> Copying:
    copies = Copying(month.store, month.root)
    _place(copies, *(locations or ("hot-1", "hot-2")))
    return copies


def _place(copies: Copying, *locations: str) -> None:
    beside = Path(f"{copies.root}-locations")
    copies.place(*(beside / name for name in locations))


def _asked(month: Month) -> int:
    """Return how many copies wait for a worker."""
    copies = Copying(month.store, month.root).copies()
    return len(copies.partitions(PartitionStatus.UNASSIGNED))


def _full(month: Month) -> int:
    return sum(bool(head.blocks) for head in month.head_records())


def _marked(month: Month) -> int:
    return sum(each.purging for each in month.c.documents.view().hidden)


def _equal(one: Any, other: Any) -> None:
    assert one == other
