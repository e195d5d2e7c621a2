"""A look at a store in PostgreSQL for ``doctor``: the role's rights, the way there, and what a crash may lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.diagnostics import Finding, Verdict, looked
from airflow_coordination.stores.sql.grants import RIGHTS, Kind, Names, Right, SqlRole
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.statements.dialect import Statement
from airflow_coordination.values.program import TYPED

_LOCAL: Final = ("", "localhost", "127.0.0.1", "::1")
_STRICT: Final = "verify-full"
_DURABILITY: Final = """SELECT current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
    (SELECT count(*) FROM pg_stat_replication)"""
_WHO: Final = "SELECT current_database(), current_schema(), current_user"
_HAS: Final[dict[Kind, str]] = {
    "database": "has_database_privilege(current_database(), $1)",
    "schema": "has_schema_privilege(current_schema(), $1)",
    "table": "has_table_privilege($2::regclass, $1)",
    "sequence": "has_sequence_privilege($2::regclass, $1)",
}
_TOO_MUCH: Final = [
    right
    for table in {right.name for right in RIGHTS[SqlRole.READER] if right.kind == "table"}
    for right in (Right(privilege, "table", table) for privilege in ("INSERT", "UPDATE", "DELETE", "TRUNCATE"))
]


def examine(store: PostgresStore, role: SqlRole) -> Iterator[Finding]:
    """Look at the store as ``role`` would work with it; nothing is written.

    :param role: what this connection's role in PostgreSQL is meant to be.
    """
    yield from looked("permissions", lambda: _permissions(store, role))
    yield from looked("durability", lambda: _durability(store))
    yield encryption(store)


def _ask(store: PostgresStore, text: str, *values: object) -> tuple[object, ...]:
    statement = Statement(text, tuple(str(number) for number in range(len(values))))
    parameters = {str(number): value for number, value in enumerate(values)}
    call = Call("look at the server", writes=False)
    [row] = store.database.fetch(call, statement, parameters)
    return tuple(row)


def _held(store: PostgresStore, rights: Iterable[Right]) -> Iterator[Right]:
    for right in rights:
        values = (right.privilege, right.name) if right.name else (right.privilege,)
        if _ask(store, f"SELECT {_HAS[right.kind]}", *values)[0]:
            yield right


def _permissions(store: PostgresStore, role: SqlRole) -> Iterator[Finding]:
    database, schema, user = (str(value) for value in _ask(store, _WHO))
    names = Names(database, schema, user)
    needed = RIGHTS[role]
    held = set(_held(store, needed))
    missing = [right for right in needed if right not in held]
    if missing:
        found = f"{user} may not {_spoken(missing, names)}"
        command = f"{TYPED} grants {role} --database {database} --schema {schema} --to {user}"
        yield Finding("permissions", Verdict.WRONG, found, f"As the tables' owner, run what this prints: {command}")
        return
    found = f"{user} may do what a {role} does"
    spare = () if role is SqlRole.OWNER else tuple(_held(store, (one for one in _TOO_MUCH if one not in needed)))
    if spare:
        found += f", and more than it needs: {_spoken(spare, names)}"
    yield Finding("permissions", Verdict.OK, found, "Revoke what it does not need" if spare else "")


def _spoken(rights: Iterable[Right], names: Names) -> str:
    return ", ".join(sorted(f"{right.privilege} on {right.name or getattr(names, right.kind)}" for right in rights))


def _durability(store: PostgresStore) -> Iterator[Finding]:
    """Say whether an acknowledged write is on disk, and whether a replica would have it (promise S4)."""
    fsync, pages, commit, standbys, replicas = _ask(store, _DURABILITY)
    found = f"fsync {fsync}, full_page_writes {pages}, synchronous_commit {commit}"
    if "off" in (fsync, pages, commit):
        remedy = "Switch them on at the server: a crash of its host loses or damages what it acknowledged"
        yield Finding("durability", Verdict.WRONG, found, remedy)
    elif replicas and not standbys:
        found += f"; {replicas} replica(s), none of them synchronous"
        remedy = "Before you fail over to one, read docs/operate/failover.md"
        yield Finding("durability", Verdict.OK, found, remedy)
    else:
        yield Finding("durability", Verdict.OK, found)


def encryption(store: PostgresStore) -> Finding:
    """Say whether the way to the server is encrypted, and to whom."""
    url = store.database.url
    mode, host = url.query.get("sslmode"), url.host or str(url.query.get("host", ""))
    if mode == _STRICT or host in _LOCAL or host.startswith("/"):
        return Finding("tls", Verdict.OK, f"sslmode {mode}" if mode else "the server is on this host")
    found = f"sslmode is {mode}" if mode else "sslmode is missing: libpq encrypts only if the server offers it"
    return Finding("tls", Verdict.OK, f"{found}; whose server answers is not checked", "Add sslmode=verify-full")
