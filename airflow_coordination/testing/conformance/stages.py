"""Leads a partition to each stage of its life, with something to say in every field of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.writes import AcquireNext, Action, Tenancy
from airflow_coordination.testing.conformance.parking import say
from airflow_coordination.testing.conformance.workbench import TIMEOUT, Workbench, block, owner
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
