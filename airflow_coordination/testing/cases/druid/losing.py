"""The area ``availability``: what becomes of the leases of a worker that is lost, on a real store in virtual time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.planning.copies.grace import counts
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.cases.druid.lines import Checks
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.testing.clock import START, FakeClock
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.hints import decode_hint
from airflow_coordination.values.settings import Settings

_AT: Final = re.compile(r"t0(?:\+(\d{1,9}))?", re.ASCII)
_OWNS: Final = re.compile(r"worker (\w+) owns ([\w,]+)", re.ASCII)
_DISAPPEARS: Final = re.compile(r"(\w+) disappears", re.ASCII)
_BACK: Final = re.compile(r"(\w+) is back", re.ASCII)
_BACK_AFTER: Final = re.compile(r"(\w+) is back after reassignment to (\w+)", re.ASCII)
_RUN: Final = re.compile(r"(coordinator run)", re.ASCII)
_LIFETIME: Final = re.compile(r"lifetime (\d{1,9})", re.ASCII)


class _World:
    """Workers of one source whose leases last for the lifetime, as their last renewal was before they were lost.

    A third of it is their ownership timeout, and the rest their grace.
    """

    def __init__(self, lifetime: timedelta) -> None:
        self.clock, self.lifetime = FakeClock(), lifetime
        self._store = InMemoryStore(clock=self.clock)
        self._workers: dict[str, SourceCoordinator] = {}
        self._leases: dict[str, list[Lease]] = {}
        self.lost: datetime | None = None

    def until(self, moment: datetime) -> None:
        self.clock.advance(moment - self.clock.now())

    def worker(self, name: str) -> SourceCoordinator:
        late = self.lifetime / 3
        settings = Settings(ownership_timeout=late, reassign_grace=self.lifetime - late)
        made = SourceCoordinator(self._store, "cases", name, settings=settings, clock=self.clock)
        return self._workers.setdefault(name, made)

    def owns(self, name: str, keys: str) -> None:
        self.worker(name).create_partitions(keys.split(","))
        self._leases[name] = [lease for key in keys.split(",") if (lease := self.worker(name).acquire_partition(key))]

    def disappears(self, name: str) -> None:
        """Renew for the last time."""
        self._leases[name] = [self.worker(name).renew(lease) for lease in self._leases.get(name, [])]
        self.lost = self.clock.now()

    def run(self, _: str) -> str:
        """Tell what a worker that is free could take."""
        free = sorted(decode_hint(hint, self._store.store_id).key for hint in self.worker("somebody else").claimable())
        return f"{','.join(free)} reassignable" if free else "not reassigned yet"

    def back(self, name: str) -> str:
        """Go on with what the worker had."""
        keys = ",".join(lease.key for lease in self._leases[name])
        try:
            self._leases[name] = [self.worker(name).renew(lease) for lease in self._leases[name]]
        except PartitionNotOwnedError:
            new = self.worker(name).get_next_partition()
            has = f"{name} takes {new.key}" if new else f"{name} starts without leases"
            return f"{name}'s writes are rejected (fencing), {has}"
        return f"{name} still owns {keys}, nothing was reassigned"

    def back_after(self, name: str, other: str) -> str:
        """Let another one take everything as soon as it can, then go on."""
        now = self.clock.now()
        if self.lost is None or now < self.lost + self.lifetime:
            return f"nothing can be reassigned to {other} yet"
        while self.worker(other).get_next_partition():
            pass
        return self.back(name)


def availability_line(line: Fields, checks: Checks) -> None:
    """Let the events happen, then that of the line, and compare its result; each line begins anew."""
    lifetime = timedelta(seconds=line.whole("lifetime_s"))
    world = _happened(line, lifetime)
    for name in line.names():
        if said := _LIFETIME.fullmatch(name):
            line.text(name, among=("reassignable at once",))
            lost = world.lost or START
            gone = counts(lost, timedelta(seconds=int(said[1])), lost)
            checks.check(line.at(name), False, gone)
    if not line.has("event"):
        return
    moment = _moment(line.at("at"), line.raw("at", "a moment"))
    if moment < world.clock.now():
        refuse(line.at("at"), line.raw("at", "a moment"), "is before the last event", "Give a later one.")
    world.until(moment)
    answer = _asked(line, world)
    checks.check(line.at("result"), line.text("result"), answer)
    if world.lost is not None and _RUN.fullmatch(line.text("event")):
        checks.check(f"{line.at('result')} (planned)", counts(world.lost, lifetime, moment), "not" in answer)


def _happened(line: Fields, lifetime: timedelta) -> _World:
    if not lifetime:
        refuse(line.at("lifetime_s"), 0, "is no lifetime of a lease", "Write it as 'lifetime 0': …, and give one here.")
    world = _World(lifetime)
    for number, event in enumerate(line.items("events")):
        where = f"{line.at('events')}[{number}]"
        if not isinstance(event, list) or len(event) != 2 or not isinstance(event[1], str):
            refuse(where, event, "is no event", 'Write ["t0+10", "w1 disappears"].')
        world.until(max(_moment(where, event[0]), world.clock.now()))
        if said := _OWNS.fullmatch(event[1]):
            world.owns(said[1], said[2])
        elif said := _DISAPPEARS.fullmatch(event[1]):
            world.disappears(said[1])
        else:
            refuse(
                where, event[1], "says nothing that is understood", "Write 'worker w1 owns p1,p2' or 'w1 disappears'."
            )
    return world


def _moment(where: str, value: object) -> datetime:
    said = _AT.fullmatch(value) if isinstance(value, str) else None
    if said is None:
        refuse(where, value, "is no moment of the case", "Write t0, or such as t0+60 for seconds after it.")
    return START + timedelta(seconds=int(said[1] or 0))


def _asked(line: Fields, world: _World) -> str:
    forms: MappingProxyType[re.Pattern[str], Callable[..., str]] = MappingProxyType(
        {_BACK: world.back, _BACK_AFTER: world.back_after, _RUN: world.run}
    )
    event = line.text("event")
    for form, happens in forms.items():
        if said := form.fullmatch(event):
            return happens(*said.groups())
    remedy = "Write 'w1 is back', 'w1 is back after reassignment to w2' or 'coordinator run'."
    return refuse(line.at("event"), event, "says nothing that is understood", remedy)
