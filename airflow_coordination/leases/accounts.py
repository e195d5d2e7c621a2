"""What a store keeps of a partition's accounting: totals, written by the step that makes what they count durable.

They are absolute, and the step is conditioned on the one before: what a lost tenure has counted since its last save
never counts, and a repeated step counts once. They belong to one *generation* of the partition, as what it publishes
does: whoever resets it or creates it anew, older code too, leaves totals behind that say another generation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from airflow_coordination.leases.accounting import Accounting, AddedUp, SinkCounts
from airflow_coordination.leases.errors import InvalidInputError

MAX_TEXT_BYTES: Final = 4_096
"""Size of what is stored, in UTF-8; names and numbers are bounded so that it is never longer."""
_TOTALS: Final = ("read", "delivered_everywhere", "unrouted", "dead_lettered", "failed")
_OF_A_SINK: Final = ("owed", "delivered", "dead_lettered", "failed")
_DROPPED: Final = "dropped"
BEGINNING: Final = '{"generation":"'
"""What every stored text begins with, so that whose totals it holds can be compared where no JSON is read."""
_OVER: Final = '"over":1,'
"""What comes then in the totals of a pass that is over."""


class Counted(Protocol):
    """What this needs of a partition."""

    @property
    def generation(self) -> str:
        """Its generation."""

    @property
    def accounting_text(self) -> str | None:
        """Its totals as they are stored."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """The totals of one partition as they are stored.

    :param generation: the partition's generation after the step that wrote them: they are valid while it has this one.
    :param over: whether the pass that they count is over, so that the next one counts from zero.
    :param accounting: the totals.
    """

    generation: str
    over: bool
    accounting: Accounting

    @property
    def text(self) -> str:
        """Them as JSON; the counts are flat, so that a database can add them up."""
        document = {"generation": self.generation, "over": int(self.over), "counts": flat(self.accounting)}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Accounts:
        """Return what is stored.

        :raises InvalidInputError: when it is corrupt; it is never taken for "nothing was counted".
        """
        try:
            document = json.loads(text)
            return cls(str(document["generation"]), bool(document["over"]), of_flat(document["counts"]))
        except (AttributeError, InvalidInputError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError("accounting", text, "is corrupt in the store", "Reset the partition") from error


def flat(accounting: Accounting) -> dict[str, int]:
    """Return the counts by name, those of sinks and reasons as ``count:name``; zeros of totals are left out."""
    counts = {name: value for name in _TOTALS if (value := getattr(accounting, name))}
    counts |= {f"{_DROPPED}:{reason}": count for reason, count in accounting.dropped.items()}
    for name, sink in accounting.sinks.items():
        counts |= {f"{part}:{name}": count for part, count in zip(_OF_A_SINK, sink.values(), strict=True)}
    return counts


def of_flat(counts: Mapping[str, int]) -> Accounting:
    """Return the accounting with these counts.

    :raises InvalidInputError: when a name or a number is none that :func:`flat` gives.
    """
    return Accounting(**_fields(counts))


def added_up(counts: Mapping[str, int], partitions: int) -> AddedUp:
    """Return the accounting of many partitions, of the sums of their counts.

    :raises InvalidInputError: as :func:`of_flat`.
    """
    return AddedUp(**_fields(counts), partitions=partitions)


def of_partitions(partitions: Iterable[Counted]) -> AddedUp:
    """Return the accounting of these partitions together."""
    return together(stored.accounting for stored in map(current, partitions) if stored is not None)


def together(accountings: Iterable[Accounting]) -> AddedUp:
    """Return the sum of accountings of one partition each."""
    sums, found = Counter[str](), 0
    for accounting in accountings:
        sums.update(flat(accounting))
        found += 1
    return added_up(sums, found)


def _fields(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of an accounting with these counts.

    :raises InvalidInputError: when a name or a number is none that :func:`flat` gives.
    """
    totals: dict[str, Any] = {}
    dropped: dict[str, int] = {}
    sinks: dict[str, dict[str, int]] = {}
    for name, count in counts.items():
        part, of_one, whose = name.partition(":")
        if not of_one and part in _TOTALS:
            totals[part] = count
        elif of_one and part == _DROPPED:
            dropped[whose] = count
        elif of_one and part in _OF_A_SINK:
            sinks.setdefault(whose, {})[part] = count
        else:
            raise InvalidInputError("accounting", name, "is no name of a count", "Reset the partition")
    return totals | {"dropped": dropped, "sinks": {name: SinkCounts(**parts) for name, parts in sinks.items()}}


def current(partition: Counted) -> Accounts | None:
    """Return the totals of a partition, ``None`` when none are stored or they belong to another generation.

    :raises InvalidInputError: when they are corrupt.
    """
    if partition.accounting_text is None:
        return None
    stored = Accounts.parse(partition.accounting_text)
    return stored if stored.generation == partition.generation else None


def said(partition: Counted) -> str | None:
    """Return the totals of a partition as they are stored, ``None`` when they belong to another generation.

    For those who keep a copy: it is not read, so that corrupt totals never refuse an ending.
    """
    text = partition.accounting_text
    return text if text is not None and text.startswith(f'{BEGINNING}{partition.generation}",') else None


def copied(text: str | None, generations: Collection[str] = ()) -> Accounting | None:
    """Return the accounting in a copy of stored totals, ``None`` when nothing was counted.

    :param generations: of which totals are meant; any if none are named.
    :raises InvalidInputError: when it is corrupt.
    """
    if text is None:
        return None
    stored = Accounts.parse(text)
    return stored.accounting if not generations or stored.generation in generations else None


def after(partition: Counted, counted: Accounting | None, generation: str, stored: str | None = None) -> str | None:
    """Return what a step writes: the totals with what this tenure has counted; ``None`` leaves what is stored.

    :param partition: as its owner's chain knows it: with the accounting from before this tenure.
    :param counted: in this tenure so far; ``None`` when nothing was delivered, or the step does not say so again.
    :param generation: of the partition after the step.
    :param stored: the totals that are stored now, with what this tenure has saved.
    :raises InvalidInputError: when an equation of the accounting does not hold, naming it; when what it would be added
        to is corrupt.
    """
    over = generation != partition.generation
    if counted is None:
        return Accounts(generation, over, Accounts.parse(stored).accounting).text if over and stored else None
    if wrong := counted.imbalances():
        raise InvalidInputError("accounting", counted.to_json(), f"does not balance: {wrong[0]}", "Count every record")
    known = current(partition)
    carried = Accounting() if known is None or known.over else known.accounting
    return Accounts(generation, over, carried + counted).text


def left_by_end(w: Any) -> str | None:
    """Return the totals that an owner's ending leaves, for those who keep a copy: its own, or those of before."""
    found: str | None = w.accounting or w.kept_accounting
    return found


def published_with(w: Any, partition: Counted, *, counted: bool) -> str | None:
    """Return the totals that stand for what an owner's ending publishes.

    :param partition: as its owner's chain knows it.
    :param counted: whether the ending has counted itself. If neither it nor a save of this pass has, the totals may be
        of a pass that was over before, and say nothing of these rows.
    """
    of_before = f'{BEGINNING}{partition.generation}",{_OVER}'
    is_of_before = not counted and (w.kept_accounting or "").startswith(of_before)
    return None if is_of_before else left_by_end(w)


def accounted(w: Any) -> dict[str, Any]:
    """Return the field that a write changes if it carries totals."""
    return {} if w.accounting is None else {"accounting_text": w.accounting}
