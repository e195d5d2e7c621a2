"""What a step writes beside its partition, in the same commit: values that each store knows how to write.

A rule names them (:mod:`~airflow_coordination.leases.rules`); no store asks which write they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_coordination.leases.results import HeadRecord


@dataclass(frozen=True, slots=True)
class PutHeads:
    """Head records after an ending, in full: new, or in the place of older ones."""

    heads: tuple[HeadRecord, ...]


@dataclass(frozen=True, slots=True)
class EmptyHeads:
    """All head records of a partition name no block any more; who published them stays in them.

    :param source: the stored source identifier.
    :param key: the partition key.
    """

    source: str
    key: str


@dataclass(frozen=True, slots=True)
class Audit:
    """A line about what a person has done.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param op: the action's operation id.
    :param action: what was done.
    :param by: who did it.
    :param why: what they said.
    """

    source: str
    key: str
    op: str
    action: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class TenureEnded:
    """A row of the history: the tenure that ran until this step, if one did.

    Who held it and since when is in the partition as it was before the step, and how it ended in the ring after it;
    only what neither knows is here.

    :param error: why it failed, in short.
    :param rows: rows that it has published.
    :param bytes: bytes that it has published.
    """

    error: str | None = None
    rows: int = 0
    bytes: int = 0


Record = PutHeads | EmptyHeads | Audit | TenureEnded
