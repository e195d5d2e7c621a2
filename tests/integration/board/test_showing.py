"""Branches and what is hidden: what they wait for, what is said of partitions, heads and chunks, and what it costs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from airflow_coordination.board import visibility
from airflow_coordination.board.showing.counting import MANY, BranchCounter
from airflow_coordination.board.showing.rules import CHOICES, MOST_RULES
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkSums
from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.blocks import Block
from tests.integration.board.conftest import OURS, TEAM_DAG

HERE = {"store": "coordination_default", "source": "flights|PARTITION"}
JANUARY = interval_of("interval", "2013-01/P1M")
NOW = datetime(2013, 5, 1, tzinfo=UTC)
DAYS = ["2013-01-01", "2013-01-02", "2013-01-03"]


class Counting(ForwardingStore):
    """Writes down what is asked of a store."""

    def __init__(self, store):
        super().__init__(store)
        self.asked = []

    def forward(self, name, call):
        self.asked.append(name)
        return call()


@pytest.fixture
def store(monkeypatch, tmp_path):
    """The store of the only connection, in memory: every process of this test is this one."""
    from airflow_coordination.stores import open_store

    url = f"memory://{tmp_path.name}"
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps({"conn_type": "coordination", "host": url}))
    return open_store(url)


@pytest.fixture
def counting(store, monkeypatch):
    """What the board asks of the store."""
    counting = Counting(store)

    @contextmanager
    def opened(connection):
        yield counting

    monkeypatch.setattr(visibility, "opened", opened)
    return counting


@pytest.fixture
def get(client, token):
    """Ask as a viewer of the team; return what is answered."""
    headers = {"Authorization": f"Bearer {token('viewer', ['ours'])}"}

    def answered(path, status=200, **given):
        answer = client.get(f"/api/v1/{path}", params={**HERE, **given}, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    return answered


@pytest.fixture
def flights(store):
    """Three days, published, of which two run again in branch 1: one has completed in it, the other is parked."""
    flights = SourceCoordinator(store, "flights", "somebody", max_failures=1)
    flights.supplying.register(dag_id=TEAM_DAG)
    flights.create_partitions(DAYS)
    for key in DAYS:
        publish(flights, key, 10)
    flights.documents.change_view(begun, "ana", "carrier codes")
    for key in DAYS[:2]:
        into_branch(flights, key, 1)
    flights.documents.change_view(lambda view: changing.complete(view, 1, 2, None), "ana", "carrier codes")
    publish(flights, DAYS[0], 12)
    flights.fail(flights.acquire_partition(DAYS[1]), "no such file")
    return flights


def begun(view):
    return changing.begun(view, {"prefix": "2013-01"}, JANUARY, "ana", "carrier codes", NOW)[0]


def publish(source, key, rows):
    block = Block("clean", f"file:///out/{key}/{rows}", f"digest-{rows}", rows=rows, bytes=9)
    source.complete(source.acquire_partition(key), [block], interval=f"{key}/P1D")


def into_branch(source, key, branch):
    seen = source.partition(key)
    act = Act(
        source=seen.source, key=key, op=f"op-{key}", action=Action.RESET, seen=seen, by="a", why="w", branch=branch
    )
    assert source.store.act(act).applied


def hide(source, interval, dataset="clean", by="runRules", why="dropBeforeByPeriod P18M"):
    what = interval_of("interval", interval)
    source.documents.change_view(lambda view: changing.hidden(view, dataset, what, by, why, NOW), by, why)


def test_a_branch_says_what_it_waits_for(flights, get):
    page = get("view")
    [branch] = page["branches"]
    assert branch["sentence"] == "1 of 2 partitions completed, 1 parked."
    said = {name: branch[name] for name in ("number", "state", "expected", "partitions", "completed", "parked")}
    assert said == {"number": 1, "state": "begun", "expected": 2, "partitions": 2, "completed": 1, "parked": 1}
    assert (branch["by"], branch["why"], branch["interval"]) == ("ana", "carrier codes", str(JANUARY))
    assert json.loads(branch["selection"]) == {"prefix": "2013-01"}
    assert (page["kept"], page["version"], page["author"], page["hidden"]) == (True, 2, "ana", [])


def test_a_branch_whose_beginning_was_interrupted_says_so(flights, get):
    flights.documents.change_view(begun, "bo", "again")
    sentence = get("view")["branches"][0]["sentence"]
    assert sentence == "Its partitions are still being reset into it (0 so far), or whoever began it was interrupted."


def test_a_partition_that_has_left_its_branch_is_missed(flights, get):
    into_branch(flights, DAYS[1], None)
    assert get("view")["branches"][0]["sentence"] == "1 of 2 partitions completed, 1 not in it any more."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["published"], "it can be rolled back until it is final"),
        (["published", "finalized"], "for good"),
        (["rolled_back"], "never will"),
    ],
)
def test_a_branch_that_waits_for_nothing_is_not_counted(flights, counting, get, changes, said):
    for change in changes:
        flights.documents.change_view(partial(getattr(changing, change), number=1, now=NOW), "ana", "w")
    [branch] = get("view")["branches"]
    assert said in branch["sentence"]
    assert (branch["expected"], branch["completed"]) == (2, None)
    assert "branch_counts" not in counting.asked


def test_a_source_of_which_nobody_has_said_anything(store, get):
    SourceCoordinator(store, "flights", "somebody").supplying.register(dag_id=TEAM_DAG)
    page = get("view")
    assert (page["kept"], page["version"], page["author"], page["branches"], page["hidden"]) == (True, 0, None, [], [])


def test_what_is_hidden_says_by_what_since_when_and_whether_it_comes_back(flights, get):
    hide(flights, "2013-01-01/P1D")
    hide(flights, "2013-01-02/P1D", by="ana", why="wrong prices")
    hide(flights, "2013-01-02/P1D", dataset="rejected")
    mark = lambda view: changing.purging(view, [each for each in view.hidden if each.by == "ana"], NOW)  # noqa: E731
    flights.documents.change_view(mark, "killUnused", "older than 30 days")
    newer, older = get("view", dataset="clean")["hidden"]
    assert (newer["by"], newer["why"], newer["state"]) == ("ana", "wrong prices", "purging")
    assert newer["sentence"] == "It is being deleted, and cannot be restored."
    assert (older["by"], older["why"], older["state"]) == ("runRules", "dropBeforeByPeriod P18M", "hidden")
    assert (newer["restorable_until"], newer["offers"], older["offers"]) == (None, [], [])
    assert older["restorable_until"] == "2013-05-31T00:00:00Z"
    assert (
        older["sentence"] == "It can be restored until a purge marks it, which with the default margins one may do now."
    )
    assert (older["since"], older["start"]) == ("2013-05-01T00:00:00Z", "2013-01-01T00:00:00Z")
    assert len(get("view")["hidden"]) == 3
    assert [one["hidden"] for one in get("datasets")["datasets"]] == [2]


def test_chunks_say_what_is_hidden_of_them_and_what_replaces_them(flights, get):
    hide(flights, "2013-01-02/P1D")
    hide(flights, "2013-01-03T06/PT1H")
    starts = [datetime(2013, month, day, tzinfo=UTC) for month, day in ((1, 1), (1, 2), (1, 3), (2, 1))]
    sums = [ChunkSums(dataset="clean", chunk_start=each, chunk_end=each + timedelta(days=1)) for each in starts]
    flights.looking.chunks.put([*sums, ChunkSums(dataset="clean", state=ChunkState.LEFT_OUT)])
    chunks = get("dataset", dataset="clean")["chunks"]
    said = {(one["start"] or "none")[:10]: (one["hidden"], one["begun"]) for one in chunks}
    assert said == {
        "2013-02-01": (None, []),
        "2013-01-03": ("partly hidden", [1]),
        "2013-01-02": ("hidden", [1]),
        "2013-01-01": (None, [1]),
        "none": (None, []),
    }
    mark = lambda view: changing.purging(view, view.hidden[:1], NOW)  # noqa: E731
    flights.documents.change_view(mark, "killUnused", "w")
    assert [one["hidden"] for one in get("dataset", dataset="clean")["chunks"]][2] == "purging"


def test_partitions_say_in_which_branch_they_run(flights, get):
    begun = {"number": 1, "state": "begun"}
    assert [one["branch"] for one in get("partitions")["partitions"]] == [begun, begun, None]
    assert get("partition", key=DAYS[1])["summary"]["branch"] == begun
    flights.documents.change_view(lambda view: changing.rolled_back(view, 1, NOW), "ana", "w")
    assert get("partition", key=DAYS[1])["summary"]["branch"] == {"number": 1, "state": "rolled back"}


def test_who_holds_a_partition_says_in_which_branch_it_runs(flights, get):
    into_branch(flights, DAYS[1], 1)
    flights.create_partitions(["later"])
    assert flights.acquire_partition(DAYS[1])
    assert flights.acquire_partition("later")
    held = {one["key"]: one["branch"] for one in get("owners")["held"]}
    assert held == {DAYS[1]: {"number": 1, "state": "begun"}, "later": None}


def heads(found):
    return [(one["dataset"], one["branch"] and one["branch"]["number"], one["rows"], one["unseen"]) for one in found]


def test_head_records_say_of_which_branch_they_are_and_why_readers_do_not_see_them(flights, get):
    def published():
        return sorted(heads(get("partition", key=DAYS[0])["heads"]), key=lambda one: one[2])

    assert published() == [("clean", None, 10, None), ("clean", 1, 12, "branch 1 is begun")]
    flights.documents.change_view(lambda view: changing.published(view, 1, NOW), "ana", "w")
    [older, newer] = published()
    assert (older[:3], newer) == (("clean", None, 10), ("clean", 1, 12, None))
    assert older[3].endswith("published in branch 1 takes its place")
    hide(flights, f"{DAYS[0]}/P1D")
    interval = interval_of("interval", f"{DAYS[0]}/P1D")
    assert published()[1][3] == f"{interval} is hidden, by runRules: dropBeforeByPeriod P18M"
    flights.documents.change_view(lambda view: changing.rolled_back(view, 1, NOW), "ana", "w")
    assert published()[1][3] == "branch 1 is rolled back"


def test_stored_names_are_no_datasets(flights, get, client, token):
    assert [one["dataset"] for one in get("datasets")["datasets"]] == ["clean"]
    assert [one["sentence"] for one in get("datasets")["begun"]] == ["1 of 2 partitions completed, 1 parked."]
    refused = get("dataset", 422, dataset="~1~clean")["detail"]
    assert "Ask for 'clean', whose branches are shown with it" in refused
    headers = OURS | {"Authorization": f"Bearer {token('user', ['ours'])}"}
    body = {**HERE, "action": "retract", "keys": DAYS[:1]}
    [sample] = client.post("/api/v1/actions/dry-run", headers=headers, json=body).json()["samples"]
    assert (sample["datasets"], sample["rows"]) == ("clean, clean, in branch 1", 22)
    assert sample["branch"] == {"number": 1, "state": "begun"}
    explained = get("partition", key=DAYS[0])["explanation"]
    assert "12 rows in dataset 'clean' (in branch 1)" in explained["sentence"]


@pytest.mark.parametrize(
    ("path", "given", "asked"),
    [
        ("view", {}, ["document", "branch_counts"]),
        ("dataset", {"dataset": "clean"}, ["document", "document", "branch_counts"]),
        ("datasets", {}, ["document", "branch_counts", "heads"]),
        ("partitions", {}, ["document"]),
        ("partitions", {"after": DAYS[1]}, []),
        ("owners", {}, []),
    ],
)
def test_what_a_look_costs_grows_with_neither_branches_nor_what_is_hidden(flights, counting, get, path, given, asked):
    """A status page reads the view once and counts what has begun; of head records only those of no sums, 100."""
    for number in range(20):
        hide(flights, f"2013-02-{number + 1:02}/P1D")
    get(path, **given)
    names = ("document", "branch_counts", "branch_partitions", "heads")
    assert sorted(name for name in counting.asked if name in names) == sorted(asked)


def test_counts_of_a_large_branch_are_kept_for_a_while(store):
    class Large(Counting):
        number = MANY

        def branch_counts(self, source, branch):
            self.asked.append(branch)
            return BranchCounts(self.number, 1, 0)

    large, counter = Large(store), BranchCounter()
    assert {counter.counts(large, "s", 7).completed for _ in range(3)} == {1}
    assert large.asked == [7]
    large.number = MANY - 1
    assert {counter.counts(large, "s", 8).completed for _ in range(3)} == {1}
    assert large.asked == [7, 8, 8, 8]


def test_the_rules_of_a_dataset_stand_before_those_of_all(flights, get, counting):
    [default] = get("rules", dataset="clean")["rules"]
    assert (default["named"], default["own"], default["drops"]) == ("default rule 1, loadForever", False, False)
    assert (default["copies"], default["chunks"]) == ({"_default_tier": 2}, 0)
    hot = '[{"type": "loadByPeriod", "period": "P1Y", "tieredReplicants": {"hot": 1}}, {"type": "dropForever"}]'
    set_rules(flights, "clean", hot, "ana", "only a year")
    counting.asked.clear()
    page = get("rules", dataset="clean")
    assert [each["named"] for each in page["rules"]] == [
        "rule 1, loadByPeriod P1Y",
        "rule 2, dropForever",
        "default rule 1, loadForever",
    ]
    assert [(each["own"], each["drops"], each["copies"]) for each in page["rules"][:2]] == [
        (True, False, {"hot": 1}),
        (True, True, {}),
    ]
    assert (page["version"], page["typed"]) == (1, "airflow coordination rules get flights --dataset clean")
    assert not {"heads", "page", "get"} & set(counting.asked)
    get("rules", status=422, dataset="~1~clean")


def chunk_of(day):
    start = datetime(2013, 1, day, tzinfo=UTC)
    return ChunkSums(dataset="clean", chunk_start=start, chunk_end=start + timedelta(days=1), heads=1)


def test_rules_say_what_each_decides_and_when_another_one_will(flights, get):
    now = flights.store.now()
    days = [now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=ago) for ago in (1, 10, 29, 40)]
    flights.looking.chunks.put(
        [
            *(ChunkSums(dataset="clean", chunk_start=day, chunk_end=day + timedelta(days=1), heads=1) for day in days),
            ChunkSums(dataset="clean", state=ChunkState.LEFT_OUT),
        ]
    )
    rules = '[{"type": "loadByPeriod", "period": "P30D", "tieredReplicants": {"hot": 1}}, {"type": "dropForever"}]'
    set_rules(flights, "clean", rules, "ana", "only a month")
    page = get("rules", dataset="clean")
    kept, dropped, default = page["rules"]
    assert [each["chunks"] for each in page["rules"]] == [3, 1, 0]
    assert (page["author"], page["why"], page["looked_at"], page["looked_at_all"]) == ("ana", "only a month", 4, True)
    assert datetime.fromisoformat(kept["changes_at"]) == days[2] + timedelta(days=31)
    [then] = kept["then"]
    assert then == f"{Interval(days[2], days[2] + timedelta(days=1))} is dropped by rule 2, dropForever"
    assert [(each["changes_at"], each["then"]) for each in (dropped, default)] == [(None, [])] * 2
    assert page["fits"] is None


def test_which_rule_fits_a_key_or_an_interval_is_told_in_the_words_of_the_command(flights, get):
    set_rules(flights, "clean", '[{"type": "dropBeforeByPeriod", "period": "P1Y"}]', "ana", "only a year")
    flights.documents.change_view(lambda view: changing.hidden(view, "clean", JANUARY, "ana", "wrong", NOW), "ana", "w")
    page = get("rules", dataset="clean", of="2013-01/P1M")
    fits = page["fits"]
    assert (fits["interval"], fits["becomes"]) == (str(JANUARY), "dropped")
    assert fits["why"].startswith(f"rule 1, dropBeforeByPeriod P1Y: {JANUARY} lies inside ")
    assert (fits["hidden_by"], fits["then"]) == ("ana", None)
    assert page["explaining"] == "airflow coordination rules explain flights 2013-01/P1M --dataset clean"
    get("rules", status=422, dataset="clean", of="no such thing")


def test_more_rules_than_a_look_has_time_for_say_so(flights, get):
    flights.looking.chunks.put([chunk_of(1)])
    many = json.dumps([{"type": "dropBeforeByPeriod", "period": f"P{90 - years}Y"} for years in range(MOST_RULES)])
    set_rules(flights, "clean", many, "ana", "w")
    page = get("rules", dataset="clean")
    assert (page["ahead"], len(page["rules"])) == (False, MOST_RULES + 1)
    assert [each["chunks"] for each in page["rules"]] == [0] * MOST_RULES + [1]
    assert {each["changes_at"] for each in page["rules"]} == {None}


def test_the_more_rules_there_are_the_fewer_chunks_one_look_asks_them_about(flights, get):
    start = datetime(2013, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=number) for number in range(60)]
    flights.looking.chunks.put(
        [ChunkSums(dataset="clean", chunk_start=day, chunk_end=day + timedelta(days=1)) for day in days]
    )
    many = json.dumps([{"type": "dropBeforeByPeriod", "period": f"P{90 - years}Y"} for years in range(19)])
    set_rules(flights, "clean", many, "ana", "w")
    page = get("rules", dataset="clean")
    assert (len(page["rules"]), page["looked_at"], page["looked_at_all"]) == (20, CHOICES // 20, False)
