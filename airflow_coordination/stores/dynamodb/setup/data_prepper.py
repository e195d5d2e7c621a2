"""An item as Data Prepper left it, and the partition that it becomes here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeVar

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.keys import parse_instant
from airflow_coordination.values.input_errors import InvalidKeyError, shown
from airflow_coordination.values.names import SEPARATOR, check_key, compose_source, split_source
from airflow_coordination.values.status import ASSIGNED, CLOSED, COMPLETED, UNASSIGNED, PartitionStatus, Rank
from airflow_coordination.values.times import EPOCH, from_micros

PARTITIONS: Final = "PARTITION"
GLOBAL_STATE: Final = "GLOBAL_STATE"

T = TypeVar("T")
_FRACTION: Final = re.compile(r"\.(\d{1,9})")


def is_lease(identifier: str) -> bool:
    """Return whether what lies under this ``sourceIdentifier`` are leases that a coordinator of ours can find.

    Data Prepper's standard coordinator writes ``[prefix|]sub-pipeline|PARTITION`` and ``…|GLOBAL_STATE``. Its
    enhanced coordinator's items (``…|LEADER``, ``…|STREAM``, ``…|GLOBAL``) belong to sources that this package
    does not have.
    """
    if identifier.count(SEPARATOR) not in (1, 2):
        return False
    prefix, source, kind = split_source(identifier)
    try:
        return kind in (PARTITIONS, GLOBAL_STATE) and compose_source(source, prefix, kind) == identifier
    except InvalidKeyError:
        return False


def partitions_of(identifier: str) -> str:
    """Return under which identifier the partitions lie of a source whose partitions or global state this is."""
    return identifier.rpartition(SEPARATOR)[0] + SEPARATOR + PARTITIONS


def ordinal_of(text: str) -> int:
    """Return an instant as nanoseconds since 1970.

    Data Prepper sorts these texts, whose order is not that of time where fractions of a second differ in length.

    :raises InvalidInputError: when it is no instant.
    """
    moment = parse_instant(text, it.STANDING)
    fraction = _FRACTION.search(text)
    whole = moment.replace(microsecond=0) - EPOCH
    nanoseconds = int(fraction[1].ljust(9, "0")) if fraction else 0
    return max(0, (whole.days * 86_400 + whole.seconds) * 10**9 + nanoseconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an item of Data Prepper's says. What is absent there, or cannot be read, is ``None`` here.

    :param item: the item.
    :param status: its status.
    :param ordinal: its place in Data Prepper's order.
    :param closed_count: how often it was closed.
    :param version: how often Data Prepper has written it since it was created.
    :param timeout: when the lease on it ends.
    :param reopen_at: when it reopens.
    :param progress: its progress.
    :param expiration: when its TTL ends, in seconds since 1970.
    :param problems: what cannot be read, each as ``attribute=value``.
    """

    item: it.Item
    status: PartitionStatus | None
    ordinal: int | None
    closed_count: int | None
    version: int | None
    timeout: datetime | None
    reopen_at: datetime | None
    progress: str | None
    expiration: int | None
    problems: tuple[str, ...]

    @property
    def source(self) -> str:
        """Its ``sourceIdentifier``."""
        return str(self.item[it.SOURCE])

    @property
    def key(self) -> str:
        """Its ``sourcePartitionKey``."""
        return str(self.item[it.KEY])

    @property
    def remembers(self) -> bool:
        """Whether it is a source's global state, and no partition."""
        return self.source.endswith(SEPARATOR + GLOBAL_STATE)

    def held(self, past: datetime) -> bool:
        """Return whether Data Prepper holds a lease on it that has not surely ended by ``past``."""
        return self.status is ASSIGNED and self.timeout is not None and self.timeout > past


class _Reading:
    """Reads an item's attributes by the rules of Data Prepper's own bean, and notes what cannot be read."""

    def __init__(self, item: it.Item) -> None:
        self._item = item
        self.problems: list[str] = []

    def __call__(self, name: str, kind: Callable[[Any], T]) -> T | None:
        if name not in self._item:
            return None
        value = self._item[name]
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            self.problems.append(f"{name}={shown(value if isinstance(value, str) else str(value))}")
            return None


def read(item: it.Item) -> Found:
    """Read an item of Data Prepper's."""
    reading = _Reading(item)
    reading(it.KEY, check_key)
    for name in (it.OWNER, it.COMBINATION):
        reading(name, _text)
    return Found(
        item=item,
        status=reading(it.STATUS, PartitionStatus),
        ordinal=reading(it.STANDING, ordinal_of),
        closed_count=reading(it.CLOSED_COUNT, _whole),
        version=reading(it.VERSION, _whole),
        timeout=reading(it.TIMEOUT, _instant),
        reopen_at=reading(it.REOPEN, _instant),
        progress=reading(it.PROGRESS, _text),
        expiration=reading(it.EXPIRATION, _whole),
        problems=(*reading.problems, *(f"no {name}" for name in (it.STATUS,) if name not in item)),
    )


def _text(value: Any) -> str:
    """Return a text; as in the Java SDK a number is one, too."""
    if not isinstance(value, str | Decimal):
        raise TypeError
    return str(value)


def _instant(value: Any) -> datetime:
    """Return a time; what lies before 1970 is due as well then."""
    return max(EPOCH, parse_instant(value, "time"))


def _whole(value: Any) -> int:
    """Return a whole number from zero on; as in the Java SDK it may be a text."""
    text = _text(value)
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def taken_over(found: Found, op: str, now: datetime) -> Partition:
    """Return the partition that an item of Data Prepper's becomes.

    Progress, closed count, time to reopen and order stay. A lease of Data Prepper's that has ended waits first in
    line, as after a sweep; what Data Prepper would take at once, because it has no time, is due now. Unfinished work
    that cannot be read is parked with what is wrong as its last error; a global state goes on with what it remembers.

    Its version becomes its token: no token given here can be above it, even if Data Prepper has been at work again
    in between (promise S1). Only a COMPLETED item keeps its ``expirationTime``, and it leaves the index.

    :param op: the takeover's operation id.
    """
    created = from_micros((found.ordinal or 0) // 1000) if found.version == 0 and found.ordinal is not None else None
    return Partition(
        source=found.source,
        key=found.key,
        ordinal=found.ordinal or 0,
        progress_text=_progress(found),
        closed_count=found.closed_count or 0,
        created_at=created,
        updated_at=now,
        token=found.version or 0,
        last_op=op,
        create_op=op,
        generation=op,
        **_where(found, now),
    )


def _progress(found: Found) -> str | None:
    """Return progress as text; what is none is kept as JSON for the person who looks at the parked partition."""
    value = found.item.get(it.PROGRESS)
    return found.progress if value is None or found.progress is not None else json.dumps(value, default=str)


def _where(found: Found, now: datetime) -> dict[str, Any]:
    """Return status, rank and the time from when on it can be had."""
    if found.remembers:
        return {"status": UNASSIGNED, "available_at": now}
    if found.status is COMPLETED:
        return {"status": COMPLETED}
    if found.problems:
        return {"status": CLOSED, "last_error": f"Data Prepper left it unreadable: {', '.join(found.problems)}"}
    if found.status is CLOSED:
        return {"status": CLOSED, "reopen_at": found.reopen_at or now}
    if found.status is ASSIGNED:
        return {"status": UNASSIGNED, "rank": Rank.CRASHED, "available_at": found.timeout or now}
    return {"status": UNASSIGNED, "available_at": now}
