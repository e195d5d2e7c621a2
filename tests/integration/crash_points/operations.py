"""The operations that take more than one call, with what goes before them and what the task's next try does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from airflow_coordination.leases import Checkpoint, Partition, PartitionIdentifier, SourceCoordinator
from airflow_coordination.testing.crash import Fault
from tests.integration.crash_points.scenes import LEASE, MINUTE, Scene, acquired

Operate = Callable[[SourceCoordinator], object]
"""Carries the operation out in the process that dies."""
MONTHS = 4


def nothing(scene: Scene, one: SourceCoordinator) -> None:
    """Leave it to the next try's ordinary work."""


@dataclass(frozen=True)
class Operation:
    """One row of the table.

    :param name: for people.
    :param prepare: does what goes before without any fault; returns the operation.
    :param recover: what a new process does first, before it works on as usual.
    :param passes: see :class:`Scene`, here and below.
    :param settings: of the coordinator.
    :param faults: met in every run, besides the crash.
    :param counts: what else must be the same, of each partition.
    :param takes_back: the partition of whose output nothing is left.
    """

    name: str
    prepare: Callable[[Scene], Operate]
    recover: Callable[[Scene, SourceCoordinator], object] = nothing
    passes: int | None = None
    steps: int = 2
    settings: dict[str, Any] = field(default_factory=dict)
    faults: dict[int, Fault] = field(default_factory=dict)
    counts: Callable[[Scene, SourceCoordinator], object] = lambda scene, one: None
    takes_back: str = ""


# -- creating -------------------------------------------------------------------------------------------------------


def months(state: dict[str, Any]) -> Iterator[PartitionIdentifier | Checkpoint]:
    """Supply four months: three before the checkpoint, in two pages, and one after it."""
    for month in range(state.get("last", 0) + 1, MONTHS + 1):
        yield PartitionIdentifier(f"2013-{month:02}", payload={"month": month})
        if month % 3 == 0:
            yield Checkpoint({"last": month})
    state["last"] = MONTHS


def supply_again(scene: Scene, one: SourceCoordinator) -> None:
    """Run the supplier at the next chance: at once where the lease was given back, else when it is over."""
    if not one.run_supplier(months).ran:
        scene.clock.advance(LEASE)
        assert one.run_supplier(months).ran, "a dead supplier was not replaced when its lease was over"


def create_five(scene: Scene, one: SourceCoordinator) -> object:
    return one.create_partitions(f"k{n}" for n in range(5))


SUPPLYING = (
    Operation("run the supplier", lambda scene: lambda one: one.run_supplier(months), supply_again, steps=0),
    Operation(
        "get the next with a supplier",
        lambda scene: lambda one: one.get_next_partition(supplier=months),
        supply_again,
        steps=0,
    ),
    Operation("create several pages", lambda scene: lambda one: create_five(scene, one), create_five, steps=0),
)

# -- owning ---------------------------------------------------------------------------------------------------------


def started(scene: Scene, *keys: str) -> SourceCoordinator:
    """Return the first try, on a source with these partitions."""
    one = scene.process()
    one.create_partitions(keys)
    return one


def ending(scene: Scene) -> Operate:
    """End a tenure that has saved a block, of a partition that has published before where it closes."""
    one = started(scene, "a", "b")
    lease = acquired(one.acquire_partition("a"))
    if scene.passes is not None:
        scene.work(one, lease)
        scene.clock.advance(MINUTE)
        lease = acquired(one.acquire_partition("a"))
    lease = scene.step(one, scene.step(one, lease), 1)
    return lambda dying: scene.end(dying, lease)


def fused(scene: Scene) -> Operate:
    one = started(scene, "a", "b")
    lease = scene.step(one, scene.step(one, acquired(one.acquire_partition("a"))), 1)
    return lambda dying: dying.complete_and_get_next(lease, [scene.block(lease, "end")])


def saving(scene: Scene) -> Operate:
    one = started(scene, "a", "b")
    lease = scene.step(one, acquired(one.acquire_partition("a")))
    return lambda dying: scene.step(dying, lease, 1)


ENDING = (
    Operation("complete with blocks", ending),
    Operation("close with blocks", ending, passes=3),
    Operation("close for the last time", ending, passes=2),
    Operation("complete and get the next", fused),
    Operation("save large progress", saving),
)

# -- taking over ----------------------------------------------------------------------------------------------------


def half_done(scene: Scene) -> Any:
    """Return the lease of a first try that has saved one step and dies."""
    one = started(scene, "a", "b")
    return scene.step(one, acquired(one.acquire_partition("a")))


def retaking(scene: Scene) -> Operate:
    half_done(scene)
    return lambda dying: acquired(scene.process(2, dying.store).retake("a"))


def adopting(scene: Scene) -> Operate:
    fence = half_done(scene).fence
    return lambda dying: acquired(scene.process(2, dying.store).adopt("a", fence))


def beginning(scene: Scene) -> Operate:
    fence = acquired(started(scene, "a", "b").acquire_partition("a")).fence
    return lambda dying: dying.begin("a", fence)


def beginning_second(scene: Scene) -> Operate:
    """A second driver process of the same try finds the first one out, and retakes from it."""
    fence = acquired(started(scene, "a", "b").acquire_partition("a")).fence
    first = scene.process()
    scene.step(first, first.begin("a", fence))
    return lambda dying: dying.begin("a", fence)


def ended_for(scene: Scene, one: SourceCoordinator, *, fails: bool) -> object:
    """End a tenure for its dead driver; the next try finds the same fence in its notes, and does it again."""
    fence = scene.notes["fence"]
    return one.fail_for_dead_owner("a", fence, "boom") if fails else one.give_up_for_dead_owner("a", fence)


def ending_for_driver(fails: bool) -> Callable[[Scene], Operate]:
    def prepare(scene: Scene) -> Operate:
        scene.notes["fence"] = half_done(scene).fence
        return lambda dying: ended_for(scene, dying, fails=fails)

    return prepare


def fail_again(scene: Scene, one: SourceCoordinator) -> None:
    ended_for(scene, one, fails=True)


def give_up_again(scene: Scene, one: SourceCoordinator) -> None:
    ended_for(scene, one, fails=False)


TAKING_OVER = (
    Operation("retake", retaking),
    Operation("adopt", adopting),
    Operation("begin", beginning),
    Operation("begin as the second driver", beginning_second),
    Operation("fail for a dead driver", ending_for_driver(True), fail_again),
    Operation("park for a dead driver", ending_for_driver(True), fail_again, settings={"max_failures": 1}),
    Operation("give up for a dead driver", ending_for_driver(False), give_up_again),
)

# -- sweeping -------------------------------------------------------------------------------------------------------


def sweeping(scene: Scene) -> Operate:
    """Two leases have ended, one for the last time; one partition is to be reopened, one has waited long enough."""
    one = started(scene, "closed", "delayed", "lost", "poison")
    scene.work(one, acquired(one.acquire_partition("closed")))
    one.give_up(acquired(one.acquire_partition("delayed")), MINUTE)
    for _ in range(2):
        scene.step(one, acquired(one.acquire_partition("poison")))
        scene.clock.advance(LEASE)
        one.sweep()
    for key in ("lost", "poison"):
        scene.step(one, acquired(one.acquire_partition(key)))
    scene.clock.advance(LEASE)
    return lambda dying: dying.sweep()


def sweep_again(scene: Scene, one: SourceCoordinator) -> None:
    one.sweep()


def lost_leases(scene: Scene, one: SourceCoordinator) -> dict[str, int]:
    return {partition.key: partition.lost_leases for partition in one.partitions()}


SWEEPING = (Operation("sweep", sweeping, sweep_again, passes=2, settings={"max_lost_leases": 3}, counts=lost_leases),)


# -- what people do -------------------------------------------------------------------------------------------------


def audited(scene: Scene, one: SourceCoordinator) -> list[str]:
    return [entry["action"] for entry in one.store.audit(f"{scene.source}|PARTITION", "a")]


def action(
    name: str,
    before: Callable[[Scene], object],
    fits: Callable[[Partition], bool],
    wanted: Callable[[SourceCoordinator], bool] = lambda one: True,
) -> Operation:
    """Return the row of a person's action.

    :param before: leads the partition into a state that allows it.
    :param fits: whether the person, looking again, would still do it.
    :param wanted: the same, where the partition alone does not tell.
    """

    def act(one: SourceCoordinator) -> object:
        return getattr(one, name)("a", by="ana", why="a test")

    def prepare(scene: Scene) -> Operate:
        before(scene)
        return act

    def look_again(scene: Scene, one: SourceCoordinator) -> None:
        seen = one.partition("a")
        if seen is not None and fits(seen) and wanted(one):
            act(one)

    takes_back = "a" if name == "retract" else ""
    return Operation(
        name, prepare, look_again, passes=2, settings={"max_failures": 1}, counts=audited, takes_back=takes_back
    )


def failed(scene: Scene) -> None:
    scene.process().fail(half_done(scene), "boom")


def completed(scene: Scene) -> None:
    scene.drain(started(scene, "a", "b"))


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

# -- what a lost answer took ----------------------------------------------------------------------------------------


def haunted(scene: Scene) -> Operate:
    """An acquisition comes late, when its nonce has been looked for already; it is given back later."""
    started(scene, "a", "b", "c")

    def twice(dying: SourceCoordinator) -> None:
        scene.work(dying, acquired(dying.get_next_partition()))
        acquired(dying.get_next_partition())

    return twice


HAUNTED = (Operation("give a phantom back", haunted, faults={1: Fault.APPLIED_LATE}),)
