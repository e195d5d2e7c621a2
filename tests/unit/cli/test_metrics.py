"""``metrics`` prints what Prometheus reads, and nothing else."""

import re
from datetime import timedelta

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.cli.subcommands.metrics import FAMILIES, OLD_STATES, STATES, Family, rendered
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.blocks import Block

LINE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (?P<value>\d+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')
ESCAPED = re.compile(r'\\([\\"n])')
HOSTILE = 'a"b\\c\x1b[31m\u202e'
LOOKS_LIKE_IT = 'a"b\\c\\x1b[31m\\u202e'


def parsed(text):
    """Read the text format strictly: every line is a known one, a family's lines are together, no series is twice."""
    series, family = {}, None
    lines = text.splitlines()
    assert text.endswith("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert len(line.split(" ", 3)[3]) > 10
            assert lines.pop(0) == f"# TYPE {family} gauge"
            assert not any(name == family for name, _ in series)
            continue
        found = LINE.fullmatch(line)
        assert found, line
        assert found["name"] == family
        labels = LABEL.findall(found["labels"] or "")
        spoken = tuple((name, ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], value)) for name, value in labels)
        assert (family, spoken) not in series
        series[family, spoken] = int(found["value"])
    return {(name, *(value for _, value in labels)): value for (name, labels), value in series.items()}


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'c.db'}"


@pytest.fixture
def cli(url, capsys):
    def run(*argv):
        code = main(["metrics", *argv, "--store", url])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def source(url):
    store = open_store(url)
    store.setup()

    def make(name, prefix=None, keys=("a", "b", "c")):
        coordinator = SourceCoordinator(store, name, "test", prefix)
        coordinator.supplying.register()
        coordinator.create_partitions(keys)
        return coordinator

    yield make
    store.close()


def test_every_state_of_every_source_has_a_line(source, cli):
    flights, rides = source("flights"), source("rides", keys=["x"])
    flights.complete(flights.acquire_partition("a"))
    flights.people.park("b", by="ana", why="w")
    rides.acquire_partition("x")
    code, out, err = cli()
    assert (code, err) == (0, "")
    seen = parsed(out)
    assert seen["coordination_store_up",] == 1
    for name, expected in {"flights": (1, 0, 0, 1, 0, 1), "rides": (0, 1, 0, 0, 0, 0)}.items():
        assert tuple(seen["coordination_partitions", name, "", state] for state in OLD_STATES) == expected
    for name, expected in {"flights": (1, 0, 0, 0, 0, 1, 1), "rides": (0, 1, 0, 0, 0, 0, 0)}.items():
        assert tuple(seen["coordination_source_partitions", name, "", state] for state in STATES) == expected
        assert seen["coordination_overdue_partitions", name, ""] == 0
    assert {name for name, *_ in seen} == {family.name for family in FAMILIES}
    assert len(seen) == 1 + 2 * (len(STATES) + len(OLD_STATES) + 6)


def test_b7_what_an_owner_has_lost_is_expired_and_not_claimable(cli, monkeypatch, url):
    """The metric of before goes on saying it in its own words, so that rules for it do not fall silent."""
    clock = FakeClock()
    store = open_store(url, clock=clock)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test", ownership_timeout=timedelta(minutes=1), clock=clock)
    flights.create_partitions(["a", "b", "c", "d"])
    flights.close(flights.acquire_partition("c"), reopen_after=timedelta(hours=1))
    flights.acquire_partition("a")
    clock.advance(timedelta(minutes=2))
    flights.acquire_partition("b")
    monkeypatch.setattr("airflow_coordination.cli.standalone.open_store", lambda _: store)
    found = {key[0::3]: value for key, value in parsed(cli()[1]).items() if len(key) == 4}
    new = {state: found["coordination_source_partitions", state] for state in STATES}
    assert new == {"claimable": 1, "held": 1, "expired": 1, "delayed": 1, "blocked": 0, "parked": 0, "completed": 0}
    old = {state: found["coordination_partitions", state] for state in OLD_STATES}
    assert old == {"claimable": 2, "assigned": 1, "waiting": 1, "parked": 0, "blocked": 0, "completed": 0}


def test_ages_and_what_is_overdue(tmp_path, cli, monkeypatch, url):
    """By the store's clock; the age is whole seconds."""
    clock = FakeClock()
    store = open_store(url, clock=clock)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test", clock=clock)
    flights.supplying.register()
    flights.create_partitions(["a"])
    flights.close(flights.acquire_partition("a"), reopen_after=timedelta(minutes=1))
    clock.advance(timedelta(minutes=3, milliseconds=999))
    monkeypatch.setattr("airflow_coordination.cli.standalone.open_store", lambda _: store)
    seen = parsed(cli()[1])
    assert seen["coordination_oldest_claimable_seconds", "flights", ""] == 120
    assert seen["coordination_overdue_partitions", "flights", ""] == 1


def test_b5_the_oldest_lease_that_is_held_and_what_is_blocked(tmp_path, cli, monkeypatch, url):
    """A stuck owner is seen, however many others hold something for a moment."""
    monkeypatch.setattr("airflow_coordination.monitoring.owners._AT_ONCE", 2)
    clock = FakeClock()
    store = open_store(url, clock=clock)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test", clock=clock)
    flights.create_partitions(["a", "b", "c", "stuck", PartitionIdentifier("child", parents=["a"])])
    monkeypatch.setattr("airflow_coordination.cli.standalone.open_store", lambda _: store)
    assert parsed(cli()[1])["coordination_oldest_held_seconds", "flights", ""] == 0
    stuck = flights.acquire_partition("stuck")
    for _ in range(30):
        clock.advance(timedelta(minutes=5))
        flights.renew(stuck)
    for key in "abc":
        flights.acquire_partition(key)
    seen = parsed(cli()[1])
    assert seen["coordination_oldest_held_seconds", "flights", ""] == 9_000
    assert seen["coordination_source_partitions", "flights", "", "blocked"] == 1


def test_rows_of_the_last_hour(cli, monkeypatch, url):
    clock = FakeClock()
    store = open_store(url, clock=clock)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test", clock=clock)
    flights.create_partitions(["a", "b", "c"])
    monkeypatch.setattr("airflow_coordination.cli.standalone.open_store", lambda _: store)
    for key, rows in (("a", 7), ("b", 30), ("c", 400)):
        flights.complete(flights.acquire_partition(key), [Block("clean", f"/{key}", key, rows)])
        clock.advance(timedelta(minutes=25))
    assert parsed(cli()[1])["coordination_rows_last_hour", "flights", ""] == 430
    without = open_store(f"{url}?history_retention=off", clock=clock)
    monkeypatch.setattr("airflow_coordination.cli.standalone.open_store", lambda _: without)
    assert ("coordination_rows_last_hour", "flights", "") not in parsed(cli()[1])


def test_one_source_of_one_prefix(source, cli):
    source("flights", "eu"), source("flights", "us"), source("rides", "us")
    named = {(prefix, name) for _, name, prefix, *_ in (key for key in parsed(cli()[1]) if len(key) > 2)}
    assert named == {("eu", "flights"), ("us", "flights"), ("us", "rides")}
    only = parsed(cli("flights", "--partition-prefix", "us")[1])
    assert {key[1:3] for key in only if len(key) > 2} == {("flights", "us")}


def test_hostile_names_are_labels_and_no_two_become_one(source, cli):
    source(HOSTILE), source(LOOKS_LIKE_IT)
    code, out, _ = cli()
    assert code == 0
    assert out.isprintable() or set(filter(lambda c: not c.isprintable(), out)) == {"\n"}
    names = {key[1] for key in parsed(out) if len(key) > 2}
    assert names == {'a"b\\\\c\\x1b[31m\\u202e', 'a"b\\\\c\\\\x1b[31m\\\\u202e'}


def test_text_is_escaped_as_the_format_says():
    """Prometheus, *Text-based format*: HELP has no quotes to escape; a label's value has."""
    text = rendered({Family("x_seconds", 'one\\two\nthree "four"'): [({"a": 'q"\\'}, 1), ({}, 2)]})
    assert text.splitlines() == [
        r'# HELP x_seconds one\\two\nthree "four"',
        "# TYPE x_seconds gauge",
        r'x_seconds{a="q\"\\\\"} 1',
        "x_seconds 2",
    ]


def test_labels_of_ones_own_are_in_every_line(source, cli):
    source("flights")
    _, out, _ = cli("--label", "store=main", "--label", "team=a=b")
    samples = [line for line in out.splitlines() if not line.startswith("#")]
    assert samples
    assert all('{store="main",team="a=b"' in line for line in samples)


@pytest.mark.parametrize("label", ["store", "=x", "1a=x", "__name=x", "a-b=x", "source=x", "state=x", "é=x"])
def test_labels_that_prometheus_would_not_take_are_refused(source, cli, label):
    source("flights")
    code, out, err = cli("--label", label)
    assert (code, out) == (1, "")
    assert "--label" in err


def test_a_label_is_given_once(source, cli):
    source("flights")
    code, out, err = cli("--label", "a=1", "--label", "a=2")
    assert (code, out) == (1, "")
    assert "taken" in err


def test_a_store_that_is_down_is_a_metric_and_an_error(cli):
    """Here it has never been made."""
    code, out, err = cli("--label", "store=main")
    assert code == 1
    assert parsed(out) == {("coordination_store_up", "main"): 0}
    assert "does not exist" in err


def test_a_wrong_command_says_nothing_of_the_store(source, cli):
    """Otherwise a typing error would wake somebody up for the store."""
    source("flights")
    code, out, err = cli("flihgts")
    assert (code, out) == (1, "")
    assert "Did you mean" in err


def test_an_empty_store_is_up(source, url, cli):
    open_store(url).setup()
    code, out, _ = cli()
    assert code == 0
    assert parsed(out) == {("coordination_store_up",): 1}
