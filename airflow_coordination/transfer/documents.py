"""What people have said of a source beside its partitions, on its way into another store: its view, its rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.moving import Life
from airflow_coordination.planning.rules.rule import RuleType
from airflow_coordination.planning.view.showing import branch_of
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import (
    CONFIGURATION,
    DEFAULT_RULES,
    LOCATIONS,
    VIEW,
    Document,
    Looked,
)
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.transfer.lines import Heading
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import MERGED, everybody
from airflow_coordination.values.program import TYPED

_LONGEST: Final = 200
"""Characters of a store's address that stand in a comment."""


def documents_of(coordinator: SourceCoordinator) -> list[Document]:
    """Return the newest version of each document of a source, then that of the default rules, which decide of it, too.

    What was merged of a source is ruled by nobody: its groups have documents of their own alone.
    """
    own = coordinator.documents.all()
    default = None if coordinator.source.startswith(MERGED) else _default_rules(coordinator)
    return own if default is None else [*own, default]


def _default_rules(coordinator: SourceCoordinator) -> Document | None:
    return coordinator.documents.newest(DEFAULT_RULES, everybody(coordinator.partition_prefix))


def staying(coordinator: SourceCoordinator) -> tuple[str, ...]:
    """Return the names of what people have said of all sources, and an export of one of them does not carry."""
    said = {document.name for document in coordinator.documents.all(everybody(coordinator.partition_prefix))}
    return tuple(name for name in (LOCATIONS, CONFIGURATION) if name in said)


def other_default_rules(coordinator: SourceCoordinator, there: Document | None) -> tuple[str, ...]:
    """Return the name of the default rules if those here are others than where a source comes from; else nothing.

    They are left as they are: they decide of all other sources here, too.

    :param there: those in the file, if it has any.
    """
    if coordinator.source.startswith(MERGED) or _says(_default_rules(coordinator)) == _says(there):
        return ()
    return (DEFAULT_RULES,)


def _says(document: Document | None) -> Any:
    """Return the default rules that a document says; where nobody has said any, everything is kept."""
    return [{"type": str(RuleType.LOAD_FOREVER)}] if document is None else json.loads(document.content)


def is_of_a_branch(life: Life) -> bool:
    """Return whether code that knows no branches would show what is not to be seen of a partition."""
    runs = life.partition is not None and life.partition.branch is not None
    return runs or any(branch_of(head) is not None for head in life.heads)


def needs_branches(documents: Sequence[Document]) -> bool:
    """Return whether documents say of branches, or of hidden intervals, that code of before does not know."""
    views = [View.said_by(each) for each in documents if each.name == VIEW]
    return any(view.branches or view.hidden for view in views)


def check_kept(coordinator: SourceCoordinator, documents: Sequence[Document], *, branches: bool) -> None:
    """Refuse to import into a store that does not keep what the export carries.

    :param branches: whether it carries branches, or hidden intervals.
    :raises SettingsError: with what to do before; nothing is changed then.
    """
    store = coordinator.store
    has = parts_of(store)
    if (documents or branches) and has.documents is None:
        problem = "comes from elsewhere and keeps no documents, which the file has"
        raise SettingsError("store", store.description, problem, "Import it into a store of this package")
    if branches and not (has.enabling is not None and has.enabling.branches_enabled()):
        problem = "lets code in that knows no branches and no hidden intervals, which the file has: it would show them"
        remedy = f"Run `{TYPED} store enable branches` there, then import again"
        raise SettingsError("store", store.description, problem, remedy)
    for document in documents:
        if document.name == VIEW and _stays(coordinator, document):
            problem = "has another view here already: its branches and hidden intervals are not those in the file"
            remedy = "Import it into a store that does not know this source"
            raise SettingsError("source", coordinator.source, problem, remedy)


def settle(coordinator: SourceCoordinator, documents: Sequence[Document], heading: Heading, by: str) -> tuple[str, ...]:
    """Write what is not here yet, with its author and what they said; what is here already stays as it is.

    They come before the partitions: nobody sees meanwhile what they hide.

    :param heading: where they come from, which their comments say from here on.
    :param by: who moves them.
    :return: names of those that are others here.
    """
    stay = tuple(document.name for document in documents if _stays(coordinator, document))
    for document in documents:
        if document.name not in stay and coordinator.documents.newest(document.name) is None:
            said = f"version {document.version} of {document.at.isoformat(timespec='seconds')}"
            moved = f"moved by {by} from {heading.store[:_LONGEST]}, {said}: {document.comment}"
            coordinator.documents.change(document.name, partial(_first, document.content), document.author, moved)
    return stay


def _first(content: str, here: Looked) -> str | None:
    """Return what is written where there is nothing; what somebody else has written meanwhile stays."""
    return content if here.document is None else None


def _stays(coordinator: SourceCoordinator, document: Document) -> bool:
    """Return whether a document here is another one, and none that has become of it since an earlier try."""
    if coordinator.documents.newest(document.name) is None:
        return False
    return all(each.content != document.content for each in coordinator.documents.versions(document.name))
