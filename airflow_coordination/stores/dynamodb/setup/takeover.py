"""Taking a table over that Data Prepper has filled: each of its leases becomes ours by one conditional put.

Along the way, what people did before actions were listed by time is listed.

All is looked at before anything is written, and nothing is written while Data Prepper holds a lease. Killed at any
request and started again, a takeover goes on with what is not ours yet; two at once share the work.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Any, Final, TypeVar

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.leases.confirm import Attempts
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import MIGRATE, Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.beside.audit import is_unlisted, listed
from airflow_coordination.stores.dynamodb.expressions import Expression, put
from airflow_coordination.stores.dynamodb.keys import SOURCES
from airflow_coordination.stores.dynamodb.partitions import remembered
from airflow_coordination.stores.dynamodb.requests import Refusal, Table, side_by_side
from airflow_coordination.stores.dynamodb.setup.data_prepper import Found, is_lease, partitions_of, read, taken_over
from airflow_coordination.values.errors import SchemaVersionError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import EPOCH, Clock, Randomness, SystemClock

PATIENCE: Final = timedelta(minutes=5)
"""How long one request of a takeover is repeated: with ten units a table is soon too busy for it."""

_NAMED: Final = 10
T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_THEIRS: Final = frozenset(
    {
        it.SOURCE,
        it.KEY,
        it.STATUS,
        it.OWNER,
        it.TIMEOUT,
        it.PROGRESS,
        it.REOPEN,
        it.CLOSED_COUNT,
        it.VERSION,
        it.COMBINATION,
        it.STANDING,
        it.EXPIRATION,
    }
)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The result of a takeover.

    :param statuses: how many leases it made ours, by the status they have now.
    :param unreadable: those of them that say something nobody can read, each with what it is.
    :param left: identifiers whose items were left as they are, with their numbers.
    """

    statuses: Counter[PartitionStatus] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _Survey:
    """The survey of the whole table before anything is written."""

    found: int = 0
    sources: set[str] = field(default_factory=set)
    left: Counter[str] = field(default_factory=Counter)
    held: int = 0
    owners: set[str] = field(default_factory=set)
    until: datetime = EPOCH
    unlisted: int = 0

    def add(self, item: it.Item, past: datetime) -> None:
        """Note an item that is not ours."""
        source = item[it.SOURCE]
        self.unlisted += is_unlisted(item)
        if not is_lease(source):
            if it.COMBINATION in item:
                self.left[source] += 1
            return
        self.found += 1
        self.sources.add(partitions_of(source))
        found = read(item)
        if found.held(past) and found.timeout is not None:
            self.held += 1
            self.owners.add(str(item.get(it.OWNER)))
            self.until = max(self.until, found.timeout)


class Takeover:
    """Makes the leases of Data Prepper in a table ours.

    :param table: where they are.
    :param local: paces the repetition of what the service was too busy for.
    :param randomness: injected chance.
    """

    def __init__(self, table: Table, local: Clock | None = None, randomness: Randomness | None = None) -> None:
        self._table, self._local, self._randomness = table, local or SystemClock(), randomness or Randomness()
        self._op = self._randomness.op_id()

    def run(self) -> TakenOver:
        """Take over whatever is not ours yet.

        :raises SchemaVersionError: while Data Prepper holds a lease, or when it writes meanwhile.
        """
        survey = self._survey()
        if survey.held:
            raise self._held(survey)
        if survey.unlisted:
            self._list_actions()
        done = TakenOver(left=survey.left)
        if survey.left:
            left = ", ".join(f"{count} of {source!a}" for source, count in sorted(survey.left.items()))
            _log.warning(
                "%s: items of sources that this package does not have are left as they are: %s", self._where, left
            )
        if not survey.found:
            return done
        _log.info("%s: taking over %d items of Data Prepper's", self._where, survey.found)
        for source in sorted(survey.sources):
            self._register(source)
        self._take_all(done, survey.found)
        return done

    def _list_actions(self) -> None:
        """Give what code of before has audited its items by time, from which the newest are read."""
        for page in self._pages():
            side_by_side([partial(self._list, item) for item in page if is_unlisted(item)])

    def _list(self, item: it.Item) -> None:
        call = Call("list what people did")
        for each in listed(item):
            self._patiently(call, partial(self._table.send, call, "put_item", TableName=self._table.name, **each))

    @property
    def _where(self) -> str:
        return self._table.description

    def _survey(self) -> _Survey:
        survey = _Survey()
        for page in self._pages():
            past = self._table.clock.surely_past()
            for item in page:
                survey.add(item, past)
        return survey

    def _pages(self) -> Iterator[list[it.Item]]:
        """Yield all items of the table that this package has not written as leases."""
        expression = Expression()
        kept = expression.condition(Attr(it.LAST_OP).not_exists())
        arguments = {"FilterExpression": kept, "ConsistentRead": True, **expression.arguments()}
        start: dict[str, Any] = {}
        call = Call("look for items of Data Prepper's", writes=False)
        while True:
            send = partial(self._table.send, call, "scan", TableName=self._table.name, **arguments, **start)
            answer = self._patiently(call, send)
            yield [it.plain(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _take_all(self, done: TakenOver, found: int) -> None:
        for page in self._pages():
            leases = [read(item) for item in page if is_lease(item[it.SOURCE])]
            statuses = side_by_side([partial(self._take, lease) for lease in leases])
            for lease, status in zip(leases, statuses, strict=True):
                if status is not None:
                    done.statuses[status] += 1
                    self._report(done, lease)
            _log.info("%s: %d of %d items taken over", self._where, done.statuses.total(), found)

    def _take(self, found: Found) -> PartitionStatus | None:
        """Make one lease ours; ``None`` if it is gone, or somebody else has done so."""
        now, past = self._table.clock.now(), self._table.clock.surely_past()
        if found.held(past):
            raise self._in_use(found.item)
        call = Call("take over", found.key)
        partition = self._newest(call, found, taken_over(found, self._op, now))
        arguments = put(whole_item(found, partition, now), _unchanged(found.item))
        answer = self._patiently(call, partial(self._table.attempt, call, "put_item", **arguments))
        if not isinstance(answer, Refusal):
            return partition.status
        if answer.item is not None and not it.is_ours(answer.item):
            raise self._in_use(answer.item)
        return None

    def _newest(self, call: Call, found: Found, partition: Partition) -> Partition:
        """Return the partition with the global state that was last saved under a fence of ours, if there is one.

        Data Prepper saves it under no fence: one of its nodes that comes back writes what it knew. A supplier that
        begins from a state too old finds again what exists; from one too new it would pass over what does not.
        """
        if not found.remembers:
            return partition
        ours = self._patiently(call, partial(remembered, self._table, call, found.source, found.key))
        if ours is None or ours == partition.progress_text:
            return partition
        _log.warning(
            "%s: Data Prepper has written the global state of %s, which was last saved here as %s, and is now %s. The "
            "one saved here is kept: a supplier that starts from it finds again what exists",
            self._where,
            shown(found.source),
            ours,
            partition.progress_text,
        )
        return replace(partition, progress_text=ours)

    def _register(self, source: str) -> None:
        """Put a source into the registry, unless it is there."""
        call = Call("register the source", source)
        arguments = put({it.SOURCE: SOURCES, it.KEY: source, "facts": "{}"}, Attr(it.SOURCE).not_exists())
        self._patiently(call, partial(self._table.attempt, call, "put_item", **arguments))

    def _patiently(self, call: Call, send: Callable[[], T]) -> T:
        """Send a request until it is heard."""
        deadline = self._local.monotonic() + PATIENCE.total_seconds()
        return Attempts(call.action, deadline, self._local, self._randomness).hear(send)

    def _report(self, done: TakenOver, lease: Found) -> None:
        if lease.problems:
            what = f"{shown(lease.key)} of {shown(lease.source)}: {', '.join(lease.problems)}"
            done.unreadable.append(what)
            _log.warning("%s: cannot be read, %s", self._where, what)

    def _held(self, survey: _Survey) -> SchemaVersionError:
        now, past = self._table.clock.now(), self._table.clock.surely_past()
        free = _next_second(survey.until + (now - past))  # the margin that every lease here gets
        left = max(0, ceil((free - now).total_seconds()))  # it may have come since the table was read
        seconds, until = timedelta(seconds=left), f"{free:%Y-%m-%dT%H:%M:%SZ}"
        owners = ", ".join(sorted(survey.owners)[:_NAMED]) + (", …" if len(survey.owners) > _NAMED else "")
        problem = (
            f"Data Prepper holds {survey.held} lease(s) in it, under the name of {owners}; the last of them is over at "
            f"{until}, in {seconds}. Two programs with different rules on one table lose work"
        )
        remedy = f"Stop Data Prepper's pipelines on it and wait until {until}. {MIGRATE}"
        return SchemaVersionError(self._where, problem, remedy)

    def _in_use(self, item: it.Item) -> SchemaVersionError:
        problem = (
            f"Data Prepper has written {shown(item[it.KEY])} of {shown(item[it.SOURCE])} while the table was being "
            f"taken over, under the name of {item.get(it.OWNER, 'nobody')}"
        )
        remedy = f"Stop its pipelines on this table; the takeover goes on where it stopped. {MIGRATE}"
        return SchemaVersionError(self._where, problem, remedy)


def _next_second(moment: datetime) -> datetime:
    """Return the first whole second that is not before ``moment``."""
    return moment if moment.microsecond == 0 else moment.replace(microsecond=0) + timedelta(seconds=1)


def whole_item(found: Found, partition: Partition, now: datetime) -> it.Item:
    """Return the whole item; attributes that neither Data Prepper nor we know stay."""
    others = {name: value for name, value in found.item.items() if name not in _THEIRS}
    item = others | it.encode(partition, now) | {it.VERSION: (found.version or 0) + 1}
    return item | {it.EXPIRATION: found.expiration if partition.status is PartitionStatus.COMPLETED else None}


def _unchanged(item: it.Item) -> ConditionBase:
    """Return the condition that nobody has written the item since it was read."""
    same = Attr(it.SOURCE).exists() & Attr(it.LAST_OP).not_exists()
    for name in (it.VERSION, it.STATUS, it.TIMEOUT):
        value = item.get(name)
        null = Attr(name).not_exists() | Attr(name).attribute_type("NULL")
        same &= null if value is None else Attr(name).eq(value)
    return same
