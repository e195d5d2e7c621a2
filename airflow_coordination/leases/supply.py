"""Runs a source's supplier under a lease of its own, with the global state it remembers (promises S10, S11)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Checkpoint, Partition, PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Created
from airflow_coordination.protocol.writes import NewPartition
from airflow_coordination.values.documents import decode_object, encode_progress
from airflow_coordination.values.input_errors import InvalidInputError, ProgressStateError, SettingsError
from airflow_coordination.values.settings import CREATE_PAGE
from airflow_coordination.values.status import PartitionStatus

Supplied = PartitionIdentifier | str | Checkpoint


class Listed(Protocol):
    """What has partitions that can be listed: a coordinator, or what a supplier sees of its source."""

    def partitions(
        self,
        status: PartitionStatus | None = None,
        after: str | None = None,
        limit: int = 1000,
        *,
        parked: bool | None = None,
        prefix: str | None = None,
    ) -> Sequence[Partition]:
        """Return a page of its partitions, in byte order of their keys."""


class SourceView(Listed, Protocol):
    """What a supplier may see of its source, and do to it."""

    @property
    def store(self) -> PartitionStore:
        """The store, for what comes of what another source has published in it."""

    @property
    def identifier(self) -> str:
        """The stored identifier of its partitions."""

    def partition(self, key: str) -> Partition | None:
        """Return one as it is now, ``None`` where there is none."""

    def delete(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Delete one as it was seen."""

    def count(self, metric: Metric, count: int = 1) -> None:
        """Add to one of the source's counters."""


@runtime_checkable
class SeeingSupplier(Protocol):
    """A supplier whose next partitions depend on those that are there, as the children of shards do."""

    def supply(self, state: dict[str, Any], view: SourceView) -> Iterable[Supplied] | None:
        """Do what a function of the global state does, seeing the source."""


FunctionOfState = Callable[[dict[str, Any]], Iterable[Supplied] | None]
Supplier = FunctionOfState | SeeingSupplier
"""Called with the global state; changes it and returns identifiers, or yields identifiers and checkpoints."""


def partitions_of(view: Listed, prefix: str, at_once: int = 1000) -> Iterator[Partition]:
    """Yield all partitions whose key begins so.

    :param at_once: so many from one request.
    """
    after: str | None = None
    while page := view.partitions(after=after, limit=at_once, prefix=prefix):
        yield from page
        after = page[-1].key


def with_view(supplier: Supplier, view: SourceView) -> FunctionOfState:
    """Return a supplier as a function of the global state."""
    if isinstance(supplier, SeeingSupplier):
        return lambda state: supplier.supply(state, view)
    return supplier


@dataclass(frozen=True, slots=True)
class SupplierRun:
    """The result of one run of the supplier.

    :param created: see :class:`Created`.
    :param ran: false when a rival was running the supplier, so this one did not.
    :param rival: that rival's owner text.
    :param rival_until: when its lease ends unless it is renewed, by the store's clock.
    :param state: the global state after the run.
    :param cleaned_up: how many finished parents it has removed.
    """

    created: Created = field(default_factory=Created)
    ran: bool = True
    rival: str | None = None
    rival_until: datetime | None = None
    state: Mapping[str, Any] | None = None
    cleaned_up: int = 0


def identified(item: object) -> PartitionIdentifier:
    """Return a supplied item as an identifier; a text is a key without payload.

    :raises InvalidInputError: for anything else.
    """
    if isinstance(item, PartitionIdentifier):
        return item
    if isinstance(item, str):
        return PartitionIdentifier(item)
    raise InvalidInputError(
        "supplier", item, f"gave {type(item).__name__}", "Give keys, PartitionIdentifier or Checkpoint values"
    )


def encoded(identifiers: object) -> Iterator[NewPartition]:
    """Yield each identifier as a store takes it.

    :raises InvalidInputError: for a text, which would be taken apart into letters, for what is no list, and
        for items that are no keys.
    """
    if isinstance(identifiers, str | bytes | Mapping) or not isinstance(identifiers, Iterable):
        raise InvalidInputError(
            "partitions", identifiers, f"is {type(identifiers).__name__}, not a list", "Give a list of keys"
        )
    for item in identifiers:
        new = identified(item)
        yield NewPartition(
            key=new.key, payload_text=new.payload_text, priority=new.priority, parents=tuple(new.parents)
        )


def without_repeats(page: Sequence[NewPartition]) -> tuple[tuple[NewPartition, ...], Created]:
    """Return the page with each key once, and what its repeats amount to: existing ones, changed where they differ."""
    first: dict[str, NewPartition] = {}
    changed = [new.key for new in page if first.setdefault(new.key, new) != new]
    return tuple(first.values()), Created(existing=len(page) - len(first), changed=tuple(dict.fromkeys(changed)))


def check_state(state: object) -> dict[str, Any]:
    """Return the global state if it is a JSON object.

    :raises ProgressStateError: otherwise; the last good state stays stored.
    """
    if not isinstance(state, Mapping):
        raise ProgressStateError("global_state", state, f"is {type(state).__name__}, not a JSON object", "Give a dict")
    encode_progress(dict(state))
    return dict(state)


def check_supplier(supplier: object) -> None:
    """Check that a supplier can be called with the global state.

    :raises SettingsError: when it cannot.
    """
    if isinstance(supplier, SeeingSupplier) and not isinstance(supplier, type):
        return
    name = getattr(supplier, "__name__", supplier)
    remedy = "Give a function with one parameter, the global state: def supplier(state): …"
    if isinstance(supplier, type) and isinstance(supplier, SeeingSupplier):
        raise SettingsError("supplier", name, "is a class, not an object of it", f"Give {name}(…)")
    if not callable(supplier):
        raise SettingsError("supplier", name, "cannot be called", remedy)
    try:
        inspect.signature(supplier).bind({})
    except TypeError as error:
        raise SettingsError("supplier", name, f"cannot be called with the global state: {error}", remedy) from error
    except ValueError:
        return  # a built-in function that does not say what it takes


class SupplierPages:
    """One run: collects pages, creates them, and saves the state only after the partitions it covers exist.

    :param create: creates one page.
    :param save: saves the global state under the supplier's chain.
    :param notes: whether the keys are remembered in :attr:`named`.
    """

    def __init__(
        self, create: Callable[[list[object]], Created], save: Callable[[dict[str, Any]], None], *, notes: bool = False
    ) -> None:
        self._create, self._save, self._notes = create, save, notes
        self._page: list[object] = []
        self.created = Created()
        self.named: set[str] = set()
        """The keys that were given, as far as anybody wants to know them."""

    def run(self, supplier: FunctionOfState, state: dict[str, Any], alive: Callable[[], None]) -> dict[str, Any]:
        """Run ``supplier`` to its end and return the global state it leaves; each item it gives counts as progress.

        A supplier that speaks through checkpoints alone leaves the dict as it was given, and its last checkpoint
        stands. One that has changed the dict by a checkpoint means it, also where it ends as it began.
        """
        before = saved = encode_progress(state)
        unchanged = decode_object(before)
        changes_it = False
        result = supplier(state)
        if result is not None and (isinstance(result, str | bytes | Mapping) or not hasattr(result, "__iter__")):
            raise InvalidInputError(
                "supplier", result, f"returned {type(result).__name__}", "Return or yield partition identifiers"
            )
        for item in result or ():
            alive()
            if isinstance(item, Checkpoint):
                changes_it = changes_it or state != unchanged
            saved = self._take(item) or saved
        self._flush()
        final = encode_progress(check_state(state))
        if result is None and final == before:
            problem = "returned nothing and left the global state as it was"
            raise InvalidInputError(
                "supplier",
                getattr(supplier, "__name__", supplier),
                problem,
                "Return or yield partition identifiers; an empty list says that there are none",
            )
        if final == saved or (final == before and not changes_it):
            return decode_object(saved)
        self._save(decode_object(final))
        return decode_object(final)

    def _take(self, item: object) -> str | None:
        """Take one item; return the state's text after a checkpoint."""
        if isinstance(item, Checkpoint):
            state = check_state(item.state)
            self._flush()
            self._save(state)
            return encode_progress(state)
        identifier = identified(item)
        if self._notes:
            self.named.add(identifier.key)
        self._page.append(identifier)
        if len(self._page) >= CREATE_PAGE:
            self._flush()
        return None

    def _flush(self) -> None:
        if self._page:
            self.created += self._create(self._page)
            self._page = []


def supply(
    lease: Lease,
    supplier: FunctionOfState,
    pages: Callable[[Lease], SupplierPages],
    heartbeat: Callable[[Lease], Heartbeat],
    tidy: Callable[[Heartbeat, Collection[str]], int],
) -> SupplierRun:
    """Run the supplier under ``lease``, renewing it while it runs; the caller gives the lease back.

    :param tidy: removes afterwards what nobody needs any more, but what was named, and returns how much.
    """
    run = pages(lease)
    state = check_state(lease.partition.progress_state or {})
    with heartbeat(lease) as beating:
        left = run.run(supplier, state, beating.alive)
        return SupplierRun(run.created, state=left, cleaned_up=tidy(beating, run.named))
