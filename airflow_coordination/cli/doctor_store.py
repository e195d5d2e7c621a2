"""Checks of the store for ``doctor``: its schema, its clock, its prefix, and those of each back end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.diagnostics import Finding, Verdict, looked
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import split_source
from airflow_coordination.values.status import PartitionStatus

MAX_SKEW: Final = timedelta(seconds=5)
"""The greatest difference allowed between this host's clock and the store's; DynamoDB's answers give whole seconds."""

HELD: Final = 100
"""So many leases of a source are looked at for whose they are."""


def look_at_store(store: PartitionStore, role: str) -> Iterator[Finding]:
    """Yield the findings on ``store``.

    :param role: whose permissions this process should have: ``owner`` (``setup``), ``worker`` or ``reader``.
    """
    found = looked("store", lambda: _schema_and_clock(store))
    yield from found
    if found[0].verdict is Verdict.OK:
        yield from looked("partition prefix", lambda: _prefix(store))
        yield from looked("airflows", lambda: _airflows(store))
    yield from _table(store, role)
    if found[0].verdict is Verdict.OK:
        yield from _server(store, role)


def _schema_and_clock(store: PartitionStore) -> Iterator[Finding]:
    yield Finding("store", Verdict.OK, f"{store.store_id} at {store.description}; its schema fits this code")
    before = datetime.now(UTC)
    theirs = store.now()
    skew = before + (datetime.now(UTC) - before) / 2 - theirs
    found = (
        f"this host is {abs(skew).total_seconds():.1f} s {'behind' if skew < timedelta(0) else 'ahead of'} the store"
    )
    if abs(skew) <= MAX_SKEW:
        yield Finding("clock", Verdict.OK, found)
        return
    remedy = "Set this host's clock (NTP). Leases do not depend on it; logs, times that people give and AWS do"
    yield Finding("clock", Verdict.WRONG, found, remedy)


def _prefix(store: PartitionStore) -> Iterator[Finding]:
    """Say whether the work is under another prefix: versions before honoured it in some places only."""
    known = [] if store.partition_prefix is None else [split_source(name)[0] for name, _ in store.sources()]
    if not known:
        return
    under = known.count(store.partition_prefix)
    found = f"{store.partition_prefix!a}: {under} of the {len(known)} sources are under it"
    remedy = "" if under else "If their work is meant, leave out the partition_prefix where the store is named"
    yield Finding("partition prefix", Verdict.OK if under else Verdict.WRONG, found, remedy)


def _airflows(store: PartitionStore) -> Iterator[Finding]:
    """Say which sources several Airflows work on right now, which may be staging beside production."""
    for source, _ in store.sources():
        held = store.page(source, PartitionStatus.ASSIGNED, None, HELD)
        names = sorted({name for each in held if (name := Owner(each.owner or "").place.airflow) is not None})
        if len(names) > 1:
            found = f"{len(names)} Airflows hold leases of source {shown(source)}: {', '.join(map(shown, names))}"
            remedy = "If that is not meant, such as staging beside production, give each a partition_prefix of its own"
            yield Finding("airflows", Verdict.OK, found, remedy)


def _table(store: PartitionStore, role: str) -> Iterator[Finding]:
    """Look at a DynamoDB store's table."""
    if not store.description.startswith("dynamodb:"):
        return
    from airflow_coordination.stores.dynamodb.setup.examination import examine
    from airflow_coordination.stores.dynamodb.setup.iam import Role
    from airflow_coordination.stores.dynamodb.store import DynamoDBStore

    if isinstance(store, DynamoDBStore):
        yield from examine(store, Role.SETUP if role == "owner" else Role(role))


def _server(store: PartitionStore, role: str) -> Iterator[Finding]:
    """Look at a PostgreSQL store's server and at this role's rights there."""
    if not store.description.startswith("postgresql"):
        return
    from airflow_coordination.stores.sql.examination import examine
    from airflow_coordination.stores.sql.grants import SqlRole
    from airflow_coordination.stores.sql.postgres_store import PostgresStore

    if isinstance(store, PostgresStore):
        yield from examine(store, SqlRole.OWNER if role == "setup" else SqlRole(role))
