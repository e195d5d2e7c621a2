"""What people did, as the board tells it: of one source, or of all that the user sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.models import DeedsPage, DeedView, EndView, SourceName
from airflow_coordination.board.reading import Read
from airflow_coordination.board.visibility import open_known, serves_all
from airflow_coordination.monitoring.became import became, spoken
from airflow_coordination.monitoring.deeds import Deed, Meant, deeds, newest, page
from airflow_coordination.planning.duties.keys import DUTIES
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.port import AUDITED, PartitionStore
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import split_source

SOURCES: Final = 40
"""In so many sources one request looks, by name."""
LINES: Final = 45
"""The newest lines that are read of each of them: 1,800 in all."""
NAMED: Final = 50
"""So many people and actions are named as what one may ask for, the most frequent ones."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which of it is asked for.

    :param meant: only that of it.
    :param after: as the page before said; empty for the first one.
    :param limit: so many are returned.
    :param became: also what became of each.
    """

    meant: Meant
    after: str
    limit: int
    became: bool


def deeds_page(user: BaseUser, connection: str, source: str | None, asked: Asked) -> Read[DeedsPage]:
    """Return what people did, the newest first.

    :param source: a stored identifier; ``None`` = all that the user sees.
    :raises NotVisibleError: when the user does not see such a store or source.
    :raises StoreDoesNotAnswerError: when the store does not answer.
    :raises InvalidInputError: when no page can have said ``after``.
    """
    with open_known(user, connection, source) as (store, known):
        if source is not None:
            return Read(_of_source(store, source, asked), store.now())
        registered = [each for each in known if not serves_all(each)]
        return Read(_of_all(store, registered, asked), store.now())


def _of_source(store: PartitionStore, source: str, asked: Asked) -> DeedsPage:
    lines, full = _before(store, source, asked.after), AUDITED
    found, more = page(source, lines, more=len(lines) == full, limit=asked.limit, meant=asked.meant)
    return DeedsPage(
        deeds=_viewed(store, found, asked),
        after=more,
        sources=1,
        all_sources=True,
        lines=len(lines),
        typed=None if serves_all(source) else _typed(store, source, asked.meant),
        people=_named(line["by"] for line in lines),
        actions=_named(line["action"] for line in lines),
    )


def _typed(store: PartitionStore, source: str, meant: Meant) -> str:
    """Return the command that asks the same."""
    return remedies.about(remedies.shell_of(store), "audit", source, options=narrowing(meant))


def narrowing(meant: Meant) -> list[str]:
    """Return what narrows `audit` to what is meant."""
    since = meant.since.isoformat() if meant.since else None
    given = {"by": meant.by, "action": meant.action, "reach": meant.reach, "has": meant.has, "since": since}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def _before(store: PartitionStore, source: str, after: str) -> Sequence[Mapping[str, Any]]:
    """Return the lines of the audit of which a page is made."""
    try:
        return newest(store, source, AUDITED, after or None)
    except InvalidInputError as error:
        if isinstance(error, SettingsError):
            raise
        raise _not_said(after) from error


def _left_out(after: str) -> int:
    """Return how many the pages before have told of all sources.

    :raises InvalidInputError: when it is no such number.
    """
    if not after:
        return 0
    if after.isascii() and after.isdecimal() and len(after) <= len(str(SOURCES * LINES)):
        return int(after)
    raise _not_said(after)


def _not_said(after: str) -> InvalidInputError:
    return InvalidInputError("after", after, "is nothing that a page has said", "Leave it out, for the first page")


def _of_all(store: PartitionStore, seen: list[str], asked: Asked) -> DeedsPage:
    """Return what was done in all sources; it ends with the newest lines of each, which pages do not lead behind."""
    after = _left_out(asked.after)
    lines = {source: newest(store, source, LINES) for source in seen[:SOURCES]}
    found = [deed for source, said in lines.items() for deed in deeds(source, said)]
    meant = sorted(filter(asked.meant.means, found), key=lambda deed: deed.at, reverse=True)
    end = after + asked.limit
    return DeedsPage(
        deeds=_viewed(store, meant[after:end], asked),
        after=str(end) if len(meant) > end else None,
        sources=min(len(seen), SOURCES),
        all_sources=len(seen) <= SOURCES,
        lines=LINES,
        typed=None,
        people=_named(deed.by for deed in found),
        actions=_named(deed.action for deed in found),
        of=[SourceName(source=each, name=split_source(each)[1]) for each in seen[:SOURCES]],
        ends=_ends(lines, asked.meant),
    )


def _ends(lines: Mapping[str, Sequence[Mapping[str, Any]]], meant: Meant) -> list[EndView]:
    """Return of which sources there may be older lines that are meant, the one that ends first at the top."""
    oldest = {source: said[0]["at"] for source, said in lines.items() if len(said) == LINES}
    ends = [
        EndView(source=source, name=split_source(source)[1], at=at)
        for source, at in oldest.items()
        if meant.since is None or at > meant.since
    ]
    return sorted(ends, key=lambda end: end.at, reverse=True)


def _named(texts: Iterable[str]) -> list[str]:
    return sorted(text for text, _ in Counter(texts).most_common(NAMED))


def _viewed(store: PartitionStore, found: list[Deed], asked: Asked) -> list[DeedView]:
    told = became(store, found, store.now()) if asked.became else len(found) * [None]
    return [_view(deed, spoken(deed, said) if said else None) for deed, said in zip(found, told, strict=True)]


def _view(deed: Deed, said: str | None) -> DeedView:
    return DeedView(
        source=deed.source,
        name=split_source(deed.source)[1],
        since=deed.since,
        at=deed.at,
        by=deed.by,
        action=deed.action,
        why=deed.why,
        keys=list(deed.keys),
        number=deed.number,
        became=said,
        duty=deed.by in DUTIES,
    )
