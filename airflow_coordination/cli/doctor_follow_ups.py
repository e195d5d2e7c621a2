"""Checks of what is left to be done after endings, for ``doctor``: notes are orders, and some wait for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.duties.follow_ups import told, understood
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.port import follow_ups_of
from airflow_coordination.protocol.remedies import about, shell_of
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import split_source

_SOURCES, _NOTES, _NAMED = 1_000, 100, 3
CHECK: Final = "what follows endings"


def look_at_follow_ups(context: CommandContext) -> Iterator[Finding]:
    """Yield the notes that are open, source by source: those that cannot be read, and what the others ask for.

    A store that cannot be asked has been told of already.
    """
    try:
        for source, _ in context.store.sources()[:_SOURCES]:
            look = about(shell_of(context.store), "finish-actions", source)
            yield from _of_source(source, follow_ups_of(context.store, source, None, _NOTES), look)
    except CoordinationError:
        return


def _of_source(source: str, notes: Sequence[FollowUp], look: str) -> Iterator[Finding]:
    odd = [note for note in notes if not understood(note)]
    name = split_source(source)[1]
    if odd:
        remedy = f"`{look}` with its key, --forget and --why takes one away; or use the version that has written it"
        yield Finding(CHECK, Verdict.WRONG, f"{shown(name)}: {_named(odd, len(notes))}", remedy)
    waiting = [note for note in notes if note not in odd]
    if waiting:
        by_itself = "CreatePartitionsOperator does what its supplier or its follow_up_rights= allow, and nothing else"
        remedy = f"{by_itself}; `{look}` shows and does them for a person"
        yield Finding(CHECK, Verdict.UNKNOWN, f"{shown(name)}: {_named(waiting, len(notes))}", remedy)


def _named(notes: Sequence[FollowUp], looked_at: int) -> str:
    number = f"{len(notes)}{' or more' if looked_at == _NOTES else ''} note(s) open"
    named = "; ".join(f"{shown(note.key)}: {told(note)}" for note in notes[:_NAMED])
    return f"{number}: {named}{'; …' if len(notes) > _NAMED else ''}"
