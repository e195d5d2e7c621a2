"""What a branch has published is named as people know it, and never taken for a dataset of its own."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.cli.doctor_stored import look_at_published
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.leases import Block, InvalidKeyError, SettingsError, SourceCoordinator
from airflow_coordination.outputs import published_manifests
from airflow_coordination.outputs.enabling import check_names
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from tests.unit.cli.on_a_store import cli_on, publish

DAY = "2013-01-01"


@pytest.fixture(params=["memory", "sqlite"])
def flights(request, tmp_path) -> SourceCoordinator:
    """Of two days; branch 1 has begun, and the first day has published in it again."""
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    publish(flights, DAY, "2013-01-02")
    parts_of(store).enabling.enable_branches()
    move(flights, lambda view: changing.begun(view, {}, None, "ana", "late", store.now())[0])
    seen = flights.partition(DAY)
    said = {"action": Action.RESET, "op": "into", "seen": seen, "by": "ana", "why": "late", "branch": 1}
    store.act(Act(source=seen.source, key=DAY, **said))
    publish(flights, DAY, rows=11)
    move(flights, lambda view: changing.complete(view, 1, 1, None))
    return flights


def move(flights: SourceCoordinator, change) -> None:
    flights.documents.change_view(change, "ana", "a test")


def publish_branch(flights: SourceCoordinator) -> None:
    move(flights, lambda view: changing.published(view, 1, flights.store.now()))


def roll_back(flights: SourceCoordinator) -> None:
    move(flights, lambda view: changing.rolled_back(view, 1, flights.store.now()))


@pytest.fixture
def shown(flights, capsys):
    """Return what ``show`` says of what the first day has published."""

    def shown() -> dict[str, str]:
        _, out, _ = cli_on(flights.store, capsys)("show", "flights", DAY, "-o", "json")
        rows = {row["field"]: row["value"] for row in json.loads(out)}
        return {name: value for name, value in rows.items() if name.startswith("published ")}

    return shown


def test_show_names_the_branch_and_says_what_readers_see(flights, shown) -> None:
    base, branch = "published clean", "published clean, in branch 1"
    assert set(shown()) == {base, branch}
    assert "readers do not see it" not in shown()[base]
    assert shown()[branch].endswith("readers do not see it: branch 1 is begun")
    publish_branch(flights)
    assert "readers do not see it: what tenure 2 published in branch 1 takes its place" in shown()[base]
    assert "readers do not see it" not in shown()[branch]
    hide(flights, "clean", f"{DAY}/P1D", "ana", "wrong")
    assert shown()[branch].endswith("2013-01-01/2013-01-02 is hidden, by ana: wrong")
    roll_back(flights)
    assert shown()[branch].endswith("branch 1 is rolled back")
    assert shown()[base].endswith("2013-01-01/2013-01-02 is hidden, by ana: wrong")
    flights.people.retract(DAY, "ana", "wrong")
    assert shown()[base] == "nothing: it was taken back"


def test_an_interval_is_set_in_branches_that_may_show_too(flights, capsys) -> None:
    given = ("flights", "--dataset", "clean", "--why", "w", "--replace", "-o", "json", "--yes")

    def put(*options: str) -> list[tuple[str, int | None]]:
        code, out, _ = cli_on(flights.store, capsys)("outputs", "set-interval", *given, *options)
        assert code == 0
        return [(row["key"], row["branch"]) for row in json.loads(out)]

    assert put("--interval", "2014/P1Y", "--key", DAY) == [(DAY, None), (DAY, 1)]
    assert put("--from-key", "%Y-%m-%d") == [(DAY, None), (DAY, 1)]
    roll_back(flights)
    assert put("--from-key", "%Y-%m*") == [(DAY, None), ("2013-01-02", None)]


def test_nobody_reads_or_changes_it_under_the_name_that_the_store_gives_it(flights, capsys) -> None:
    with pytest.raises(InvalidKeyError, match="is how the store keeps what branch 1 has published to 'clean'"):
        published_manifests(flights.store, "flights", "~1~clean")
    typed = cli_on(flights.store, capsys)
    for command in (
        ("accounting", "flights", "--dataset", "~1~clean"),
        ("outputs", "set-interval", "flights", "--dataset", "~1~clean", "--from-key", "%Y", "--why", "w"),
    ):
        code, _, err = typed(*command)
        assert code == 1
        assert "Name 'clean'" in err


def test_a_branch_is_no_users_dataset_in_the_way_of_enabling(flights) -> None:
    check_names(flights.store)
    flights.create_partitions(["old"])
    flights.complete(flights.acquire_partition("old"), [Block("~9~clean", "/old", "old", 1, 1)])
    with pytest.raises(SettingsError, match="dataset '~9~clean' of source 'flights'"):
        check_names(flights.store)


def test_who_reads_nothing_is_told_of_datasets_and_of_what_hides_them(flights) -> None:
    def read(dataset: str) -> str:
        with pytest.raises(OutputError) as told:
            read_completed(None, store=flights.store, source="flights", dataset=dataset)
        return str(told.value)

    assert "(published datasets: 'clean')" in read("cleen")
    hide(flights, "clean", "2013-01/P1M", "ana", "wrong")
    assert "has output of it that does not show: it is hidden, or of a branch" in read("clean")


def test_doctor_looks_at_what_may_show(flights) -> None:
    def refused() -> str:
        return " ".join(str(found) for found in look_at_published(flights.store, "flights"))

    assert f"/{DAY}-2" in refused()
    roll_back(flights)
    assert f"/{DAY}-1" in refused()
    assert f"/{DAY}-2" not in refused()
