"""Who gives our operators a retry policy, and whether this Airflow knows any."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

POLICIES: Final = find_spec("airflow.sdk.definitions.retry_policy") is not None
"""Whether this Airflow knows them: 3.3 and later do. Before, its ``retries`` and ``retry_delay`` alone count."""


def give_retry_policy(operator: Any) -> None:
    """Let an operator that has no retry policy, also by its DAG's ``default_args``, have ours, where Airflow knows any.

    It is called after Airflow's own constructor: ``partial()`` passes every argument, those not given as ``None``.
    """
    if POLICIES:
        from airflow_coordination.hooks.retries import CoordinationRetryPolicy

        operator.retry_policy = operator.retry_policy or CoordinationRetryPolicy()
