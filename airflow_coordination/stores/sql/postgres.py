"""PostgreSQL through psycopg 3: its sessions; each statement its own transaction, with a deadline on both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import pq

from airflow_coordination.stores.addresses import DatabaseUrl
from airflow_coordination.stores.calls import Call, no_schema, one_line
from airflow_coordination.stores.config import OPTION
from airflow_coordination.stores.sql.columns import META
from airflow_coordination.stores.sql.database import Connections, Database, NoneFreeError, Rows, original
from airflow_coordination.stores.sql.statements import dialect
from airflow_coordination.stores.sql.statements.dialect import Statement, check_name, quote_name
from airflow_coordination.stores.sql.watchdog import Watch
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.postgres_sessions import ENCODING, FIXED, KEEPALIVES, bounds
from airflow_coordination.values.program import TYPED
from airflow_coordination.values.settings import check_known

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


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


CONNECT_SECONDS: Final = 5.0
STATEMENT_SECONDS: Final = 10.0
"""The server cancels a statement after this time; it is also the greatest age of a message that still applies."""
GRACE_SECONDS: Final = 3.0
"""How much longer this side waits for the answer before it gives the connection up."""
POOL_SIZE: Final = 5

_SETUP_LOCK: Final = 0x636F6F7264
_SETUP_WAIT: Final = "'60s'"
_SECRET_PARAMETERS: Final = ("password", "sslpassword")
_CLIENT_ERRORS: Final = (psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError)
_CANCELLED: Final = "57014"
_NOT_APPLIED: Final = (_CANCELLED, "40001", "40P01", "55P03", "25006", "53200", "53300", "53400", "55006")
"""Cancelled, serialization failure, deadlock, lock not available, read-only, out of a resource: surely not applied."""
_OURS: Final = ("0A", "21", "22", "23", "42", "44", "54")
"""Classes of codes that blame the statement or its values: the same again would be refused again. Any other is the
server's trouble, listed or not: the statement was surely not applied, and may be later."""
_NO_OWNER: Final = ("42501", "3F000")
MISSING_RIGHT: Final = f"Give this role what `{TYPED} grants worker` prints"
_OWNS: Final = f"Do it as the tables' owner, with the rights that `{TYPED} grants owner` prints"
_MISSING: Final = ("42P01", "42703", "3F000")
_WRONG_PLACE: Final = ("does not exist", "authentication failed", "no password supplied", "permission denied")


def _seconds(url: DatabaseUrl, name: str, default: float) -> float:
    text = url.query.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value <= 0:
        raise SettingsError(name, text, "is no number of seconds above zero", "Give seconds, for example 10")
    return value


class PostgresDatabase(Database):
    """A PostgreSQL database.

    :param url: ``postgresql+psycopg://user@host/database``; its query may hold ``connect_timeout``,
        ``statement_timeout`` (seconds), ``pool_size``, ``schema`` and what libpq knows.
    :param injected_clock: whether a test's clock decides instead of the server's.
    :raises SettingsError: when one of these makes no sense.
    """

    driver_error = psycopg.Error

    def __init__(self, url: DatabaseUrl, *, injected_clock: bool) -> None:
        super().__init__(replace(url, scheme="postgresql+psycopg"), dialect.postgresql(injected_clock=injected_clock))
        self._connect_seconds = _seconds(url, "connect_timeout", CONNECT_SECONDS)
        self._statement_seconds = _seconds(url, "statement_timeout", STATEMENT_SECONDS)
        self._pool_size = int(_seconds(url, "pool_size", POOL_SIZE))
        self._session = session_of(
            self.url,
            connect_seconds=self._connect_seconds,
            statement_seconds=self._statement_seconds,
            answer_seconds=self._statement_seconds + GRACE_SECONDS,
        )

    @property
    def has_password(self) -> bool:
        """Whether the URL carries a secret."""
        return self.url.password is not None or any(name in self.url.query for name in _SECRET_PARAMETERS)

    @property
    def public_url(self) -> str:
        """The URL without any secret."""
        return replace(self.url.without(_SECRET_PARAMETERS), password=None).text()

    def make_connections(self) -> Connections:
        """Return connections that are made when they are needed; nothing is sent when they come back."""
        return Connections(self._open_connection, keep=self._pool_size, seconds=self._connect_seconds)

    def _open_connection(self) -> Any:
        return self._connect(autocommit=True, cursor_factory=psycopg.RawCursor)

    def _connect(self, **options: Any) -> Any:
        """Return a connection that is the server's own session, with our settings."""
        session = self._session
        connection = psycopg.connect(**session.url.for_libpq(), **session.arguments, **options)
        try:
            with self.watched(connection):
                check_session(connection, session, self.public_url)
                connection.rollback()
        except BaseException:
            connection.close()
            raise
        return connection

    def watched(self, connection: Any) -> AbstractContextManager[object]:
        """Bound the wait for an answer, also when the server's process is stopped."""
        return Watch(connection.fileno(), self._statement_seconds + GRACE_SECONDS)

    def together(self, call: Call, statements: Sequence[tuple[Statement, Mapping[str, Any]]]) -> list[Rows]:
        """Execute statements in one transaction that is sent as a whole: a client that stops holds no lock.

        Each sees what was committed before it begins, as any statement does.

        :return: the rows of each.
        """
        with self.connected(call) as connected:
            connection = connected.connection
            with connection.pipeline(), connection.transaction():
                cursors = [connection.execute(each.text, each.bind(parameters)) for each, parameters in statements]
        return [cursor.fetchall() for cursor in cursors]

    def is_lost(self, connection: Any) -> bool:
        """Return whether the connection has ended."""
        return bool(connection.closed)

    @contextmanager
    def setting_up(self) -> Iterator[Connection]:
        """Give a connection in a transaction that holds the set-up's advisory lock."""
        with self._owning() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {_SETUP_WAIT}")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SETUP_LOCK})")
            self._make_schema(connection)
            yield connection

    @contextmanager
    def beside_writers(self) -> Iterator[Connection]:
        """Give a connection whose statements are transactions of their own."""
        with self._owning() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def _owning(self) -> Iterator[Connection]:
        """Give a connection for a set-up; what fails on it is told in its words."""
        from sqlalchemy import create_engine
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.pool import NullPool

        call = Call("set up the store")
        engine = create_engine(f"{self.url.scheme}://", poolclass=NullPool, hide_parameters=True, creator=self._connect)
        try:
            connection = engine.connect()
        except DBAPIError as error:
            raise self.cannot_connect(original(error), call) from error
        try:
            with connection:
                yield connection
        except DBAPIError as error:
            cause = original(error)
            if isinstance(cause, psycopg.Error) and cause.sqlstate in _NO_OWNER:
                problem = f"cannot be set up by this role: {one_line(cause)}"
                raise SettingsError("store", self.public_url, problem, _OWNS) from error
            raise self.meaning(cause, call) from error

    def _make_schema(self, connection: Connection) -> None:
        """Create the schema that the URL names, where it is not there: not everyone who may use one may make one."""
        from sqlalchemy import inspect

        schema = self._session.schema
        if schema is not None and not inspect(connection).has_schema(schema):
            connection.exec_driver_sql(f"CREATE SCHEMA {quote_name(schema)}".replace("%", "%%"))

    def cannot_connect(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what it means that no connection could be had."""
        reason = "all its connections are busy" if isinstance(error, NoneFreeError) else one_line(error)
        if any(text in reason for text in _WRONG_PLACE):
            remedy = "Check its user, password and database"
            return SettingsError("store", self.public_url, f"cannot be used: {reason}", remedy)
        return call.unavailable(f"{self.public_url}: {reason}")

    def meaning(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what PostgreSQL's error code means."""
        cause = error
        state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
        if state is None and isinstance(cause, _CLIENT_ERRORS):
            return call.refused(cause)  # the client itself could not send it
        if state is None or state.startswith("08") or state in ("57P01", "57P02", "57P03", "57P05"):
            return call.lost(f"{self.public_url}: {one_line(cause)}")
        if state in _NOT_APPLIED:
            too_slow = state == _CANCELLED and "statement timeout" in str(cause)
            return (call.too_slow if too_slow else call.unavailable)(f"{self.public_url}: {one_line(cause)}")
        if state in _MISSING:
            return no_schema(self.public_url)
        if state == "42501":
            return call.refused(cause, MISSING_RIGHT)
        if state == "53100":
            return call.throttled(f"the server's disk is full ({one_line(cause)})")
        if state[:2] in _OURS:
            return call.refused(cause)
        return call.unavailable(f"{self.public_url}: {one_line(cause)} (SQLSTATE {state})")
