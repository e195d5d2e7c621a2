"""DynamoDB on the other side of the network: each request of the client is one message."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.faults import dynamodb_client as service
from tests.simulation.dynamodb.engine import Engine
from tests.simulation.faults import Fault
from tests.simulation.network import Network, Rules, Unanswered
from tests.simulation.world import Process

_WRITE: Final = Rules()
_READ: Final = Rules(writes=False)
_MEANING: Final[Mapping[Fault, tuple[service.Fault, ...]]] = {
    Fault.ANSWER_LOST: (service.Fault.APPLIED, service.Fault.INTERNAL_ERROR),
    Fault.LOST: (service.Fault.NOT_APPLIED,),
    Fault.LATE: (service.Fault.APPLIED_LATE,),
    Fault.UNREACHABLE: (service.Fault.UNREACHABLE,),
    Fault.THROTTLED: (service.Fault.THROTTLED,),
    Fault.CANNOT: (service.Fault.CONFLICT, service.Fault.UNAVAILABLE, service.Fault.IN_PROGRESS),
}
"""What boto3 says of each fault; "cannot" is the service's "not now"."""


class RemoteTable:
    """What one process's client is: requests for items go over the network.

    :param engine: answers at the moment a request arrives.
    """

    def __init__(self, engine: Engine, process: Process, network: Network, source: random.Random) -> None:
        self._engine, self._process, self._network, self._random = engine, process, network, source
        self._errors = service.FaultyClient(engine)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name in service.WRITES:
            return lambda **arguments: self._send(_WRITE, name, found, arguments)
        if name in service.READS:
            return lambda **arguments: self._send(_READ, name, found, arguments)
        return found

    def _send(self, rules: Rules, name: str, method: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        try:
            return self._network.send(self._process, rules, lambda: method(**arguments))
        except Unanswered as silence:
            fault = self._random.choice(_MEANING[silence.fault])
            raise self._errors.error_of(fault, name, arguments) from silence
