"""``doctor``: a list of small looks at this host, the output root and the store."""

from __future__ import annotations

import os
import secrets
import shutil
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.doctor_stored import look_at_follow_ups, look_at_published
from airflow_coordination.cli.java import FITTING, version_of
from airflow_coordination.cli.output import print_rows
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.diagnostics import Finding, Verdict, looked
from airflow_coordination.systems.objects.storage import OutputError, delete, join, normal_root, write_bytes
from airflow_coordination.systems.spark.session import CLASSIC, CLIENT, check_distributions, installed
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.names import split_source
from airflow_coordination.values.status import PartitionStatus

_PROVIDERS: Final = "apache_airflow_provider"
_GET_JAVA: Final = "Install Java 17 or 21, and set JAVA_HOME to it where Airflow's tasks run"


def look_at_installation() -> Iterator[Finding]:
    """Yield the findings on this installation."""
    yield from looked(CLASSIC, _distributions)
    yield from _java()
    yield from _provider()


def _distributions() -> Iterator[Finding]:
    check_distributions()
    versions = {name: installed(name) for name in (CLASSIC, CLIENT)}
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield Finding(CLASSIC, Verdict.OK, found or "not installed here; drivers need it")


def _java() -> Iterator[Finding]:
    """Say which Java a driver on this host gets; Spark Connect's client needs none."""
    if installed(CLASSIC) is None:
        return
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin/java")) if home else shutil.which("java")
    if program is None or not os.access(program, os.X_OK):
        found = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "JAVA_HOME is not set, none on PATH"
        yield Finding("java", Verdict.WRONG, found, _GET_JAVA)
        return
    version = version_of(program)
    fits = version in FITTING
    found = f"{version or 'no version'} at {program}"
    yield Finding("java", Verdict.OK if fits else Verdict.WRONG, found, "" if fits else _GET_JAVA)


def _provider() -> Iterator[Finding]:
    """Say whether Airflow, where there is one, finds this package."""
    if installed("apache-airflow-core") is None:
        return
    if any(entry.value.startswith("airflow_coordination.") for entry in entry_points(group=_PROVIDERS)):
        yield Finding("provider", Verdict.OK, "Airflow finds it")
    else:
        remedy = "Install the package airflow-coordination with pip; a copied folder has no entry points"
        yield Finding("provider", Verdict.WRONG, "Airflow does not find it", remedy)


def look_at_output_root(root: str) -> Iterator[Finding]:
    """Write one small file and remove it again, as a driver on this host would."""
    address = join(normal_root(root), f".doctor-{secrets.token_hex(8)}")
    try:
        write_bytes(address, b"")
        delete(address)
    except OutputError as error:
        remedy = "Give this user the right to write there, or set another output_root"
        yield Finding("output root", Verdict.WRONG, f"{root} cannot be written: {error}", remedy)
        return
    yield Finding("output root", Verdict.OK, f"{root} can be written from here")


MAX_SKEW: Final = timedelta(seconds=5)
"""The greatest difference allowed between this host's clock and the store's; DynamoDB's answers give whole seconds."""

HELD: Final = 100
"""The most leases of a source looked at for whose they are."""


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


def doctor(context: CommandContext, args: Namespace) -> int:
    """Print what is found; return 1 when something is wrong."""
    findings = [
        *look_at_installation(),
        *context.look_around(),
        *(looked("output root", lambda: look_at_output_root(args.output_root)) if args.output_root else ()),
        *looked("store", lambda: look_at_store(context.store, args.role)),
        *looked("published output", lambda: look_at_published(context.store, args.source)),
        *look_at_follow_ups(context),
    ]
    print_rows([asdict(finding) for finding in findings], args.output)
    return int(any(finding.verdict is Verdict.WRONG for finding in findings))
