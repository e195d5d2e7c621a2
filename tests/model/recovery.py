"""Progress: from every state, when all messages are lost and all workers gone, the work can still be finished.

A fresh sweep, a fresh supplier and a fresh owner lead each partition to COMPLETED (or it waits parked for a person),
with exactly the output that a reader must see. Repeated for ever, or stuck, is a violation, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tests.model import checks, cleaning, families, following
from tests.model.operations import publish, totals
from tests.model.others import TABLE
from tests.model.rules import Scenario
from tests.model.state import (
    ABSENT,
    ASSIGNED,
    CHAIN,
    CLOSED,
    UNASSIGNED,
    WAITS,
    Head,
    Item,
    Message,
    State,
    Truth,
)

BEYOND = 1000
"""More tokens than any scenario allows."""


class Recovery:
    """Finds what cannot be finished any more."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = replace(scenario, max_token=BEYOND)
        self._finish = lru_cache(maxsize=None)(self._finished)

    def stuck(self, state: State) -> str:
        """Return what is wrong, empty when everything can be finished."""
        for part, item in enumerate(state.items):
            supplied = part == self._scenario.global_state
            broken = self._supply(state) if supplied else self._finish(item, state.heads[part], state.truths[part])
            if broken:
                return broken
        if broken := following.lost(state) or families.waits_for_ever(state, self._scenario):
            return broken
        if broken := cleaning.stays_for_ever(state, self._scenario):
            return broken
        return "" if self._scenario.rules.overtaken_stops else next(wedges(state), "")

    def _finished(self, item: Item, head: Head, truth: Truth) -> str:
        if item.waits:
            return ""  # what it waits for is looked at beside the others
        for number in range(4):
            if item.status in (ASSIGNED, CLOSED):
                kind = "reclaim" if item.status == ASSIGNED else "reopen"
                item, truth, broken = self._apply(f"fresh.{number}", kind, item, head, truth)
            elif item.status == UNASSIGNED:
                return self._completed(item, head, truth)
            else:
                return ""
            if broken:
                return broken
        return f"LIVE: never comes to an end, is {item.status}"

    def _apply(self, op: str, kind: str, item: Item, head: Head, truth: Truth) -> tuple[Item, Truth, str]:
        m = Message(op, kind, -1, 0, item.token, item.nonce, item.last_op, item.status)
        after = TABLE[kind](item, m, True, self._scenario)
        if after is None:
            return item, truth, f"LIVE: stuck, {kind} is refused on {item.status}"
        truth, broken = checks.witness(truth, m, item, after, head, self._scenario)
        return after, truth, broken or checks.of_sweep(truth, m, item, after)

    def _completed(self, item: Item, head: Head, truth: Truth) -> str:
        asked = Message("fresh.8", "acquire_hint", 0, 0, item.token, item.nonce, item.last_op, item.status)
        held = TABLE["acquire_hint"](item, asked, True, self._scenario)
        if held is None:
            return f"LIVE: stuck, acquire is refused on {item.status}"
        rows = (*held.staged, *((row, "fresh.9") for row in range(held.progress, self._scenario.rows)))
        adds = head.op and head.generation == held.generation and self._scenario.rules.same_generation_adds
        blocks = ((*head.blocks, *rows) if adds else rows) if rows else None
        m = Message(
            "fresh.9", "complete", 0, 0, held.token, held.nonce, held.last_op, since=held.progress,
            progress=self._scenario.rows, blocks=blocks, generation=held.generation,
            counted=totals(held.counts, held.generation, self._scenario.rules) + self._scenario.rows - held.progress,
        )  # fmt: skip
        done = TABLE["complete"](held, m, True, self._scenario)
        after = publish(head, m, self._scenario.rules)
        if done is None or after is None:
            return f"LIVE: stuck, complete is refused on {held.status} under token {held.token}"
        truth, _ = checks.granted(truth, asked, item, held, self._scenario)
        return checks.witness(truth, m, held, done, after, self._scenario)[1]

    def _supply(self, state: State) -> str:
        """Return which partition a fresh supplier would never create: it lists the pages after the global state."""
        ahead = self._scenario.pages[state.items[self._scenario.global_state].progress :]
        listed = {part for page in ahead for part in page}
        for part in range(self._scenario.partitions):
            if state.items[part].status == ABSENT and part not in listed:
                return f"S11: partition {part} is never created, the global state is past it"
        return ""


def wedges(state: State) -> Iterator[str]:
    """Yield who repeats a write for ever: the fence is its own, and somebody else has written under it."""
    for worker in state.workers:
        if worker.phase != WAITS:
            continue
        m = next(m for m in state.messages if m.op == worker.call)
        item = state.items[m.part]
        held = (item.status, item.token, item.nonce) == (ASSIGNED, m.token, m.nonce)
        if m.kind in CHAIN and held and item.last_op not in (m.op, m.prev):
            yield f"LIVE: {m.op} is repeated for ever: its sender holds the fence, and its renewals keep the lease"
