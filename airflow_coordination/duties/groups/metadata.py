"""The duties that let old versions of documents go: ``killAudit``, ``killRules`` and ``killCompactionConfig``.

What counts now always stays, and so does what has counted within ``durationToRetain``. Nothing else is audited by
versions of a document that may go: the view of a source keeps all of its own, from which the purge counts its margins,
and what people have done to partitions stays in their audit.

Source: Druid, ``KillAuditLog``, ``KillRules`` and ``KillCompactionConfig``. Druid removes what belongs to a data source
that is gone; here that goes with its source, and versions are what grows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar, Final

from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.viewing.documents import LEAST_KEPT
from airflow_coordination.planning.duties.keys import PREFIX, SWITCHES
from airflow_coordination.planning.periods import parse_duration, parse_period
from airflow_coordination.planning.unused.deleting import is_due
from airflow_coordination.protocol.beside.documents import COMPACTION, CONFIGURATION, LOCATIONS, RULES
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import ALL
from airflow_coordination.values.times import from_micros, to_micros

log = logging.getLogger(__name__)
_RETAIN: Final = "P90D"
_PERIOD: Final = "P1D"


class KillAudit:
    """Forgets who has changed the configuration and the locations, and how they were, long ago.

    Arguments: ``durationToRetain`` (``P90D``), at least a day; ``period`` (``P1D``), from one look to the next.
    """

    name: ClassVar[str] = "killAudit"

    def run(self, round: Round) -> Ran:
        """Forget them.

        :raises InvalidInputError: when an argument is no period, or less than a day is kept.
        """
        return _forget(round, [], (CONFIGURATION, LOCATIONS), "metadata/kill/audit/count")


class KillRules:
    """Forgets how rules were long ago, in each source and those of all. Arguments as for :class:`KillAudit`."""

    name: ClassVar[str] = "killRules"

    def run(self, round: Round) -> Ran:
        """Forget them.

        :raises InvalidInputError: when an argument is no period, or less than a day is kept.
        """
        return _forget(round, round.sources, (RULES,), "metadata/kill/rule/count")


class KillCompactionConfig:
    """Forgets how datasets were compacted long ago, in each source. Arguments as for :class:`KillAudit`."""

    name: ClassVar[str] = "killCompactionConfig"

    def run(self, round: Round) -> Ran:
        """Forget them.

        :raises InvalidInputError: when an argument is no period, or less than a day is kept.
        """
        return _forget(round, round.sources, (COMPACTION,), "metadata/kill/compaction/count")


def _forget(round: Round, sources: Iterable[SourceCoordinator], beginnings: Iterable[str], metric: str) -> Ran:
    """Forget old versions of documents of some sources, and of all, once in a period: a request for each."""
    before = _before(round)
    period = parse_duration(f"{round.by}.period", round.arguments.get("period", _PERIOD))
    last = from_micros(round.remembered) if isinstance(round.remembered, int) else None
    idle = Ran(said="nothing to forget", counts={metric: 0}, idle=True, left=round.remembered)
    if round.dry_run or (last is not None and not is_due(last, period, round.now)):
        return idle
    try:
        places = (round.cluster.coordinator(ALL), *sources)
        gone = sum(each.documents.forget(beginning, before) for each in places for beginning in beginnings)
    except PartitionUpdateError as error:
        log.info("%s: %s", round.by, error)
        told = f"this role may not remove old versions of documents: run duties in the owner's role, or set {PREFIX}"
        warning = f"{told}{SWITCHES[round.by]}=false"
        return Ran(said="may not forget anything", counts={metric: 0}, warnings=(warning,), idle=True, left=_now(round))
    said = f"forgot {gone} version(s) of before {before.date().isoformat()}" if gone else idle.said
    return Ran(said=said, counts={metric: gone}, idle=not gone, left=_now(round))


def _now(round: Round) -> int:
    return to_micros(round.now)


def _before(round: Round) -> datetime:
    """Return the moment from which on everything is kept.

    :raises SettingsError: when that is less than a day ago.
    """
    field, text = f"{round.by}.durationToRetain", round.arguments.get("durationToRetain", _RETAIN)
    before = parse_period(field, text).before(round.now)
    if before > round.now - LEAST_KEPT:
        problem = "keeps less than a day, in which a lost answer may still be asked for"
        raise SettingsError(field, text, problem, "Give P1D or more")
    return before
