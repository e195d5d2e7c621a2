"""Where a partition waits: what its two small index columns say, from its fields alone."""

from __future__ import annotations

from typing import Final

from airflow_coordination.stores.sql.columns import Ready, Timed
from airflow_coordination.values.status import PartitionStatus, Rank

_READY_OF: Final = {Rank.CRASHED: Ready.CRASHED, Rank.REOPENED: Ready.REOPENED, Rank.NEW: Ready.RETURNED}


def waits(status: PartitionStatus, rank: Rank, *, at_once: bool, later: bool) -> tuple[Ready | None, Timed | None]:
    """Return ``ready`` and ``timed`` of a partition that is not fresh; at most one of them.

    :param at_once: whether it can be acquired as soon as it is UNASSIGNED.
    :param later: whether it can be acquired from a time ahead on.
    """
    if status is PartitionStatus.ASSIGNED:
        return None, Timed.HELD
    if status is PartitionStatus.UNASSIGNED and at_once:
        return _READY_OF[rank], None
    if later and status in (PartitionStatus.UNASSIGNED, PartitionStatus.CLOSED):
        return None, Timed.DELAYED if status is PartitionStatus.UNASSIGNED else Timed.CLOSED
    return None, None
