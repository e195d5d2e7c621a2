"""A caller that is stopped before one of its calls, while others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import ForwardingStore

T = TypeVar("T")


class Sleeping(ForwardingStore):
    """A store whose caller is stopped before one of its calls, while something else happens.

    :param at: the number of that call.
    """

    def __init__(self, store: PartitionStore, at: int, meanwhile: Callable[[], object]) -> None:
        super().__init__(store)
        self.calls: list[str] = []
        self._at, self._meanwhile = at, meanwhile

    def forward(self, name: str, call: Callable[[], T]) -> T:
        self.calls.append(name)
        if len(self.calls) == self._at:
            self._meanwhile()
        return call()
