"""What people did, as the board tells it: of one source, or of all that the user sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.models import DeedsPage, DeedView
from airflow_coordination.board.reading import Read
from airflow_coordination.board.stores import connections, opened
from airflow_coordination.board.visibility import NotVisibleError, open_visible, visible_sources
from airflow_coordination.monitoring.deeds import deeds, newest
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.port import AUDITED, PartitionStore
from airflow_coordination.values.names import split_source

SOURCES: Final = 40
"""In so many sources one request looks, by name."""
LINES: Final = 50
"""The newest lines that are read of each of them: 2,000 in all."""


def deeds_page(
    user: BaseUser, connection: str, source: str | None, by: str | None, since: datetime | None, after: int, limit: int
) -> Read[DeedsPage]:
    """Return what people did, the newest first.

    :param source: a stored identifier; ``None`` = all that the user sees.
    :param by: only what this person did.
    :param since: only what was done from this moment on, by the store's clock.
    :param after: so many of them are left out.
    :param limit: so many are returned.
    :raises NotVisibleError: when the user does not see such a store or source.
    :raises StoreDoesNotAnswerError: when the store does not answer.
    """
    if source is not None:
        with open_visible(user, connection, source) as (store, _):
            typed = remedies.about(remedies.shell_of(store), "audit", source)
            found = _of(store, [source], AUDITED, by, since)
            return Read(
                _page(found, after, limit, sources=1, all_sources=True, lines=AUDITED, typed=typed), store.now()
            )
    if connection not in connections():
        raise NotVisibleError
    with opened(connection) as store:
        seen = [each.identifier for each in visible_sources(user, store)]
        found = _of(store, seen[:SOURCES], LINES, by, since)
        whole = len(seen) <= SOURCES
        looked_in = min(len(seen), SOURCES)
        return Read(
            _page(found, after, limit, sources=looked_in, all_sources=whole, lines=LINES, typed=None), store.now()
        )


def _of(
    store: PartitionStore, sources: Sequence[str], lines: int, by: str | None, since: datetime | None
) -> list[DeedView]:
    found = [deed for source in sources for deed in deeds(source, newest(store, source, lines))]
    meant = [each for each in found if by in (None, each.by) and (since is None or each.at >= since)]
    return [
        DeedView.model_validate({**asdict(each), "keys": list(each.keys), "name": split_source(each.source)[1]})
        for each in sorted(meant, key=lambda deed: deed.at, reverse=True)
    ]


def _page(
    found: list[DeedView], after: int, limit: int, *, sources: int, all_sources: bool, lines: int, typed: str | None
) -> DeedsPage:
    more = after + limit if len(found) > after + limit else None
    shown = found[after : after + limit]
    return DeedsPage(deeds=shown, after=more, sources=sources, all_sources=all_sources, lines=lines, typed=typed)
