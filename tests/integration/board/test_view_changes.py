"""What people do on the board to what readers see: tried first, done as it was seen, in their own name."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from airflow_coordination.board import visibility
from airflow_coordination.board.showing import effects
from airflow_coordination.duties.branches import showing
from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.retention import hiding
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import BranchState
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from tests.integration.board.conftest import OURS, TEAM_DAG
from tests.retention import DAY
from tests.unit.duties.test_purged_files import Files, files
from tests.unit.typed import understood

assert files  # the fixture
HERE = {"store": "coordination_default", "source": "flights|PARTITION"}
DAYS = ["2013-01-01", "2013-01-02", "2013-01-03"]
LONG_AGO = datetime(2013, 5, 1, tzinfo=UTC)


@pytest.fixture
def flights(store):
    """Three days, published, of which two run again in branch 1."""
    parts_of(store).enabling.enable_branches()
    flights = SourceCoordinator(store, "flights", "somebody")
    flights.supplying.register(dag_id=TEAM_DAG)
    flights.create_partitions(DAYS)
    for key in DAYS:
        publish(flights, key, 10)
    begin(flights, Selection(keys=tuple(DAYS[:2])), "ana", "carrier codes")
    return flights


def publish(source, key, rows, dataset="clean"):
    block = Block(dataset, f"file:///out/{key}/{rows}", f"digest-{key}-{rows}", rows=rows, bytes=rows * 100)
    source.complete(source.acquire_partition(key), [block], interval=f"{key}/P1D")


@pytest.fixture
def complete(flights):
    """Both of them have completed in it, with more rows."""
    for key in DAYS[:2]:
        publish(flights, key, 12)
    return flights


@pytest.fixture
def shown(complete):
    """And it is published."""
    showing.publish(complete, 1, "ana", "looks good")
    return complete


@pytest.fixture
def post(client, token):
    """Ask as who may act."""
    headers = OURS | {"Authorization": f"Bearer {token('user', ['ours'])}"}

    def post(path, status=200, **body):
        answer = client.post(f"/api/v1/{path}", headers=headers, json={**HERE, **body})
        assert answer.status_code == status, answer.text
        return answer.json()

    return post


@pytest.fixture
def tried(post):
    """Try a change; return what it would do."""
    return lambda action, **given: post("view/dry-run", action=action, **given)


@pytest.fixture
def done(post, tried):
    """Try a change, then do it."""

    def done(action, why="checked", **given):
        stamp = tried(action, **given)["stamp"]
        return post("view/change", action=action, why=why, stamp=stamp, **given)

    return done


@pytest.fixture
def get(client, token):
    """Read as somebody of the team."""

    def answered(path, role="user", **given):
        headers = {"Authorization": f"Bearer {token(role, ['ours'])}"}
        answer = client.get(f"/api/v1/{path}", params={**HERE, **given}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return answered


def state(flights, number=1):
    return flights.documents.view().branch(number).state


def rows(found):
    return [(one["dataset"], one["partitions"], one["rows_before"], one["rows_after"]) for one in found["effects"]]


def test_only_what_fits_is_offered_and_only_to_who_may(flights, get):
    def offers(role="user"):
        [branch] = get("view", role)["branches"]
        return [offer["action"] for offer in branch["offers"]]

    assert (offers(), offers("viewer")) == (["roll back"], [])
    for key in DAYS[:2]:
        publish(flights, key, 12)
    assert (offers(), offers("viewer")) == (["publish", "roll back"], [])
    showing.publish(flights, 1, "ana", "w")
    assert offers() == ["roll back", "make final"]
    showing.finalize(flights, 1, "ana", "w")
    assert offers() == []
    assert [offer["action"] for offer in get("view", dataset="clean")["offers"]] == ["hide"]
    assert get("view")["offers"] == get("view", "viewer", dataset="clean")["offers"] == []


def test_what_stands_beside_an_offer_can_be_typed(complete, get, tried):
    [branch] = get("view")["branches"]
    for offer in branch["offers"]:
        args = understood(offer["typed"])
        assert (args.number, args.source) == (1, "flights")
    assert understood(get("view")["typed"]).source == "flights"
    hide = understood(tried("hide", dataset="clean", interval="2013-01-01/P1D")["typed"])
    assert (hide.dataset, hide.interval) == ("clean", "2013-01-01/P1D")
    assert hide.yes, "without it nothing would be done"
    assert understood(get("view", dataset="clean")["offers"][0]["typed"]).dataset == "clean"


def test_half_a_branch_is_not_published(flights, tried, done):
    publish(flights, DAYS[0], 12)
    found = tried("publish", branch=1)
    assert "waits for 1 partition(s) to complete: '2013-01-02'" in found["refusal"]
    assert (found["sentences"], found["effects"]) == ([], [])
    answer = done("publish", branch=1)
    assert (answer["done"], "waits for 1 partition(s)" in answer["sentence"]) == (False, True)
    assert state(flights) is BranchState.BEGUN


def test_a_dry_run_says_what_publishing_would_change_and_changes_nothing(complete, tried):
    found = tried("publish", branch=1)
    assert (found["refusal"], found["counted"]) == (None, True)
    assert rows(found) == [("clean", 2, 20, 24)]
    assert (found["effects"][0]["bytes_before"], found["effects"][0]["bytes_after"]) == (2_000, 2_400)
    assert found["sentences"][0].startswith("Readers would see branch 1, all of it from one instant on")
    assert state(complete) is BranchState.BEGUN


def test_what_stays_as_it_is_is_named(flights, tried):
    publish(flights, DAYS[0], 12)
    publish(flights, DAYS[1], 12, dataset="rejected")
    flights.documents.change_view(
        lambda view: changing.hidden(view, "clean", interval_of("i", f"{DAYS[0]}/P1D"), "bo", "w", LONG_AGO), "bo", "w"
    )
    told = " ".join(tried("publish", branch=1)["sentences"])
    assert "1 partition(s) published nothing to clean in it: the rows that they had there stay ('2013-01-02')." in told
    assert "1 partition(s) lie in hidden intervals of clean: their rows show when these are restored" in told


def test_publishing_is_done_in_the_user_s_own_name(complete, done):
    assert done("publish", branch=1, why="sums agree") == {
        "done": True,
        "sentence": "Branch 1 is published: readers see it.",
    }
    assert state(complete) is BranchState.PUBLISHED
    newest = complete.documents.newest("view")
    assert (newest.author, newest.comment) == ("user-of-['ours']", "sums agree")


def test_a_roll_back_gives_back_what_was_and_names_what_was_published_since(shown, tried, done):
    shown.people.reset(DAYS[0], "bo", "late rows")
    publish(shown, DAYS[0], 15)
    found = tried("roll back", branch=1)
    assert rows(found) == [("clean", 1, 12, 10)]
    told = " ".join(found["sentences"])
    assert "Branch 1 would never come back" in told
    assert "1 partition(s) published anew to clean since: they keep that ('2013-01-01')." in told
    answer = done("roll back", branch=1)
    assert answer["done"]
    assert answer["sentence"].endswith("1 partition(s) keep what they have published since: '2013-01-01'.")
    assert state(shown) is BranchState.ROLLED_BACK


def test_a_roll_back_of_what_nobody_sees_changes_nothing_for_readers(flights, tried, done):
    publish(flights, DAYS[0], 12)
    found = tried("roll back", branch=1)
    assert found["effects"] == []
    assert "For readers nothing changes." in found["sentences"]
    assert any(sentence.startswith("1 partition(s) have not completed in it") for sentence in found["sentences"])
    told = done("roll back", branch=1)
    assert told["done"]
    assert told["sentence"].startswith(
        "Branch 1 was rolled back. 1 partition(s) of it have not completed, and would be parked: '2013-01-02'."
    )
    assert "To let it run outside of any branch: " in told["sentence"]


def test_a_final_branch_is_not_rolled_back(shown, tried, done):
    assert "could not be rolled back any more" in " ".join(tried("make final", branch=1)["sentences"])
    assert done("make final", branch=1) == {"done": True, "sentence": "Branch 1 is final."}
    assert "is final" in tried("roll back", branch=1)["refusal"]


def test_an_interval_is_hidden_and_comes_back(flights, tried, done, get):
    found = tried("hide", dataset="clean", interval="2013-01-01/P2D")
    assert rows(found) == [("clean", 2, 20, 0)]
    assert "Nothing is deleted." in found["sentences"][0]
    assert done("hide", dataset="clean", interval="2013-01-01/P2D", why="wrong prices")["done"]
    [hidden] = get("view", dataset="clean")["hidden"]
    assert (hidden["by"], hidden["why"]) == ("user-of-['ours']", "wrong prices")
    assert [offer["action"] for offer in hidden["offers"]] == ["restore"]
    assert understood(hidden["offers"][0]["typed"]).interval == hidden["interval"]
    set_rules(flights, "clean", json.dumps([{"type": "dropBeforeByPeriod", "period": "P1M"}]), "bo", "w")
    back = tried("restore", dataset="clean", interval=hidden["interval"])
    assert rows(back) == [("clean", 2, 0, 20)]
    assert any("would hide 2 of its intervals again" in sentence for sentence in back["sentences"])
    assert done("restore", dataset="clean", interval=hidden["interval"])["done"]
    assert get("view")["hidden"] == []


def test_what_is_purged_does_not_come_back(flights, tried):
    what = interval_of("interval", "2013-01-01/P1D")
    flights.documents.change_view(lambda view: changing.hidden(view, "clean", what, "a", "w", LONG_AGO), "a", "w")
    flights.documents.change_view(lambda view: changing.purging(view, view.hidden, LONG_AGO), "a", "w")
    assert "cannot come back" in tried("restore", dataset="clean", interval=str(what))["refusal"]


def test_nothing_is_hidden_where_older_code_would_show_it(store, tried, done):
    SourceCoordinator(store, "flights", "somebody").supplying.register(dag_id=TEAM_DAG)
    assert "store enable branches" in tried("hide", dataset="clean", interval="2013-01/P1M")["refusal"]
    answer = done("hide", dataset="clean", interval="2013-01/P1M")
    assert (answer["done"], "store enable branches" in answer["sentence"]) == (False, True)


def test_what_somebody_has_changed_since_is_refused(complete, tried, post):
    stamp = tried("publish", branch=1)["stamp"]
    hiding.hide(complete, "clean", "2013-02/P1M", "bo", "wrong prices")
    answer = post("view/change", action="publish", branch=1, why="w", stamp=stamp)
    assert answer["done"] is False
    assert answer["sentence"].startswith("bo has changed what readers see of this source since (hide 2013-02-01/")
    assert state(complete) is BranchState.BEGUN


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action": "publish"}, "branch=None: is missing"),
        ({"action": "hide", "dataset": "clean"}, "interval=None: is missing"),
        ({"action": "restore", "interval": "2013-01/P1M"}, "dataset=None: is missing"),
        ({"action": "publish", "branch": 9}, "is not there"),
        ({"action": "hide", "dataset": "clean", "interval": "yesterday"}, "yesterday"),
        ({"action": "hide", "dataset": "~1~clean", "interval": "2013-01/P1M"}, "~1~clean"),
    ],
)
def test_what_means_nothing_is_refused_by_its_name(flights, post, given, said):
    found = post("view/dry-run", **given)
    assert said in found["refusal"]
    assert post("view/change", why="w", stamp=found["stamp"], **given)["done"] is False


@pytest.mark.parametrize(
    "body", [{"action": "forget"}, {"action": "publish", "branch": 0}, {"action": "hide", "by": "x"}]
)
def test_what_is_no_request_is_not_understood(flights, post, body):
    post("view/dry-run", 422, **body)


def test_a_change_without_a_reason_is_refused(complete, post, tried):
    stamp = tried("publish", branch=1)["stamp"]
    assert (
        "Say who acts and why" in post("view/change", 422, action="publish", branch=1, why=" ", stamp=stamp)["detail"]
    )
    assert state(complete) is BranchState.BEGUN


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (StoreUnavailableError("write", "secret-host is gone"), 503, "does not answer"),
        (OutcomeUnknownError("write", "secret-host is gone"), 200, "It is not known whether this was done"),
    ],
)
def test_a_store_that_stops_answering_tells_no_host(complete, tried, post, monkeypatch, error, status, said):
    stamp = tried("publish", branch=1)["stamp"]

    def gone(*given, **more):
        raise error

    monkeypatch.setattr(showing, "publish", gone)
    text = json.dumps(post("view/change", status, action="publish", branch=1, why="w", stamp=stamp))
    assert (said in text, "secret-host" in text) == (True, False)


def test_of_too_many_head_records_no_rows_are_counted(shown, tried, monkeypatch):
    shown.looking.chunks.put([ChunkSums(dataset="clean", heads=1_000)])
    monkeypatch.setattr(effects, "MOST_HEADS", 999)

    class NoHeads(ForwardingStore):
        def heads(self, *given, **more):
            raise AssertionError("head records are read")

    @contextmanager
    def opened(connection):
        yield NoHeads(shown.store)

    monkeypatch.setattr(visibility, "opened", opened)
    for action, given in (
        ("roll back", {"branch": 1}),
        ("make final", {"branch": 1}),
        ("hide", {"dataset": "clean", "interval": "2013-01/P1M"}),
    ):
        found = tried(action, **given)
        assert (found["refusal"], found["counted"], found["effects"]) == (None, action == "make final", [])
    assert "there are 1,000 head records" in found["sentences"][-1]
    assert "hides nothing" in tried("restore", dataset="clean", interval="2013-01/P1M")["refusal"]


def test_a_reset_out_of_a_branch_that_has_begun_is_refused_and_one_in_it_is_offered(flights, post):
    body = {"action": "reset", "keys": DAYS[:2]}
    found = post("actions/dry-run", **body)
    assert (found["fit"], found["refused"], found["locked_in"]) == (0, 2, 1)
    assert "it runs in branch 1, which has begun" in found["refusals"][0]["reason"]
    inside = post("actions/dry-run", **body, branch=1)
    assert (inside["fit"], inside["locked_in"]) == (2, None)
    answer = post("actions", action="reset", why="again", meant=inside["meant"], branch=1)
    assert answer["done"] == 2
    assert {flights.partition(key).branch for key in DAYS[:2]} == {1}
    mixed = post("actions/dry-run", action="reset", keys=DAYS)
    assert (mixed["fit"], mixed["locked_in"]) == (1, None)
    flights.documents.change_view(lambda view: changing.rolled_back(view, 1, LONG_AGO), "ana", "w")
    assert post("actions/dry-run", **body)["fit"] == 2


def test_only_a_reset_is_told_of_a_branch(flights, post):
    assert (
        "leaves a partition in its branch" in post("actions/dry-run", 422, action="park", keys=DAYS, branch=1)["detail"]
    )
    meant = post("actions/dry-run", action="park", keys=DAYS[:1])["meant"]
    post("actions", 422, action="park", why="w", meant=meant, branch=1)


@pytest.fixture
def archive(files, monkeypatch):
    """Two partitions with real files, whose month was hidden 31 days ago."""
    files.flights.supplying.register(dag_id=TEAM_DAG)

    @contextmanager
    def opened(connection):
        yield files.store

    monkeypatch.setattr(visibility, "opened", opened)
    return files


def test_a_purge_is_only_tried(archive: Files, post):
    assert post("purge/dry-run", dataset="clean")["sentence"] == "Nothing would be deleted."
    archive.hide()
    archive.clock.advance(31 * DAY)
    before = archive.view
    found = post("purge/dry-run", dataset="clean")
    data = {path for path in archive.foreseen() if path.endswith(".json") and "/part-" in path}
    assert (found["files"], found["heads"]) == (len(data), 2)
    assert found["sentence"].startswith(f"{len(data)} file(s) with {found['rows']} rows")
    assert [one["key"] for one in found["samples"]] == ["a", "b"]
    assert "was hidden by ana" in found["samples"][0]["why"]
    assert found["marks"] == ["2013-01-01/2013-02-01"]
    args = understood(found["typed"])
    assert (args.dataset, args.source) == (["clean"], "flights")
    assert archive.view == before
    assert data <= archive.listing()


def test_files_that_cannot_be_read_from_here_are_not_counted(archive: Files, post):
    archive.hide()
    archive.clock.advance(31 * DAY)
    for path in archive.root.rglob("*"):
        if path.is_file():
            path.unlink()
    found = post("purge/dry-run", dataset="clean")
    assert (found["files"], found["heads"]) == (None, 2)
    assert found["sentence"].endswith("how many files that is cannot be read from here.")


def test_a_purge_says_what_is_in_its_way(archive: Files, post):
    archive.hide()
    archive.clock.advance(31 * DAY)
    archive.reset("a")
    assert archive.flights.acquire_partition("a")
    found = post("purge/dry-run", dataset="clean")
    assert (found["heads"], found["skipped"]) == (1, {"held": 1})
