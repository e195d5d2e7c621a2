"""What is refused, or warned of, before anything is submitted."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

from airflow_coordination.hooks.one_machine import check_deploy_mode
from airflow_coordination.hooks.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.stores import StoreConfig

_RUN_DATES: Final = re.compile(
    r"\{[{%][^}]*\b(ds|ds_nodash|ts|ts_nodash|ts_nodash_with_tz|data_interval_start|data_interval_end|logical_date|"
    r"execution_date|run_id|dag_run|prev_[a-z_]+|next_[a-z_]+)\b"
)


class RunDateWarning(UserWarning):
    """An argument follows the run's date, though another run may process the partition."""


def warn_of_run_dates(task_id: str, source: str, arguments: Mapping[str, Any]) -> None:
    """Warn where arguments are templated by run dates while the source is standing: its name is no template."""
    if "{{" in source:
        return
    dated = sorted(name for name, value in arguments.items() if any(map(_RUN_DATES.search, _texts(value))))
    if dated:
        warnings.warn(
            f"Task {task_id!r}: {', '.join(dated)} follow this run's date, but source {source!r} is standing: another "
            "run's partition would get this run's date. Put what a partition needs into its payload, or make the "
            "source's name a template too.",
            RunDateWarning,
            stacklevel=4,
        )


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts(inner)]
    return []


def check_submission(store: StoreConfig, hook: LeasedSparkSubmitHook) -> None:
    """Refuse submissions that cannot start, or whose driver could not be handed the store.

    :raises SettingsError: saying what to do instead.
    """
    if store.kind == "in_memory":
        remedy = "Use sqlite:///…, postgresql+psycopg://… or dynamodb://…"
        raise SettingsError("store", store.url, "lives in one process, so the Spark driver cannot see it", remedy)
    check_deploy_mode(store, hook.master, hook.deploy_mode)
    if hook.deploy_mode == "cluster":
        problem = (
            f"starts the driver of {hook.master} elsewhere: the store's address would have to go there by argument, "
            "for everyone on the host to read"
        )
        raise SettingsError("deploy_mode", hook.deploy_mode, problem, "Use deploy_mode='client'")
    if shutil.which(hook.binary) is None:
        remedy = "Install pyspark for the worker, and put its bin directory on PATH"
        raise SettingsError("spark_binary", hook.binary, "is not on this worker's PATH", remedy)
