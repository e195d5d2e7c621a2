"""The manifests of a chain of blocks, listed so that readers fetch them side by side.

A manifest names the one before it only. So a partition that was closed 2,000 times was read in 2,000 rounds, one after
the other. Every now and then a *trail* is written beside a manifest: addresses of all that is behind it. It is only a
hint: what it names is fetched early and counts only if the chain itself, digest by digest, comes to it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from airflow_coordination.outputs.errors import OutputError
from airflow_coordination.outputs.layout import is_manifest_of
from airflow_coordination.outputs.manifests import Manifest, Reference, verified
from airflow_coordination.outputs.storage import Content, join, parent, read_many, write_bytes
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import CoordinationError

log = logging.getLogger(__name__)

TRAIL = "_trail.json"
EVERY_BLOCKS, EVERY_TENURES = 16, 8
"""A trail is written with every so many blocks of a tenure, and with the first block of every so many tenures."""
MAX_LINKS, MAX_BYTES = 4_096, 8 * 1024 * 1024


def is_due(number: int, token: int) -> bool:
    """Return whether a trail is written beside a block that follows another one.

    :param number: of the block among those of its tenure and dataset, from one on.
    :param token: the tenure's token.
    """
    return number % EVERY_BLOCKS == 0 or (number == 1 and token % EVERY_TENURES == 0)


def trail_address(manifest_address: str) -> str:
    """Return the address of the trail beside a manifest, if there is one."""
    return join(parent(manifest_address), TRAIL)


def links_in(content: Content, source: str, key: str) -> list[Reference]:
    """Return the references in a trail, nearest first; none if it is missing, unreadable or another partition's."""
    if isinstance(content, OutputError):  # most are not there at all, which is denied to one who may not list
        log.info("A trail of partition %r cannot be read, and is not needed: %s", key, content)
    if not isinstance(content, bytes):
        return []
    try:
        pairs = parse(content, max_bytes=MAX_BYTES, max_depth=2)
        links = [Reference(str(address), str(digest)) for address, digest in pairs]
    except (TypeError, ValueError) as error:
        log.warning("A trail of partition %r is not understood, and not needed: %s", key, error)
        return []
    return [link for link in links if is_manifest_of(link.address, source, key)]


def write_trail(manifest: Manifest, own: Mapping[str, Manifest]) -> None:
    """Write the trail beside a manifest that follows another one. Without it, all is well, only slower.

    :param own: the manifests of this attempt by address, which need not be read.
    """
    try:
        links = _behind(manifest, own)
        content = json.dumps([[link.address, link.digest] for link in links], separators=(",", ":"))
        write_bytes(trail_address(manifest.address), content.encode())
    except CoordinationError as error:
        log.warning("No trail is written beside %s: %s", manifest.address, error)


def _behind(manifest: Manifest, own: Mapping[str, Manifest]) -> Sequence[Reference]:
    """Return the references behind a manifest, nearest first: walked to the nearest trail, and then taken from that."""
    links: list[Reference] = []
    link = manifest.follows
    while link is not None and len(links) < MAX_LINKS:
        links.append(link)
        known = [link.address] if link.address not in own else []
        trail, *content = read_many([trail_address(link.address), *known])
        found = links_in(trail, manifest.source, manifest.key)
        if found:
            return [*links, *found][:MAX_LINKS]
        before = verified(content[0], link, manifest.source, manifest.key) if content else own[link.address]
        link = before.follows
    return links
