"""After a plan the indexes of what it has looked at are brought up to date: who publishes does not wait for that."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.published import index_outputs
from airflow_coordination.values.input_errors import CoordinationError, shown

log = logging.getLogger(__name__)


def index_datasets(coordinator: SourceCoordinator, datasets: Iterable[str]) -> None:
    """Add what is new to the index of each dataset; where that fails, readers go on without, and it is logged.

    :param coordinator: of the source whose partitions have published.
    :param datasets: their names.
    """
    for name in datasets:
        try:
            index_outputs(coordinator.store, coordinator.source, name, coordinator.partition_prefix, whole=False)
        except CoordinationError as error:
            about = shown(name), shown(coordinator.source)
            log.warning("The index of dataset %s of source %s is left as it was: %s", *about, error)
