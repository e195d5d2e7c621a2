"""The three roles in PostgreSQL: their whole lives under exactly what is printed, and under each right less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from sqlalchemy.engine import make_url

from airflow_coordination import SourceCoordinator
from airflow_coordination.cli.doctor import look_at_store
from airflow_coordination.cli.standalone import main
from airflow_coordination.duties.groups.metadata import KillAudit
from airflow_coordination.duties.groups.round import Cluster, Round
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.stores.sql.examination import encryption
from airflow_coordination.stores.sql.grants import RIGHTS, Names, Right, SqlRole, grants
from airflow_coordination.stores.sql.statements.dialect import quote_name
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from tests.engines.postgres import made_durable

pytestmark = pytest.mark.postgres
BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)
HOSTILE = 'who";DROP/**/TABLE/**/coordination_meta;--'
SOON = timedelta(microseconds=1)
DURABLE = "fsync on, full_page_writes on, synchronous_commit on"


def works(store: PartitionStore) -> None:
    """Everything that a worker does: suppliers, leases with output, sweeps, people's actions, and all that reads."""
    c = SourceCoordinator(store, "flights", "h/d/r/t/0/1", ownership_timeout=timedelta(minutes=1))
    c.supplying.register(format="parquet")
    c.run_supplier(lambda state: [f"k{number}" for number in range(9)])
    lease = c.get_next_partition(hint=c.claimable()[0])
    assert lease is not None
    lease = c.save_progress_state(c.renew(lease), {"row": 1}, [BLOCK])
    following = c.complete_and_get_next(lease, then="{}")
    assert following is not None
    c.close(following, reopen_after=SOON, then="{}")
    # Of the one that opens again: it may be reset below, which a note that is left refuses. The other note stays.
    c.follow_ups.clear_follow_up(next(c.follow_ups.follow_ups(following.key)))
    c.fail(_next(c), "broken", retry_after=SOON)
    c.give_up(_next(c))
    short = SourceCoordinator(store, "flights", "h/d/r/t/1/1", ownership_timeout=timedelta(milliseconds=1))
    assert short.get_next_partition() is not None
    while not (swept := c.sweep()).reclaimed:
        assert swept is not None
    assert isinstance(store, SqlStore)
    store.thinning.thin("flights|PARTITION", timedelta(days=30))  # a sweep would only log that it may not
    c.create_partitions([PartitionIdentifier("child", parents=[(parent := _next(c)).key])])
    c.complete(parent)
    key = _next(c).key
    c.people.release(key, by="ana", why="test")
    c.people.park(key, by="ana", why="test")
    c.people.reopen(key, by="ana", why="test")
    c.people.reset(key, by="ana", why="test")
    c.people.retract(key, by="ana", why="test")
    c.people.delete(key, by="ana", why="test")
    c.create_partitions([key])
    for dataset in ("clean", "gone", "clean"):
        c.looking.chunks.put([ChunkSums(dataset=dataset)])
    c.looking.chunks.forget("gone")
    day = timedelta(days=1)
    assert c.looking.ended.count_on(store.now() - day) is not None
    assert c.looking.ended.count_on(store.now() - day) is not None
    c.looking.ended.forget_old(store.now())
    c.documents.change(VIEW, lambda _: EMPTY.text, "ana", "test")
    assert len(store.audit(c.partition(key).source, key)) == 6  # type: ignore[union-attr]
    reads(store)


def reads(store: PartitionStore) -> None:
    """Everything that a reader does."""
    c = SourceCoordinator(store, "flights", "reader")
    c.looking.check_known()
    assert store.sources()
    assert c.partitions()
    assert sum(c.counts().values())
    assert c.looking.outlook().completed
    c.claimable()
    assert list(store.children(c.partitions()[0].source, "none", None, 1)) == []
    assert len(list(c.follow_ups.follow_ups())) == 1
    assert [row.dataset for row in c.looking.chunks.page()] == ["clean"]
    assert [each.chunks for each in c.looking.chunks.totals()] == [1]
    assert len(c.looking.ended.newest(9)) == 2
    assert c.documents.view() == EMPTY
    assert [each.author for each in c.documents.history(VIEW)] == ["ana"]
    [head] = store.heads(c.partitions()[0].source)
    assert store.audit(head.source, head.key) == []
    assert c.history(head.key)[-1].owner
    assert store.now()


def _next(c: SourceCoordinator) -> object:
    lease = c.get_next_partition()
    assert lease is not None
    return lease


@dataclass
class Place:
    """A database that gives nothing to everybody, and its roles."""

    admin_url: str
    schema: str

    def sql(self, *statements: str) -> None:
        with psycopg.connect(self.admin_url.replace("+psycopg", ""), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def names(self, role: SqlRole) -> Names:
        return Names(str(make_url(self.admin_url).database), self.schema, f"{HOSTILE}{role}")

    def url(self, role: SqlRole) -> str:
        url = make_url(self.admin_url).set(username=self.names(role).role)
        return url.update_query_dict({"schema": self.schema}).render_as_string(hide_password=False)

    def take(self, role: SqlRole, right: Right) -> str:
        names = self.names(role)
        return f"REVOKE {right.privilege} ON {names.target(right)} FROM {quote_name(names.role)}"

    def lives(self, role: SqlRole, life: Callable[[PartitionStore], None]) -> None:
        store = open_store(self.url(role))
        try:
            life(store)
        finally:
            store.close()

    def clear(self) -> None:
        schema = quote_name(self.schema)
        names = ("partitions", "heads", "sources", "audit", "history", "follow_ups", "chunks", "documents", "ended")
        tables = [f"{schema}.coordination_{name}" for name in names]
        self.sql(f"TRUNCATE {', '.join(tables)}")


@pytest.fixture
def durable(postgres_cluster: str) -> Iterator[None]:
    """The server as one has it, not as the tests have theirs."""
    with made_durable(postgres_cluster):
        yield


@pytest.fixture
def place(postgres_url: str) -> Iterator[Place]:
    place = Place(postgres_url, 'team "a"')
    database = make_url(postgres_url).database
    place.sql(f'REVOKE ALL ON DATABASE "{database}" FROM PUBLIC')
    for role in SqlRole:
        place.sql(f"CREATE ROLE {quote_name(place.names(role).role)} LOGIN")
    place.sql(*grants(SqlRole.OWNER, place.names(SqlRole.OWNER)))
    yield place
    for role in SqlRole:
        quoted = quote_name(place.names(role).role)
        place.sql(f"DROP OWNED BY {quoted} CASCADE", f"DROP ROLE {quoted}")


def test_b6_an_owner_needs_each_of_its_rights(place: Place) -> None:
    """B6: and sets the store up with them."""
    role = SqlRole.OWNER
    for right in RIGHTS[role]:
        place.sql(place.take(role, right))
        with pytest.raises(SettingsError, match=r"cannot be (set up by this role|used): .*(permission|no schema)"):
            place.lives(role, lambda store: store.setup())
        place.sql(*grants(role, place.names(role)))
    place.lives(role, lambda store: store.setup())
    place.lives(role, works)


@pytest.mark.parametrize(("role", "life"), [(SqlRole.WORKER, works), (SqlRole.READER, reads)])
def test_b6_a_role_needs_each_of_its_rights_and_no_more(
    place: Place, role: SqlRole, life: Callable[[PartitionStore], None]
) -> None:
    """B6: a worker had DELETE, could change the audit and the version; a reader's role was not there."""
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    place.sql(*grants(role, place.names(role)))
    unneeded = []
    for right in (None, *RIGHTS[role]):
        place.clear()
        if role is SqlRole.READER:
            place.lives(SqlRole.OWNER, works)
        if right is None:
            place.lives(role, life)
            continue
        place.sql(place.take(role, right))
        try:
            place.lives(role, life)
            unneeded.append(right)
        except CoordinationError:
            pass
        place.sql(*grants(role, place.names(role)))
    assert unneeded == []


FORBIDDEN = [
    (SqlRole.WORKER, "DELETE FROM coordination_partitions"),
    (SqlRole.WORKER, "DELETE FROM coordination_audit"),
    (SqlRole.WORKER, "UPDATE coordination_audit SET why = ''"),
    (SqlRole.WORKER, "UPDATE coordination_documents SET content = ''"),
    (SqlRole.WORKER, "DELETE FROM coordination_documents"),
    (SqlRole.WORKER, "UPDATE coordination_meta SET readable_by = 9"),
    (SqlRole.WORKER, "DROP TABLE coordination_partitions"),
    (SqlRole.WORKER, "CREATE TABLE mine (a int)"),
    (SqlRole.READER, "UPDATE coordination_partitions SET token = 9"),
    (SqlRole.READER, "INSERT INTO coordination_sources VALUES ('a', '{}', 0)"),
]


def test_b6_what_a_role_does_not_need_it_may_not_do(place: Place) -> None:
    """B6: the documented grants allowed most of these."""
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    for role, statement in FORBIDDEN:
        place.sql(*grants(role, place.names(role)))
        url = make_url(place.url(role)).set(drivername="postgresql").difference_update_query(["schema"])
        with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
            connection.execute(f"SET search_path = {quote_name(place.schema)}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_b6_a_worker_forgets_no_document_and_its_duty_says_whose_role_does(place: Place) -> None:
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    place.sql(*grants(SqlRole.WORKER, place.names(SqlRole.WORKER)))

    warned: dict[SqlRole, tuple[str, ...]] = {}

    def forgets(store: PartitionStore, role: SqlRole) -> None:
        now = store.now()
        cluster = Cluster(
            store=store, owner="duties", now=now, led_since=now, period=timedelta(days=1), config=DynamicConfig()
        )
        warned[role] = KillAudit().run(Round(cluster=cluster, by="killAudit")).warnings

    for role in (SqlRole.WORKER, SqlRole.OWNER):
        place.lives(role, partial(forgets, role=role))
    assert warned == {SqlRole.WORKER: (_TOLD,), SqlRole.OWNER: ()}


_TOLD = (
    "this role may not remove old versions of documents: run duties in the owner's role, or set "
    "druid.coordinator.kill.audit.on=false"
)


def findings(place: Place, role: SqlRole, meant: SqlRole) -> dict[str, Finding]:
    store = open_store(place.url(role))
    try:
        return {finding.check: finding for finding in look_at_store(store, meant)}
    finally:
        store.close()


@pytest.mark.usefixtures("durable")
def test_a3_b6_doctor_finds_what_a_role_lacks_and_what_it_has_too_much(place: Place) -> None:
    """A3, B6: a role that may only read was found well as a worker's."""
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    for role in (SqlRole.WORKER, SqlRole.READER):
        place.sql(*grants(role, place.names(role)))
    for role in SqlRole:
        well = findings(place, role, role)
        assert {one.verdict for one in well.values()} == {Verdict.OK}
        assert well["permissions"].remedy == ""
    lacking = findings(place, SqlRole.READER, SqlRole.WORKER)["permissions"]
    assert lacking.verdict is Verdict.WRONG
    assert (
        "INSERT on coordination_audit, INSERT on coordination_children, INSERT on coordination_chunks, "
        "INSERT on coordination_documents, INSERT on coordination_ended, INSERT on coordination_follow_ups, "
        "INSERT on coordination_heads"
    ) in lacking.found
    assert "airflow coordination grants worker --database" in lacking.remedy
    much = findings(place, SqlRole.WORKER, SqlRole.READER)["permissions"]
    assert (
        "more than it needs: DELETE on coordination_chunks, DELETE on coordination_ended, "
        "DELETE on coordination_follow_ups, DELETE on coordination_history, INSERT"
    ) in much.found
    assert much.remedy == "Revoke what it does not need"


@pytest.mark.usefixtures("durable")
def test_e9_doctor_looks_whether_what_is_acknowledged_is_on_disk(place: Place) -> None:
    """E9: and mentions what a failover to a replica that lags would lose."""
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    assert findings(place, SqlRole.OWNER, SqlRole.OWNER)["durability"].found == DURABLE


def test_e9_doctor_warns_where_what_is_acknowledged_may_be_lost(place: Place) -> None:
    """E9: as the tests' own server does, which never waits for the disk."""
    place.lives(SqlRole.OWNER, lambda store: store.setup())
    lossy = findings(place, SqlRole.OWNER, SqlRole.OWNER)["durability"]
    assert (lossy.verdict, lossy.found) == (Verdict.WRONG, DURABLE.replace("fsync on", "fsync off"))
    assert lossy.remedy


@pytest.mark.parametrize(
    ("query", "host", "found", "remedy"),
    [
        ("", "db.example", "sslmode is missing: libpq encrypts only if the server offers it; whose", "Add sslmode="),
        ("?sslmode=require", "db.example", "sslmode is require; whose server answers is not checked", "Add sslmode="),
        ("?sslmode=verify-full", "db.example", "sslmode verify-full", ""),
        ("", "127.0.0.1", "the server is on this host", ""),
    ],
)
def test_b6_doctor_mentions_that_sslmode_is_missing(query: str, host: str, found: str, remedy: str) -> None:
    """B6: without it libpq goes on unencrypted."""
    finding = encryption(open_store(f"postgresql://ana@{host}/leases{query}"))  # type: ignore[arg-type]
    assert finding.found.startswith(found)
    assert finding.remedy.startswith(remedy)
    assert bool(finding.remedy) is bool(remedy)


def test_b6_the_command_prints_what_the_store_names(capsys: pytest.CaptureFixture[str]) -> None:
    """B6: names are quoted, and come from the store where they are not given."""
    store = "postgresql://ana@db.example/leases?schema=team%20%22a%22"
    assert main(["grants", "reader", "--store", store, "--to", 'x"y']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'GRANT CONNECT ON DATABASE "leases" TO "x""y";'
    assert 'GRANT SELECT ON TABLE "team ""a"""."coordination_heads" TO "x""y";' in lines
    assert main(["grants", "worker", "--database", "leases"]) == 0
    assert 'GRANT USAGE ON SCHEMA "public" TO "coordination_worker";' in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", ""], "is missing, and there is no store"),
        (["--database", "d", "--to", "a\nb"], "role='a\\nb': cannot be a name in PostgreSQL"),
        (["--database", "d" * 64], "cannot be a name in PostgreSQL. Give 1 to 63 bytes"),
        (["--store", "memory://"], "is not in PostgreSQL. Give it, or a store in PostgreSQL"),
    ],
)
def test_b6_a_name_that_cannot_be_one_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B6: PostgreSQL itself cuts a long name off, and the rights would be another's."""
    monkeypatch.delenv("COORDINATION_STORE", raising=False)
    assert main(["grants", "worker", *arguments]) == 1
    assert message in capsys.readouterr().err
