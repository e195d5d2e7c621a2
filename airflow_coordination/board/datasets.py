"""The datasets of a source on the board: read from the sums that the planner of compaction keeps, never from all heads.

One look is a page of sums, what they add up to, the groups that are merged now, and a few head records: less than 2,000
rows, however much was published.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.dataset_models import (
    ChunkView,
    DatasetPage,
    DatasetsPage,
    DatasetView,
    GroupView,
    SettingsView,
)
from airflow_coordination.board.reading import Read
from airflow_coordination.board.showing.notes import begun_in, hidden_part
from airflow_coordination.board.showing.reading import begun
from airflow_coordination.board.views import task_view
from airflow_coordination.board.visibility import coordinator_of, open_visible
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.compaction.progress import Progress, of_totals
from airflow_coordination.planning.view.showing import dataset_of
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.chunk_sums import SUMMED, ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import COMPACTION, Document
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_key, compose_merged, split_dataset, split_source, storable
from airflow_coordination.values.status import PartitionStatus

HEADS: Final = 100
"""Head records that are looked at for datasets of which there are no sums."""
GROUPS: Final = 100
"""Groups that are merged now, at most; there is one for each slot."""
MOST_CHUNKS: Final = 250
"""Chunks of a page at most: with what they add up to, less than 2,000 rows where each is read for it."""
_FILE: Final = "compaction.json"
_SHOWN: Final = tuple(name for name in SUMMED if name in DatasetView.model_fields)
_OF_A_CHUNK: Final = frozenset(each.name for each in fields(ChunkSums))
_CHUNK: Final = tuple(name for name in ChunkView.model_fields if name in _OF_A_CHUNK)


def datasets(user: BaseUser, connection: str, source: str) -> Read[DatasetsPage]:
    """Return the datasets of a source.

    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_visible(user, connection, source) as (store, seen):
        now, book = store.now(), coordinator_of(user, store, seen).looking.chunks
        groups, view = _groups(store, source, now), read_view(store, source)
        known = _views(book.totals(), groups, view)
        heads = store.heads(source, limit=HEADS)
        bare = {dataset_of(head) for head in heads} - {each.dataset for each in known}
        others = [_bare(name, groups, view) for name in bare]
        body = DatasetsPage(
            kept=book.are_kept,
            datasets=sorted([*known, *others], key=lambda each: each.dataset),
            all_looked_at=len(heads) < HEADS,
            groups=groups,
            begun=begun(store, seen, view),
            **_commands(store, source, sorted(bare)),
        )
        return Read(body, now)


def dataset(
    user: BaseUser, connection: str, source: str, name: str, after: str | None, limit: int
) -> Read[DatasetPage]:
    """Return one dataset with a page of its chunks, the newest first; raises as :func:`datasets` does.

    :param after: only chunks behind this place.
    """
    check_key(name, "dataset", MAX_DATASET_BYTES)
    _check_not_stored(name)
    if after is not None:
        check_key(after, "after")
    with open_visible(user, connection, source) as (store, seen):
        coordinator = coordinator_of(user, store, seen)
        now, book = store.now(), coordinator.looking.chunks
        groups = [group for group in _groups(store, source, now) if group.dataset == name]
        found = book.page(name, (name, after) if after is not None else None, limit + 1)
        view = read_view(store, source)
        known = _views(book.totals(name), groups, view)
        body = DatasetPage(
            kept=book.are_kept,
            begun=begun(store, seen, view),
            settings=_settings(coordinator.documents.newest(f"{COMPACTION}{name}")),
            setting=_setting(store, source, name),
            summary=next(iter(known), _bare(name, groups, view)),
            chunks=[_chunk(each, view) for each in found[:limit]],
            after=found[limit - 1].place if len(found) > limit else None,
            groups=groups,
            **_commands(store, source, [] if known else [name]),
        )
        return Read(body, now)


def _settings(said: Document | None) -> SettingsView | None:
    if said is None:
        return None
    return SettingsView(
        version=said.version, author=said.author, why=said.comment, at=said.at, content=storable(said.content)
    )


def _setting(store: PartitionStore, source: str, name: str) -> str:
    options = ["--dataset", name, "--why", remedies.WHY]
    return remedies.about(remedies.shell_of(store), "compaction set", source, _FILE, options=options)


def _commands(store: PartitionStore, source: str, bare: Iterable[str]) -> dict[str, str]:
    """Return what to type.

    :param bare: datasets that were never planned: a plan is told of them, as nothing remembers how they are merged.
    """
    shell = remedies.shell_of(store)
    configs = [word for name in bare for word in ("--config", json.dumps({"dataset": name}, ensure_ascii=False))]
    planning = [remedies.about(shell, "compaction plan", source), *map(remedies.quoted, configs)]
    return {"planning": " ".join(planning), "typed": remedies.about(shell, "compaction status", source)}


def _check_not_stored(name: str) -> None:
    """Refuse the name under which a head record keeps what was published in a branch: it is no dataset of its own."""
    branch, dataset = split_dataset(name)
    if branch is not None:
        remedy = f"Ask for {dataset!r}, whose branches are shown with it"
        raise InvalidInputError("dataset", name, "is how a branch of a dataset is stored", remedy)


def _views(totals: Sequence[ChunkTotals], groups: Sequence[GroupView], view: View) -> list[DatasetView]:
    """Return what is known of each dataset; ``totals`` are in the order of its names."""
    told = of_totals(totals)
    return [
        _summed(name, list(mine), told[name], groups, view)
        for name, mine in groupby(totals, key=lambda each: each.dataset)
    ]


def _summed(
    name: str, totals: Sequence[ChunkTotals], progress: Progress, groups: Sequence[GroupView], view: View
) -> DatasetView:
    sums: Counter[str] = Counter()
    for each in totals:
        sums.update({field: getattr(each, field) for field in _SHOWN})
    return DatasetView(
        dataset=name,
        summed=True,
        chunks={each.state: each.chunks for each in totals},
        percent=progress.percent if sums["bytes_before"] else None,
        left_bytes=progress.awaiting.bytes,
        left_chunks=progress.awaiting.intervals,
        first=min(_known(totals, "first"), default=None),
        last=max(_known(totals, "last"), default=None),
        merged_at=max(_known(totals, "merged_at"), default=None),
        updated_at=max(_known(totals, "updated_at"), default=None),
        whole=all(each.whole for each in totals),
        **_beside(name, groups, view),
        **dict.fromkeys(_SHOWN, 0) | sums,
    )


def _bare(name: str, groups: Sequence[GroupView], view: View) -> DatasetView:
    """Return what is known of a dataset that was never planned."""
    return DatasetView(dataset=name, summed=False, **_beside(name, groups, view))


def _beside(name: str, groups: Sequence[GroupView], view: View) -> dict[str, Any]:
    """Return what is known of a dataset beside its sums."""
    running = sum(group.dataset == name for group in groups)
    return {"running": running, "hidden": sum(each.dataset == name for each in view.hidden)}


def _known(totals: Iterable[ChunkTotals], name: str) -> list[datetime]:
    return [moment for each in totals if (moment := getattr(each, name)) is not None]


def _chunk(row: ChunkSums, view: View) -> ChunkView:
    said: dict[str, Any] = {name: getattr(row, name) for name in _CHUNK}
    said |= {"hidden": hidden_part(view, row), "begun": begun_in(view, row)}
    return ChunkView(place=row.place, start=row.chunk_start, end=row.chunk_end, **said)


def _groups(store: PartitionStore, source: str, now: datetime) -> list[GroupView]:
    """Return the groups that are merged now; a source that is merged itself has none."""
    prefix, name, kind = split_source(source)
    beside = compose_merged(name, prefix, kind)
    if beside is None:
        return []
    return [_group(each, now) for each in store.page(beside, PartitionStatus.ASSIGNED, None, GROUPS)]


def _group(held: Partition, now: datetime) -> GroupView:
    said = _said(held)
    told = {name: value if isinstance(value := said.get(name), str) else None for name in ("dataset", "chunk")}
    until = held.ownership_timeout
    return GroupView(
        key=held.key,
        owner=held.owner,
        task=task_view(held.owner),
        expires_at=until,
        expired=until is not None and until <= now,
        **told,
    )


def _said(held: Partition) -> dict[str, Any]:
    """Return a group's payload; one that is corrupt says nothing here, and is named on its own page."""
    try:
        return held.payload
    except InvalidInputError:
        return {}
