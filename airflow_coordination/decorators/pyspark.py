"""``@task.leased_pyspark``: a Python function as a task that works on leased partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import DecoratedOperator, TaskDecorator, task_decorator_factory

from airflow_coordination.operators.pyspark import LeasedPySparkOperator
from airflow_coordination.submission.arguments import PartitionCallable


class _LeasedPySparkDecoratedOperator(DecoratedOperator, LeasedPySparkOperator):
    template_fields: Sequence[str] = LeasedPySparkOperator.template_fields
    custom_operator_name = "@task.leased_pyspark"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Sequence[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        arguments = {"python_callable": python_callable, "op_args": op_args, "op_kwargs": op_kwargs}
        super().__init__(
            kwargs_to_upstream=arguments,
            python_callable=python_callable,
            op_args=op_args,
            op_kwargs=op_kwargs,
            **kwargs,
        )


def leased_pyspark_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool = False, **kwargs: Any
) -> TaskDecorator:
    """Make a function ``function(spark, lease, …)`` a task, as ``@task.pyspark`` does, under a partition's lease.

    Its hint is an argument of the task: ``process.expand(hint=ready.output)``.

    :param python_callable: the function; returns ``Complete()``, ``Close(…)`` or ``GiveUp(…)``.
    :param multiple_outputs: push each item of the summary as an XCom of its own.
    :param kwargs: arguments of ``LeasedPySparkOperator``.
    :raises SettingsError: when the function has no parameter ``spark`` or ``lease``.
    """

    def decorate(function: Callable[..., Any]) -> TaskDecorator:
        return task_decorator_factory(
            python_callable=PartitionCallable(function),
            multiple_outputs=multiple_outputs,
            decorated_operator_class=_LeasedPySparkDecoratedOperator,
            **kwargs,
        )

    return decorate(python_callable) if python_callable is not None else decorate  # type: ignore[return-value]
