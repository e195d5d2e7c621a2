"""DynamoDB Local behind a proxy that drops, delays, repeats and refuses requests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions
from scripts.java_packages import VERSIONS, jars
from tests.conftest import AMAZON
from tests.engines.dynamodb_local import dynamodb_local
from tests.faults.dynamodb_requests import FaultyRequests, HttpFault, faulty_requests
from tests.processes.stores import KILLED, STOPPED


class DynamoDBSetup:
    """A table of DynamoDB Local; its ``Date`` has whole seconds, and the store adds its margin of two."""

    lease, behind = 1.5, 2.0
    rates: Mapping[str, float] = {
        KILLED: 0.8,
        STOPPED: 0.5,
        HttpFault.ANSWER_LOST.value: 2.5,
        HttpFault.LOST.value: 1.0,
        HttpFault.LATE.value: 0.8,
        HttpFault.TWICE.value: 1.5,
        HttpFault.DELAYED.value: 0.8,
        HttpFault.INTERNAL_ERROR.value: 0.8,
        HttpFault.UNAVAILABLE.value: 0.8,
        HttpFault.THROTTLED.value: 0.8,
    }
    every: Mapping[str, float] = {}

    def __init__(self, endpoint: str, proxy: FaultyRequests) -> None:
        self._proxy = proxy
        self.direct, self.url = _url(endpoint), _url(proxy.endpoint)
        self.version = f"DynamoDB Local {VERSIONS['dynamodb-local']()}"

    def meet(self, fault: str) -> None:
        """Ask for a fault."""
        self._proxy.meet(HttpFault(fault))

    def calm(self) -> Counter[str]:
        """End all faults, and return how often each of them really happened."""
        self._proxy.calm()
        return Counter({fault.value: count for fault, count in self._proxy.counts.items()})


def _url(endpoint: str) -> str:
    options = DynamoDBOptions(
        table_name="processes", region="us-east-1", endpoint_url=endpoint, billing_mode="on_demand"
    )
    return options.url


@contextmanager
def dynamodb(directory: Path) -> Iterator[DynamoDBSetup]:
    """Run a DynamoDB Local of its own."""
    for name, value in AMAZON.items():
        os.environ.setdefault(name, value)
    with dynamodb_local(jars("dynamodb-local")) as endpoint, faulty_requests(endpoint) as proxy:
        setup = DynamoDBSetup(endpoint, proxy)
        store = open_store(setup.direct)
        store.setup()
        store.close()
        yield setup
