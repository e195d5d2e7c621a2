"""Writing a source into a file, while nobody works on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.creation import registered
from airflow_coordination.leases.moving import Life
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.beside.parts import originals_may_go
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.transfer.documents import documents_of
from airflow_coordination.transfer.lines import (
    DEFAULT,
    DOCUMENT,
    VERSION,
    WITH_DOCUMENTS,
    Heading,
    document_line,
    dumped,
    heading_line,
    life_line,
)
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import SettingsError, shown
from airflow_coordination.values.names import COPIES, MERGED, compose_merged, identifier_of
from airflow_coordination.values.status import ASSIGNED

SUPPLIER: Final = "supplier"


def export(
    coordinator: SourceCoordinator,
    path: Path,
    told: Callable[[int], object] = lambda done: None,
    *,
    merged: Path | None = None,
) -> int:
    """Write all partitions of a paused source into ``path``; return how many there are.

    The file appears when it is whole, for its owner alone (0600); one that is there stays as it is.

    :param told: hears how many are written so far.
    :param merged: another file, for the groups that have merged blocks of the source; they are paused, too. Both files
        are imported into the same store.
    :raises PartitionUpdateError: when blocks of the source may be nowhere but in what was merged, and that is left.
    :raises PartitionUpdateError: when the source is not paused, something is held, or that changed meanwhile; when
        something is left to be done after partitions that have ended: the file would not have it. Also when its view or
        its rules were changed meanwhile.
    :raises SettingsError: when the file is there already, or cannot be written; for a source of copies.
    """
    if coordinator.source.startswith(COPIES):
        problem = "has copies, which lie in locations that are marked as this store's"
        remedy = "Export what they are copies of: where it goes, say locations, and copies are made anew"
        raise SettingsError("source", coordinator.source, problem, remedy)
    for file in filter(None, (path, merged)):
        if file.exists():
            raise SettingsError("file", str(file), "is there already", "Name another file, or remove this one")
    if merged is None:
        _check_originals(coordinator)
        return _export(coordinator, path, told)
    _export(_groups(coordinator), merged, told)
    try:
        return _export(coordinator, path, told)
    except BaseException:
        merged.unlink()  # one without the other is no export
        raise


def _export(coordinator: SourceCoordinator, path: Path, told: Callable[[int], object]) -> int:
    coordinator.looking.check_known()
    pause = coordinator.moving.check_at_rest()
    _check_followed_up(coordinator)
    documents = documents_of(coordinator)
    part = path.with_name(f"{path.name}.part")
    try:
        with _only_mine(part) as out:
            written = _write(coordinator, documents, out, told)
            out.flush()
            os.fsync(out.fileno())
        action = f"export source {shown(coordinator.source)}"
        if coordinator.pausing.current_pause() != pause or coordinator.counts()[ASSIGNED]:
            raise PartitionUpdateError(action, "", "somebody resumed it, or took something of it, meanwhile. Pause it.")
        if documents_of(coordinator) != documents:
            problem = "somebody has changed its view, or its rules, meanwhile. Look who does, and repeat the command."
            raise PartitionUpdateError(action, "", problem)
        part.replace(path)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise SettingsError("file", str(path), problem, "Name a file in a directory of yours") from error
    finally:
        with suppress(OSError):
            part.unlink()
    return written


def _groups(coordinator: SourceCoordinator) -> SourceCoordinator:
    name, prefix = f"{MERGED}{coordinator.source}", coordinator.partition_prefix
    return SourceCoordinator(coordinator.store, name, "export", prefix)


def _check_originals(coordinator: SourceCoordinator) -> None:
    """Refuse to leave behind what was merged, where its originals may have been deleted (``store enable outputs``)."""
    if coordinator.source.startswith(MERGED) or not originals_may_go(coordinator.store):
        return
    groups = compose_merged(coordinator.source, coordinator.partition_prefix)
    if groups is None:
        return
    found = next((head for head in every_head(coordinator.store, groups) if head.blocks), None)
    if found is not None:
        problem = f"its blocks may be gone where {MERGED}{coordinator.source} has merged them, and that would stay here"
        both = "Export both: pause that, too, and add `--merged FILE2` (in Python: merged=)"
        raise PartitionUpdateError(f"export source {shown(coordinator.source)}", "", f"{problem}. {both}.")


def _only_mine(path: Path) -> BinaryIO:
    """Open a new file that nobody else can read: it holds what payloads, progress and errors say."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _check_followed_up(coordinator: SourceCoordinator) -> None:
    left = next(coordinator.follow_ups.follow_ups(), None)
    if left is not None:
        remedy = typed(coordinator, "finish-actions")
        what = "what was to follow its ending (then=) or its parking (on_parked)"
        problem = f"{what} is not done yet, and stays here. Do it first: {remedy}"
        raise PartitionUpdateError(f"export source {shown(coordinator.source)}", left.key, problem)


def _write(
    coordinator: SourceCoordinator, documents: Sequence[Document], out: BinaryIO, told: Callable[[int], object]
) -> int:
    digest, written = hashlib.sha256(), 0

    def line(text: str) -> None:
        digest.update(text.encode())
        out.write(text.encode())

    store = coordinator.store
    identifier = identifier_of(coordinator)
    facts = registered(store, identifier)
    prefix, source = coordinator.partition_prefix, coordinator.source
    heading = Heading(source, prefix, store.store_id, store.description, store.now(), facts)
    line(heading_line(heading, WITH_DOCUMENTS if documents else VERSION))
    supplier = coordinator.moving.supplier_life()
    if supplier is not None:
        line(life_line(Life(supplier.key, supplier)).replace('{"life"', f'{{"{SUPPLIER}"', 1))
    for document in documents:
        line(document_line(document, DOCUMENT if document.source == identifier else DEFAULT))
    for life in coordinator.moving.lives():
        line(life_line(life))
        written += 1
        told(written)
    out.write(dumped("end", {"partitions": written, "sha256": digest.hexdigest()}).encode())
    return written
