"""Publishers, people who branch, hide and purge, a collector without a margin, and readers: what each does, once.

People work with the product's own commands. All work in virtual time and as real processes alike, and every call of
theirs on a partition is noted in a history, those within commands, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.retiring import retire
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import finalize, publish, roll_back
from airflow_coordination.duties.retention.hiding import hide, restore
from airflow_coordination.duties.retention.purge import purge
from airflow_coordination.leases import Fence, Lease
from airflow_coordination.outputs import OutputError
from airflow_coordination.outputs.published import published_manifests, source_identifier
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.history import RecordedCoordinator
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.errors import BranchError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from tests.branching.noted import BranchRecorder, Commands
from tests.branching.oracle import (
    Look,
    SaidView,
    by_key,
    halves,
    hidden_by_showing,
    lost_by_adding,
    misplaced,
    name_of,
    place_of,
)
from tests.merging import actors as merging
from tests.simulation.behaviour import Abandoned
from tests.upkeep import DATASET, SOURCE, lines

T = TypeVar("T")
WHO: Final = "ana"
WHY: Final = "because"
_ON_PARTITIONS: Final = (*[Action.RESET] * 12, Action.REOPEN, Action.RELEASE, Action.RETRACT)
_MOST_BEGUN: Final = 2
Heads = Sequence[HeadRecord]


@dataclass
class Tools(merging.Tools):
    """What an actor works with.

    :param buffer: seconds after which what nobody sees any more is emptied: no reader may take longer.
    """

    buffer: float = 60.0

    @property
    def noted(self) -> BranchRecorder:
        """Its coordinator, which notes what is done in branches."""
        assert isinstance(self.one, BranchRecorder)
        return self.one

    @property
    def source(self) -> str:
        """The stored identifier of the source."""
        return source_identifier(self.data.store, SOURCE, None)

    def heads(self) -> Heads:
        """Read all head records; the history has it as a read of what each partition has published (S12)."""
        return self.noted.every_head(self.keys, lambda: list(every_head(self.data.store, self.source)))

    def view(self) -> tuple[int, SaidView]:
        """Read the view, and its version."""
        kept = parts_of(self.data.store).documents
        assert kept is not None
        found = kept.document(self.source, "view")
        return (found.version, SaidView(found.content)) if found else (0, SaidView(None))

    def documents(self) -> list[Document]:
        """Read all versions of the view."""
        kept, row = parts_of(self.data.store).documents, list[Document]()
        assert kept is not None
        while page := kept.document_history(self.source, "view", row[-1].version if row else None, 100):
            row += page
        return row

    def views(self, first: int, last: int) -> list[SaidView]:
        """Read all versions of the view from one to another."""
        kept = parts_of(self.data.store).documents
        assert kept is not None
        found = kept.document_history(self.source, "view", last + 1, last - first + 1)
        return [SaidView(None)] * (first == 0) + [SaidView(each.content) for each in found if each.version >= first]


class Refused(Abandoned):
    """A branch does not allow what a tenure would publish."""


class Publishing(merging.Publishing):
    """All that a worker may do with leases; the rows of its blocks say in which branch they were written."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._asked_before: set[Fence] = set()
        """Tenures of which an ending was asked for: one that was prepared in time may be accepted late."""

    def block(self) -> Block:
        """Write a block as ``lease.publish`` does: all of a tenure replace or all add, each follows the one before."""
        assert self._lease is not None
        tools, lease = self._tools, self._lease
        known = [*lease.chain.partition.staged, *self._own]
        mode: Mode = known[0].mode if known else self._random.choice(("append", "replace", "replace"))
        self._made += 1
        rest = f"{self.one.process}/{self._made}"
        name = name_of(lease.key, lease.fence.token, lease.chain.partition.branch, mode, rest)
        rows = [f"{name}/{number}" for number in range(self._random.randint(1, 3))]
        follows = self._before(known, mode)
        block = tools.data.block(lease, rows, mode, follows, self._attempt)
        tools.truth.note(block.digest, [*rows, *(tools.truth.of(follows.digest) if follows else ())])
        tools.found.counts["blocks"] += 1
        self._own.append(block)
        return block

    _saving = False

    def _save(self, lease: Lease) -> Lease:
        self._saving = True
        try:
            return super()._save(lease)
        finally:
            self._saving = False

    def blocks(self) -> list[Block]:
        """Return one or two: who completes in a branch has something there. Few of the saves have any."""
        if self._saving and self._random.random() < 0.8:
            return []
        return [self.block() for _ in range(self._random.randint(1, 2))]

    def _once_or_insist(self, call: Callable[[], T]) -> T:
        """End a tenure; what a branch does not allow fails."""
        assert self._lease is not None
        lease, tools, ends_well = self._lease, self._tools, self._ends_well
        over = None if lease.fence in self._asked_before else self._rolled_back(lease)
        self._asked_before.add(lease.fence)
        try:
            ended = super()._once_or_insist(lambda: _unless_refused(call))
        except Refused:
            tools.found.counts["endings refused by a branch"] += 1
            self.insist(lambda: self.one.fail(lease, "refused by a branch"))
            raise
        if over and ends_well:
            tools.found.broken.append(f"S22: {lease.key} has published in branch {over}, which was rolled back")
        return ended

    def _rolled_back(self, lease: Lease) -> int | None:
        """Return the branch that a lease is of, if it was rolled back before now; looked at now and then."""
        number = lease.chain.partition.branch
        if number is None or self._random.random() < 0.5:
            return None
        with suppress(CoordinationError):
            return number if self._tools.view()[1].state(number) == "rolled back" else None
        return None

    _ends_well = False

    def _ending(self, lease: Lease) -> Callable[[Lease], None]:
        chosen = super()._ending(lease)
        self._lease, self._ends_well = lease, chosen.__name__ in ("_complete", "_close")
        return chosen


def _unless_refused(call: Callable[[], T]) -> T:
    try:
        return call()
    except BranchError as error:
        raise Refused from error


class Publisher:
    """Publishes; now and then does what people do to partitions."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self._behaviour = tools, Publishing(tools)
        self._created = False

    def do(self) -> None:
        """Do something to a partition, or work on one."""
        tools = self._tools
        if not self._created:
            days = [PartitionIdentifier(key, {"interval": f"{key}/P1D"}) for key in tools.keys]
            tools.one.create_partitions(days)
            self._created = True
        if tools.draw.random() < 0.4:
            try:
                tools.one.act(tools.draw.choice(_ON_PARTITIONS), tools.draw.choice(tools.keys))
            except BranchError:
                tools.found.counts["resets refused by a branch"] += 1
            except CoordinationError:
                pass
        lease = self._behaviour.acquire(lambda: tools.draw.choice(tools.keys))
        if lease is None:
            tools.pause()
        else:
            self._behaviour.work(lease)


class Brancher:
    """Begins branches, and lets them show, or not."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._commands: Any = Commands(tools.noted)

    def do(self) -> None:
        """Do one thing to one branch."""
        tools = self._tools
        tools.pause()
        view = tools.view()[1]
        begun = [number for number in view.branches if view.state(number) == "begun"]
        shown = [number for number in view.branches if view.state(number) == "published"]
        if len(begun) < _MOST_BEGUN and tools.draw.random() < 0.4:
            self._told("begun", lambda why: begin(self._commands, Selection(keys=self._some()), WHO, why))
        elif begun and tools.draw.random() < 0.8:
            self._go_on(view, tools.draw.choice(begun))
        elif shown:
            number = tools.draw.choice(shown)
            if tools.draw.random() < 0.5:
                self._told("finalized", lambda why: finalize(self._commands, number, WHO, why))
            else:
                self._told("rolled back", lambda why: roll_back(self._commands, number, WHO, why))

    def _some(self) -> tuple[str, ...]:
        keys = self._tools.keys
        return tuple(sorted(self._tools.draw.sample(keys, self._tools.draw.randint(1, min(4, len(keys))))))

    def _go_on(self, view: SaidView, number: int) -> None:
        draw, keys = self._tools.draw, view.branches[number]["selection"]["keys"]
        kind = draw.random()
        if view.branches[number]["expected"] is None and kind < 0.7:
            self._told("begun again", lambda why: begin(self._commands, None, WHO, why, branch=number))
        elif kind < 0.6:
            self._publish(number, keys)
        elif kind < 0.7:
            self._told(
                "reset in it", lambda why: self._commands.people.reset(draw.choice(keys), WHO, why, branch=number)
            )
        elif kind < 0.8:
            one = Selection(keys=(draw.choice(self._tools.keys),))
            self._told("retired", lambda why: retire(self._commands, number, one, WHO, why))
        elif kind < 0.88:
            self._told("rolled back", lambda why: roll_back(self._commands, number, WHO, why))
        else:
            self._tools.pause()

    def _publish(self, number: int, keys: Sequence[str]) -> None:
        """Publish a branch; nothing of it may have something newer elsewhere, that readers have seen until now."""
        tools = self._tools
        version, view = tools.view()
        members = [key for key in tools.keys if self._runs_in(number, key)]
        look = by_key(tools.heads(), DATASET)
        if self._told("published", lambda why: publish(self._commands, number, WHO, why)):
            tools.found.broken += halves(number, members, look, by_key(tools.heads(), DATASET))
            since = tools.views(version, tools.view()[0])
            if all(each.state(number) in ("begun", "published", "final") for each in since):
                tools.found.broken += hidden_by_showing(view, look, number, keys)

    def _runs_in(self, number: int, key: str) -> bool:
        found = self._tools.one.partition(key)
        return found is not None and found.branch == number and found.progress_state != {"retired in branch": number}

    def _told(self, what: str, call: Callable[[str], object]) -> bool:
        counts = self._tools.found.counts
        try:
            self._tools.noted.change_view(call, what)
        except InvalidInputError:
            counts[f"branches not {what}"] += 1
            return False
        counts[f"branches {what}"] += 1
        return True


class Hider:
    """Hides intervals, restores them, and deletes what was hidden for long."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._commands: Any = Commands(tools.noted, self._watch)

    def do(self) -> None:
        """Do one thing."""
        tools, counts = self._tools, self._tools.found.counts
        tools.pause()
        kind = tools.draw.random()
        with suppress(InvalidInputError):
            if kind < 0.25:
                self._change("hide", lambda why: hide(self._commands, DATASET, self._interval(), WHO, why))
                counts["hidden"] += 1
            elif kind < 0.65:
                self._restore()
            else:
                done = self._change("purge", lambda why: purge(self._commands, self._margins(), by=WHO, why=why))
                counts["intervals purged"] += done.marked
                counts["head records emptied"] += done.emptied
                counts["branches forgotten"] += done.forgotten

    def _change(self, what: str, call: Callable[[str], T]) -> T:
        return self._tools.noted.change_view(call, what)

    def _margins(self) -> Margins:
        buffer = Period(0, timedelta(seconds=self._tools.buffer))
        return Margins(duration_to_retain=None, buffer=buffer, datasets={DATASET})

    def _interval(self) -> str:
        return f"{self._tools.draw.choice(self._tools.keys)}/P{self._tools.draw.choice((1, 1, 2))}D"

    def _restore(self) -> None:
        hidden = self._tools.view()[1].hidden
        if hidden:
            interval = self._tools.draw.choice(hidden)["interval"]
            self._change("restore", lambda why: restore(self._commands, DATASET, interval, WHO, why))
            self._tools.found.counts["restored"] += 1

    def _watch(self, seen: Partition, names: Sequence[str], call: Callable[[], T]) -> T:
        """Empty head records, and look whether nobody can ever see them again (S23)."""
        tools = self._tools
        heads = list(every_head(tools.data.store, tools.source, key=seen.key))
        emptied = call()
        slots, last = by_key(heads, DATASET).get(seen.key, {}), tools.view()[0]
        said = tools.views(max(0, last - 50), last)
        for number, head in slots.items():
            going = head.blocks and head.dataset in names
            if going and not any(each.lets_go(DATASET, head, slots) for each in said):
                what = f"S23: {seen.key} in branch {number}, token {head.token}, can be had back"
                tools.found.broken.append(f"{what}\n{said[0].text}\n{_seen(heads)}")
        return emptied


class Collector(merging.Collector):
    """Deletes at once what nobody needs, but for what somebody reads."""

    def do(self) -> None:
        """Collect once."""
        self.deletions.go_on()
        self._collect(SOURCE)
        self.deletions.go_on()


class Reader:
    """Reads the dataset as users do, looks at the store before and after it, and knows what it must find."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def do(self) -> None:
        """Read once."""
        with self._tools.readers.reading():
            self.read()
        self._tools.pause()

    def read(self) -> None:
        """Read, and note what is not as it was published."""
        tools, began = self._tools, self._tools.clock.monotonic()
        first, _ = tools.view()
        before = tools.heads()
        tools.pause()
        try:
            found = [line for each in published_manifests(tools.data.store, SOURCE, DATASET) for line in lines(each)]
        except FileNotFoundError as error:
            tools.found.broken.append(f"S21: a file is missing: {error}\n{_seen(before)}")
            return
        except OutputError as error:
            if isinstance(error.__cause__, FileNotFoundError) or "missing" in str(error):
                tools.found.broken.append(f"S21: a file is missing: {error}\n{_seen(before)}")
            tools.found.counts["reads given up"] += 1
            return
        tools.pause()
        look = Look(by_key(before, DATASET), by_key(tools.heads(), DATASET), DATASET)
        last, view = tools.view()
        if tools.clock.monotonic() - began > tools.buffer / 2:
            tools.found.counts["reads slower than margins"] += 1
            return
        self._judge(found, look, tools.views(first, last) if last > first else [view])

    def _judge(self, found: Sequence[str], look: Look, views: Sequence[SaidView]) -> None:
        """Compare with what one of the views shows, the same for all partitions."""
        tools, counts = self._tools, self._tools.found.counts
        rows: dict[str, Counter[str]] = {key: Counter() for key in tools.keys}
        for row in found:
            rows[row.partition("/")[0]][row] += 1
        counts["reads"] += 1
        counts["views changed under a reader"] += len(views) > 1
        counts["partitions read"] += len(tools.keys)
        counts["partitions that changed under a reader"] += sum(not look.steady(key) for key in tools.keys)
        of = tools.truth.of
        wrong = [[key for key in tools.keys if not look.allows(view, key, rows[key], of)] for view in views]
        if all(wrong):
            shown = {key: sorted(rows[key]) for key in min(wrong, key=len)}
            tools.found.broken.append(f"S22: no view shows {shown}\n{views[-1].text}\n{_seen(look.after)}")
        tools.found.broken += misplaced(look.after, of)
        if len(views) == 1:
            counts["partitions seen in a branch"] += sum("/0/" not in row for row in found)
            tools.found.broken += lost_by_adding(views[0], look.before, of)


def _seen(heads: Any) -> str:
    """Return what the store had, for people."""
    row = heads if isinstance(heads, Sequence) else [head for slots in heads.values() for head in slots.values()]
    return "\n".join(
        f"  {head.key} in {place_of(head)[0]}, token {head.token}: {[block.digest[:8] for block in head.blocks]}"
        for head in row
    )


def settle(tools: Tools) -> None:
    """Roll back what has begun, and take out of their branches the partitions that nobody would see."""
    commands: Any = Commands(tools.noted)
    view = tools.view()[1]
    for number in view.branches:
        if view.state(number) == "begun":
            tools.noted.change_view(partial(roll_back, commands, number, WHO), "settle")
    view = tools.view()[1]
    for key in tools.keys:
        found = tools.one.partition(key)
        if found is not None and found.branch is not None and view.state(found.branch) == "rolled back":
            commands.people.reset(key, WHO, WHY, out_of_branch=True)


ROLES: Final[dict[str, Any]] = {
    "publisher": Publisher,
    "brancher": Brancher,
    "hider": Hider,
    "collector": Collector,
    "reader": Reader,
}
HOW_MANY: Final = {"publisher": 3, "brancher": 2, "hider": 1, "collector": 1, "reader": 2}
KEYS: Final = tuple(f"2013-01-{number:02}" for number in range(1, 9))
__all__ = ["HOW_MANY", "KEYS", "ROLES", "RecordedCoordinator", "Tools", "settle"]
