"""The demo itself: real flights through a real Airflow and real Spark, as CI's end-to-end check."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from airflow_coordination import SourceCoordinator, open_store
from airflow_coordination.streams import NewLease, Position, Start
from airflow_coordination.systems.kinesis.shards import Stream
from tests.house.tree import ROOT

pytestmark = [pytest.mark.spark]
MONTHS = [f"2013-{month:02}" for month in range(1, 13)]
ROWS = re.compile(r"^ +(\d{4}-\d\d) +([\d,]+) +([\d,]+) +([0-9a-f]{16}) +([0-9a-f]{16}) +equal *$", re.MULTILINE)


class Demo:
    """A demo in a folder of its own, without a terminal."""

    def __init__(self, folder, *arguments, **variables):
        self.home, self.output = folder / "demo", folder / "output.txt"
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [ROOT / "scripts" / "with_java.sh", sys.executable, ROOT / "scripts" / "demo.py", *arguments],
                env={**os.environ, "DEMO_HOME": str(self.home), **variables},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self):
        return self.output.read_text()

    def alive(self):
        """Return what runs of the demo, found by the variable that all of it inherits."""
        found = psutil.process_iter(["environ", "cmdline"])
        return [one for one in found if (one.info["environ"] or {}).get("COORDINATION_DEMO_PLACE") == str(self.home)]

    def reach(self, condition, seconds):
        """Wait for a sign of life."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.2)


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*arguments, **variables):
        started.append(Demo(tmp_path, *arguments, **variables))
        return started[-1]

    yield begin
    for demo in started:
        if demo.process.poll() is None:
            demo.process.send_signal(signal.SIGINT)
            demo.process.wait(120)


@pytest.mark.timeout(2700)
@pytest.mark.parametrize(
    ("store", "months", "flights"),
    [
        pytest.param([], 3, "80,789", id="sqlite"),
        pytest.param([], 12, "336,776", id="sqlite-year", marks=pytest.mark.long),
        pytest.param(["dynamodb"], 12, "336,776", id="dynamodb", marks=pytest.mark.long),
    ],
)
def test_the_published_flights_are_the_source_s_and_nothing_is_left_running(start, store, months, flights):
    """Through a killed attempt and a month that reopens; on local files, and on DynamoDB Local and a local S3."""
    demo = start(*store, DEMO_MONTHS=str(months))
    assert demo.process.wait(2600) == 0, demo.text
    compared = ROWS.findall(demo.text)
    assert [month for month, *_ in compared] == MONTHS[:months]
    assert all(source == found and sums == published for _, source, found, sums, published in compared)
    assert re.search(rf"all +{flights} +{flights}", demo.text)
    for status in ("UNASSIGNED", "ASSIGNED", "CLOSED", "COMPLETED"):
        assert f"First seen: {status}," in demo.text
    victim = re.search(r"(\S+) suffers an accident", demo.text).group(1)
    assert re.search(rf"{victim} acquired again .* tenure 2: it goes on after day 15\.", demo.text)
    shares = rf"{victim}, whose first attempt was killed: [\d,]+ rows by tenure 1 and [\d,]+ rows by tenure \d"
    assert re.search(shares, demo.text)
    assert demo.alive() == []


def test_what_the_demo_says_of_a_shard(monkeypatch):
    """Of partitions as the supplier makes them; it asked for a payload of before, and only at the very end."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from demo.orders import said_of

    stream = Stream("1234", "orders", 1, "arn:aws:kinesis:us-east-1:1234:stream/orders")
    coordinator = SourceCoordinator(open_store("memory://"), source="orders", owner="demo")
    position = Position(Start.TRIM_HORIZON)
    parent, child = NewLease("shardId-0", position), NewLease("shardId-1", position, ("shardId-0",))
    coordinator.create_partitions([stream.identifier(each, None) for each in (parent, child)])
    said = [said_of(partition) for partition in coordinator.partitions()]
    assert said == ["orders shardId-0: UNASSIGNED", "orders shardId-1: UNASSIGNED, after shardId-0"]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_streams_are_read_while_a_shard_splits(start):
    """Kinesis beside the flights: each order is published once, by parents before their children."""
    demo = start(DEMO_MONTHS="3", DEMO_STREAMS="1")
    assert demo.process.wait(1700) == 0, demo.text
    assert "800 of 800 orders are published." in demo.text
    parent = r"orders shardId-0+: COMPLETED"
    child = r"orders shardId-\d+: CLOSED, after shardId-0+\b"
    assert re.search(parent, demo.text)
    assert len(re.findall(child, demo.text)) == 2
    assert "Each order is published once, also those of shardId-000000000000" in demo.text
    assert demo.alive() == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_interrupted_demo_leaves_nothing_running(start):
    """Ctrl-C, twice, while Airflow starts, beside what stands in for Amazon."""
    demo = start("dynamodb")
    demo.reach(lambda: len(demo.alive()) > 5, 600)
    assert any("dynamodb-local" in " ".join(process.info["cmdline"] or []) for process in demo.alive())
    demo.process.send_signal(signal.SIGINT)
    demo.reach(lambda: "Stopping Airflow" in demo.text, 60)
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(120) == 130, demo.text
    assert demo.alive() == []


def test_what_a_killed_demo_left_is_ended_by_the_next(tmp_path, monkeypatch):
    """It is known by a variable, and nothing else is touched."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from demo.standalone import end_leftovers

    command = [sys.executable, "-c", "import signal; signal.pause()"]
    left, other = (
        subprocess.Popen(command, env={**os.environ, "COORDINATION_DEMO_PLACE": str(place)})
        for place in (tmp_path, tmp_path / "other")
    )
    try:
        assert end_leftovers(tmp_path) == 1
        assert not psutil.pid_exists(left.pid)
        assert other.poll() is None
    finally:
        left.kill()
        other.kill()
        left.wait()
        other.wait()


def test_a_missing_java_is_named_with_its_remedy(tmp_path):
    """Before anything is started."""
    done = refused(tmp_path, JAVA_HOME="/nowhere")
    assert "JAVA_HOME is /nowhere, and no java is there" in done.stderr
    assert "Spark needs Java 17 or 21: `make demo` looks for one" in done.stderr


@pytest.mark.parametrize("months", ["1", "13", "all"])
def test_months_that_cannot_be_are_refused(tmp_path, months):
    """With one month nobody would be left to have an accident, and the demo would wait for one."""
    done = refused(tmp_path, JAVA_HOME=java_home(), DEMO_MONTHS=months)
    assert f"DEMO_MONTHS is {months}.\nGive a whole number from 2 to 12" in done.stderr


def test_a_second_demo_in_the_same_folder_is_refused(tmp_path):
    """It would remove the first one's files under its feet."""
    with (tmp_path / "running").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        done = refused(tmp_path, JAVA_HOME=java_home())
    assert f"Another demo is running in {tmp_path}: process 4711" in done.stderr
    assert "End it with Ctrl-C first" in done.stderr


def java_home():
    """Return the Java that Spark gets."""
    return subprocess.run(
        [ROOT / "scripts" / "java_home.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()


def refused(home, **variables):
    """Run a demo that does not start."""
    environment = {**os.environ, "DEMO_HOME": str(home), **variables}
    command = [sys.executable, ROOT / "scripts" / "demo.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1
    return done
