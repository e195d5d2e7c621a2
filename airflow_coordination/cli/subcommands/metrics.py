"""``metrics``: one look at the sources, as Prometheus reads it (Prometheus: *Exposition formats*)."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import escape
from airflow_coordination.cli.subcommands.looking import chosen
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.counts import Counts, foreseen
from airflow_coordination.monitoring.owners import MOST_HELD, held_for
from airflow_coordination.monitoring.throughput import lately
from airflow_coordination.protocol.metrics import Gauge, gauged
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.names import identifier_of

GAUGE: Final = "gauge"
Labels = Mapping[str, str]
Sample = tuple[Labels, int | float]


@dataclass(frozen=True, slots=True)
class Family:
    """What one metric means.

    :param name: in snake case, with its unit at the end.
    :param help: one sentence.
    """

    name: str
    help: str


def rendered(samples: Mapping[Family, Iterable[Sample]]) -> str:
    """Return the text of some gauges, those of one family together, as the format demands.

    :param samples: labels and value of each series; no two of a family have the same labels.
    """
    return "".join(line for family, found in samples.items() for line in _family(family, found))


def _family(family: Family, samples: Iterable[Sample]) -> Iterable[str]:
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {family.name} {text}\n"
    yield f"# TYPE {family.name} {GAUGE}\n"
    for labels, value in samples:
        named = ",".join(f'{name}="{_quoted(label)}"' for name, label in labels.items())
        yield f"{family.name}{{{named}}} {value}\n" if named else f"{family.name} {value}\n"


def _quoted(text: str) -> str:
    """Return a label's value; what could move a cursor is an escape in it, and no two texts become the same.

    A series that is there twice makes Prometheus refuse all of them.
    """
    visible = escape(text.replace("\\", r"\\"))
    return visible.replace("\\", r"\\").replace('"', r"\"")


UP: Final = Family("coordination_store_up", "1 if the store answered this look, otherwise 0.")
PARTITIONS: Final = Family(
    "coordination_source_partitions", "Partitions by state; claimable ones on DynamoDB are counted up to 1 only."
)
OLD_PARTITIONS: Final = Family(
    "coordination_partitions",
    "The same in the words of before, for one version more: claimable with the expired, assigned, waiting.",
)
OVERDUE: Final = Family(
    "coordination_overdue_partitions",
    "Partitions that are closed and due, or have lost their owner, and that nobody has looked after; 0 on DynamoDB.",
)
OLDEST: Final = Family(
    "coordination_oldest_claimable_seconds", "For how long the oldest claimable partition has waited, 0 if none waits."
)
PAUSED: Final = Family("coordination_source_paused", "1 if new leases are held back, otherwise 0.")
BRAKED: Final = Family(
    "coordination_source_braked", "1 if the source has paused itself, because it failed of one error, otherwise 0."
)
OLDEST_HELD: Final = Family(
    "coordination_oldest_held_seconds",
    f"For how long the longest of the running leases has been held, 0 if there is none; the first {MOST_HELD:,} count.",
)
MOST_ENDED: Final = 500
"""So many ended tenures of each source are read: a look costs the same however much is done."""
ROWS: Final = Family(
    "coordination_rows_last_hour",
    f"Rows published in the last hour, by the {MOST_ENDED} tenures that ended last; absent where no history is kept.",
)
FAMILIES: Final = (UP, PARTITIONS, OLD_PARTITIONS, OVERDUE, OLDEST, OLDEST_HELD, PAUSED, BRAKED, ROWS)
STATES: Final = Counts.__slots__
"""The values of the label ``state``. Each partition is in one of them."""
OLD_STATES: Final = {
    "claimable": Gauge.CLAIMABLE,
    "assigned": Gauge.ASSIGNED,
    "waiting": Gauge.WAITING,
    "parked": Gauge.PARKED,
    "blocked": Gauge.BLOCKED,
    "completed": Gauge.COMPLETED,
}
"""Those of the old metric: its claimable ones keep their meaning, so that rules for it do not fall silent."""
SOURCE, PREFIX, STATE = "source", "partition_prefix", "state"
_LABEL: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


def metrics(context: CommandContext, args: Namespace) -> None:
    """Print what one look at the sources sees; what is printed is whole, or says that the store is down.

    :raises SettingsError: when the command is wrong; nothing is printed then.
    :raises CoordinationError: when the store cannot be looked at; ``coordination_store_up 0`` is printed before.
    """
    more = extra_labels(args.label or ())
    try:
        text = rendered(_looked(context, args, more))
    except SettingsError:
        raise
    except CoordinationError:
        print(rendered({UP: [(more, 0)]}), end="")
        raise
    print(text, end="")


def extra_labels(given: list[str] | tuple[()]) -> dict[str, str]:
    """Return the labels that are told apart by ``--label``.

    :param given: ``NAME=VALUE`` each.
    :raises SettingsError: when one has no name that Prometheus takes, or one that is taken.
    """
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not _LABEL.fullmatch(name):
            remedy = "Give NAME=VALUE; a name has letters, digits and _, does not begin with a digit or with __"
            raise SettingsError("--label", each, "is no label of Prometheus", remedy)
        if name in (SOURCE, PREFIX, STATE, *found):
            raise SettingsError("--label", each, "has a name that is taken", "Give the label another name")
        found[name] = value
    return found


def _looked(context: CommandContext, args: Namespace, more: Labels) -> Mapping[Family, list[Sample]]:
    samples: dict[Family, list[Sample]] = {family: [] for family in FAMILIES}
    for prefix, source in chosen(context, args):
        coordinator = context.coordinator(source, prefix)
        outlook = coordinator.looking.glance()
        seen = gauged(outlook)
        labels = {**more, SOURCE: source, PREFIX: coordinator.partition_prefix or ""}
        samples[PARTITIONS] += [({**labels, STATE: state}, n) for state, n in asdict(foreseen(outlook)).items()]
        samples[OLD_PARTITIONS] += [({**labels, STATE: state}, seen[gauge]) for state, gauge in OLD_STATES.items()]
        samples[OVERDUE].append((labels, seen[Gauge.OVERDUE]))
        samples[OLDEST].append((labels, seen[Gauge.OLDEST_CLAIMABLE]))
        samples[OLDEST_HELD].append((labels, _oldest_held(coordinator, seen)))
        samples[PAUSED].append((labels, seen[Gauge.PAUSED]))
        samples[BRAKED].append((labels, seen[Gauge.BRAKED]))
        samples[ROWS] += [(labels, rows) for rows in _rows_lately(coordinator)]
    samples[UP].append((more, 1))
    return samples


def _rows_lately(coordinator: SourceCoordinator) -> Iterable[int]:
    """Yield how many rows were published in the last hour, if anybody knows."""
    now = coordinator.store.now()
    known = lately(coordinator, now, MOST_ENDED)
    if known is not None:
        yield sum(each.rows for each in known.past if now - each.ended_at <= timedelta(hours=1))


def _oldest_held(coordinator: SourceCoordinator, seen: Mapping[Gauge, int]) -> int:
    """Return in whole seconds how long somebody has held a partition; nothing is read where nobody does."""
    if not seen[Gauge.ASSIGNED] + seen[Gauge.OVERDUE]:
        return 0
    identifier = identifier_of(coordinator)
    return held_for(coordinator.store, identifier) // timedelta(seconds=1)
