"""The supplier and its global state: promises S10, S11 and L4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from airflow_coordination.leases import (
    Checkpoint,
    InvalidInputError,
    PartitionIdentifier,
    PartitionNotOwnedError,
    ProgressStateError,
    SourceCoordinator,
)
from airflow_coordination.leases.supply import (
    FunctionOfState,
    SourceView,
    SupplierPages,
    check_state,
    check_supplier,
    encoded,
    identified,
    partitions_of,
    with_view,
    without_repeats,
)
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Created
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.names import GLOBAL_STATE_KEY, compose_source
from airflow_coordination.values.settings import CREATE_PAGE


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def coordinator(store: PartitionStore, clock: FakeClock, owner: str = "host/dag/run/task/0/1") -> SourceCoordinator:
    return SourceCoordinator(store, "flights", owner, clock=clock)


def paged(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
    """Twelve months in pages of four."""
    for month in range(state.get("last", 0) + 1, 13):
        yield PartitionIdentifier(f"2013-{month:02}", payload={"month": month})
        if month % 4 == 0:
            yield Checkpoint({"last": month})


def test_a_generator_creates_and_remembers(clock: FakeClock) -> None:
    c = coordinator(InMemoryStore(clock=clock), clock)
    first, second = c.run_supplier(paged), c.run_supplier(paged)
    assert (first.created.created, second.created.created) == (12, 0)
    assert second.created.existing == 0, "the state spares the listing"
    assert c.supplying.global_state() == {"last": 12}


def test_a_list_supplier_changes_the_dict_as_in_data_prepper(clock: FakeClock) -> None:
    c = coordinator(InMemoryStore(clock=clock), clock)

    def listing(state: dict[str, Any]) -> list[str]:
        state.setdefault("runs", []).append(1)
        return ["a", "b", "a"]

    run = c.run_supplier(listing)
    assert (run.created.created, run.created.existing) == (2, 1)
    c.run_supplier(listing)
    assert c.supplying.global_state() == {"runs": [1, 1]}


def test_the_state_is_saved_even_when_nothing_was_created(clock: FakeClock) -> None:
    c = coordinator(InMemoryStore(clock=clock), clock)

    def only_state(state: dict[str, Any]) -> None:
        state["seen"] = True

    assert c.run_supplier(only_state).created.created == 0
    assert c.supplying.global_state() == {"seen": True}


@pytest.mark.parametrize("checkpoint", [lambda state: state, dict], ids=["the dict itself", "a copy"])
def test_e16_a_state_set_back_to_its_initial_value_is_saved(
    checkpoint: Callable[[dict[str, Any]], dict[str, Any]], clock: FakeClock
) -> None:
    """E16: a supplier that starts over at the end of its listing does so, not on from its checkpoint."""
    c = coordinator(InMemoryStore(clock=clock), clock)
    c.run_supplier(lambda state: state.update(cursor=0))  # type: ignore[arg-type, return-value]

    def starting_over(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
        yield PartitionIdentifier(f"from-{state['cursor']}")
        state["cursor"] = 7
        yield Checkpoint(checkpoint(state))
        state["cursor"] = 0

    run = c.run_supplier(starting_over)
    assert run.state == c.supplying.global_state() == {"cursor": 0}
    assert c.run_supplier(starting_over).created.existing == 1


def test_e16_a_supplier_of_checkpoints_alone_keeps_its_last_one(clock: FakeClock) -> None:
    """E16: the dict that it never changed is not what it means."""
    c = coordinator(InMemoryStore(clock=clock), clock)
    c.run_supplier(lambda state: state.update(last=0))  # type: ignore[arg-type, return-value]
    c.run_supplier(lambda state: [Checkpoint({"last": 5}), Checkpoint({"last": 6})])
    assert c.supplying.global_state() == {"last": 6}


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=["before", "after"])
def test_s11_killed_at_every_single_store_call(fault: Fault, clock: FakeClock) -> None:
    undisturbed = FaultyStore(InMemoryStore(clock=clock))
    coordinator(undisturbed, clock).run_supplier(paged)
    calls = len(undisturbed.calls)
    expected = {partition.key for partition in coordinator(undisturbed, clock).partitions()}
    assert len(expected) == 12
    for call in range(1, calls + 1):
        store = FaultyStore(InMemoryStore(clock=clock), {call: fault})
        with pytest.raises(Crash):
            coordinator(store, clock).run_supplier(paged)
        clock.advance(timedelta(minutes=11))
        survivor = coordinator(store.store, clock, "other")  # the process that crashed stays dead
        assert survivor.run_supplier(paged).ran, f"not replaced after a crash at call {call}"
        assert {partition.key for partition in survivor.partitions()} == expected
        assert survivor.supplying.global_state() == {"last": 12}


def test_l4_a_supplier_that_dies_ten_times_is_still_replaced(clock: FakeClock) -> None:
    store = InMemoryStore(clock=clock)
    for attempt in range(10):

        def dying(state: dict[str, Any]) -> Iterator[Checkpoint]:
            yield Checkpoint({"n": state.get("n", 0) + 1})
            raise Crash("dies")

        c = coordinator(FaultyStore(store), clock, f"node-{attempt}")
        c.supplying._given_back = _not_given_back  # type: ignore[method-assign, assignment]
        with pytest.raises(Crash):
            c.run_supplier(dying)
        clock.advance(timedelta(minutes=11))
    assert coordinator(store, clock).supplying.global_state() == {"n": 10}


def test_e6_a_later_try_of_the_task_that_died_takes_the_suppliers_lease_over(clock: FakeClock) -> None:
    """E6: nobody else may; the dead try, should it wake up, saves nothing any more."""
    store = InMemoryStore(clock=clock)

    def one(run: str, number: int) -> SourceCoordinator:
        return coordinator(store, clock, f"host/dag/{run}/create/-1/{number}")

    first = one("r", 1)
    first.supplying._heartbeat = lambda *_: _not_given_back(None)  # type: ignore[assignment, misc, return-value]

    def frozen(state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        yield "a"
        another = one("other", 2).run_supplier(lambda state: ["never"])
        assert (another.ran, another.rival) == (False, "host/dag/r/create/-1/1")
        assert another.rival_until == clock.now() + timedelta(minutes=10)
        assert one("r", 2).run_supplier(lambda state: state.update(last=2) or ["b"]).created.created == 1  # type: ignore[func-returns-value]
        yield Checkpoint({"last": 1})

    with pytest.raises(PartitionNotOwnedError):
        first.run_supplier(frozen)
    assert first.supplying.global_state() == {"last": 2}
    assert one("other", 1).run_supplier(lambda state: []).ran


@pytest.mark.parametrize(
    ("supplier", "message"),
    [
        (
            lambda: ["a"],
            r"supplier='.*lambda.*': cannot be called with the global state: too many positional arguments",
        ),
        (3, "supplier=3: cannot be called. Give a function with one parameter"),
        (lambda state: None, r"supplier='.*lambda.*': returned nothing and left the global state as it was. Return or"),
    ],
    ids=["no parameter", "no function", "nothing"],
)
def test_a10_a_supplier_that_cannot_be_one_is_refused_with_a_sentence(
    clock: FakeClock, supplier: Any, message: str
) -> None:
    """A10: and it registers no source."""
    store = InMemoryStore(clock=clock)
    with pytest.raises(InvalidInputError, match=message):
        coordinator(store, clock).run_supplier(supplier)
    assert store.sources() == []
    assert coordinator(store, clock, "next").run_supplier(lambda state: []).ran


class _not_given_back:  # noqa: N801
    """A process that dies gives nothing back."""

    def __init__(self, lease: object) -> None:
        pass

    def __enter__(self) -> _not_given_back:
        return self

    def alive(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def test_s10_a_save_under_a_stale_supplier_fence_is_refused(clock: FakeClock) -> None:
    store = InMemoryStore(clock=clock)
    rival = coordinator(store, clock, "rival")

    def slow(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
        yield PartitionIdentifier("a")
        yield Checkpoint({"last": 1})
        clock.advance(timedelta(minutes=11))
        rival.run_supplier(lambda state: state.update(last=200))  # type: ignore[arg-type, return-value]
        yield Checkpoint({"last": 2})

    c = coordinator(store, clock, "slow")
    c.supplying._heartbeat = lambda *_: _not_given_back(None)  # type: ignore[assignment, misc, return-value]
    with pytest.raises(PartitionNotOwnedError):
        c.run_supplier(slow)
    assert rival.supplying.global_state() == {"last": 200}
    assert c.refusals == 1


def test_a_rival_that_runs_the_supplier_is_named(clock: FakeClock) -> None:
    store = InMemoryStore(clock=clock)
    inner: list[Any] = []

    def supplier(state: dict[str, Any]) -> list[str]:
        inner.append(coordinator(store, clock, "second").run_supplier(lambda state: ["never"]))
        return ["a"]

    assert coordinator(store, clock, "first").run_supplier(supplier).created.created == 1
    assert (inner[0].ran, inner[0].rival) == (False, "first")


def test_a_suppliers_exception_propagates_and_its_lease_is_given_back(clock: FakeClock) -> None:
    store = InMemoryStore(clock=clock)
    c = coordinator(store, clock)

    def failing(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
        yield PartitionIdentifier("a")
        yield Checkpoint({"last": 1})
        yield PartitionIdentifier("b")
        raise RuntimeError("listing failed")

    with pytest.raises(RuntimeError, match="listing failed"):
        c.run_supplier(failing)
    assert [partition.key for partition in c.partitions()] == ["a"]
    assert c.supplying.global_state() == {"last": 1}
    assert coordinator(store, clock, "other").run_supplier(paged).ran


@pytest.mark.parametrize(
    ("supplier", "error", "message"),
    [
        (lambda state: 7, InvalidInputError, "returned int"),
        (lambda state: "abc", InvalidInputError, "returned str"),
        (lambda state: [7], InvalidInputError, "gave int"),
        (lambda state: state.update(x=object()), ProgressStateError, "cannot be written as JSON"),
        (lambda state: [Checkpoint([1])], ProgressStateError, "not a JSON object"),  # type: ignore[arg-type]
        (lambda state: state.update({"big": "x" * 300_000}), ProgressStateError, "the limit is 262144"),
    ],
)
def test_bad_suppliers_get_a_clear_error(supplier: Any, error: type[Exception], message: str, clock: FakeClock) -> None:
    store = InMemoryStore(clock=clock)
    c = coordinator(store, clock)
    c.run_supplier(lambda state: state.update(good=1))  # type: ignore[arg-type, return-value]
    with pytest.raises(error, match=message):
        c.run_supplier(supplier)
    assert c.supplying.global_state() == {"good": 1}, "the last good state stays"
    held = store.get(compose_source("flights", None, "GLOBAL_STATE"), GLOBAL_STATE_KEY)
    assert held is not None
    assert held.owner is None, "the lease was given back"


def test_s10_creating_twice_is_harmless_and_a_million_keys_stay_in_pages(clock: FakeClock) -> None:
    store = FaultyStore(InMemoryStore(clock=clock), only=("create",))
    c = coordinator(store, clock)
    run = c.run_supplier(lambda state: (f"{n:07}" for n in range(25_000)))
    assert run.created.created == 25_000
    assert len(store.calls) == 1 + 5, "the global item, and pages of 5,000"
    again = c.run_supplier(lambda state: (f"{n:07}" for n in range(25_000)))
    assert (again.created.created, again.created.existing) == (0, 25_000)


def test_the_supplier_runs_once_when_nothing_can_be_acquired(clock: FakeClock) -> None:
    c = coordinator(InMemoryStore(clock=clock), clock)
    runs: list[int] = []

    def supplier(state: dict[str, Any]) -> list[str]:
        runs.append(1)
        return ["a"]

    assert c.get_next_partition(supplier=supplier) is not None
    assert c.get_next_partition(supplier=supplier) is None
    assert len(runs) == 2
    assert c.metrics.counts["flights_source_coordinator_noPartitionsAcquired"] == 1  # type: ignore[attr-defined]


class _Sees:
    def supply(self, state: dict[str, Any], view: SourceView) -> list[str]:
        return [each.key for each in view.partitions()]


class _Made:
    def __init__(self, state: object) -> None: ...


def _takes_two(state: object, more: object) -> None: ...


def _nothing(state: object) -> None: ...


_NAMELESS: FunctionOfState = partial(_takes_two, more=1)


def pages() -> SupplierPages:
    return SupplierPages(lambda page: Created(created=len(page)), lambda state: None)


_ONE_PARAMETER = "Give a function with one parameter, the global state: def supplier(state): …"
_IDENTIFIERS = "Return or yield partition identifiers"


@pytest.mark.parametrize(
    ("refused", "value", "message"),
    [
        (lambda: identified(7), 7, "supplier=7: gave int. Give keys, PartitionIdentifier or Checkpoint values"),
        (lambda: list(encoded("abc")), "abc", "partitions='abc': is str, not a list. Give a list of keys"),
        (lambda: check_state(["a"]), ["a"], "global_state=['a']: is list, not a JSON object. Give a dict"),
        (
            lambda: check_supplier(_Sees),
            "_Sees",
            "supplier='_Sees': is a class, not an object of it. Give _Sees(…)",
        ),
        (lambda: check_supplier(7), 7, f"supplier=7: cannot be called. {_ONE_PARAMETER}"),
        (
            lambda: check_supplier(_takes_two),
            "_takes_two",
            "supplier='_takes_two': cannot be called with the global state: missing a required argument: 'more'. "
            f"{_ONE_PARAMETER}",
        ),
        (lambda: pages().run(lambda state: "abc", {}, int), "abc", f"supplier='abc': returned str. {_IDENTIFIERS}"),
        (lambda: pages().run(len, {}, int), 0, f"supplier=0: returned int. {_IDENTIFIERS}"),
        (
            lambda: pages().run(_nothing, {}, int),
            "_nothing",
            "supplier='_nothing': returned nothing and left the global state as it was. "
            f"{_IDENTIFIERS}; an empty list says that there are none",
        ),
    ],
)
def test_a_refusal_of_a_supplier_word_for_word(refused: Callable[[], object], value: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        refused()
    assert error.value.value == value
    assert str(error.value) == message


def test_a_supplier_without_a_name_is_shown_itself() -> None:
    with pytest.raises(InvalidInputError) as error:
        pages().run(_NAMELESS, {}, int)
    assert error.value.value is _NAMELESS


def test_what_can_see_its_source_is_no_class_and_is_given_the_view(clock: FakeClock) -> None:
    check_supplier(_Sees())
    check_supplier(_Made)  # a class that is made from the state is a function like others
    c = coordinator(InMemoryStore(clock=clock), clock)
    c.create_partitions(["a"])
    assert with_view(_Sees(), c)({}) == ["a"]
    with pytest.raises(InvalidInputError, match=r"is a class, not an object of it\. Give _Sees\(…\)"):
        check_supplier(_Sees)


def test_a_state_that_is_no_json_is_refused_before_it_is_saved() -> None:
    with pytest.raises(ProgressStateError):
        check_state({"when": object()})


def test_what_ends_with_its_checkpoint_leaves_the_state_of_that_one(clock: FakeClock) -> None:
    """A checkpoint counts as the last one also when keys come after it."""

    def supplier(state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        yield Checkpoint({"last": 1})
        yield "a"

    assert pages().run(supplier, {}, lambda: None) == {"last": 1}


def test_a_page_is_created_as_soon_as_it_is_full() -> None:
    sizes = list[int]()

    def create(page: list[object]) -> Created:
        sizes.append(len(page))
        return Created(created=len(page))

    run = SupplierPages(create, lambda state: None)
    run.run(lambda state: (str(n) for n in range(CREATE_PAGE + 1)), {}, int)
    assert sizes == [CREATE_PAGE, 1]
    assert run.named == set(), "nobody wants to know the keys"


def test_repeats_that_differ_are_told_once_each() -> None:
    page = list(encoded([PartitionIdentifier("a", payload={"n": n}) for n in (1, 2, 3)] + ["b", "b"]))
    kept, told = without_repeats(page)
    assert [one.key for one in kept] == ["a", "b"]
    assert (told.existing, told.changed) == (3, ("a",))


def test_all_partitions_are_seen_in_pages_each_once(clock: FakeClock) -> None:
    c = coordinator(InMemoryStore(clock=clock), clock)
    c.create_partitions(["other", *(f"day {number}" for number in range(7))])
    asked = list[tuple[str | None, int]]()

    class Counted:
        def partitions(self, *, after: str | None = None, limit: int = 1000, prefix: str | None = None) -> object:
            asked.append((after, limit))
            return c.partitions(after=after, limit=limit, prefix=prefix)

    assert [each.key for each in partitions_of(Counted(), "day", 3)] == [f"day {number}" for number in range(7)]
    assert asked == [(None, 3), ("day 2", 3), ("day 5", 3), ("day 6", 3)]
