"""A store on the other side of the network: each call of the port is one message."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionUpdateError,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError
from tests.simulation.faults import Fault
from tests.simulation.network import Network, Rules, Unanswered
from tests.simulation.world import Process

T = TypeVar("T")
_WRITE = Rules()
_READ = Rules(writes=False)
_QUERY = Rules(once=True)
RULES = {
    "acquire_next": _QUERY,
    **dict.fromkeys(
        (
            *("register", "create", "acquire", "write", "complete_and_acquire", "sweep", "act", "set_pause"),
            "set_document",
            "forget_versions",
        ),
        _WRITE,
    ),
}
STALE_SHARE = 0.1


class RemoteStore(ForwardingStore):
    """What one process sees of a store.

    :param store: does the work, at the moment a message arrives.
    """

    def __init__(self, store: PartitionStore, process: Process, network: Network, source: random.Random) -> None:
        super().__init__(store)
        self._process, self._network, self._random = process, network, source
        self._list: Sequence[tuple[str, int]] = ()

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Send one call."""
        rules = RULES.get(name, _READ)
        try:
            return self._network.send(self._process, rules, call)
        except Unanswered as silence:
            raise _meaning(silence, name, rules) from silence

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return what can be acquired, now and then as it was when it was asked before."""
        before = self._list
        self._list = super().claimable(source, limit)
        if self._random.random() < STALE_SHARE and not self._network.weather.calm:
            self._network.weather.count(Fault.STALE)
            return before
        return self._list


def _meaning(silence: Unanswered, name: str, rules: Rules) -> CoordinationError:
    reason: Any = silence.fault.value
    if silence.fault is Fault.CANNOT:
        return PartitionUpdateError(name, "", reason)
    if silence.fault is Fault.THROTTLED:
        return StoreThrottledError(name, reason)
    if silence.fault is Fault.UNREACHABLE or not rules.writes:
        return StoreUnavailableError(name, reason)
    return OutcomeUnknownError(name, reason)
