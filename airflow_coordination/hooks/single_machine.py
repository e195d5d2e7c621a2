"""The limit of a store in one file: it serves only where every part of Airflow runs on one machine."""

from __future__ import annotations

import re
from typing import Final

from airflow.providers.common.compat.sdk import conf

from airflow_coordination.stores.config import StoreConfig
from airflow_coordination.values.input_errors import SettingsError

_LOCAL: Final = frozenset({"LocalExecutor", "SequentialExecutor", "DebugExecutor"})
REMEDY: Final = (
    "Set two things: the connection coordination_default (for example in AIRFLOW_CONN_COORDINATION_DEFAULT) to a store "
    "that every worker reaches, such as postgresql+psycopg://… or dynamodb://…; and [coordination] output_root to "
    "storage that every worker reaches"
)


def is_single_machine(store: StoreConfig) -> bool:
    """Return whether ``store`` can serve one machine only: an SQLite file."""
    return store.url.startswith("sqlite")


def check_executor(store: StoreConfig) -> None:
    """Refuse a store in a file with an executor whose tasks run elsewhere.

    :raises SettingsError: naming the executor and the two things to set.
    """
    executors = conf.get("core", "executor")
    remote = [name for name in re.findall(r"\w+Executor\b", executors) if name not in _LOCAL]
    if is_single_machine(store) and remote:
        problem = "may run tasks on other machines, which do not see the SQLite file that holds the partitions"
        raise SettingsError("[core] executor", executors, problem, REMEDY)


def single_machine_refusal(driver: str) -> SettingsError:
    """Return the refusal of a store in a file for a driver that runs elsewhere.

    :param driver: where that is.
    """
    problem = f"starts the driver {driver}, on another machine, which does not see the SQLite file of the store"
    return SettingsError("deploy_mode", "cluster", problem, f"Use client mode, or: {REMEDY}")
