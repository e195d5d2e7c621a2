"""Checks of what a DAG's author gives: a partition function's arguments, and run dates in them."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from inspect import BoundArguments, Parameter
from typing import Any, Final

from airflow_coordination.values.input_errors import SettingsError

LEASE: Final = "lease"
LEASES: Final = "leases"
"""The name that a function may give to the lease where it works on many together."""
HINT: Final = "hint"


class PartitionCallable:
    """Calls ``function(spark, lease, …)``; its signature shows the rest, and ``hint``, which is the operator's.

    :param function: has the parameters ``spark`` and ``lease``, or ``leases``, in any place.
    :raises SettingsError: when it has not, or is a coroutine.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._signature = inspect.signature(function)
        _check(function, self._signature)
        functools.update_wrapper(self, function)
        self._function = function
        self._lease = _lease_of(self._signature)
        own = ("spark", self._lease)
        shown = [each for each in self._signature.parameters.values() if each.name not in own]
        self._takes_hint = any(each.name == HINT for each in shown)
        if not self._takes_hint:
            after = next((n for n, each in enumerate(shown) if each.kind is Parameter.VAR_KEYWORD), len(shown))
            shown.insert(after, Parameter(HINT, Parameter.KEYWORD_ONLY, default=None))
        self.__signature__ = self._signature.replace(parameters=shown)

    def __call__(self, *args: Any, spark: Any, lease: Any, **kwargs: Any) -> Any:
        """Call the function; positional arguments are those that the signature shows."""
        given = self.__signature__.bind(*args, **kwargs).arguments
        if not self._takes_hint:
            given.pop(HINT, None)
        bound = BoundArguments(self._signature, {"spark": spark, self._lease: lease, **given})
        return self._function(*bound.args, **bound.kwargs)


def _lease_of(signature: inspect.Signature) -> str:
    """Return what a function calls its lease, or its leases."""
    return LEASES if LEASES in signature.parameters and LEASE not in signature.parameters else LEASE


def _check(function: Callable[..., Any], signature: inspect.Signature) -> None:
    name = getattr(function, "__name__", repr(function))
    named = {each.name for each in signature.parameters.values() if each.kind not in _NOT_BY_NAME}
    lacking = [each for each in ("spark", _lease_of(signature)) if each not in named]
    if lacking:
        problem = f"has no parameter {' and no parameter '.join(map(repr, lacking))}"
        raise SettingsError("python_callable", name, problem, f"Write def {name}(spark, lease): …")
    if inspect.iscoroutinefunction(function):
        raise SettingsError("python_callable", name, "is a coroutine", f"Write def {name}(…) without async")


_NOT_BY_NAME: Final = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


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
