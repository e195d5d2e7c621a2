"""The operations that take more than one call, with what goes before them and what the task's next try does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_coordination.leases import Checkpoint, Partition, PartitionIdentifier, SourceCoordinator
from airflow_coordination.testing.crash import Fault
from airflow_coordination.values.errors import PartitionNotOwnedError
from tests.integration.crash_points.setup import LEASE, MINUTE, Setup, acquired

Operate = Callable[[SourceCoordinator], object]
"""Carries the operation out in the process that dies."""
MONTHS = 4


def nothing(setup: Setup, one: SourceCoordinator) -> None:
    """Leave it to the next try's ordinary work."""


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    :param name: for people.
    :param prepare: does what goes before without any fault; returns the operation.
    :param recover: what a new process does first, before it works on as usual.
    :param passes: see :class:`Setup`, here and below.
    :param settings: of the coordinator.
    :param faults: met in every run, besides the crash.
    :param counts: what else must be the same, of each partition.
    :param takes_back: the partition of whose output nothing is left.
    :param finishes: the partition that a person completes without output.
    """

    name: str
    prepare: Callable[[Setup], Operate]
    recover: Callable[[Setup, SourceCoordinator], object] = nothing
    passes: int | None = None
    steps: int = 2
    settings: dict[str, Any] = field(default_factory=dict)
    faults: dict[int, Fault] = field(default_factory=dict)
    counts: Callable[[Setup, SourceCoordinator], object] = lambda setup, one: None
    takes_back: str = ""
    finishes: str = ""


def months(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
    """Supply four months: three before the checkpoint, in two pages, and one after it."""
    for month in range(state.get("last", 0) + 1, MONTHS + 1):
        yield PartitionIdentifier(f"2013-{month:02}", payload={"month": month})
        if month % 3 == 0:
            yield Checkpoint({"last": month})
    state["last"] = MONTHS


def supply_again(setup: Setup, one: SourceCoordinator) -> None:
    """Run the supplier at the next chance: at once where the lease was given back, else when it is over."""
    if not one.run_supplier(months).ran:
        setup.clock.advance(LEASE)
        assert one.run_supplier(months).ran, "a dead supplier was not replaced when its lease was over"


def create_five(setup: Setup, one: SourceCoordinator) -> object:
    return one.create_partitions(f"k{n}" for n in range(5))


SUPPLYING = (
    Operation("run the supplier", lambda setup: lambda one: one.run_supplier(months), supply_again, steps=0),
    Operation(
        "get the next with a supplier",
        lambda setup: lambda one: one.get_next_partition(supplier=months),
        supply_again,
        steps=0,
    ),
    Operation("create several pages", lambda setup: lambda one: create_five(setup, one), create_five, steps=0),
)


def started(setup: Setup, *keys: str) -> SourceCoordinator:
    """Return the first try, on a source with these partitions."""
    one = setup.process()
    one.create_partitions(keys)
    return one


def ending(setup: Setup) -> Operate:
    """End a tenure that has saved a block, of a partition that has published before where it closes."""
    one = started(setup, "a", "b")
    lease = acquired(one.acquire_partition("a"))
    if setup.passes is not None:
        setup.work(one, lease)
        setup.clock.advance(MINUTE)
        lease = acquired(one.acquire_partition("a"))
    lease = setup.step(one, setup.step(one, lease), 1)
    return lambda dying: setup.end(dying, lease)


def fused(setup: Setup) -> Operate:
    one = started(setup, "a", "b")
    lease = setup.step(one, setup.step(one, acquired(one.acquire_partition("a"))), 1)
    return lambda dying: dying.complete_and_get_next(lease, [setup.block(lease, "end")])


def saving(setup: Setup) -> Operate:
    one = started(setup, "a", "b")
    lease = setup.step(one, acquired(one.acquire_partition("a")))
    return lambda dying: setup.step(dying, lease, 1)


def following(setup: Setup) -> Operate:
    """Complete with a note of what follows, do that, and take the note away."""
    one = started(setup, "a", "b")
    lease = setup.step(one, setup.step(one, acquired(one.acquire_partition("a"))), 1)
    setup.then, setup.notes["done"] = '"delete"', []

    def complete(dying: SourceCoordinator) -> None:
        setup.end(dying, lease)
        follow_up(setup, dying)

    return complete


def follow_up(setup: Setup, one: SourceCoordinator) -> None:
    """Do what all notes say: only what has ended well may be there, and it may be done twice."""
    for note in one.follow_ups.follow_ups():
        seen = setup.process().partition(note.key)
        assert seen is not None
        assert seen.status == "COMPLETED", "something follows what was not completed"
        setup.notes["done"].append((note.key, note.text))
        one.follow_ups.clear_follow_up(note)


def what_followed(setup: Setup, one: SourceCoordinator) -> object:
    """Do what is left, as the source's next supplier task does it; return all that was ever done, and what is left."""
    follow_up(setup, one)
    return sorted(set(setup.notes["done"])), list(one.follow_ups.follow_ups())


ENDING = (
    Operation("complete with blocks", ending),
    Operation("close with blocks", ending, passes=3),
    Operation("close for the last time", ending, passes=2),
    Operation("complete and get the next", fused),
    Operation("save large progress", saving),
)


FOLLOWING = (Operation("complete, and what follows it", following, counts=what_followed),)


FAMILY = ("a", "b", PartitionIdentifier("c", parents=["a", "b"]), PartitionIdentifier("d", parents=["c"]))


def create_family(setup: Setup, one: SourceCoordinator) -> object:
    return one.create_partitions(FAMILY)


def finishing_parent(setup: Setup) -> Operate:
    """Complete what others wait for."""
    one = setup.process()
    create_family(setup, one)
    setup.work(one, acquired(one.acquire_partition("b")))
    lease = setup.step(one, setup.step(one, acquired(one.acquire_partition("a"))), 1)
    return lambda dying: setup.end(dying, lease)


def finishing_parent_and_next(setup: Setup) -> Operate:
    one = setup.process()
    create_family(setup, one)
    lease = setup.step(one, setup.step(one, acquired(one.acquire_partition("a"))), 1)
    return lambda dying: dying.complete_and_get_next(lease, [setup.block(lease, "end")])


def finishing_by_hand(setup: Setup) -> Operate:
    create_family(setup, setup.process())
    return lambda dying: dying.people.finish("a", by="ana", why="a test")


def finish_again(setup: Setup, one: SourceCoordinator) -> None:
    seen = one.partition("a")
    if seen is not None and seen.status != "COMPLETED":
        one.people.finish("a", by="ana", why="a test")


def clean_up(setup: Setup, one: SourceCoordinator) -> object:
    return one.cleaning.clean_up(gone=["a", "b"])


def cleaning_up(setup: Setup) -> Operate:
    """Remove two finished parents, whose child has not begun."""
    one = setup.process()
    create_family(setup, one)
    for key in ("a", "b"):
        setup.work(one, acquired(one.acquire_partition(key)))
    return lambda dying: clean_up(setup, dying)


def families(setup: Setup, one: SourceCoordinator) -> object:
    """Return what waits for what, and how often each was held: a child once, after its parents."""
    found = {each.key: each for each in one.partitions()}
    order = sorted(
        (each for each in found.values() if each.endings), key=lambda each: each.endings[0].at or setup.clock.now()
    )
    return [(key, each.parents, each.waits_for) for key, each in found.items()], order[-1:] and order[-1].key


FAMILIES = (
    Operation("create a family", lambda setup: lambda one: create_family(setup, one), create_family),
    Operation("complete what others wait for", finishing_parent, counts=families),
    Operation("complete what others wait for and get the next", finishing_parent_and_next, counts=families),
    Operation("finish what others wait for", finishing_by_hand, finish_again, counts=families, finishes="a"),
    Operation("clean finished parents up", cleaning_up, clean_up, counts=families),
)


def half_done(setup: Setup) -> Any:
    """Return the lease of a first try that has saved one step and dies."""
    one = started(setup, "a", "b")
    return setup.step(one, acquired(one.acquire_partition("a")))


def retaking(setup: Setup) -> Operate:
    half_done(setup)
    return lambda dying: acquired(setup.process(2, dying.store).tries.retake("a"))


def adopting(setup: Setup) -> Operate:
    fence = half_done(setup).fence
    return lambda dying: acquired(setup.process(2, dying.store).tries.adopt("a", fence))


def beginning(setup: Setup) -> Operate:
    fence = acquired(started(setup, "a", "b").acquire_partition("a")).fence
    return lambda dying: dying.begin("a", fence)


def beginning_second(setup: Setup) -> Operate:
    """A second driver process of the same try finds the first one out, and retakes from it."""
    fence = acquired(started(setup, "a", "b").acquire_partition("a")).fence
    first = setup.process()
    setup.step(first, first.begin("a", fence))
    return lambda dying: dying.begin("a", fence)


def ended_for(setup: Setup, one: SourceCoordinator, *, fails: bool) -> object:
    """End a tenure for its dead driver; the next try finds the same fence in its notes, and does it again."""
    fence = setup.notes["fence"]
    return one.tries.fail_for_dead_owner("a", fence, "boom") if fails else one.tries.give_up_for_dead_owner("a", fence)


def ending_for_driver(fails: bool) -> Callable[[Setup], Operate]:
    def prepare(setup: Setup) -> Operate:
        setup.notes["fence"] = half_done(setup).fence
        return lambda dying: ended_for(setup, dying, fails=fails)

    return prepare


def fail_again(setup: Setup, one: SourceCoordinator) -> None:
    ended_for(setup, one, fails=True)


def give_up_again(setup: Setup, one: SourceCoordinator) -> None:
    ended_for(setup, one, fails=False)


TAKING_OVER = (
    Operation("retake", retaking),
    Operation("adopt", adopting),
    Operation("begin", beginning),
    Operation("begin as the second driver", beginning_second),
    Operation("fail for a dead driver", ending_for_driver(True), fail_again),
    Operation("park for a dead driver", ending_for_driver(True), fail_again, settings={"max_failures": 1}),
    Operation("give up for a dead driver", ending_for_driver(False), give_up_again),
)


def lost_leases(setup: Setup, one: SourceCoordinator) -> dict[str, int]:
    return {partition.key: partition.lost_leases for partition in one.partitions()}


def wanted(setup: Setup) -> Partition:
    """Return what another task has begun, as others see it."""
    started(setup, "a", "b")
    holder = setup.process(task="holder")
    setup.notes["lease"] = setup.step(holder, acquired(holder.acquire_partition("a")))
    return present(setup)


def present(setup: Setup) -> Partition:
    """Return the partition as it is."""
    found = setup.process().partition("a")
    assert found is not None
    return found


def asking(setup: Setup) -> Operate:
    seen = wanted(setup)
    return lambda dying: dying.workers.ask(seen, MINUTE)


def ask_again(setup: Setup, one: SourceCoordinator) -> None:
    """Ask when the time of the one that has died is over at the latest; then take what its owner does not hand over."""
    seen = present(setup)
    if not one.workers.ask(seen, MINUTE):
        setup.clock.advance(MINUTE)
        assert one.workers.ask(seen, MINUTE), "who has asked and died is waited for too long"
    setup.clock.advance(MINUTE)
    setup.work(one, acquired(one.workers.steal(seen)))


def stealing(setup: Setup) -> Operate:
    seen = wanted(setup)
    assert setup.process().workers.ask(seen, MINUTE)
    setup.clock.advance(MINUTE)
    return lambda dying: acquired(dying.workers.steal(seen))


def go_on(setup: Setup, one: SourceCoordinator) -> None:
    """Let the owner do what it would have done, if it still is the one."""
    lease, holder = setup.notes["lease"], setup.process(task="holder")
    if present(setup).held_under(lease.fence):
        setup.work(holder, holder.renew(lease))
    else:
        with pytest.raises(PartitionNotOwnedError):
            setup.work(holder, lease)


def handing_over(setup: Setup) -> Operate:
    """Hand over to another task, which has asked."""
    lease = half_done(setup)
    setup.notes["seen"] = seen = present(setup)
    assert setup.process(task="asker").workers.ask(seen, MINUTE)
    return lambda dying: dying.workers.hand_over(lease)


def take_over(setup: Setup, one: SourceCoordinator) -> None:
    """Take what was asked for: it is free, or its owner has died and its time is over."""
    setup.clock.advance(MINUTE)
    asker = setup.process(task="asker")
    setup.work(asker, acquired(asker.workers.steal(setup.notes["seen"]) or asker.acquire_partition("a")))


WANTING = (
    Operation("ask for a lease", asking, ask_again, counts=lost_leases),
    Operation("hand a lease over", handing_over, take_over, counts=lost_leases),
    Operation("steal a lease", stealing, go_on, counts=lost_leases),
)


def sweeping(setup: Setup) -> Operate:
    """Two leases have ended, one for the last time; one partition is to be reopened, one has waited long enough."""
    one = started(setup, "closed", "delayed", "lost", "poison")
    setup.work(one, acquired(one.acquire_partition("closed")))
    one.give_up(acquired(one.acquire_partition("delayed")), MINUTE)
    for _ in range(2):
        setup.step(one, acquired(one.acquire_partition("poison")))
        setup.clock.advance(LEASE)
        one.sweep()
    for key in ("lost", "poison"):
        setup.step(one, acquired(one.acquire_partition(key)))
    setup.clock.advance(LEASE)
    return lambda dying: dying.sweep()


def sweep_again(setup: Setup, one: SourceCoordinator) -> None:
    one.sweep()


SWEEPING = (Operation("sweep", sweeping, sweep_again, passes=2, settings={"max_lost_leases": 3}, counts=lost_leases),)


def audited(setup: Setup, one: SourceCoordinator) -> list[str]:
    return [entry["action"] for entry in one.store.audit(f"{setup.source}|PARTITION", "a")]


def action(
    name: str,
    before: Callable[[Setup], object],
    fits: Callable[[Partition], bool],
    wanted: Callable[[SourceCoordinator], bool] = lambda one: True,
) -> Operation:
    """Return the row of a person's action.

    :param before: leads the partition into a state that allows it.
    :param fits: whether the person, looking again, would still do it.
    :param wanted: the same, where the partition alone does not tell.
    """

    def act(one: SourceCoordinator) -> object:
        return getattr(one.people, name)("a", by="ana", why="a test")

    def prepare(setup: Setup) -> Operate:
        before(setup)
        return act

    def look_again(setup: Setup, one: SourceCoordinator) -> None:
        seen = one.partition("a")
        if seen is not None and fits(seen) and wanted(one):
            act(one)

    takes_back = "a" if name == "retract" else ""
    return Operation(
        name, prepare, look_again, passes=2, settings={"max_failures": 1}, counts=audited, takes_back=takes_back
    )


def failed(setup: Setup) -> None:
    setup.process().fail(half_done(setup), "boom")


def completed(setup: Setup) -> None:
    setup.drain(started(setup, "a", "b"))


def is_published(one: SourceCoordinator) -> bool:
    return any(head.blocks for head in one.store.heads(f"{one.source}|PARTITION", key="a"))


ACTING = (
    action("release", half_done, lambda seen: seen.status == "ASSIGNED"),
    action("park", half_done, lambda seen: not seen.parked),
    action("reopen", failed, lambda seen: seen.parked),
    action("reset", completed, lambda seen: seen.status == "COMPLETED"),
    action("retract", completed, lambda seen: seen.status == "COMPLETED", is_published),
    action("delete", failed, lambda seen: True),
)


def haunted(setup: Setup) -> Operate:
    """An acquisition comes late, when its nonce has been looked for already; it is given back later."""
    started(setup, "a", "b", "c")

    def twice(dying: SourceCoordinator) -> None:
        setup.work(dying, acquired(dying.get_next_partition()))
        acquired(dying.get_next_partition())

    return twice


HAUNTED = (Operation("give a phantom back", haunted, faults={1: Fault.APPLIED_LATE}),)
