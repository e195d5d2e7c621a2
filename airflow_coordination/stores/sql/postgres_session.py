"""What one session on PostgreSQL is: what the URL says of it, what every one of ours has, and whether that arrived."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psycopg import pq

from airflow_coordination.stores.database_url import DatabaseUrl
from airflow_coordination.stores.history_retention import OPTION
from airflow_coordination.stores.sql.columns import META
from airflow_coordination.stores.sql.names import check_name, quote_name
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.postgres_sessions import ENCODING, FIXED, KEEPALIVES, bounds
from airflow_coordination.values.settings import check_known

OWN: Final = ("connect_timeout", "statement_timeout", "pool_size", "schema", OPTION)
"""What the query of a URL may hold beside what libpq knows."""

_DEFAULTS: Final = {"application_name": "airflow-coordination", **KEEPALIVES}
_REFUSED: Final = {
    "tcp_user_timeout": "Give statement_timeout, which sets it",
    "client_encoding": "Leave it out; it is always UTF8",
    "replication": "Leave it out",
}
_IN_OPTIONS: Final = re.compile(r"(?:-c\s*|--)([A-Za-z_][\w.-]*)\s*=")
_SCHEMA: Final = re.compile(r"(?!pg_|information_schema$|\$user$).+")

_LOOK: Final = f"""SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_schema(),
    (SELECT n.nspname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.oid = pg_catalog.to_regclass('{META}')),
    {", ".join(f"pg_catalog.current_setting('{name}')" for name in FIXED)}"""


@dataclass(frozen=True, slots=True)
class Session:
    """What libpq is told for one connection.

    :param url: where to, without what is ours.
    :param arguments: what goes beside what the URL says.
    :param schema: the only schema in which names are looked up; ``None`` = the role's ``search_path`` says it.
    """

    url: DatabaseUrl
    arguments: Mapping[str, Any]
    schema: str | None


def session_of(url: DatabaseUrl, *, connect_seconds: float, statement_seconds: float, answer_seconds: float) -> Session:
    """Return the session that ``url`` asks for.

    :param connect_seconds: how long a connection may take.
    :param statement_seconds: after how long the server cancels a statement.
    :param answer_seconds: after how long without an answer the network gives a connection up.
    :raises SettingsError: naming what libpq does not know, or what may only be set by us.
    """
    given = url.query
    check_known(list(given), [*_libpq_names(), *OWN], "store")
    for name in given.keys() & _REFUSED.keys():
        raise SettingsError(f"store.{name}", given[name], "is set by this package", _REFUSED[name])
    schema = _schema(given.get("schema"))
    ours = {**bounds(statement_seconds), **FIXED}
    if schema is not None:
        ours["search_path"] = quote_name(schema)
    options = given.get("options", "")
    _check_options(options, ours)
    arguments = {
        **{name: value for name, value in _DEFAULTS.items() if name not in given},
        "connect_timeout": max(2, round(connect_seconds)),
        **ENCODING,
        "options": " ".join([options, *(f"-c {name}={_escaped(str(value))}" for name, value in ours.items())]).strip(),
        "tcp_user_timeout": int(answer_seconds * 1000),
    }
    return Session(url.without((*OWN, "options")), arguments, schema)


def check_session(connection: Any, session: Session, where: str) -> None:
    """Ask a new connection once whether it is the server's own session, with our settings and one schema.

    A pooler answers with another process's number than the one it gave when it let us in (PgBouncer makes one up), and
    keeps what we set from the server: then a completion could be acknowledged that a restart of the server loses.

    :param where: the store's address without secrets.
    :raises SettingsError: saying what is in between, or which two schemas there are.
    """
    row = connection.cursor().execute(_LOOK).fetchone()
    pid, first, found, *settings = row
    if pid != connection.info.backend_pid:
        problem = "is behind a connection pooler (PgBouncer or another), which keeps our settings from the server"
        remedy = "Give the address of the server itself; each process of ours keeps at most pool_size connections"
        raise SettingsError("store", where, problem, remedy)
    for (name, wanted), value in zip(FIXED.items(), settings, strict=True):
        if value != wanted:
            problem = f"is a server where {name} is {value!r} although we set it to {wanted!r}"
            raise SettingsError("store", where, problem, "Look what sets it at log-in, an extension or a proxy")
    if found is not None and found != first:
        problem = f"has a store in schema {found!r}, but search_path begins with {first!r}"
        remedy = f"Add schema={found} to its URL to use that one, or schema={first} for one of its own"
        raise SettingsError("store", where, problem, remedy)


def _libpq_names() -> list[str]:
    return [option.keyword.decode() for option in pq.Conninfo.get_defaults()]


def _schema(name: str | None) -> str | None:
    if name is None or _SCHEMA.fullmatch(name):
        return name and check_name("store.schema", name)
    raise SettingsError("store.schema", name, "cannot be the name of a schema", "Give for example schema=coordination")


def _check_options(options: str, ours: Mapping[str, object]) -> None:
    """Refuse in the URL's ``options`` what we must set, however it is spelled there."""
    for spelled in _IN_OPTIONS.findall(options):
        name = spelled.lower().replace("-", "_")
        if name not in ours:
            continue
        own = "Give it as statement_timeout=SECONDS" if name == "statement_timeout" else "Leave it out"
        remedy = "Give either schema or a search_path" if name == "search_path" else own
        raise SettingsError("store.options", options, f"sets {name}, which is set by this package", remedy)


def _escaped(value: str) -> str:
    """Return ``value`` as libpq's ``options`` take it: blanks and backslashes behind a backslash."""
    return re.sub(r"([\\\s])", r"\\\1", value)
