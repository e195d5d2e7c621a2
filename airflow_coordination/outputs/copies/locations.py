"""The locations that copies may lie in, as people say them in a document, and the marker that each has at its root.

A location is known again by its marker, not by its address: an empty directory where a disk was mounted before is none.
Only people let markers be written, by saying a location; a run that finds none takes the location for lost.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.layout import ATTEMPTS
from airflow_coordination.planning.rules.rule import DEFAULT_TIER
from airflow_coordination.planning.sizes import parse_size
from airflow_coordination.protocol.beside.documents import ABSENT, LOCATIONS, Document, Looked, said_in
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.systems.objects.storage import (
    OutputError,
    is_there,
    join,
    normal_root,
    read_bytes,
    scheme_of,
    side_by_side,
    write_bytes,
)
from airflow_coordination.values.documents import parse
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.names import everybody

MARKER: Final = "_location.json"
"""The file at the root of a location that says which one it is, and of which store."""
_FIELDS: Final = ("name", "root", "tier", "capacity")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_DEPTH: Final = 2
_HIDDEN: Final = "…@…"
_MAX_MARKER_BYTES: Final = 4 * 1024
_EXAMPLE: Final = '[{"name": "hot-1", "root": "s3a://hot/copies", "tier": "hot", "capacity": "10TB"}]'


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A location as people have said it (Druid: a historical process).

    :param name: its name, by which status and the keys of copies know it.
    :param root: the address of its directory, normalised.
    :param tier: the tier it belongs to, as rules name it in ``tieredReplicants``.
    :param capacity: bytes it has room for.
    """

    name: str
    root: str
    tier: str
    capacity: int


def parsed_locations(text: str, name: str = "locations") -> list[Site]:
    """Return the locations that a text says, by name.

    :param text: JSON, a list of objects with ``name``, ``root``, ``tier`` (default: Druid's ``_default_tier``) and
        ``capacity``, a number of bytes or a text such as ``10TB``.
    :param name: how errors name it.
    :raises InvalidInputError: naming what is wrong, and what to write instead.
    """
    said = said_in(name, text, _DEPTH, f"Write such as {_EXAMPLE}")
    if not isinstance(said, list):
        raise InvalidInputError(name, text[:200], "is no list", f"Write such as {_EXAMPLE}")
    found = [_site(f"{name}[{number}]", each) for number, each in enumerate(said)]
    _check_apart(name, found)
    return sorted(found)


def _site(name: str, said: object) -> Site:
    if not isinstance(said, dict):
        raise InvalidInputError(name, said, "is no object", f"Write such as {_EXAMPLE}")
    for key in said:
        if key not in _FIELDS:
            near = difflib.get_close_matches(key, _FIELDS, n=1)
            remedy = f"Did you mean {near[0]}? " if near else ""
            raise InvalidInputError(f"{name}.{key}", said[key], "is not known", f"{remedy}Give {', '.join(_FIELDS)}")
    for key in ("name", "root", "capacity"):
        if key not in said:
            raise InvalidInputError(f"{name}.{key}", None, "is missing", f"Write such as {_EXAMPLE}")
    return Site(
        _named(f"{name}.name", said["name"]),
        _rooted(f"{name}.root", said["root"]),
        _tier(f"{name}.tier", said.get("tier", DEFAULT_TIER)),
        parse_size(f"{name}.capacity", said["capacity"]),
    )


def _named(field: str, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        problem = "is no name of a location"
        raise InvalidInputError(field, value, problem, "Give at most 64 letters, digits, '.', '-' and '_'")
    return value


def _tier(field: str, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or value != value.strip() or not 0 < len(value) <= 64:
        remedy = "Give text of one line without spaces around it, as tieredReplicants of rules name it"
        raise InvalidInputError(field, value, "is no name of a tier", remedy)
    return value


def _rooted(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(field, value, "is no address", "Give a directory or a URL such as s3a://…")
    if not value.isprintable():
        raise InvalidInputError(field, value, "holds what cannot be printed", "Copy the address anew")
    if "@" in value.partition("://")[2].partition("/")[0]:
        problem = "holds a name or a password, and everybody can read where copies may lie"
        raise InvalidInputError(field, _HIDDEN, problem, "Leave it out; credentials come from the environment")
    try:
        root = normal_root(value)
    except InvalidInputError as error:
        raise InvalidInputError(field, value, error.problem, error.remedy) from None
    if "://" not in value and not value.startswith(("/", "file:")):
        problem = "is no absolute path, and other processes work in other directories"
        raise InvalidInputError(field, value, problem, "Begin it with /")
    if ATTEMPTS in root.split("/"):
        problem = f"lies inside an output root: below its {ATTEMPTS}"
        raise InvalidInputError(field, value, problem, "Give a directory of its own")
    return root


def _check_apart(name: str, found: Sequence[Site]) -> None:
    """Refuse two of one name, and a root that is, or lies inside, another's."""
    known: dict[str, int] = {}
    for number, site in enumerate(found):
        if site.name in known:
            raise InvalidInputError(f"{name}[{number}].name", site.name, "is there twice", "Give each its own name")
        known[site.name] = number
    for number, site in enumerate(found):
        for other in found:
            if other is not site and (_place(site) + "/").startswith(_place(other) + "/"):
                problem = f"lies inside the root of location {shown(other.name)}: {other.root}"
                remedy = "Give each location a directory of its own, beside those of the others"
                raise InvalidInputError(f"{name}[{number}].root", site.root, problem, remedy)


def _place(site: Site) -> str:
    """Return what two roots have in common that are one place by another name, such as ``s3`` and ``s3a``."""
    return f"{scheme_of(site.root)}://{site.root.partition('://')[2] or site.root}"


def locations_document(store: PartitionStore, partition_prefix: str | None) -> Document | None:
    """Return the newest version of the document; ``None`` where nobody has said any, or the store keeps none."""
    documents = parts_of(store).documents
    return None if documents is None else documents.document(everybody(partition_prefix), LOCATIONS)


def sites_of(document: Document | None) -> list[Site]:
    """Return the locations that a document says, by name; none where there is no document.

    :raises InvalidInputError: when it is corrupt.
    """
    return [] if document is None else parsed_locations(document.content)


def set_locations(
    coordinator: SourceCoordinator, text: str, by: str, why: str, seen: int | None = None
) -> Document | None:
    """Write the locations as the next version of their document, and return it. New ones are marked before.

    :param coordinator: of any source with their prefix.
    :param text: as :func:`parsed_locations` reads it; all there are to be.
    :param by: who sets them.
    :param why: the reason, kept in their history.
    :param seen: the version that whoever wrote the text has seen, 0 for none; without it, the newest one at this call.
    :raises InvalidInputError: when they are no locations, a root is another one than before, or is marked as another's.
    :raises OutputError: when the root of a new one cannot be read or written.
    :raises PartitionUpdateError: when somebody has set others since that version: what they added would be left out.
    """
    wanted, source = parsed_locations(text), everybody(coordinator.partition_prefix)
    document = coordinator.documents.newest(LOCATIONS, source)
    base = _version(document) if seen is None else seen
    _check_seen(document, base)
    before = {site.name: site for site in sites_of(document)}
    new = [site for site in wanted if site.name not in before]
    known = {**(_ever_said(coordinator, source) if new else {}), **before}
    for site in wanted:
        _check_root_stays(site, known.get(site.name))
    for site in new:
        mark(site, coordinator.store.store_id, coordinator.partition_prefix)
    content = json.dumps([asdict(site) for site in wanted], separators=(",", ":"), ensure_ascii=False)

    def change(looked: Looked) -> str:
        _check_seen(looked.document, base)
        return content

    return coordinator.documents.change(LOCATIONS, change, by, why, source)


def _version(document: Document | None) -> int:
    return document.version if document else ABSENT


def _check_seen(document: Document | None, seen: int) -> None:
    if document is not None and document.version != seen:
        who = f"{document.author} at {document.at.isoformat(timespec='seconds')}"
        problem = (
            f"{who} has set others, version {document.version}: {document.comment}. Look at them and set all again."
        )
        raise PartitionUpdateError("set the locations", "", problem)


def _ever_said(coordinator: SourceCoordinator, source: str) -> dict[str, Site]:
    """Return each location as it was said last, also those that were left out, as far as versions are kept."""
    found: dict[str, Site] = {}
    for document in coordinator.documents.versions(LOCATIONS, None, source):
        with suppress(InvalidInputError):  # a corrupt one, which somebody has replaced, says nothing
            for site in sites_of(document):
                found.setdefault(site.name, site)
    return found


def _check_root_stays(site: Site, before: Site | None) -> None:
    if before is not None and before.root != site.root:
        problem = f"is another one than before, {before.root}, and copies are known by their addresses"
        remedy = "Give the new place another name, and leave out the old one"
        raise InvalidInputError(f"locations[{site.name}].root", site.root, problem, remedy)


def mark(site: Site, store_id: str, partition_prefix: str | None) -> None:
    """Write the marker of a location, unless it has it already.

    :raises InvalidInputError: when another location, another store or a source has its root.
    :raises OutputError: when it cannot be read or written.
    """
    field, own = f"locations[{site.name}].root", _marker(site, store_id, partition_prefix)
    there = _read_marker(site)
    if there is None:
        if is_there(join(site.root, ATTEMPTS)):
            problem = "is the output root of a source: there are blocks in it"
            raise InvalidInputError(field, site.root, problem, "Give a directory of its own")
        write_bytes(join(site.root, MARKER), json.dumps(own).encode())
        there = _read_marker(site)
    if there != own:
        problem = f"is marked as another one: {shown(there)}"
        raise InvalidInputError(field, site.root, problem, "Give a directory of its own, or the name it is marked with")


def _marker(site: Site, store_id: str, partition_prefix: str | None) -> dict[str, Any]:
    return {"location": site.name, "store": store_id, "partition_prefix": partition_prefix}


def _read_marker(site: Site) -> Any | None:
    """Return what the marker says; ``None`` where there is none.

    :raises OutputError: when it cannot be read, or is no marker.
    """
    address = join(site.root, MARKER)
    try:
        return parse(read_bytes(address), max_bytes=_MAX_MARKER_BYTES, max_depth=_DEPTH)
    except FileNotFoundError:
        return None
    except ValueError as error:
        problem, remedy = f"is no marker of a location ({error})", "Restore it, or give another directory"
        raise OutputError("read the marker of a location", address, problem, remedy) from error


def missing(sites: Iterable[Site], store_id: str, partition_prefix: str | None) -> Mapping[str, str]:
    """Return which locations cannot be read now, and why; one small read of each, side by side.

    :param store_id: of the store whose copies they have.
    """

    def look(site: Site) -> str:
        try:
            there = _read_marker(site)
        except OutputError as error:
            return f"{error.address} {error.problem}"
        if there is None:
            return f"{join(site.root, MARKER)} is missing"
        own = _marker(site, store_id, partition_prefix)
        return "" if there == own else f"{join(site.root, MARKER)} says that it is another one: {shown(there)}"

    row = list(sites)
    return {site.name: why for site, why in zip(row, side_by_side(look, row), strict=True) if why}
