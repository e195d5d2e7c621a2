"""What stands for a write in a statement: the names of its parameters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from airflow_coordination.protocol.fields import MOVED
from airflow_coordination.protocol.writes import KEEP, Action
from airflow_coordination.values.status import PartitionStatus

ACCOUNTING: Final = ":accounting"
STATUS: Final = ":status"
"""The status after an ending; which columns of the index follow from it is in parameters, too."""

_FENCE: Final = SimpleNamespace(token=":token", nonce=":nonce")
_OWNER: Final = SimpleNamespace(text=":owner", task=":owner_task", try_number=":owner_try")

ACQUISITION: Final = SimpleNamespace(
    fence=_FENCE,
    token=":token",
    last_op=":seen_op",
    below_try=":below_try",
    tenancy=SimpleNamespace(
        op=":op",
        owner=_OWNER,
        owner_details=":owner_details",
        timeout=":timeout",
        max_lost_leases=":max_lost",
        max_failures=":max_failures",
    ),
)
OWNER_WRITE: Final = SimpleNamespace(
    fence=_FENCE,
    op=":op",
    prev=":prev",
    owner=_OWNER,
    owner_details=":owner_details",
    timeout=":timeout",
    progress_text=":progress",
    staged=":staged",
    text=":on_parked",
    accounting=None,
)
ACCOUNTED: Final = SimpleNamespace(**{**vars(OWNER_WRITE), "accounting": ACCOUNTING})
"""A save that carries an accounting."""
NOTE: Final = SimpleNamespace(token=":token", op=":op")
"""What follows a parking, as it was read."""
QUESTION: Final = SimpleNamespace(fence=_FENCE, by=":by", patience=":patience")
"""Asking for another worker's lease."""
SWEEP: Final = SimpleNamespace(op=":op", max_lost_leases=":max_lost")
PLACED: Final = ":placed_status"
"""The status of a partition that comes from another store; its columns of the index are in parameters, too."""
LIFE: Final = SimpleNamespace(
    created=":created", life=SimpleNamespace(**{name: f":{name}" for name in MOVED} | {"status": PLACED})
)
_END: Final = {
    "fence": _FENCE,
    "op": ":op",
    "prev": ":prev",
    "outcome": ":outcome",
    "status": STATUS,
    "closed_count": ":closed_count",
    "failures": ":failures",
    "lost_leases": ":lost_leases",
    "last_error": ":last_error",
    "reopen_delay": ":reopen_delay",
    "available_delay": ":available_delay",
    "generation": ":generation",
    "error": ":error",
    "rows": ":rows",
    "bytes": ":bytes",
}


def end(*, completes: bool, keep_progress: bool, clear_staged: bool, accounted: bool = False) -> Any:
    """Return what stands for an ending."""
    counts = ACCOUNTING if accounted else None
    progress = KEEP if keep_progress else ":progress"
    shape = {"completes": completes, "clear_staged": clear_staged}
    return SimpleNamespace(**_END, **shape, progress=progress, accounting=counts)


def act(action: Action, *, held: bool, awaited: bool = False) -> Any:
    """Return what stands for a person's action on what was seen ``held`` or not, ``awaited`` by children or not."""
    status = PartitionStatus.ASSIGNED if held else STATUS
    stamp = ":awaited_op" if awaited else None
    seen = SimpleNamespace(status=status, token=":token", nonce=":nonce", last_op=":seen_op", awaited_op=stamp)
    return SimpleNamespace(action=action, op=":op", seen=seen)


def refresh_of(*, bare: bool) -> Any:
    """Return what stands for another payload of a partition that was seen ``bare``, or with one."""
    return SimpleNamespace(generation=":generation", payload_text=":payload", seen=None if bare else ":seen_payload")
