"""Transactions of writes: all are looked at before the first is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulation.dynamodb.rejections import Rejected, invalid
from tests.simulation.dynamodb.tables import Table
from tests.simulation.dynamodb.writes import ARGUMENTS, REFUSED, Request, Write, planned

MAX_WRITES = 100
_CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons"


def transaction(changes: list[dict[str, Request]], table: Callable[[Request], Table]) -> list[Write]:
    """Return what a transaction would do.

    :param table: gives the table of a request.
    :raises Rejected: when one of its conditions does not hold; with the reason of each.
    """
    if not 0 < len(changes) <= MAX_WRITES:
        raise invalid(f"Member must have length less than or equal to {MAX_WRITES}: {len(changes)}")
    _check_distinct(changes, table)
    found = [_planned(change, table) for change in changes]
    writes = [write for write in found if isinstance(write, Write)]
    if len(writes) == len(found):
        return writes
    reasons = [{"Code": "None"} if isinstance(one, Write) else _reason(one) for one in found]
    codes = ", ".join(reason["Code"] for reason in reasons)
    raise Rejected("TransactionCanceledException", f"{_CANCELLED} [{codes}]", CancellationReasons=reasons)


def _planned(change: dict[str, Request], table: Callable[[Request], Table]) -> Write | Rejected:
    """Return what one change would do, or the refusal of its condition."""
    [(kind, request)] = change.items()
    if not ARGUMENTS.get(kind, frozenset()).issuperset(request):
        raise NotImplementedError(f"{kind} in a transaction with {', '.join(request)}")
    try:
        return planned(kind, table(request), request)
    except Rejected as rejected:
        if rejected.code != REFUSED:
            raise
        return rejected


def _reason(refusal: Rejected) -> dict[str, Any]:
    return {"Code": "ConditionalCheckFailed", "Message": refusal.message, **refusal.more}


def _check_distinct(changes: list[dict[str, Request]], table: Callable[[Request], Table]) -> None:
    items = set()
    for change in changes:
        [request] = change.values()
        key = table(request).schema.checked(request.get("Key") or request["Item"])
        items.add((request["TableName"], key))
    if len(items) < len(changes):
        raise invalid("Transaction request cannot include multiple operations on one item")
