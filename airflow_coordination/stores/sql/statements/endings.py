"""How an ending is written into the ring: slot ``token mod 8`` (protocol.md, *Words of the wire*)."""

from __future__ import annotations

from airflow_coordination.leases.partition import RING_SIZE, Outcome, PartitionStatus
from airflow_coordination.stores.sql.columns import RING
from airflow_coordination.stores.sql.statements.dialect import Dialect

COUNTS_AS_LOST = "(CASE WHEN confirmed = 1 OR last_op <> nonce THEN 1 ELSE 0 END)"
"""1 if the owner of the row's tenure ever wrote, so that a phantom tenure parks nothing."""

MAX_LOST = "coalesce(max_lost_leases, :max_lost)"
"""How many lost leases park the row's partition: its lease's limit, otherwise the judge's own."""
MAY_BE_LOST = f"lost_leases + 1 < {MAX_LOST}"
"""Whether an acquisition may end the row's expired lease; at the last lost lease only a sweep may."""


def entry(dialect: Dialect, outcome: Outcome, status: str) -> str:
    """Return the ring's entry for the row's tenure as an expression; ``status`` is an expression too."""
    return (
        f"token || '|' || nonce || '|{outcome}|' || :op || '|' || last_op || '|' || {status}"
        f" || '|' || closed_count || '|' || {dialect.now}"
    )


def into_ring(entry: str, when: str = "") -> str:
    """Return the assignments that write ``entry`` into the slot of the row's token, where ``when`` holds."""
    also = f"{when} AND " if when else ""
    slots = range(RING_SIZE)
    return ", ".join(
        f"{RING[i]} = CASE WHEN {also}(token & {RING_SIZE - 1}) = {i} THEN {entry} ELSE {RING[i]} END" for i in slots
    )


def quoted(status: PartitionStatus) -> str:
    """Return ``status`` as an SQL literal."""
    return f"'{status}'"
