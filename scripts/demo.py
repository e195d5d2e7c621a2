"""Watch real flights go the whole way: supplier, leases, Spark, published output, in a real Airflow.

usage: demo.py [STORE]

STORE is the URL of a store to use, for example postgresql+psycopg://user@host/database; by default an SQLite file
serves. With the word dynamodb the partitions are in DynamoDB Local, and the flights and all that is published in a
local S3; what they are made of is downloaded once, and they end with the demo.

In a terminal Airflow stays up until Ctrl-C; elsewhere the demo ends by itself. It exits with 0 if the published rows
are equal to the source, with 1 if they are not or something failed, with 130 after Ctrl-C before that.

With DEMO_STREAMS=1 it goes on with streams of Kinesis on an engine of this machine (31 MB of npm's), one shard of which
splits while it is read. That is on this disk, without DynamoDB.

DEMO_HOME is the folder for everything it keeps (.demo), DEMO_TIMEOUT how many seconds the run may take (1800),
DEMO_MONTHS how many months of the year go through it (from 2 to 12, all of its 336,776 flights).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from demo.accident import Accident
from demo.amazon import WORD, amazon_running
from demo.comparison import comparison, published, shares
from demo.data import MONTHS, check_months, source_digests, split
from demo.display import Display
from demo.orders import read_streams
from demo.place import CHECKOUT, MARK, Place, alone
from demo.problems import DemoError
from demo.standalone import DAG, Airflow, airflow_running, end_leftovers
from demo.streams import VARIABLE, Streams, streams_running
from demo.watch import Watch
from rich.console import Console

from airflow_coordination import CoordinationError, Partition, SourceCoordinator, open_store

HOME = Path(os.environ.get("DEMO_HOME") or CHECKOUT / ".demo").resolve()
PATIENCE = float(os.environ.get("DEMO_TIMEOUT") or 1800)
"""Seconds that the run may take; two minutes are usual on two cores."""
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(store: str | None = None) -> bool:
    """Run the demo; return whether the published rows are equal to the source."""
    terminal = sys.stdout.isatty()
    display = Display(Console() if terminal else Console(width=120))
    check_java()
    check_months()
    with alone(HOME), ExitStack() as services:
        if left := end_leftovers(HOME):
            display.say(f"Ended {left} processes of an earlier demo that was killed.")
        place = find_place(store, services, display)
        place.make()
        prepare(place, display)
        with airflow_running(place) as airflow:
            try:
                start(airflow, place, display)
                victim = run(airflow, place, display)
                equal = compare(place, display, victim)
                if place.streams:
                    equal &= read_streams(airflow, place, display, place.streams)
                if terminal and sys.stdin.isatty():
                    stay(airflow, place, display)
            finally:
                display.step("Stopping Airflow and everything it started; this takes up to 30 seconds")
        display.say("Nothing is left running.")
    return equal


def find_place(store: str | None, services: ExitStack, display: Display) -> Place:
    """Return the demo's place, with what stands in for Amazon started if it was asked for."""
    if store != WORD:
        return Place(HOME, store, streams=find_streams(services, display))
    display.step("0. In the place of Amazon: DynamoDB Local (35 MB), Spark's connector to S3 (660 MB), moto for S3")
    with display.waiting("What is not in .work/jars yet comes from Maven Central. Then DynamoDB Local starts."):
        os.environ[MARK] = str(HOME)
        amazon = services.enter_context(amazon_running())
    display.say(f"DynamoDB answers at {amazon.dynamodb}, S3 at {amazon.s3}. Both forget everything when the demo ends.")
    return Place(HOME, amazon=amazon)


def find_streams(services: ExitStack, display: Display) -> Streams | None:
    """Return the streams to read, on a started engine, if they were asked for."""
    if not os.environ.get(VARIABLE):
        return None
    display.step("0. In the place of Kinesis: kinesis-local (31 MB)")
    with display.waiting("What is not in .work/npm yet comes from npm. Then it starts."):
        os.environ[MARK] = str(HOME)
        streams = services.enter_context(streams_running())
    display.say(f"Kinesis answers at {streams.endpoint}. It forgets everything when the demo ends.")
    return streams


def check_java() -> None:
    """Check that Spark will find a Java.

    :raises DemoError: when it will not.
    """
    home = os.environ.get("JAVA_HOME")
    if not shutil.which(f"{home}/bin/java" if home else "java"):
        where = f"JAVA_HOME is {home}, and no java is there." if home else "There is no java on PATH."
        raise DemoError(where, "Spark needs Java 17 or 21: `make demo` looks for one, and installs it where it may.")


def prepare(place: Place, display: Display) -> None:
    """Make the input and the store."""
    display.step(f"1. The input: the flights that left New York City from {MONTHS[0]} to {MONTHS[-1]}")
    done = "Split" if split(place.data) else "An earlier demo has split them"
    display.say(f"{done} into {len(MONTHS)} monthly CSV files in {short(place.data)}.")
    if place.amazon:
        place.amazon.upload(place.data)
        display.say(f"Uploaded to {place.amazon.data}. Nothing reads them from this disk any more.")
    store = open_store(place.store)
    store.setup()
    display.say(f"The store for partitions and leases is ready: {short(store.description)}")


def start(airflow: Airflow, place: Place, display: Display) -> None:
    """Wait for Airflow."""
    display.step("2. Airflow: scheduler, triggerer, DAG processor and web server")
    with display.waiting(f"Starting, with its home in {short(place.home)}. This takes 15 to 60 seconds."):
        airflow.wait_until_ready()
    display.say(f"Ready: {place.url}  user [bold]admin[/]  password [bold]{place.password}[/]")


def run(airflow: Airflow, place: Place, display: Display) -> Partition:
    """Trigger the DAG, watch until its run has succeeded, and return the partition that suffered the accident.

    :raises DemoError: when the run fails, takes too long, or did not show what it should.
    """
    display.step(f"3. The DAG {DAG}: list the months, work on each under a lease, end when all are completed")
    coordinator = SourceCoordinator(
        open_store(place.store), source="flights", owner="demo", partition_prefix=place.partition_prefix
    )
    accident = Accident(coordinator, place.root)
    watch = Watch(coordinator, display, accident)
    airflow.api.trigger(DAG)
    display.say(f"Triggered. Airflow shows it at {place.url}/dags/{DAG}")
    with display.moving():
        follow(airflow, watch)
    display.say("The run succeeded: every month is completed.")
    return accident.checked_victim()


def follow(airflow: Airflow, watch: Watch) -> None:
    """Look at the source until the run has succeeded; Airflow is asked less often."""
    deadline = time.monotonic() + PATIENCE
    ask = 0.0
    succeeded = False
    while not succeeded:
        if time.monotonic() > deadline:
            raise DemoError(
                f"The run took more than {PATIENCE:.0f} seconds.",
                f"The logs are in {HOME}/airflow.log and {HOME}/airflow/logs. DEMO_TIMEOUT=… gives it more time.",
            )
        if time.monotonic() > ask:
            airflow.check_running()
            succeeded = airflow.check_run()
            ask = time.monotonic() + 3
        watch.look()
        time.sleep(0.1)
    watch.check()


def compare(place: Place, display: Display, victim: Partition) -> bool:
    """Compare the published rows with the source, show it, and return whether they are equal."""
    display.step("4. The proof: published rows against the source, all 19 columns, whatever their order")
    with display.waiting("A Spark of its own adds up what read_completed returns."):
        source, found = source_digests(), published(place)
    display.console.print(comparison(source, found))
    display.say(f"{victim.key}, whose first attempt was killed: {shares(place, victim.key)}.")
    equal = source == found
    display.say(
        "[bold green]All equal: no row was lost, none was doubled.[/]"
        if equal
        else "[bold red]The published rows differ from the source. This is a bug.[/]"
    )
    return equal


def stay(airflow: Airflow, place: Place, display: Display) -> None:
    """Let people look around until Ctrl-C."""
    display.step("Airflow stays up: look around. Ctrl-C ends everything.")
    display.say(f"{place.url}/dags/{DAG}  user [bold]admin[/]  password [bold]{place.password}[/]")
    try:
        while True:
            airflow.check_running()
            time.sleep(1)
    except KeyboardInterrupt:
        return


def short(place: object) -> str:
    """Return a path or URL as seen from the checkout."""
    return str(place).replace(f"{CHECKOUT}/", "")


def interrupted(number: int, frame: object) -> NoReturn:
    """End in order, as after Ctrl-C; a second signal does not disturb that."""
    for each in INTERRUPTIONS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def tell(error: DemoError | CoordinationError) -> None:
    """Say on standard error what went wrong."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if isinstance(error, DemoError):
        console.print(f"\n{error.details}", markup=False)
        console.print(f"[bold red]The demo stopped.[/] {error.problem}\n{error.remedy}")
    else:
        console.print("\n[bold red]The demo stopped.[/]", str(error))


if __name__ == "__main__":
    for each in INTERRUPTIONS:
        signal.signal(each, interrupted)
    try:
        sys.exit(0 if main(*sys.argv[1:2]) else 1)
    except (DemoError, CoordinationError) as error:
        tell(error)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
