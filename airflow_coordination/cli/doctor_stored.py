"""``doctor``'s looks at what a store holds for others: published manifests, and notes that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.duties.follow_ups import told, understood
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.outputs.overlays import NONE
from airflow_coordination.outputs.published import (
    DeadEnd,
    manifests_in,
    overlays_of,
    source_identifier,
    starts_of,
    walks,
)
from airflow_coordination.planning.view.showing import may_show
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import about, shell_of
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import split_source

SAMPLE: Final = 200
"""Head records that are looked at when no source is named."""
NAMED: Final = 10
_CHECK: Final = "published output"


@dataclass(slots=True)
class _Seen:
    """What was looked at: how many manifests, what readers refuse, and what could not be asked for."""

    manifests: int = 0
    refused: list[OutputError] = field(default_factory=list)
    unseen: list[OutputError] = field(default_factory=list)


def look_at_published(store: PartitionStore, source: str | None) -> Iterator[Finding]:
    """Look at manifests as a reader does, through overlays; nothing is said where nothing is published.

    :param source: the name of the source all of whose manifests are looked at; a few of each by default.
    """
    seen = _Seen()
    if source is None:
        names = [name for name, _ in store.sources()]
        each = max(1, SAMPLE // max(1, len(names)))
        for name in names[:SAMPLE]:
            _look(store, name, seen, each)
    else:
        _look(store, source_identifier(store, source, None), seen, None)
    yield from _findings(seen.manifests, seen.refused, seen.unseen, sampled=source is None)


def _look(store: PartitionStore, identifier: str, seen: _Seen, sample: int | None) -> None:
    """Walk from head records, overlays read before them; of a sample only the newest link of each chain."""
    overlays = NONE
    try:
        overlays = overlays_of(store, identifier, None)
    except OutputError as error:
        seen.refused.append(error)
    heads = store.heads(identifier, limit=sample) if sample else every_head(store, identifier)
    view = read_view(store, identifier)
    starts = starts_of(head for head in heads if head.kind == "files" and may_show(view, head))
    dead_ends: list[DeadEnd] = []
    found = walks(starts, overlays, dead_ends, links=1 if sample else None)
    seen.manifests += len(manifests_in(found))
    seen.refused += [end.error for end in dead_ends if not end.unseen]
    seen.unseen += [end.error for end in dead_ends if end.unseen]


def _findings(
    seen: int, refused: Sequence[OutputError], unseen: Sequence[OutputError], *, sampled: bool
) -> Iterator[Finding]:
    for error in islice(refused, NAMED):
        yield Finding(_CHECK, Verdict.WRONG, f"readers refuse {error.address}: it {error.problem}", error.remedy)
    if len(refused) > NAMED:
        yield Finding(_CHECK, Verdict.WRONG, f"readers refuse {len(refused) - NAMED} more manifests")
    if unseen:
        yield Finding(_CHECK, Verdict.UNKNOWN, f"{len(unseen)} manifest(s) cannot be read from here: {unseen[0]}")
    if seen and not refused:
        more = "; doctor NAME looks at all of one source" if sampled else ""
        yield Finding(_CHECK, Verdict.OK, f"readers understand the {seen} manifest(s) that were looked at{more}")


_SOURCES, _NOTES, _NAMED = 1_000, 100, 3
CHECK: Final = "what follows endings"


def look_at_follow_ups(context: CommandContext) -> Iterator[Finding]:
    """Yield the notes that are open, source by source: those that cannot be read, and what the others ask for.

    A store that cannot be asked has been told of already.
    """
    try:
        notes = parts_of(context.store).follow_ups
        if notes is None:
            return
        for source, _ in context.store.sources()[:_SOURCES]:
            look = about(shell_of(context.store), "finish-actions", source)
            yield from _of_source(source, notes.follow_ups(source, None, None, _NOTES), look)
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
