"""Which locations cannot be read, and since when: a document that changes only when one is lost, or is back.

Source: the seed's *Segment availability*. A location that is back is believed when a sample of what it holds is as it
was published; then all of its copies count again, and not one byte is copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.attempts import check_published
from airflow_coordination.outputs.copies.locations import Site, missing
from airflow_coordination.outputs.copies.reading import copies_in, pieces_of
from airflow_coordination.protocol.beside.documents import LOST_LOCATIONS, Document, Looked
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import everybody, identifier_of
from airflow_coordination.values.times import aware

SAMPLE: Final = 3
"""So many copies of each source are looked at in a location that is back."""
_DEPTH: Final = 2
_MAX_WHY: Final = 200


@dataclass(frozen=True, slots=True)
class Lost:
    """A location that cannot be read.

    :param since: since when, by the store's clock.
    :param why: for people.
    """

    since: datetime
    why: str


def lost_of(document: Document | None) -> dict[str, Lost]:
    """Return the locations that a document says are lost, by name.

    :raises InvalidInputError: when it is corrupt.
    """
    if document is None:
        return {}
    try:
        said = parse(document.content, max_bytes=len(document.content.encode()), max_depth=_DEPTH)
        lost = {str(name): Lost(datetime.fromisoformat(since), str(why)) for name, (since, why) in said.items()}
        for name, each in lost.items():
            aware(name, each.since)
        return lost
    except (AttributeError, TypeError, ValueError) as error:
        problem, remedy = f"does not say which locations are lost ({error})", "Restore a version of before"
        raise InvalidInputError(document.name, document.content[:200], problem, remedy) from None


def not_read(
    sites: Sequence[Site], said: Mapping[str, Lost], coordinator: SourceCoordinator, now: datetime
) -> dict[str, Lost]:
    """Return which locations cannot be read now, or were lost and nobody has looked yet whether they are as they were.

    :param said: those that were lost before.
    :param coordinator: of any source with their prefix.
    """
    unread = missing(sites, coordinator.store.store_id, coordinator.partition_prefix)
    found = {name: Lost(now, why) for name, why in unread.items()}
    return found | {site.name: said[site.name] for site in sites if site.name in said}


def seen_now(
    sites: Sequence[Site], said: Mapping[str, Lost], coordinators: Iterable[SourceCoordinator], now: datetime
) -> dict[str, Lost]:
    """Return which locations are lost now; one small read of each, and a sample of what each has that is back.

    :param said: those that were lost before.
    :param coordinators: of the sources whose copies they have.
    """
    row = list(coordinators)
    if not row:
        return dict(said)
    unread = missing(sites, row[0].store.store_id, row[0].partition_prefix)
    found: dict[str, Lost] = {}
    for site in sites:
        why = unread.get(site.name)
        if why is None and site.name in said:
            why = _odd(site, row)
        if why is not None:
            before = said.get(site.name)
            found[site.name] = before or Lost(now, why[:_MAX_WHY])
    return found


def _odd(site: Site, coordinators: Iterable[SourceCoordinator]) -> str | None:
    """Return what is wrong with a sample of the copies in a location; ``None`` when all of it is as it was."""
    for coordinator in coordinators:
        for head, manifest in copies_in(coordinator.store, identifier_of(coordinator), None, {site.name}, SAMPLE):
            if manifest is None:
                return f"the manifest of copy {head.key!r} cannot be read"
            try:
                check_published(pieces_of(manifest))
            except OutputError as error:
                return str(error)
    return None


def keep(coordinator: SourceCoordinator, found: Mapping[str, Lost], by: str) -> None:
    """Write down which locations are lost, if that has changed; who was faster is believed where both say lost.

    :param coordinator: of any source with their prefix.
    """

    def change(looked: Looked) -> str | None:
        before = lost_of(looked.document)
        after = {name: before.get(name, lost) for name, lost in found.items()}
        return None if after == before else _written(after)

    coordinator.documents.change(LOST_LOCATIONS, change, by, _why(found), everybody(coordinator.partition_prefix))


def _written(lost: Mapping[str, Lost]) -> str:
    said: dict[str, Any] = {name: [each.since.isoformat(), each.why] for name, each in sorted(lost.items())}
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def _why(found: Mapping[str, Lost]) -> str:
    return f"cannot be read: {', '.join(sorted(found))}" if found else "all locations can be read"
