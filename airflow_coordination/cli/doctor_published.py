"""The check of what is published, for ``doctor``: readers must understand each manifest, and may not obey every one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from airflow_coordination.outputs.manifests import Reference, references, verified
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.systems.objects.errors import OutputError
from airflow_coordination.systems.objects.storage import read_many

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
