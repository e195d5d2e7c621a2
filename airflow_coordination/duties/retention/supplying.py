"""Suppliers whose partitions pass by rules first: what those drop is not created ("never backfill beyond 30 days")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow_coordination.duties.retention.ruled import Ruled, rules_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.supply import SourceView, Supplied, Supplier, check_supplier, identified, with_view
from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.keys import check_pattern, interval_from_key
from airflow_coordination.planning.rules.reading import read_rules
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name

RuleList = Sequence[Mapping[str, Any]]
"""Rules as Druid's JSON has them."""


def check_rules(rules: object, interval_from_key: object = None) -> Ruled | str | None:
    """Return what a supplier's rules are, if they are some.

    :param rules: a list as Druid's JSON has it; or a dataset, whose rules of the moment hold; or nothing.
    :param interval_from_key: how keys tell the interval where the payload does not.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when they are no rules, or the pattern is none, or there is one without rules.
    """
    if rules is None:
        if interval_from_key is not None:
            problem = "changes nothing without rules="
            raise InvalidInputError("interval_from_key", interval_from_key, problem, "Give rules, or leave it out")
        return None
    if interval_from_key is not None:
        check_pattern("interval_from_key", interval_from_key)
    if isinstance(rules, str):
        return check_users_name(rules, "rules", MAX_DATASET_BYTES)
    found = read_rules("rules", rules)
    if not found:
        raise InvalidInputError("rules", rules, "says nothing", "Give rules, or a dataset's name, or leave it out")
    return Ruled(tuple(found), len(found))


class RuledSupplier:
    """A supplier without what rules drop, by the interval in each partition's payload, or else in its key.

    What has no interval, or one that is none, is created, as everything that no rule applies to.

    :param supplier: whose partitions they are.
    :param coordinator: of the source; its store has the clock, and the documents.
    :param rules: as :func:`check_rules` has returned them.
    :param interval_from_key: how keys tell the interval where the payload does not, such as ``%Y-%m-%d*``.
    """

    def __init__(
        self,
        supplier: Supplier,
        coordinator: SourceCoordinator,
        rules: Ruled | str,
        interval_from_key: str | None = None,
    ) -> None:
        check_supplier(supplier)
        self._supplier, self._coordinator = supplier, coordinator
        self._rules, self._pattern = rules, interval_from_key
        self.dropped: dict[str, int] = {}
        """How many partitions of the last run were not created, by the rule."""

    def supply(self, state: dict[str, Any], view: SourceView) -> Iterable[Supplied] | None:
        """Run the supplier, with the rules and the time of now."""
        self.dropped = {}
        result = with_view(self._supplier, view)(state)
        if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
            return result  # nothing, or what is refused as it is from a supplier without rules
        rules = rules_of(self._coordinator, self._rules) if isinstance(self._rules, str) else self._rules
        return self._kept(result, rules, self._coordinator.store.now())

    def _kept(self, items: Iterable[Supplied], rules: Ruled, now: datetime) -> Iterator[Supplied]:
        for item in items:
            interval = None if isinstance(item, Checkpoint) else self._interval(identified(item))
            index = None if interval is None else rules.dropping(interval, now)
            if index is None:
                yield item
            else:
                name = rules.named(index)
                self.dropped[name] = self.dropped.get(name, 0) + 1

    def _interval(self, new: PartitionIdentifier) -> Interval | None:
        said = (new.payload or {}).get("interval")
        try:
            if said is not None:
                return interval_of("payload.interval", said)
        except InvalidInputError:
            return None  # its payload calls something else so, as suppliers of before may
        return interval_from_key(self._pattern, new.key) if self._pattern else None


def ruled_supplier(
    supplier: Supplier | None,
    coordinator: SourceCoordinator,
    rules: RuleList | str | None,
    interval_from_key: str | None = None,
) -> Supplier | None:
    """Return a supplier that keeps to rules; the same one where there are none.

    :raises InvalidInputError: as :func:`check_rules`; also for rules without a supplier.
    """
    checked = check_rules(rules, interval_from_key)
    if checked is None:
        return supplier
    if supplier is None:
        raise InvalidInputError("rules", rules, "changes nothing without supplier=", "Give both, or leave it out")
    return RuledSupplier(supplier, coordinator, checked, interval_from_key)
