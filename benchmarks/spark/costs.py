"""What one partition of a drain costs beside its work: calls to the JVM and threads, counted.

``PATH="$PWD/.venv/bin:$PATH" scripts/with_java.sh python -m benchmarks.spark.costs`` prints them for a partition that
publishes one small file and for one that publishes nothing, and where the time goes, by ``cProfile``.
"""

from __future__ import annotations

import cProfile
import pstats
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from py4j.java_gateway import GatewayClient

from airflow_coordination import Complete, SourceCoordinator, drain, open_store

_CALL = re.compile(r"c\n\w+\n(\w+)\n")
_RELEASE = "m\n"
PARTITIONS, LINES = 64, 25


@dataclass
class Costs:
    """What was counted.

    :param calls: calls to the JVM, by method; ``release`` lets the JVM forget an object.
    :param threads: threads that were started, by the first word of their name.
    """

    calls: Counter[str] = field(default_factory=Counter)
    threads: Counter[str] = field(default_factory=Counter)


@contextmanager
def counted() -> Iterator[Costs]:
    """Count what is called and started in this process inside the block."""
    costs, send, start = Costs(), GatewayClient.send_command, threading.Thread.start

    def sent(client: Any, command: str, *args: Any, **kwargs: Any) -> Any:
        found = _CALL.match(command)
        costs.calls[found[1] if found else "release" if command.startswith(_RELEASE) else command] += 1
        return send(client, command, *args, **kwargs)

    def started(thread: threading.Thread) -> None:
        costs.threads[re.split(r"\W|_", thread.name)[0]] += 1
        start(thread)

    with patch.object(GatewayClient, "send_command", sent), patch.object(threading.Thread, "start", started):
        yield costs


def main() -> None:
    """Drain some partitions each way, and print."""
    from benchmarks.spark.session import session, write_file

    def published(spark: Any, lease: Any) -> Complete:
        with lease.publish("clean") as block:
            write_file(Path(urlsplit(block.path).path), 1)
        return Complete()

    def unpublished(spark: Any, lease: Any) -> Complete:
        return Complete()

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/store.db")
        store.setup()
        flights = SourceCoordinator(store, "flights", "benchmark")
        flights.create_partitions(map(str, range(6 * PARTITIONS)))
        spark = session()

        def drained(work: Callable[[Any, Any], Complete]) -> None:
            drain(work, store=store, source="flights", spark=spark, output_root=folder, max_leases=PARTITIONS)

        for work in (unpublished, published):
            drained(work)  # warms up
            with counted() as costs:
                drained(work)
            each = {name: round(number / PARTITIONS, 2) for name, number in (costs.calls + costs.threads).most_common()}
            print(f"{work.__name__}: {each}")
            with cProfile.Profile() as profile:
                drained(work)
            pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)
        spark.stop()
        store.close()


if __name__ == "__main__":
    main()
