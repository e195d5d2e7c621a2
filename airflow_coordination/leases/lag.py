"""How far behind its newest record the work on a source is."""

from __future__ import annotations

import threading
from typing import Any

from airflow_coordination.leases.participant import Participant
from airflow_coordination.protocol.metrics import WorkGauge


class Lag(Participant):
    """The part of :class:`SourceCoordinator` that tells how far behind the shards are that it reads."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._behind: dict[str, int] = {}
        self._telling = threading.Lock()

    def tell_behind(self, key: str, milliseconds: int | None) -> None:
        """Tell the gauge ``millisBehindLatest``: the furthest of all that this process reads (KCL, per shard).

        :param key: the partition's.
        :param milliseconds: how far the reading is behind; 0 at the tip, ``None`` when it is over.
        """
        with self._telling:
            if milliseconds is None:
                self._behind.pop(key, None)
            else:
                self._behind[key] = max(0, milliseconds)
            if self._behind:
                self._gauge(WorkGauge.BEHIND, max(self._behind.values()))
