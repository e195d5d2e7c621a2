"""Run dates in the arguments of leased work: a warning, because another run may process the partition."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

_RUN_DATES: Final = re.compile(
    r"\{[{%][^}]{0,1000}\b(ds|ds_nodash|ts|ts_nodash|ts_nodash_with_tz|data_interval_start|data_interval_end|logical_date|"
    r"execution_date|run_id|dag_run|prev_[a-z_]+|next_[a-z_]+)\b"
)


class RunDateWarning(UserWarning):
    """An argument follows the run's date, though another run may process the partition."""


def warn_of_run_dates(task_id: str, source: object, arguments: Mapping[str, Any]) -> None:
    """Warn where arguments are templated by run dates while the source is standing: its name is no template.

    :param source: the name, or what Airflow makes it of later.
    """
    if not isinstance(source, str) or "{{" in source:
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
