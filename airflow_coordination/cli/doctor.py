"""The command that looks whether all is well: the installation, the store, the clocks, the permissions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import Final

from airflow_coordination.cli.output import print_rows
from airflow_coordination.cli.place import Place
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.spark.session import CLASSIC, CLIENT, check_distributions, installed
from airflow_coordination.stores.findings import Finding, Verdict, looked

MAX_SKEW: Final = timedelta(seconds=5)
"""How far this host's clock may be from the store's; DynamoDB's answers give whole seconds."""
_PROVIDERS: Final = "apache_airflow_provider"


def doctor(place: Place, args: Namespace) -> int:
    """Print what is found; return 1 when something is wrong."""
    findings = [
        *looked(CLASSIC, _distributions),
        *_provider(),
        *looked("store", lambda: _store(place.store, args.role)),
    ]
    print_rows([asdict(finding) for finding in findings], args.output)
    return int(any(finding.verdict is Verdict.WRONG for finding in findings))


def _distributions() -> Iterator[Finding]:
    check_distributions()
    versions = {name: installed(name) for name in (CLASSIC, CLIENT)}
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield Finding(CLASSIC, Verdict.OK, found or "not installed here; drivers need it")


def _provider() -> Iterator[Finding]:
    """Say whether Airflow, where there is one, finds this package."""
    if installed("apache-airflow-core") is None:
        return
    if any(entry.value.startswith("airflow_coordination.") for entry in entry_points(group=_PROVIDERS)):
        yield Finding("provider", Verdict.OK, "Airflow finds it")
    else:
        remedy = "Install the package airflow-coordination with pip; a copied folder has no entry points"
        yield Finding("provider", Verdict.WRONG, "Airflow does not find it", remedy)


def _store(store: PartitionStore, role: str) -> Iterator[Finding]:
    yield from looked("store", lambda: _schema_and_clock(store))
    yield from _table(store, role)


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


def _table(store: PartitionStore, role: str) -> Iterator[Finding]:
    """Look at a DynamoDB store's table."""
    if not store.description.startswith("dynamodb:"):
        return
    from airflow_coordination.stores.dynamodb import DynamoDBStore
    from airflow_coordination.stores.dynamodb.examination import examine
    from airflow_coordination.stores.dynamodb.iam import Role

    if isinstance(store, DynamoDBStore):
        yield from examine(store, Role(role))
