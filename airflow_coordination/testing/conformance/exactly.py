"""A step changes what it says, all of it, and nothing else: seen on a partition of which every field says something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Final, NamedTuple

import pytest

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import AcquireHinted, AcquireNext, Action, Tenancy
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, owner
from airflow_coordination.testing.conformance.following import say, saying
from airflow_coordination.values.accounting import Accounting, Accounts
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank

SECOND: Final = timedelta(seconds=1)
LONG: Final = 2 * TIMEOUT


def tenancy(bench: Workbench, who: str) -> Tenancy:
    """Return the start of a tenure with limits and words of its own."""
    made = bench.tenancy(by=owner(who), max_lost_leases=5 + len(who), timeout=TIMEOUT + SECOND * len(who))
    return replace(made, max_failures=len(who), owner_details=f'{{"application":"{who}"}}')


def started(bench: Workbench, who: str = "one") -> Partition:
    """Acquire it."""
    held = bench.store.acquire_next(AcquireNext(source=bench.source, tenancy=tenancy(bench, who), key="k"))
    assert held is not None
    return held


def totals(held: Partition, read: int) -> str:
    """Return an accounting as a save of its owner carries it."""
    return Accounts(held.generation, False, Accounting(read=read, delivered_everywhere=read)).text


def working(bench: Workbench) -> None:
    """Lead ``k`` through a close, a failure and a lost lease into a tenure that has saved, and somebody wants."""
    bench.create("parent")
    bench.complete(bench.acquire("parent"))
    bench.create(PartitionIdentifier("k", {"file": "a"}, priority=3, parents=["parent"]))
    bench.create(PartitionIdentifier("child", parents=["k"]))
    counts = {"closed_count": 1, "failures": 1, "lost_leases": 1, "last_error": "boom", "generation": "second"}
    held = bench.acquire("k")
    bench.store.write(bench.ending(held, Outcome.CLOSED, PartitionStatus.CLOSED, delay=SECOND, **counts))
    bench.clock.advance(SECOND)
    bench.sweep()
    held = started(bench)
    bench.begin(held, owner_details='{"application":"first"}')
    held = bench.get("k")
    write = replace(bench.saving(held, {"row": 1}, block("b1")), accounting=totals(held, 3))
    assert bench.store.write(write).applied
    bench.renew(held)
    bench.ask(held, owner("ana"), SECOND)
    now = bench.get("k")
    assert (now.rank, now.priority, now.payload, now.parents) == (Rank.REOPENED, 3, {"file": "a"}, ("parent",))
    assert {name: getattr(now, name) for name in counts} == counts
    assert (now.progress_text, now.staged, now.accounting_text) == (write.progress_text, write.staged, write.accounting)


def fresh(bench: Workbench) -> None:
    """Lead it into a tenure that has written nothing yet."""
    working(bench)
    bench.give_up(bench.get("k"))
    started(bench, "another")


def waiting(bench: Workbench) -> None:
    """Lead it where it waits after a failure."""
    working(bench)
    bench.fail(bench.get("k"))


def closed(bench: Workbench) -> None:
    """Lead it where it waits to be reopened, which may happen now; what was staged is published."""
    _closed(bench, clear_staged=True)


def closed_with_blocks(bench: Workbench) -> None:
    """Lead it where it waits to be reopened, and goes on with what is staged."""
    _closed(bench, clear_staged=False)


def _closed(bench: Workbench, **how: bool) -> None:
    working(bench)
    end = bench.ending(bench.get("k"), Outcome.CLOSED, PartitionStatus.CLOSED, delay=SECOND, **how)
    assert bench.store.write(end).applied


def blocked(bench: Workbench) -> None:
    """Create it, while its parent has not finished."""
    bench.create("parent")
    bench.create(PartitionIdentifier("k", parents=["parent"]))


def reopened_child(bench: Workbench) -> None:
    """Let a person move it to the front, though its parent has not finished."""
    blocked(bench)
    bench.act(Action.REOPEN, "k")


def parked_child(bench: Workbench) -> None:
    """Let a person park it before its parent has finished."""
    blocked(bench)
    bench.act(Action.PARK, "k")


def parked(bench: Workbench) -> None:
    """Lead it where it waits for a person."""
    working(bench)
    bench.fail(bench.get("k"), None)


def parked_with_note(bench: Workbench) -> None:
    """Park it for good, after its owner has said what follows."""
    working(bench)
    bench.fail(say(bench, bench.get("k"), "{}"), None)


def expired(bench: Workbench) -> None:
    """Let its lease run out."""
    working(bench)
    bench.clock.advance(LONG)


def lost(bench: Workbench) -> None:
    """Let its lease run out, and a sweep put it first in line."""
    expired(bench)
    bench.sweep()


def at_the_last_lost_lease(bench: Workbench) -> None:
    """Let as many leases run out as may, but for one."""
    working(bench)
    while (held := bench.get("k")).lost_leases + 1 < (held.max_lost_leases or 0):
        bench.clock.advance(LONG)
        bench.begin(started(bench), owner_details="{}")
        bench.renew(bench.get("k"))
    bench.clock.advance(LONG)


def completed(bench: Workbench) -> None:
    """Complete it."""
    working(bench)
    bench.complete(bench.get("k"))


NOT_EVERYWHERE: Final = frozenset({"max_failures", "acquired_at", "owner_details"})
"""What only people ask for; a store may leave it out."""
WRITTEN: Final = frozenset({"last_op", "updated_at"})
"""What is another after each write of a chain, and after what people do."""
OVER: Final = WRITTEN | {"owner", "ownership_timeout", "acquired_at", "owner_details", "confirmed", "ring", "status"}
"""What is another after a tenure has ended, whatever has ended it."""
LIMITS: Final = frozenset({"max_lost_leases", "max_failures"})
"""What a tenure brings with it."""
START: Final = (OVER - {"confirmed", "ring"}) | LIMITS | {"token", "nonce"}
"""What is another after a tenure has started where none was."""
TAKEN: Final = (OVER - {"status"}) | {"token", "nonce"}
"""What is another after a tenure has started in the place of one that ran."""
SAY, FOLLOWED = "say what follows a parking", "do what follows a parking"
FENCE: Final = frozenset({"token", "nonce"})
OVER_AGAIN: Final = frozenset({"closed_count", "failures", "lost_leases", "last_error", "progress_text", "staged"})
"""What a reset begins anew."""
GONE: Final = frozenset({"deleted", "payload_text", "parents", "progress_text", "staged", "awaited_op"})
"""What a tombstone has not."""


class Step(NamedTuple):
    """A step, and what it changes.

    :param before: leads the partition where the step finds it.
    :param taken: takes the step.
    :param changes: the fields that have another value then.
    """

    before: Callable[[Workbench], None]
    taken: Callable[[Workbench, Partition], object]
    changes: frozenset[str]


def _sent(action: Action) -> Callable[[Workbench, Partition], Answer]:
    return lambda bench, seen: bench.store.act(bench.acting(action, seen))


def _says(bench: Workbench, held: Partition) -> Answer:
    return bench.store.write(saying(bench, held, "{}"))


def _done(bench: Workbench, seen: Partition) -> None:
    bench.follow_ups.clear_follow_up(FollowUp(bench.source, "k", seen.token, seen.last_op, "{}"))


def _parent_completed(bench: Workbench, _: Partition) -> object:
    return bench.complete(bench.acquire("parent"))


def _started(bench: Workbench, _: Partition) -> object:
    return started(bench, "somebody")


def _acts(action: Action) -> Callable[[Workbench, Partition], object]:
    return lambda bench, _: bench.act(action, "k")


def _hinted(bench: Workbench, seen: Partition) -> object:
    write = AcquireHinted(source=bench.source, key="k", token=seen.token, tenancy=tenancy(bench, "somebody"))
    return bench.store.acquire(write)


def _stolen(bench: Workbench, seen: Partition) -> Answer:
    who = replace(tenancy(bench, "ana"), owner=owner("ana"))
    return bench.store.acquire(replace(bench.stealing(seen), tenancy=who))


def _counted(bench: Workbench, held: Partition) -> object:
    return bench.store.write(replace(bench.saving(held, {"row": 2}), accounting=totals(held, 5)))


STEPS: Final[Mapping[str, Step]] = {
    "renew": Step(working, lambda bench, held: bench.renew(held, LONG), frozenset({"ownership_timeout"})),
    "begin": Step(
        fresh,
        lambda bench, held: bench.begin(held, timeout=LONG, owner_details="{}"),
        WRITTEN | {"ownership_timeout", "owner_details"},
    ),
    "save": Step(
        working,
        lambda bench, held: bench.save(held, {"row": 2}, block("b2"), timeout=LONG),
        WRITTEN | {"ownership_timeout", "progress_text", "staged"},
    ),
    "save what was counted": Step(working, _counted, WRITTEN | {"progress_text", "accounting_text"}),
    "adopt": Step(working, lambda bench, held: bench.adopt(held, owner("one", 2)), frozenset({"owner"})),
    "ask": Step(working, lambda bench, held: bench.ask(held, owner("ben")), frozenset({"wanted_by", "wanted_until"})),
    SAY: Step(working, _says, WRITTEN | {"on_parked_text"}),
    FOLLOWED: Step(parked_with_note, _done, frozenset({"on_parked_text"})),
    "complete": Step(
        working,
        lambda bench, held: bench.complete(held),
        OVER | {"failures", "lost_leases", "rank", "staged", "awaited_op"},
    ),
    "close": Step(
        working,
        lambda bench, held: bench.close(held),
        OVER | {"closed_count", "failures", "lost_leases", "progress_text", "rank", "reopen_at", "staged"},
    ),
    "fail": Step(
        working,
        lambda bench, held: bench.fail(held, MINUTE, "again"),
        OVER | {"available_at", "failures", "last_error", "rank"},
    ),
    "give up": Step(working, lambda bench, held: bench.give_up(held), OVER | {"available_at", "rank"}),
    "acquire what waits": Step(waiting, _started, START | {"available_at"}),
    "acquire what is closed": Step(closed, _started, START | {"reopen_at"}),
    "acquire what was lost": Step(expired, _started, TAKEN | LIMITS | {"lost_leases"}),
    "acquire what waits, as seen": Step(waiting, _hinted, START | {"available_at"}),
    "acquire what was lost, as seen": Step(expired, _hinted, TAKEN | LIMITS | {"lost_leases"}),
    "retake": Step(
        working,
        lambda bench, seen: bench.retake(seen, by=owner("one", 2), max_lost_leases=9),
        TAKEN | LIMITS | {"lost_leases"},
    ),
    "steal": Step(working, _stolen, TAKEN),
    "reclaim": Step(expired, lambda bench, _: bench.sweep(), OVER | {"available_at", "lost_leases", "rank"}),
    "reclaim for the last time": Step(
        at_the_last_lost_lease, lambda bench, _: bench.sweep(), OVER | {"last_error", "lost_leases"}
    ),
    "release a child": Step(
        reopened_child, _parent_completed, frozenset({"available_at", "rank", "updated_at", "waits_for"})
    ),
    "release a parked child": Step(parked_child, _parent_completed, frozenset({"updated_at", "waits_for"})),
    "reopen when due": Step(
        closed_with_blocks, lambda bench, _: bench.sweep(), WRITTEN | {"available_at", "rank", "reopen_at", "status"}
    ),
}
PEOPLES: Final[Mapping[str, Step]] = {
    "release": Step(working, _acts(Action.RELEASE), OVER | FENCE | {"available_at", "rank"}),
    "reopen": Step(
        parked, _acts(Action.REOPEN), WRITTEN | {"available_at", "failures", "lost_leases", "rank", "status"}
    ),
    "reopen what reopens": Step(
        closed,
        _acts(Action.REOPEN),
        WRITTEN | {"available_at", "failures", "lost_leases", "rank", "reopen_at", "status"},
    ),
    "park": Step(waiting, _acts(Action.PARK), WRITTEN | {"available_at", "status"}),
    "park what is held": Step(working, _acts(Action.PARK), OVER | FENCE),
    "park what reopens": Step(closed, _acts(Action.PARK), WRITTEN | {"reopen_at"}),
    "reset": Step(waiting, _acts(Action.RESET), WRITTEN | OVER_AGAIN | {"available_at", "generation"}),
    "reset what is held": Step(
        working, _acts(Action.RESET), OVER | FENCE | OVER_AGAIN | {"available_at", "generation", "rank"}
    ),
    "reset what was lost": Step(
        lost, _acts(Action.RESET), WRITTEN | OVER_AGAIN | {"available_at", "generation", "rank"}
    ),
    "finish what was lost": Step(
        lost,
        _acts(Action.FINISH),
        WRITTEN | {"available_at", "awaited_op", "failures", "last_error", "lost_leases", "rank", "staged", "status"},
    ),
    "reset what reopens": Step(
        closed,
        _acts(Action.RESET),
        WRITTEN | (OVER_AGAIN - {"staged"}) | {"available_at", "generation", "reopen_at", "status"},
    ),
    "finish": Step(
        waiting,
        _acts(Action.FINISH),
        WRITTEN | {"available_at", "awaited_op", "failures", "last_error", "lost_leases", "staged", "status"},
    ),
    "finish what is held": Step(
        working,
        _acts(Action.FINISH),
        OVER | FENCE | {"awaited_op", "failures", "last_error", "lost_leases", "rank", "staged"},
    ),
    "finish what reopens": Step(
        closed,
        _acts(Action.FINISH),
        WRITTEN | {"awaited_op", "failures", "last_error", "lost_leases", "reopen_at", "status"},
    ),
    "retract": Step(closed, _acts(Action.RETRACT), WRITTEN),
    "park what is blocked": Step(blocked, _acts(Action.PARK), WRITTEN | {"status"}),
    "reset what is blocked": Step(blocked, _acts(Action.RESET), WRITTEN | {"generation"}),
    "finish what is blocked": Step(blocked, _acts(Action.FINISH), WRITTEN | {"status"}),
    "retract what is blocked": Step(blocked, _acts(Action.RETRACT), WRITTEN),
    "delete what is blocked": Step(
        blocked, _acts(Action.DELETE), WRITTEN | FENCE | {"deleted", "parents", "waits_for"}
    ),
    "delete": Step(waiting, _acts(Action.DELETE), WRITTEN | FENCE | GONE | {"available_at"}),
    "delete what is held": Step(working, _acts(Action.DELETE), OVER | FENCE | GONE),
    "delete what reopens": Step(
        closed, _acts(Action.DELETE), WRITTEN | FENCE | (GONE - {"staged"}) | {"reopen_at", "status"}
    ),
    "clean up": Step(completed, _acts(Action.CLEAN_UP), WRITTEN | FENCE | (GONE - {"staged", "awaited_op"})),
}

FREE_ACTIONS: Final = tuple(action for action in Action if action is not Action.RELEASE)
"""What people do to what nobody holds."""
Sent = tuple[Callable[[Workbench], None], Callable[[Workbench, Partition], Answer]]
WRITES: Final[Mapping[str, Sent]] = {
    "renew": (working, lambda bench, held: bench.renew(held)),
    "begin": (fresh, lambda bench, held: bench.begin(held)),
    "save": (working, lambda bench, held: bench.store.write(bench.saving(held, {"row": 2}))),
    "adopt": (working, lambda bench, held: bench.adopt(held, owner("one", 2))),
    "ask": (fresh, lambda bench, held: bench.ask(held, owner("ben"))),
    SAY: (working, _says),
    "complete": (working, lambda bench, held: bench.complete(held)),
    "steal": (working, _stolen),
    **{
        f"{action} it": (working, _sent(action))
        for action in (Action.RELEASE, Action.PARK, Action.RESET, Action.FINISH, Action.DELETE)
    },
}
"""Writes that name a tenure; each is applied if all of its fence fits."""


def _seen_otherwise(found: Partition) -> Mapping[str, Partition]:
    """Return what somebody may have seen of it before, by what is another now."""
    return {
        "token": replace(found, token=found.token + 1),
        "last_op": replace(found, last_op="another"),
        "status": replace(found, status=PartitionStatus.UNASSIGNED),
    }


def _written_beside(bench: Workbench) -> tuple[int, int]:
    kept = parts_of(bench.store).history
    tenures = 0 if kept is None else len(kept.history(bench.source, "k", 100))
    return tenures, len(bench.store.audit(bench.source, "k"))


def _look_whether_it_is_kept(bench: Workbench, name: str) -> None:
    if name in (SAY, FOLLOWED) and parts_of(bench.store).follow_ups is None:
        pytest.skip("this store keeps nothing of what follows a parking")


class Exactly:
    """Each row of the table: what of a partition is another after it."""

    @pytest.mark.parametrize("name", [*STEPS, *PEOPLES])
    def test_a_step_changes_what_it_says_and_nothing_else(self, bench: Workbench, name: str) -> None:
        step = STEPS.get(name) or PEOPLES[name]
        _look_whether_it_is_kept(bench, name)
        step.before(bench)
        bench.clock.advance(SECOND)
        before, (tenures, actions) = bench.get("k"), _written_beside(bench)
        step.taken(bench, before)
        after = bench.get("k")
        changed = {each.name for each in fields(Partition) if getattr(before, each.name) != getattr(after, each.name)}
        kept = step.changes if before.max_failures else step.changes - NOT_EVERYWHERE
        assert changed == kept
        assert after.updated_at == (bench.clock.now() if "updated_at" in changed else before.updated_at)
        if "ring" in changed:
            ending = after.endings[-1]
            assert (ending.fence, ending.last, ending.op) == (before.fence, before.last_op, after.last_op)
            assert (ending.status_after, ending.at) == (after.status, bench.clock.now())
            assert ending.closed_count == (before if "generation" in changed else after).closed_count
        tenures += "ring" in changed and parts_of(bench.store).history is not None
        actions += name in PEOPLES
        assert _written_beside(bench) == (tenures, actions)

    @pytest.mark.parametrize("part", ["token", "nonce"])
    @pytest.mark.parametrize("name", WRITES)
    def test_s2_each_part_of_a_fence_has_to_fit(self, bench: Workbench, name: str, part: str) -> None:
        before, send = WRITES[name]
        _look_whether_it_is_kept(bench, name)
        before(bench)
        bench.clock.advance(SECOND)
        held = bench.get("k")
        other = replace(held, token=held.token + 1) if part == "token" else replace(held, nonce="another")
        assert not send(bench, other).applied
        assert bench.get("k") == held
        assert send(bench, held).applied

    @pytest.mark.parametrize("name", sorted(WRITES.keys() - {"steal"}))
    def test_x12_a_pause_holds_back_nobody_who_works(self, bench: Workbench, name: str) -> None:
        before, send = WRITES[name]
        _look_whether_it_is_kept(bench, name)
        before(bench)
        bench.clock.advance(SECOND)
        bench.pause()
        assert send(bench, bench.get("k")).applied

    @pytest.mark.parametrize("name", WRITES)
    def test_s2_nothing_is_written_into_a_tenure_that_is_over(self, bench: Workbench, name: str) -> None:
        """Not even by who knows the newest operation: a chain ends with its tenure."""
        before, send = WRITES[name]
        _look_whether_it_is_kept(bench, name)
        before(bench)
        held = bench.get("k")
        bench.give_up(held)
        bench.clock.advance(SECOND)
        over = bench.get("k")
        assert not send(bench, replace(held, last_op=over.last_op)).applied
        assert bench.get("k") == over

    @pytest.mark.parametrize("part", ["token", "last_op", "status"])
    @pytest.mark.parametrize("action", FREE_ACTIONS)
    def test_s5_each_part_of_what_a_person_saw_has_to_fit(self, bench: Workbench, action: Action, part: str) -> None:
        (completed if action is Action.CLEAN_UP else closed)(bench)
        found = bench.get("k")
        assert not bench.store.act(bench.acting(action, _seen_otherwise(found)[part])).applied
        assert bench.get("k") == found
        assert bench.store.act(bench.acting(action, found)).applied

    @pytest.mark.parametrize("action", FREE_ACTIONS)
    def test_s1_who_saw_it_before_it_was_deleted_does_not_bring_it_back(self, bench: Workbench, action: Action) -> None:
        """Not even with the fence and the operation of the tombstone."""
        (completed if action is Action.CLEAN_UP else parked)(bench)
        bench.act(Action.CLEAN_UP if action is Action.CLEAN_UP else Action.DELETE, "k")
        tombstone = bench.get("k")
        assert not bench.store.act(bench.acting(action, replace(tombstone, deleted=False))).applied
        assert bench.get("k") == tombstone
