"""URLs of databases are read and written as SQLAlchemy does, which knows more of them than we do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import URL, make_url

from airflow_coordination.leases import SettingsError
from airflow_coordination.stores import open_store
from airflow_coordination.stores.addresses import DatabaseUrl, read_url

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=12)
NAME = st.sampled_from(["sslmode", "options", "schema", "application_name", "passfile"])
URLS = st.builds(
    URL.create,
    st.sampled_from(["postgresql", "postgresql+psycopg", "sqlite"]),
    username=TEXT,
    password=st.none() | TEXT,
    host=st.sampled_from([None, "db", "db.example", "10.0.0.1", "::1"]),
    port=st.none() | st.integers(1, 65535),
    database=st.none() | TEXT,
    query=st.dictionaries(NAME, TEXT, max_size=3),
)
AS_WRITTEN = st.text(st.sampled_from(list("ab:/@?&=%2[],.+-_ é#")), max_size=60).map("postgresql://{}".format)


def parts(url: DatabaseUrl | URL) -> tuple[object, ...]:
    scheme = url.scheme if isinstance(url, DatabaseUrl) else url.drivername
    return scheme, url.username, url.password, url.host, url.port, url.database, dict(url.query)


@given(URLS)
def test_a_url_is_read_and_written_as_sqlalchemy_does(url: URL) -> None:
    """But for a blank, which SQLAlchemy leaves as it is and no address of a store may hold."""
    text = url.render_as_string(hide_password=False)
    found = read_url(text)
    assert parts(found) == parts(make_url(text))
    assert found.text() == text.replace(" ", "%20")
    assert read_url(found.text()) == found


@given(AS_WRITTEN)
def test_whatever_is_written_means_the_same_or_nothing(text: str) -> None:
    """What SQLAlchemy takes in spite of a rest that it cannot place is refused: it may be a misspelt password."""
    try:
        found = read_url(text)
    except ValueError:
        return
    theirs = make_url(text)
    assert [part or None for part in parts(found)[:6]] == [part or None for part in parts(theirs)[:6]]


@given(URLS)
def test_libpq_is_told_what_sqlalchemy_tells_it(url: URL) -> None:
    text = url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    _, told = make_url(text).get_dialect()().create_connect_args(make_url(text))
    told.pop("context", None)
    assert read_url(text).for_libpq() == {name: value for name, value in told.items() if value != ""}


@pytest.mark.parametrize(
    ("query", "host", "port"),
    [
        ("host=a&host=b", "a,b", None),
        ("host=a:1&host=b:2", "a,b", "1,2"),
        ("host=a:1&host=b", "a,b", "1,"),
        ("host=a,b&port=1,2", "a,b", "1,2"),
        ("host=a&port=1&host=b&port=2", "a,b", "1,2"),
        ("host=/var/run/postgresql", "/var/run/postgresql", None),
        ("host=::1", "::1", None),
    ],
)
def test_several_hosts_are_told_as_libpq_takes_them(query: str, host: str, port: str | None) -> None:
    told = read_url(f"postgresql://u@/d?{query}").for_libpq()
    assert (told["host"], told.get("port")) == (host, port)


@pytest.mark.parametrize(
    "text",
    ["postgresql://u:p@host:port/d", "postgresql://u:p:q", "nothing", "", "postgresql:/d", "postgresql://h:1:2/d"],
)
def test_what_is_no_url_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="is no database URL"):
        read_url(text)


def test_an_option_given_twice_is_refused() -> None:
    """SQLAlchemy would make one of both that libpq does not understand."""
    with pytest.raises(ValueError, match="gives an option twice"):
        read_url("postgresql://u@h/d?sslmode=require&sslmode=verify-full")


def test_a_password_is_not_in_what_a_developer_sees() -> None:
    assert "s3cret" not in repr(read_url("postgresql://u:s3cret@h/d?password=s3cret"))


@pytest.mark.parametrize("scheme", ["sqlite:////tmp/c.db", "postgresql+psycopg://u@h/d"])
def test_an_option_that_is_said_twice_is_refused_unless_it_is_the_same(scheme):
    """Settings held twice: the mapping won in silence."""
    told = {"url": f"{scheme}?history_retention=7", "history_retention": 7}
    open_store({"source_coordination": {"store": {"sql": told}}}).close()
    said = r"store\.history_retention='30': is said twice: the URL has '7', the configuration beside it '30'. Say it in"
    with pytest.raises(SettingsError, match=said):
        open_store({"source_coordination": {"store": {"sql": told | {"history_retention": 30}}}})


def test_what_a_store_of_sqlite_is_called_opens_it_again(tmp_path: Path) -> None:
    """A blank in its path was left as it is, which no address may hold."""
    store = open_store(f"sqlite:///{tmp_path}/my%20flights%25+.db")
    store.setup()
    assert store.reference == f"sqlite:///{tmp_path}/my%20flights%25+.db"
    assert open_store(store.reference).store_id == store.store_id
