"""The rules that decide about a dataset, in their order, for people to look at: read from documents and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.reading import Read
from airflow_coordination.board.showing.models import FitsView, RulesPage, RuleView
from airflow_coordination.board.showing.notes import interval_of_chunk
from airflow_coordination.board.visibility import coordinator_of, open_visible
from airflow_coordination.duties.retention.explaining import DROPPED, KEPT, LEFT, explained
from airflow_coordination.duties.retention.ruled import Ruled, rules_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.rules.choosing import choose, first_change
from airflow_coordination.protocol import remedies
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import check_key, check_users_name

CHUNKS: Final = 250
"""The newest chunks, of which one look says what rules do to them, at most."""
CHOICES: Final = 1_000
"""So often one look asks a rule about a chunk: the more rules, the fewer chunks."""
MOST_RULES: Final = 10
"""Of so many rules one look says when they change something: of more it takes longer than a look may."""


def rules_page(user: BaseUser, connection: str, source: str, dataset: str, of: str | None = None) -> Read[RulesPage]:
    """Return the rules of a dataset: its own, then the default ones of all datasets.

    :param of: also which of them decides about this partition, or this interval.
    :raises NotVisibleError: when the user does not see such a source.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when ``of`` is neither, or has no interval.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
    if of is not None:
        check_key(of, "of")
    with open_visible(user, connection, source) as (store, seen):
        now, coordinator = store.now(), coordinator_of(user, store, seen)
        found = rules_of(coordinator, dataset)
        own = found.document
        intervals, more = _intervals(coordinator, dataset, min(CHUNKS, max(1, CHOICES // max(1, len(found.rules)))))
        page = RulesPage(
            rules=_rules(found, intervals, now),
            version=own.version if own else None,
            author=own.author if own else None,
            why=own.comment if own else None,
            changed_at=own.at if own else None,
            looked_at=len(intervals),
            looked_at_all=not more,
            ahead=len(found.rules) <= MOST_RULES,
            fits=None if of is None else _fits(coordinator, dataset, of),
            typed=remedies.about(remedies.shell_of(store), "rules get", source, options=["--dataset", dataset]),
            explaining=_explaining(coordinator, source, dataset, of),
        )
        return Read(page, now)


def _intervals(coordinator: SourceCoordinator, dataset: str, most: int) -> tuple[list[Interval], bool]:
    """Return of which time the newest chunks are, and whether there are more than ``most``."""
    chunks = coordinator.looking.chunks.page(dataset, None, most + 1)
    found = [each for chunk in chunks[:most] if (each := interval_of_chunk(chunk)) is not None]
    return found, len(chunks) > most


def _rules(found: Ruled, intervals: Sequence[Interval], now: datetime) -> list[RuleView]:
    decided: dict[int, list[Interval]] = {}
    for each in intervals:
        index = choose(found.rules, each, now).index
        if index is not None:
            decided.setdefault(index, []).append(each)
    return [_rule(found, index, decided.get(index, []), now) for index in range(len(found.rules))]


def _rule(found: Ruled, index: int, mine: Sequence[Interval], now: datetime) -> RuleView:
    rule = found.rules[index]
    ahead = len(found.rules) <= MOST_RULES
    changes_at = first_change(found.rules, mine, now) if ahead else None
    return RuleView(
        named=found.named(index),
        own=index < found.own,
        drops=rule.type.drops,
        copies=dict(rule.tiers) if rule.type.loads else {},
        chunks=len(mine),
        changes_at=changes_at,
        then=[] if changes_at is None else _then(found, index, mine, changes_at),
    )


def _then(found: Ruled, index: int, mine: Sequence[Interval], at: datetime) -> list[str]:
    """Return which other rules decide at a moment about intervals of a rule, and what becomes of these."""
    others = [(choose(found.rules, each, at).index, each) for each in mine]
    left = [(other, each) for other, each in others if other != index]
    first = dict(reversed(left))
    number = Counter(other for other, _ in left)
    return [_becomes(found, other, first[other], count) for other, count in number.most_common()]


def _becomes(found: Ruled, other: int | None, first: Interval, number: int) -> str:
    what = f"{first} is" if number == 1 else f"{number:,} chunks, {first} among them, are"
    if other is None:
        return f"{what} {LEFT}"
    return f"{what} {DROPPED if found.rules[other].type.drops else KEPT} by {found.named(other)}"


def _fits(coordinator: SourceCoordinator, dataset: str, of: str) -> FitsView:
    found = explained(coordinator, dataset, of)
    return FitsView(
        interval=str(found.interval),
        becomes=found.becomes,
        why=found.why,
        changes_at=found.changes_at,
        then=found.then,
        hidden_by=found.hidden.by if found.hidden else None,
        hidden_since=found.hidden.since if found.hidden else None,
    )


def _explaining(coordinator: SourceCoordinator, source: str, dataset: str, of: str | None) -> str:
    shell = remedies.shell_of(coordinator.store)
    return remedies.about(shell, "rules explain", source, of or remedies.WHY, options=["--dataset", dataset])
