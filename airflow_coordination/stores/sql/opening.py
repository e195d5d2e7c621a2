"""From a database URL to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_coordination.stores.addresses import DatabaseUrl, public_address, read_url
from airflow_coordination.stores.config import SQL_OPTIONS
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import Clock

if TYPE_CHECKING:
    from airflow_coordination.stores.sql.store import SqlStore

_DRIVERS = {"sqlite": "sqlite", "sqlite+pysqlite": "sqlite", "postgresql": "psycopg", "postgresql+psycopg": "psycopg"}


def _url(text: str, options: dict[str, Any]) -> DatabaseUrl:
    """Return the URL with the configured options in its query, so that the URL says it all.

    :raises SettingsError: when no store can be there, or an option is said otherwise than in ``options``.
    """
    url = read_url(text)
    if url.scheme not in _DRIVERS:
        known = "sqlite:////path or postgresql+psycopg://user@host/database"
        raise SettingsError("store", public_address(text), f"names the driver {url.scheme!r}", f"Use {known}")
    given = {name: str(options[name]) for name in SQL_OPTIONS[1:] if options.get(name) is not None}
    for name, value in given.items():
        if url.query.get(name, value) != value:
            problem = f"is said twice: the URL has {url.query[name]!r}, the configuration beside it {value!r}"
            raise SettingsError(f"store.{name}", value, problem, "Say it in one place")
    return url.with_query(given)


def open_sql_store(text: str, options: dict[str, Any], clock: Clock | None) -> SqlStore:
    """Open the store at a database URL. Nothing is contacted yet.

    :param options: what else was configured; see :data:`~airflow_coordination.stores.config.SQL_OPTIONS`.
    :param clock: decides when leases end instead of the server's or host's, for tests.
    :raises SettingsError: when no store can be there.
    """
    url = _url(text, options)
    if _DRIVERS[url.scheme] == "sqlite":
        from airflow_coordination.stores.sql.sqlite import SqliteDatabase
        from airflow_coordination.stores.sql.sqlite_store import SqliteStore

        return SqliteStore(SqliteDatabase(url), clock)
    try:
        from airflow_coordination.stores.sql.postgres import PostgresDatabase
        from airflow_coordination.stores.sql.postgres_store import PostgresStore
    except ModuleNotFoundError as error:
        problem, remedy = f"needs {error.name}, which is not installed", "pip install 'airflow-coordination[postgres]'"
        raise SettingsError("store", public_address(text), problem, f"Install it: {remedy}") from error

    return PostgresStore(PostgresDatabase(url, injected_clock=clock is not None), clock)
