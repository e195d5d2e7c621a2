"""The datasets of a source, as models of the API."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from airflow_coordination.board.models import TaskView
from airflow_coordination.board.showing.models import BranchView


class DatasetView(BaseModel):
    """What a dataset adds up to, by the sums that the planner of compaction keeps of its chunks.

    Without sums (``summed`` is false) only its name is known. ``percent`` is how much of what can be merged is, by
    bytes of what partitions have published; absent where nothing is known to be there. ``left_bytes`` and
    ``left_chunks`` wait to be merged; what no plan merges is not among them. ``whole`` is false where only the newest
    chunks are in it. ``first`` and ``last`` bound the chunks that have an interval; ``updated_at`` is when one of them
    was looked at last. ``running`` is how many groups of it are being merged, ``hidden`` how many intervals of it
    readers do not see.
    """

    dataset: str
    summed: bool
    chunks: dict[str, int] = {}
    heads: int = 0
    uncovered_heads: int = 0
    rows: int = 0
    dead_rows: int = 0
    files_before: int = 0
    bytes_before: int = 0
    files_now: int = 0
    bytes_now: int = 0
    percent: float | None = None
    left_bytes: int = 0
    left_chunks: int = 0
    first: datetime | None = None
    last: datetime | None = None
    merged_at: datetime | None = None
    updated_at: datetime | None = None
    whole: bool = True
    running: int = 0
    hidden: int = 0


class GroupView(BaseModel):
    """A group that is being merged; ``dataset`` and ``chunk`` are absent where its payload does not tell."""

    key: str
    dataset: str | None
    chunk: str | None
    owner: str | None
    task: TaskView | None
    expires_at: datetime | None
    expired: bool


class DatasetsPage(BaseModel):
    """The datasets of one source, by name; ``begun`` are the branches that readers do not see yet.

    Those without sums are found among the first head records; ``all_looked_at`` says whether these were all.
    ``kept`` is false where the store keeps no sums. ``groups`` are those that are merged now, at most 100. ``planning``
    is the command that plans and writes the sums; ``typed`` the one that says the same as this.
    """

    kept: bool
    datasets: list[DatasetView]
    all_looked_at: bool
    groups: list[GroupView]
    begun: list[BranchView]
    planning: str
    typed: str


class ChunkView(BaseModel):
    """A chunk: :class:`~airflow_coordination.protocol.beside.chunk_sums.ChunkSums`. What is absent is not known.

    ``hidden`` says that readers do not see it, or a part of it, or that it is being purged; absent where they do.
    ``begun`` are the numbers of branches that have begun and replace something of it.
    """

    place: str
    start: datetime | None
    end: datetime | None
    state: str
    heads: int | None
    uncovered_heads: int | None
    rows: int | None
    dead_rows: int | None
    files_before: int | None
    bytes_before: int | None
    files_now: int | None
    bytes_now: int | None
    merged_at: datetime | None
    reason: str | None
    epoch: int | None
    group_key: str | None
    updated_at: datetime | None
    hidden: str | None
    begun: list[int]


class SettingsView(BaseModel):
    """How a dataset is compacted, as somebody has said: ``content`` is Druid's JSON."""

    version: int
    author: str
    why: str
    at: datetime
    content: str


class DatasetPage(BaseModel):
    """One dataset, and a page of its chunks, the newest first; ``after`` is how to go on, absent on the last page.

    ``begun`` are the branches of its source that readers do not see yet. ``settings`` is absent where nobody has said
    how it is compacted; ``setting`` is the command that says so.
    """

    kept: bool
    begun: list[BranchView]
    settings: SettingsView | None
    setting: str
    summary: DatasetView
    chunks: list[ChunkView]
    after: str | None
    groups: list[GroupView]
    planning: str
    typed: str
