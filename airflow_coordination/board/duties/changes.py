"""What people and duties have set, on the board: changes of documents of the sources that one sees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.deeds import narrowing
from airflow_coordination.board.duties.models import SettingsChange, SettingsPage, ToldDifference, UnreadSource
from airflow_coordination.board.reading import Read
from airflow_coordination.board.visibility import open_known
from airflow_coordination.monitoring.changes import Change, called, changes_of, newest_changes
from airflow_coordination.monitoring.deeds import Meant
from airflow_coordination.planning.duties.keys import DUTIES
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import COMPACTION, CONFIGURATION, DEFAULT_RULES, RULES, Document
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import storable

SOURCES: Final = 40
"""In the documents of so many sources one request looks, by name."""


@dataclass(frozen=True, slots=True)
class AskedSettings:
    """Which changes are asked for.

    :param source: only of this source, a stored identifier; else of all, and of what serves all.
    :param document: only of this one of it, by name.
    :param before: of that one only versions older than this.
    :param meant: only these.
    :param limit: so many at most.
    """

    source: str | None
    document: str | None
    before: int | None
    meant: Meant
    limit: int


def settings_page(user: BaseUser, connection: str, asked: AskedSettings) -> Read[SettingsPage]:
    """Return what was set in a store, the newest first.

    :raises NotVisibleError: when the user does not see such a store or source.
    :raises StoreDoesNotAnswerError: when the store does not.
    :raises InvalidInputError: when something is given that would narrow nothing.
    """
    _check(asked)
    with open_known(user, connection, asked.source) as (store, known):
        of = known[:SOURCES]
        if asked.document is not None and asked.source is not None:
            found = changes_of(store, asked.source, asked.document, asked.before, asked.limit)
        else:
            found = newest_changes(store, of, asked.meant, asked.limit)
        page = SettingsPage(
            changes=[_view(store, each) for each in found.found],
            documents=found.documents,
            since=found.since,
            sources=len(of),
            all_sources=len(known) <= SOURCES,
            unread=[UnreadSource(source=each, name=called(each)) for each in found.unread],
            typed=_asking(store, asked),
        )
        return Read(page, store.now())


def _check(asked: AskedSettings) -> None:
    """Refuse what would narrow nothing.

    :raises InvalidInputError: naming it.
    """
    meant, remedy = asked.meant, "Leave it out, or the document"
    if asked.document is None and asked.before is not None:
        raise InvalidInputError("before", asked.before, "is of one document", "Name the document")
    if asked.document is None:
        return
    if asked.source is None:
        raise InvalidInputError("document", asked.document, "is of one source", "Name the source")
    for name, value in (("by", meant.by), ("has", meant.has), ("since", meant.since)):
        if value is not None:
            raise InvalidInputError(name, value, "does not narrow the versions of one document", remedy)


def _asking(store: PartitionStore, asked: AskedSettings) -> str | None:
    """Return the command that prints the same; ``None`` where there is none, or each line has that of its document."""
    shell, options = remedies.shell_of(store), narrowing(asked.meant)
    if asked.source is None:
        return remedies.of_store("audit", shell, ["--settings", *options])
    if asked.document is not None or called(asked.source) is None:
        return None
    return remedies.about(shell, "audit", asked.source, options=["--settings", *options])


def _view(store: PartitionStore, change: Change) -> SettingsChange:
    said = change.document
    differences = change.differences
    return SettingsChange(
        source=said.source,
        name=called(said.source),
        document=said.name,
        what=storable(change.what),
        version=said.version,
        at=said.at,
        by=said.author,
        duty=said.author in DUTIES,
        why=said.comment,
        differences=None if differences is None else [ToldDifference(**asdict(each)) for each in differences],
        more=change.more,
        typed=_typed(store, said),
    )


def _typed(store: PartitionStore, said: Document) -> str | None:
    """Return the command that prints all versions of a document, where there is one."""
    shell = remedies.shell_of(store)
    if called(said.source) is None and said.name in (CONFIGURATION, DEFAULT_RULES):
        return remedies.of_store("config history" if said.name == CONFIGURATION else "rules history", shell)
    for beginning, command in ((RULES, "rules history"), (COMPACTION, "compaction history")):
        if said.name.startswith(beginning):
            return remedies.about(shell, command, said.source, options=["--dataset", said.name[len(beginning) :]])
    return None
