"""``doctor``'s looks at what a store holds for others: published manifests, and notes that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.duties.follow_ups import told, understood
from airflow_coordination.outputs.manifests import Reference, references, verified
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore, parts_of
from airflow_coordination.protocol.remedies import about, shell_of
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.systems.objects.storage import OutputError, read_many
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import split_source

SAMPLE: Final = 200
"""Head records that are looked at when no source is named."""
NAMED: Final = 10
_CHECK: Final = "published output"
_Link = tuple[HeadRecord, Reference]


def look_at_published(store: PartitionStore, source: str | None) -> Iterator[Finding]:
    """Look at manifests as a reader does; nothing is said where nothing is published.

    :param source: the name of the source all of whose manifests are looked at; a few of each by default.
    """
    if source is None:
        names = [name for name, _ in store.sources()]
        each = max(1, SAMPLE // max(1, len(names)))
        heads = [head for name in names[:SAMPLE] for head in store.heads(name, limit=each)]
    else:
        heads = list(every_head(store, source_identifier(store, source, None)))
    links = [(head, reference) for head in heads if head.kind == "files" for reference in references(head.blocks)]
    seen, refused, unseen = 0, [], []
    while links:
        contents = read_many([reference.address for _, reference in links])
        following: list[_Link] = []
        for (head, reference), content in zip(links, contents, strict=True):
            if isinstance(content, OutputError):
                unseen.append(content)
                continue
            seen += 1
            try:
                manifest = verified(content, reference, head.source, head.key)
            except OutputError as error:
                refused.append(error)
                continue
            following += [(head, manifest.follows)] if manifest.follows and source is not None else []
        links = following
    yield from _findings(seen, refused, unseen, sampled=source is None)


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
        more = "; doctor --source NAME looks at all of one source" if sampled else ""
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
