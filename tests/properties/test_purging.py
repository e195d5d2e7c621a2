"""Random histories of a source that is hidden, restored, branched and purged: nothing goes before its time (S23).

What judges a purge knows nothing of how it decides: at the instant at which a head record is emptied it asks, of every
view that people could still make, whether readers would see it. Everybody is stopped between reading and writing, for
however long, while others go on, who are stopped in their turn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Any

import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.planning.view.showing import interval_of_head, newest, seen
from airflow_coordination.planning.view.view import BranchState, View
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.results import Answer, HeadRecord
from airflow_coordination.protocol.writes import Act
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.errors import PartitionNotOwnedError, PartitionUpdateError
from tests.retention import BUFFER, DAY, LONG_AFTER, RETAIN, STORED, Archive
from tests.share import SHARE

HISTORIES = int((10_000 if SHARE == 1 else 3_000) * SHARE)
STEPS = 25
MOST_STOPPED = 3
KEYS = "abc"
INTERVALS = ("2013-01-01/P1D", "2013-01-02/P1D", "2013-07-30/P1D", None)
HIDING = ("2013-01/P1M", "2013-01-01/P1D", "2013/P1Y")
OPEN = (BranchState.BEGUN, BranchState.PUBLISHED)
OFTEN = {
    "publish": 6,
    "hide": 4,
    "restore": 2,
    "purge": 5,
    "time": 6,
    "begin": 2,
    "show": 2,
    "back": 1,
    "final": 2,
}
Id = tuple[str, str, str]


class Watched(InMemoryStore):
    """Calls the history before each call that matters, and lets it judge what a purger empties."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.history: History | None = None

    def act(self, write: Act) -> Answer:
        if self.history is None or write.datasets is None:
            return super().act(write)
        self.history.meanwhile()
        before, view = self.history.heads(), self.history.view()
        answer = super().act(write)
        if answer.applied:
            self.history.judge(before, view, write)
        return answer

    def get(self, source: str, key: str) -> Any:
        self._meanwhile()
        return super().get(source, key)

    def document(self, source: str, name: str) -> Any:
        self._meanwhile()
        return super().document(source, name)

    def set_document(self, write: Any) -> bool:
        self._meanwhile()
        return super().set_document(write)

    def _meanwhile(self) -> None:
        if self.history is not None:
            self.history.meanwhile()


class History:
    """One history, by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = FakeClock(LONG_AFTER)
        self.store = Watched(self.clock)
        self.archive = Archive(self.clock, self.store)
        self.last_seen: dict[Id, datetime] = {}
        self.counting: set[Id] = set()
        """What has ever been the newest that counts, hidden or not."""
        self.never: set[Id] = set()
        """What was emptied because a newer one covers it, or its branch was rolled back: nobody may ever see it."""
        self.stopped = 0
        """How many are in the middle of something."""
        self.purging = 0
        self.emptied = 0

    def run(self) -> None:
        for key, interval in zip(KEYS, INTERVALS, strict=False):
            self.archive.publish(key, interval)
        self.clock.advance(100 * DAY)
        self.store.history = self
        for _ in range(STEPS):
            self.step()

    def step(self) -> None:
        """Do one thing that people or workers do; what is refused is refused."""
        name = self.random.choices(list(OFTEN), list(OFTEN.values()))[0]
        with suppress(InvalidInputError, PartitionUpdateError, PartitionNotOwnedError):
            getattr(self, name)()
        self.look()

    def publish(self) -> None:
        key, branch = self.random.choice(KEYS), self._branch(BranchState.BEGUN, BranchState.PUBLISHED)
        branch = branch if self.random.random() < 0.6 else None
        self.archive.publish(key, self.random.choice(INTERVALS), branch)

    def hide(self) -> None:
        self.archive.hide(self.random.choice(HIDING))

    def restore(self) -> None:
        self.archive.restore(self.random.choice(HIDING))

    def time(self) -> None:
        self.clock.advance(self.random.choice([1, 10, 31, 100]) * DAY)

    def begin(self) -> None:
        self.archive.begin()

    def show(self) -> None:
        self.archive.show(self._branch(BranchState.BEGUN) or 0)

    def back(self) -> None:
        self.archive.roll_back(self._branch(*OPEN) or 0)

    def final(self) -> None:
        self.archive.finalize(self._branch(BranchState.PUBLISHED) or 0)

    def purge(self) -> None:
        """Purge; what readers see stays, unless others change it meanwhile."""
        if self.purging >= 2:
            return
        self.purging += 1
        try:
            self.archive.purge(most=self.random.choice([1, 2, 100]))
        finally:
            self.purging -= 1

    def meanwhile(self) -> None:
        """Let others go on while somebody is stopped."""
        if self.random.random() < 0.08 and self.stopped < MOST_STOPPED:
            self.stopped += 1
            try:
                for _ in range(self.random.randrange(1, 5)):
                    self.step()
            finally:
                self.stopped -= 1

    def look(self) -> None:
        """Note what could be seen without restoring anything, and that nobody sees what is gone for good."""
        view, rows = self.view(), self.rows()
        later = list(futures(view))
        counting = {_id(head) for row in rows if (head := newest(view, row))}
        for row in rows:
            may_be_seen = {_id(head) for each in later if (head := seen(each, row))}
            for head in row:
                begins = _id(head) in counting - self.counting
                if begins or (head.blocks and _id(head) in may_be_seen):
                    self.last_seen[_id(head)] = self.clock.now()
                self.last_seen.setdefault(_id(head), self.clock.now())
            shown = seen(view, row)
            assert shown is None or _id(shown) not in self.never, f"{shown} was emptied and is what shows"
        self.counting |= counting

    def judge(self, before: list[HeadRecord], view: View, write: Act) -> None:
        """Judge what a purger has emptied in this instant."""
        after = {_id(head): head for head in self.heads()}
        now = self.clock.now()
        gone = [head for head in before if head.blocks and not after[_id(head)].blocks]
        assert {head.dataset for head in gone} <= set(write.datasets or ())
        for head in gone:
            self.emptied += 1
            row = [each for each in before if each.key == head.key]
            bare = replace(view, hidden=tuple(each for each in view.hidden if each.purging))
            assert not any(seen(each, row) == head for each in futures(bare)), f"{head} could still be shown"
            assert now - self.last_seen[_id(head)] >= BUFFER.rest, (
                f"{head} could be seen at {self.last_seen[_id(head)]}"
            )
            if any(seen(each, row) == head for each in futures(replace(view, hidden=()))):
                interval = interval_of_head(head)
                assert interval is not None
                assert interval.end <= RETAIN.before(now), f"{head} is retained"
            else:
                self.never.add(_id(head))

    def view(self) -> View:
        """What readers see in this instant, in which nobody does anything else."""
        found = InMemoryStore.document(self.store, STORED, VIEW)
        return View.of(found.content if found else None)

    def heads(self) -> list[HeadRecord]:
        return list(self.store.heads(STORED))

    def rows(self) -> list[list[HeadRecord]]:
        heads = self.heads()
        return [[head for head in heads if head.key == key] for key in KEYS]

    def _branch(self, *states: BranchState) -> int | None:
        found = [each.number for each in self.archive.view.branches if each.state in states]
        return self.random.choice(found) if found else None


def futures(view: View) -> Iterator[View]:
    """Yield the views that people could make of one by publishing and rolling back, and by nothing else."""
    open_ones = [each for each in view.branches if each.state in OPEN]
    for states in product((BranchState.PUBLISHED, BranchState.ROLLED_BACK), repeat=len(open_ones)):
        said = {each.number: state for each, state in zip(open_ones, states, strict=True)}
        branches = (replace(each, state=said.get(each.number, each.state)) for each in view.branches)
        yield replace(view, branches=tuple(branches))


def _id(head: HeadRecord) -> Id:
    return head.dataset, head.key, head.op


@pytest.mark.timeout(1800)  # ten thousand histories are minutes of work, on a busy machine more
def test_s23_nothing_goes_before_its_margins_or_while_anybody_could_still_show_it() -> None:
    emptied = 0
    for seed in range(HISTORIES):
        history = History(seed)
        try:
            history.run()
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error
        emptied += history.emptied
    assert emptied > HISTORIES / 4, "the histories purge too little to show anything"
