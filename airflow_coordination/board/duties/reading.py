"""The reads of groups of duties and of their configuration: at most twenty partitions and a page of versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.duties.models import (
    ChangeView,
    ConfigHistory,
    ConfigPage,
    DutiesPage,
    DutyGroupView,
    DutyView,
    KeyView,
    LeaderView,
    LocationView,
    TroubleView,
    VersionView,
)
from airflow_coordination.board.models import Offer
from airflow_coordination.board.reading import Read
from airflow_coordination.board.views import task_view
from airflow_coordination.board.visibility import open_all
from airflow_coordination.duties.configuring import Configured, Version, versions
from airflow_coordination.duties.copies.lost import lost_of
from airflow_coordination.duties.groups.told import HOW_TO_RUN, NEVER_RUN, ToldDuty, ToldGroup, Trouble, look
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.copies.locations import sites_of
from airflow_coordination.planning.duties.configuration import KEYS, DynamicConfig
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import ABSENT, LOCATIONS, LOST_LOCATIONS
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import DUTIES, everybody, identifier_of, storable

MOST_VERSIONS: Final = 50
"""Versions of the configuration that one request reads, at most."""
_RUNS: Final = {"d": "done", "f": "failed", "p": "paused"}
_DOES: Final = "Let it be run as soon as somebody comes who runs groups, and not only when it is due"


@contextmanager
def open_duties(user: BaseUser, connection: str) -> Iterator[tuple[PartitionStore, SourceCoordinator]]:
    """Open a store at its duties: who sees them may act on them, too.

    :raises NotVisibleError: when the board does not show such a store, or the user may not edit every DAG.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_all(user, connection) as store:
        yield store, SourceCoordinator(store, DUTIES, user.get_id())


def duties(user: BaseUser, connection: str) -> Read[DutiesPage]:
    """Return the groups of duties of a store with what each duty did; raises as :func:`open_duties` does."""
    with open_duties(user, connection) as (store, coordinator):
        now, shell = store.now(), remedies.shell_of(store)
        told = look(coordinator, now)
        locations, unread = _locations(coordinator, told.config.decommissioning_nodes)
        page = DutiesPage(
            source=identifier_of(coordinator),
            troubles=[TroubleView(**asdict(each)) for each in (*told.troubles, *unread)],
            groups=[_group(coordinator, each) for each in told.groups],
            more=told.more,
            empty=None if told.groups else NEVER_RUN,
            how=HOW_TO_RUN,
            starting=remedies.of_store("duties run", shell),
            typed=remedies.of_store("duties status", shell),
            locations=locations,
            counting=remedies.command("copies status", remedies.WHY, prefix=None, shell=shell, options=["--locations"]),
        )
        return Read(page, now)


def _group(coordinator: SourceCoordinator, group: ToldGroup) -> DutyGroupView:
    return DutyGroupView(
        name=group.name,
        key=group.key,
        standing=group.standing.value,
        troubled=group.troubled,
        period=group.period.total_seconds() if group.period else None,
        leader=_leader(group.leader, group.leader_until),
        last_leader=_leader(group.last_leader),
        term=group.term,
        led_since=group.led_since,
        ran_at=group.ran_at,
        took=group.took.total_seconds(),
        due=group.due,
        runs=[_RUNS.get(each, each) for each in group.runs],
        duties=[_duty(each) for each in group.duties],
        offers=[_run_now(coordinator, group)] if group.may_run_now else [],
    )


def _locations(coordinator: SourceCoordinator, draining: Collection[str]) -> tuple[list[LocationView], list[Trouble]]:
    """Return where copies may lie, and why that cannot be read: two documents, and no look at any location."""
    said = partial(coordinator.documents.newest, source=everybody(coordinator.partition_prefix))
    try:
        sites, lost = sites_of(said(LOCATIONS)), lost_of(said(LOST_LOCATIONS))
    except InvalidInputError as error:
        return [], [Trouble(f"Where copies may lie cannot be read. {error}", "No copy is made.", person=True)]
    return [
        LocationView(
            name=site.name,
            tier=site.tier,
            root=site.root,
            capacity=site.capacity,
            draining=site.name in draining,
            lost_since=lost[site.name].since if site.name in lost else None,
            why=lost[site.name].why if site.name in lost else "",
        )
        for site in sites
    ], []


def _duty(duty: ToldDuty) -> DutyView:
    return DutyView(
        name=duty.name,
        outcome=duty.outcome.value,
        fails=duty.fails,
        said=duty.said,
        counts=dict(duty.counts),
        took=duty.took.total_seconds(),
        warnings=list(duty.warnings),
    )


def _leader(owner: str | None, until: datetime | None = None) -> LeaderView | None:
    return None if owner is None else LeaderView(owner=owner, task=task_view(owner), until=until)


def _run_now(coordinator: SourceCoordinator, group: ToldGroup) -> Offer:
    return Offer(action="run now", does=_DOES, typed=remedies.typed(coordinator, "reopen", group.key))


def config(user: BaseUser, connection: str) -> Read[ConfigPage]:
    """Return the configuration of now, key by key; raises as :func:`open_duties` does."""
    with open_duties(user, connection) as (store, coordinator):
        now, kept = store.now(), parts_of(store).documents is not None
        found = list(islice(versions(coordinator), MOST_VERSIONS)) if kept else []
        newest = found[0].configured if found else Configured(DynamicConfig())
        problem = found[0].problem if found else None
        change = "config set" if problem is None else "config set --replace"
        body = ConfigPage(
            kept=kept,
            version=newest.version,
            at=newest.at,
            author=newest.author,
            comment=newest.comment,
            keys=_keys(newest, found) if problem is None else [],
            notes=list(newest.config.notes),
            looked_at_all=not found or found[-1].configured.version == ABSENT + 1,
            typed=f"{remedies.of_store(change, remedies.shell_of(store))} KEY=VALUE --why '{remedies.WHY}'",
            problem=None if problem is None else storable(problem),
        )
        return Read(body, now)


def _keys(newest: Configured, found: list[Version]) -> list[KeyView]:
    """Return every key with the version that has set it to what it is now."""
    values = newest.config.to_json()
    set_by: dict[str, int] = {}
    for version in found:
        for change in version.changes or ():
            set_by.setdefault(change.key, version.configured.version)
    return [
        KeyView(
            name=key.name,
            value=values[key.name],
            default=key.default,
            means=key.means,
            ours=key.ours,
            version=set_by.get(key.name) if values[key.name] != key.default else None,
        )
        for key in KEYS.values()
    ]


def history(user: BaseUser, connection: str, before: int | None, limit: int) -> Read[ConfigHistory]:
    """Return versions of the configuration, the newest first; raises as :func:`open_duties` does.

    :param before: only those older than this version.
    :param limit: so many.
    """
    with open_duties(user, connection) as (store, coordinator):
        now, kept = store.now(), parts_of(store).documents is not None
        found = list(islice(versions(coordinator, before), limit)) if kept else []
        last = found[-1].configured.version if found else ABSENT
        following = last if len(found) == limit and last > ABSENT + 1 else None
        typed = remedies.of_store("config history", remedies.shell_of(store))
        return Read(ConfigHistory(versions=list(map(_version, found)), before=following, typed=typed), now)


def _version(found: Version) -> VersionView:
    said = found.configured
    changes = found.changes
    return VersionView(
        version=said.version,
        at=said.at,
        author=said.author,
        comment=said.comment,
        changes=None if changes is None else [ChangeView(key=each.key, old=each.old, new=each.new) for each in changes],
        values=said.config.to_json() if found.problem is None else {},
        problem=None if found.problem is None else storable(found.problem),
    )
