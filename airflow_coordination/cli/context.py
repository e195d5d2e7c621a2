"""The context of a command: its store, and the person who gives it."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.diagnostics import Finding
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import Settings

_GRACE: Final = "AIRFLOW__COORDINATION__REASSIGN_GRACE"


@dataclass(frozen=True, slots=True)
class AirflowPlaces:
    """Where a command finds things of Airflow.

    :param dags_folder: where its DAG files are.
    :param board_connections: whose stores its page Partitions shows.
    :param base_url: where its UI is, ``[api] base_url``; ``None`` where that is not set.
    :param duties_properties: Druid's properties of duties, ``[coordination] duties_properties``; ``None`` where that is
        not set.
    """

    dags_folder: Path
    board_connections: str
    base_url: str | None = None
    duties_properties: str = ""


def places_without_airflow() -> AirflowPlaces:
    """Return what holds where a command does not run within Airflow."""
    shown = os.environ.get("AIRFLOW__COORDINATION__BOARD_CONNECTIONS", "coordination_default")
    return AirflowPlaces(Path.cwd() / "dags", shown, os.environ.get("AIRFLOW__API__BASE_URL"))


def settings_without_airflow() -> Settings:
    """Return what holds where a command does not run within Airflow: of what is looked at, only the grace matters.

    :raises SettingsError: when the environment's grace is no number of seconds.
    """
    text = os.environ.get(_GRACE) or "0"
    try:
        grace = timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        raise SettingsError(_GRACE, text, "is no number of seconds", "Give seconds, for example 300") from None
    return Settings(reassign_grace=grace)


class Runs(Protocol):
    """Airflow's DAGs, where a command runs within it."""

    def is_paused(self, dag_id: str) -> bool:
        """Return whether a DAG is paused.

        :raises SettingsError: when there is none of this name.
        """

    def trigger(self, dag_id: str, conf: dict[str, Any], by: str) -> str:
        """Trigger a run, and return its id; raises what Airflow raises.

        :param by: who does it.
        """


class CommandContext:
    """A store, opened when a command first asks for it.

    :param opening: opens the store.
    :param look_around: gives the findings of ``doctor`` on Airflow, where the command runs within it.
    :param airflow: gives the places of Airflow.
    :param settings: gives the timers and limits that the store's users have, as far as they are configured.
    :param runs: Airflow's DAGs; ``None`` where the command does not run within it.
    """

    def __init__(
        self,
        opening: Callable[[], PartitionStore],
        look_around: Callable[[], Iterable[Finding]] = tuple,
        airflow: Callable[[], AirflowPlaces] = places_without_airflow,
        settings: Callable[[], Settings] = settings_without_airflow,
        runs: Runs | None = None,
    ) -> None:
        self._opening, self.settings, self.runs = opening, settings, runs
        self.look_around = look_around
        self.airflow = airflow

    @cached_property
    def store(self) -> PartitionStore:
        """The store.

        :raises SettingsError: when none is named, or it cannot be a store.
        """
        return self._opening()

    def close(self) -> None:
        """Give the store's connections back, if a command asked for it; DynamoDB's brings what it has counted."""
        if "store" in vars(self):
            self.store.close()

    def coordinator(self, source: str, partition_prefix: str | None) -> SourceCoordinator:
        """Return a coordinator for ``source`` in the name of whoever is logged in.

        :raises SettingsError: when the store does not know the source, naming the nearest that it knows, or has another
            prefix.
        """
        coordinator = self.newcomer(source, partition_prefix)
        coordinator.looking.check_known()
        return coordinator

    def newcomer(self, source: str, partition_prefix: str | None) -> SourceCoordinator:
        """Return a coordinator for a source that the store need not know."""
        return SourceCoordinator(self.store, source, account(), partition_prefix, settings=self.settings())


def account() -> str:
    """Return the name of the account this process runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
