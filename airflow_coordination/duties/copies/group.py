"""The duties about copies: loading what rules want, dropping what they do not, and moving what lies unevenly.

Source: Druid's ``RunRules`` (of which loading is a part), ``UnloadUnusedSegments`` and ``BalanceSegments``. Each looks
at everything at once, decides, and then does what it has decided step by step. Where nothing is new, a source costs
three requests for all of them together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from airflow_coordination.duties.compaction.snapshot import newest_tenures
from airflow_coordination.duties.copies.lost import Lost, keep, lost_of, not_read, seen_now
from airflow_coordination.duties.copies.premises import Premises
from airflow_coordination.duties.copies.snapshot import OfSource, others_of, read_source, whole_look
from airflow_coordination.duties.copies.steps import Steps
from airflow_coordination.duties.groups.marks import Marks, digest, seen_once
from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.copies.locations import Site, sites_of
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.planning.copies.deciding import Drop, Loads, Look, Name, balance, drops, loads
from airflow_coordination.protocol.beside.documents import DEFAULT_RULES, LOCATIONS, LOST_LOCATIONS
from airflow_coordination.values.input_errors import shown as quoted
from airflow_coordination.values.names import COPIES, compose_copies
from airflow_coordination.values.status import PartitionStatus

UNLOAD: Final = "unloadUnused"
BALANCE: Final = "balanceSegments"
MOST_REMEMBERED: Final = 2_000
"""So many drops are remembered from one run to the next; more of them wait for their turn."""
_SHOWN: Final = 5
_DIGITS: Final = 12


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What is the same for all sources in a run.

    :param sites: the locations.
    :param lost: those that cannot be read.
    :param told: the names of those that are said to be lost, after this run has said so.
    :param seen: what all of it is, for the marks.
    """

    sites: Sequence[Site]
    lost: Mapping[str, Lost]
    told: Collection[str]
    seen: str


def _shared(round: Round, *, verify: bool) -> _Shared | None:
    """Return what is shared; ``None`` where nobody has said a location.

    :param verify: look at a sample of what a location has that is back, and write down what is lost.
    """
    if not round.sources:
        return None
    first = round.sources[0]
    found = round.cluster.documents
    sites = sites_of(found.get(LOCATIONS))
    if not sites:
        return None
    told = said = lost_of(found.get(LOST_LOCATIONS))
    if verify:
        lost = seen_now(sites, said, round.sources, round.now)
        if set(lost) != set(said) and not round.dry_run:
            keep(first, lost, round.by)
            told = lost
    else:
        lost = not_read(sites, said, first, round.now)
    config = round.config
    what = {name: found[name].version for name in (LOCATIONS, DEFAULT_RULES) if name in found}
    settings = [sorted(config.decommissioning_nodes), config.balance_threshold, config.max_segments_to_move]
    return _Shared(sites=sites, lost=lost, told=told.keys(), seen=digest(what, settings, sorted(lost)))


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """All sources as they were read, with what to remember of those that are done with, and what it stands on."""

    found: Sequence[OfSource]
    look: Look
    digests: Mapping[str, str | None]
    premises: Premises


def _seen(round: Round, shared: _Shared, marks: Marks, eager: Collection[str] = ()) -> _Seen | None:
    """Return everything, if something is new in a source; of the others only the room that their copies take.

    :param eager: sources to look at in any case.
    """
    news: dict[str, str | None] = {}
    for coordinator in round.sources:
        seen = _digest(round, coordinator, shared)
        if marks.is_news(coordinator.source, seen, round.now) or coordinator.source in eager:
            news[coordinator.source] = seen
    if not news:
        return None
    new = [each for each in round.sources if each.source in news]
    premises = Premises.read(round.cluster.documents, shared.told, new)
    read = (
        read_source(coordinator, shared.lost, whole=coordinator.source in news, sites=shared.sites)
        for coordinator in round.sources
    )
    found = [each for each in read if each is not None]
    if round.cluster.only is not None:
        found += others_of(round.sources[0], {each.source for each in round.sources})
    look = whole_look(found, shared.sites, shared.lost, round.config.decommissioning_nodes, round.now)
    return _Seen(found=found, look=look, digests=news, premises=premises)


def _digest(round: Round, coordinator: SourceCoordinator, shared: _Shared) -> str | None:
    """Return what a source is now, for the marks; asked once for all duties of a run."""
    cluster = round.cluster
    ended, said = seen_once(cluster, coordinator)
    history = [ended]
    for name in _beside(coordinator):
        if name in cluster.known:  # otherwise nothing has ever ended there
            beside = cluster.coordinator(name)
            history.append(cluster.once(f"ended last in {name}", partial(newest_tenures, beside)))
    return None if None in history else digest(history, said, shared.seen)


def _beside(coordinator: SourceCoordinator) -> list[str]:
    """Return the sources beside one, in which it is merged and copied."""
    return [merged_source(coordinator.source), f"{COPIES}{coordinator.source}"]


def load_copies(round: Round) -> Ran:
    """Make copies claimable that rules want: the part of ``runRules`` that comes after hiding.

    :param round: what it has left is its own, not that of the duty around it.
    :raises OutputError: when the manifest of what is merged is missing or was changed.
    """
    shared = _shared(round, verify=True)
    if shared is None:
        return Ran(said="nobody has said a location", counts=_load_counts(None, 0), idle=True)
    marks = Marks(round.remembered)
    seen = _seen(round, shared, marks)
    told = tuple(
        f"location {name} cannot be read since {each.since:%Y-%m-%d %H:%M} UTC: {each.why}"
        for name, each in sorted(shared.lost.items())
    )
    if seen is None:
        return Ran(said="nothing is new", counts=_load_counts(None, 0), warnings=told, left=marks.to_json(), idle=True)
    config = round.config
    found = loads(seen.look, config.location_grace, config.replication_throttle_limit)
    steps = Steps(seen.found, round.by, seen.premises.hold)
    if not round.dry_run:
        steps.load(found)
    waits = {name[0] for _, name in found.waiting}
    throttled = len(found.make) + len(found.renew) >= config.replication_throttle_limit
    until = _grace_ends(shared.lost, config.location_grace, round.now)
    for each in seen.found:
        source = each.coordinator.source
        left = source in waits or source in steps.done.void or throttled
        if source in seen.digests and not left and not round.dry_run:
            changes = [at for at in (until, each.changes_at(round.now)) if at is not None]
            marks.put(source, seen.digests[source], round.now, min(changes, default=None))
    begun = len(found.make) + len(found.renew) if round.dry_run else len(steps.done.begun)
    would = "would ask" if round.dry_run else "asked"
    said = f"{would} for {begun} cop{'y' if begun == 1 else 'ies'}" if begun else "all copies are there or on their way"
    warnings = (
        *told,
        *_too_long(round.sources),
        *_load_warnings(found, seen.found, shared.sites, config.decommissioning_nodes),
    )
    counts = _load_counts(found, steps.done.moved_on, begun)
    return Ran(said=said, counts=counts, warnings=warnings, left=marks.to_json(), idle=not begun)


def _too_long(coordinators: Iterable[SourceCoordinator]) -> list[str]:
    return [
        f"nothing of source {quoted(each.source)} is copied: its name is too long for a source of copies beside it"
        for each in coordinators
        if compose_copies(each.source, each.partition_prefix) is None
    ]


def _grace_ends(lost: Mapping[str, Lost], grace: timedelta, now: datetime) -> datetime | None:
    ends = [each.since + grace for each in lost.values()]
    return min((each for each in ends if each > now), default=None)


def _load_counts(found: Loads | None, moved_on: int, begun: int = 0) -> dict[str, int]:
    return {
        "segment/assigned/count": begun,
        "segment/loadQueue/refused": moved_on,
        "tier/full/count": len(found.waiting) if found else 0,
        "tier/missing/count": sum(found.no_such_tier.values()) if found else 0,
    }


def _load_warnings(
    found: Loads, sources: Sequence[OfSource], sites: Sequence[Site], draining: Iterable[str]
) -> list[str]:
    full: dict[str, list[Name]] = {}
    for tier, name in found.waiting:
        full.setdefault(tier, []).append(name)
    told = [
        f"tierFull: tier {tier} has no room for {len(row)} cop{'y' if len(row) == 1 else 'ies'}, such as {_names(row)}"
        for tier, row in sorted(full.items())
    ]
    said = any(not each.unsaid(name) for each in sources for name in each.shown)
    told += [
        f"tier {quoted(tier)} has no location; {count} chunk(s) want copies there"
        for tier, count in sorted(found.no_such_tier.items())
        if said
    ]
    told += [
        f"copy {key} has failed, and is tried again: {partition.last_error}"
        for each in sources
        for key, partition in each.partitions.items()
        if partition.last_error and partition.status is not PartitionStatus.COMPLETED
    ]
    known = {site.name for site in sites}
    return told + [f"decommissioningNodes names {name!r}, no location" for name in draining if name not in known]


def _names(row: Sequence[Name]) -> str:
    return ", ".join(f"{source}/{dataset} {interval}" for source, dataset, interval in row[:_SHOWN])


@dataclass(frozen=True, slots=True)
class UnloadUnused:
    """Drops copies of what is hidden, was replaced, or that rules ask for no more, when two runs in a row have seen it.

    What replaces a copy is there then, published and in a location that can be read. The collector deletes the files.

    Source: Druid, ``UnloadUnusedSegments``, and the drops of ``RunRules``.
    """

    name: ClassVar[str] = UNLOAD

    def run(self, round: Round) -> Ran:
        """Drop what the run before has seen, too.

        :raises OutputError: when the manifest of what is merged is missing or was changed.
        """
        shared, before = _shared(round, verify=False), _remembered(round.remembered)
        if shared is None:
            return Ran(said="nobody has said a location", counts=_drop_counts(0, 0), idle=True)
        marks = Marks(before["marks"])
        seen = _seen(round, shared, marks, eager=before["seen"])
        if seen is None:
            return Ran(said="nothing is new", counts=_drop_counts(0, 0), left={**before, **_left(marks, {})}, idle=True)
        found = drops(seen.look)
        again = [drop for drop in found if _token(drop) in before["seen"].get(drop.name[0], ())]
        if again and _lost_since(round, shared):
            again = []  # what these rely on may be gone with it: the next run looks at everything anew
        steps = Steps(seen.found, round.by, seen.premises.hold)
        for drop in again if not round.dry_run else ():
            steps.drop(drop)
        dropped = {(drop.name, drop.location) for drop in steps.done.dropped}
        waiting = [drop for drop in found if (drop.name, drop.location) not in dropped]
        for each in seen.found:
            source = each.coordinator.source
            if source in seen.digests and not any(drop.name[0] == source for drop in found):
                marks.put(source, seen.digests[source], round.now, each.changes_at(round.now))
        number = len(again) if round.dry_run else len(dropped)
        said = f"{'would drop' if round.dry_run else 'dropped'} {number} cop{'y' if number == 1 else 'ies'}"
        if not number:
            said = f"{len(waiting)} cop{'y' if len(waiting) == 1 else 'ies'} may go in the next run" if waiting else ""
        return Ran(
            said=said or "nothing is too much",
            counts=_drop_counts(len(dropped), steps.done.moved_on),
            left=None if round.dry_run else _left(marks, _by_source(waiting)),
            idle=not number,
        )


def _lost_since(round: Round, shared: _Shared) -> bool:
    """Return whether a location cannot be read now that could be when this run began: a look may take minutes."""
    return not set(not_read(shared.sites, {}, round.sources[0], round.now)) <= set(shared.lost)


def _drop_counts(dropped: int, moved_on: int) -> dict[str, int]:
    return {"segment/unneeded/count": dropped, "segment/dropQueue/refused": moved_on}


def _token(drop: Drop) -> str:
    source, dataset, interval = drop.name
    return hashlib.sha256(f"{source}|{drop.location}|{dataset}|{interval}".encode()).hexdigest()[:_DIGITS]


def _by_source(waiting: Sequence[Drop]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for drop in waiting[:MOST_REMEMBERED]:
        found.setdefault(drop.name[0], []).append(_token(drop))
    return found


def _remembered(said: Any) -> dict[str, Any]:
    found = said if isinstance(said, Mapping) else {}
    seen = found.get("seen")
    return {"marks": found.get("marks"), "seen": dict(seen) if isinstance(seen, Mapping) else {}}


def _left(marks: Marks, seen: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {"marks": marks.to_json(), "seen": {name: list(row) for name, row in seen.items()}}


@dataclass(frozen=True, slots=True)
class BalanceSegments:
    """Moves copies from the most used location of a tier to the least used one, a few in each run.

    A move makes the new copy first; ``unloadUnused`` drops the old one. While moves are under way in a tier, no other
    begins there. The seed of a run's chance is among its counts.

    Source: Druid, ``BalanceSegments``; the seed's *Balancing segment load*.
    """

    name: ClassVar[str] = BALANCE

    def run(self, round: Round) -> Ran:
        """Move what makes the tiers more alike.

        :raises OutputError: when the manifest of what is merged is missing or was changed.
        """
        shared, marks = _shared(round, verify=False), Marks(round.remembered)
        if shared is None:
            return Ran(said="nobody has said a location", counts=_move_counts(0, 0, 0), idle=True)
        seen = _seen(round, shared, marks)
        if seen is None:
            return Ran(said="nothing is new", counts=_move_counts(0, 0, 0), left=marks.to_json(), idle=True)
        seed = int(hashlib.sha256(round.now.isoformat().encode()).hexdigest()[:8], 16)
        config = round.config
        found = balance(seen.look, seed, threshold=config.balance_threshold, most=config.max_segments_to_move)
        steps, pending = Steps(seen.found, round.by, seen.premises.hold), sum(found.pending.values())
        if not round.dry_run:
            steps.move(found.moves)
            for source, what in seen.digests.items():
                if not found.moves and not pending:
                    marks.put(source, what, round.now)
        begun = len(found.moves) if round.dry_run else len(steps.done.begun)
        told = ", ".join(
            f"{move.copy.name[1]} {move.copy.name[2]} from {move.source} to {move.target}"
            for move in found.moves[:_SHOWN]
            if isinstance(move.copy.name, tuple)
        )
        said = f"{'would move' if round.dry_run else 'moves'} {begun}: {told}, drawn with seed {seed}" if begun else ""
        waits = f"{pending} earlier move(s) are under way" if pending else "the tiers are balanced"
        return Ran(said=said or waits, counts=_move_counts(begun, pending, seed), left=marks.to_json(), idle=not begun)


def _move_counts(begun: int, pending: int, seed: int) -> dict[str, int]:
    return {"segment/moved/count": begun, "segment/moveQueue/count": pending, "segment/moved/seed": seed}
