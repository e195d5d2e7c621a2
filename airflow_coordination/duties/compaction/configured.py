"""How the datasets of a source are compacted: documents with their history, else as they were compacted last."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.compaction.configuration import CompactionConfig, by_dataset
from airflow_coordination.planning.compaction.reading import read_compaction
from airflow_coordination.protocol.beside.documents import COMPACTION, Document, said_in
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import check_users_name

_DEPTH: Final = 8


def compaction_document(dataset: str) -> str:
    """Return the name of the document that says how a dataset is compacted.

    :raises InvalidKeyError: when no user's dataset has that name.
    """
    return f"{COMPACTION}{check_users_name(dataset, 'dataset', MAX_DATASET_BYTES)}"


def set_compaction(coordinator: SourceCoordinator, dataset: str, text: str, by: str, why: str) -> Document | None:
    """Write how a dataset is compacted as the next version of its document, and return it.

    It is in force from the next run of the duty ``compactSegments``.

    :param text: Druid's JSON, an object.
    :param by: who sets it.
    :param why: the reason, kept in its history.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when it is no configuration of this dataset, or nobody or no reason is named.
    """
    name, content = compaction_document(dataset), drafted(dataset, text)
    return coordinator.documents.change(name, lambda _: content, by, why)


def drafted(dataset: str, text: str) -> str:
    """Return the content of the document that says what a text says.

    :raises InvalidInputError: naming what is wrong with it, and what to write instead.
    """
    said = read_compaction("compaction", _parsed("compaction", text), dataset)
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def said_by(document: Document) -> CompactionConfig:
    """Return what a document says.

    :raises InvalidInputError: when it is corrupt, or has a name of newer code.
    """
    dataset = document.name.removeprefix(COMPACTION)
    return CompactionConfig.from_json(
        read_compaction(document.name, _parsed(document.name, document.content), dataset), document.name
    )


def with_documents(coordinator: SourceCoordinator, last: Iterable[CompactionConfig]) -> list[CompactionConfig]:
    """Return how the datasets of a source are compacted, by name: as documents say, the others as they were last.

    One request.

    :param last: the configurations of the last run of the planner.
    :raises InvalidInputError: when a document is corrupt.
    """
    documents = coordinator.documents.all()
    said = [said_by(each) for each in documents if each.name.startswith(COMPACTION)]
    found = {**by_dataset(last), **by_dataset(said)}
    return [found[name] for name in sorted(found)]


def _parsed(name: str, text: str) -> Any:
    return said_in(name, text, _DEPTH, 'Write such as {"segmentGranularity": "MONTH"}')
