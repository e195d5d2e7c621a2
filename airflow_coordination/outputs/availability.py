"""Whether readers find enough of an interval of a dataset, and what is missing, for whoever waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_coordination.outputs.heads.showing import covered
from airflow_coordination.outputs.published import source_identifier
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.slices import Coverage, Slice, SliceState
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name

NAMED: Final = 5
"""How many stretches that are missing are named."""
_HUNDRED: Final = 100.0


@dataclass(frozen=True, slots=True)
class Availability:
    """The result of one look.

    :param enough: whether so much is there as somebody waits for.
    :param message: how much, and what is missing, for people.
    :param anything: whether anything at all is.
    """

    enough: bool
    message: str
    anything: bool


def check_percent(field: str, value: object) -> float:
    """Return a number above zero and up to 100.

    :raises InvalidInputError: otherwise.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(value) <= _HUNDRED:  # type: ignore[arg-type]  # a number, as was just seen
        raise InvalidInputError(field, value, "is no percentage above 0", "Give a number up to 100, such as 100")
    return float(value)  # type: ignore[arg-type]


def availability(
    store: PartitionStore,
    source: str,
    dataset: str,
    interval: Interval,
    min_percent: float,
    partition_prefix: str | None = None,
) -> Availability:
    """Return whether readers find so much of the time of an interval.

    What is hidden is not there, nor what a branch has published that does not show yet; partitions without an interval
    are there, but nobody knows of which time, so they do not count.

    :param interval: not empty.
    :param min_percent: of its time.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises OutputError: when the view changes again and again.
    """
    check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
    found = covered(store, source_identifier(store, source, partition_prefix), dataset, interval)
    percent, missing = found.percent(interval), found.missing(interval)
    enough = not missing if min_percent == _HUNDRED else percent >= min_percent
    about = f"Dataset {dataset} of source {source}: {_written(percent)} % of {interval} is there"
    if not missing:
        return Availability(True, f"{about}.", True)
    wanted = "which is enough" if enough else f"{min_percent:g} % are waited for"
    named = [f"{each}{_reason(found, each)}" for each in missing[:NAMED]]
    more = [f"{len(missing) - NAMED} more"] if len(missing) > NAMED else []
    text = f"{about}, {wanted}. Missing: {', '.join([*named, *more])}.{_timeless(found)}"
    return Availability(enough, text, percent > 0)


def _written(percent: float) -> str:
    """Return a percentage that says 100 only of what is whole."""
    return f"{min(percent, 99.99) if percent < _HUNDRED else percent:.4g}"


def _reason(found: Coverage, gap: Interval) -> str:
    """Return why a stretch is missing where that is not just that nobody has published it."""
    others = [each for each in found.slices if each.state is not SliceState.MISSING and each.interval.overlaps(gap)]
    told = sorted({_told(each) for each in others if each.state is not SliceState.THERE})
    return f" ({'; '.join(told)})" if told else ""


def _told(each: Slice) -> str:
    if each.hidden is not None:
        return f"{each.state} by {each.hidden.by}: {each.hidden.why}"
    return f"in branch {each.branch}, which is not published"


def _timeless(found: Coverage) -> str:
    return f" {found.timeless} partition(s) without an interval do not count." if found.timeless else ""
