"""What happened to a partition, on the command line."""

import json

from airflow_coordination.leases import Owner, SourceCoordinator

TASK = Owner.of_task("node/7", "flights", "manual__1", "process", 3, 2).text


def test_who_held_it_and_how_that_ended(flights, cli):
    task = SourceCoordinator(flights.store, "flights", TASK)
    task.describe_owner(application="app-1")
    task.fail(task.acquire_partition("2013-01"), "boom\x1b[2J")
    flights.people.park("2013-01", by="ana", why="look at it")
    code, out, err = cli("history", "flights", "2013-01", "-o", "json")
    assert (code, err) == (0, "")
    created, failed, parked = json.loads(out)
    assert created["what"] == "created"
    told = [failed[name] for name in ("what", "who", "run", "spark")]
    assert told == ["failed", "process[3] try 2", "manual__1", "app-1"]
    assert failed["since"] <= failed["at"]
    assert failed["fence"].startswith("1-")
    assert [parked[name] for name in ("what", "who", "why")] == ["park", "ana", "look at it"]
    assert "\x1b" not in cli("history", "flights", "2013-01")[1]


def test_one_that_never_was(flights, cli):
    code, out, err = cli("history", "flights", "no such key")
    assert code == 1
    assert out == ""
    assert "no such key" in err


def test_more_than_was_asked_for(flights, cli):
    for _ in range(3):
        flights.give_up(flights.acquire_partition("2013-01"))
    code, out, err = cli("history", "flights", "2013-01", "--limit", "2", "-o", "json")
    assert code == 0
    assert [row["what"] for row in json.loads(out)] == ["created", "given up", "given up"]
    assert err == "There may be more. These are the newest 2 tenures; ask for more with --limit\n"
    assert cli("history", "flights", "2013-01", "--limit", "0")[0] == 1
