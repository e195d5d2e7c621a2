"""The operator that processes leased partitions in the task's own process, on a Spark Connect server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.providers.standard.operators.python import PythonOperator

from airflow_coordination.hooks.amazon import mask
from airflow_coordination.hooks.telemetry import lease_span
from airflow_coordination.operators.leased_operator import LeasedOperator
from airflow_coordination.spark.tenure import DriverContext
from airflow_coordination.submission.arguments import HINT, PartitionCallable, warn_of_run_dates
from airflow_coordination.submission.in_process import InProcessReports, end_process, work_in_process
from airflow_coordination.submission.task_instance import TaskMemory, show_partition
from airflow_coordination.systems.objects.storage import normal_root
from airflow_coordination.systems.spark.connect import connect_session
from airflow_coordination.systems.spark.listing import capped_listing
from airflow_coordination.systems.spark.session import check_distributions, check_output_root
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    import jinja2
    from airflow.sdk.definitions.context import Context


class LeasedPySparkOperator(LeasedOperator, PythonOperator):
    """Calls a Python function under the lease of one partition, in the task's own process, on Spark Connect.

    ``@task.leased_pyspark`` is its decorator. The function is called as ``function(spark, lease, …)`` with its
    other arguments as in ``PythonOperator``, and returns ``Complete()``, ``Close(…)`` or ``GiveUp(…)``. An
    exception is a failure of its partition and fails the task; a retry takes the same partition again or
    learns that it is done. Pushes how many tenures ended in which way, and the first partitions.

    With ``concurrent_leases`` the function is called in several threads of this process, on one session.

    :param python_callable: the function.
    :param conn_id: the connection of type ``spark_connect``. (templated)
    :param config_kwargs: settings of the Spark session; those that only a server can have are refused by Spark.
        (templated)
    """

    template_fields: Sequence[str] = (
        "conn_id",
        "config_kwargs",
        *LeasedOperator.lease_fields,
        *PythonOperator.template_fields,
    )
    text_fields: Sequence[str] = ("conn_id", *LeasedOperator.lease_fields)
    ui_color = "#e8f0fe"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        conn_id: str = SparkConnectHook.default_conn_name,
        config_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(python_callable, PartitionCallable):
            python_callable = PartitionCallable(python_callable)
        super().__init__(python_callable=python_callable, **kwargs)
        self.conn_id = conn_id
        self.config_kwargs = dict(config_kwargs or {})
        self._killed = False
        templated = {name: getattr(self, name) for name in ("config_kwargs", *PythonOperator.template_fields)}
        warn_of_run_dates(self.task_id, self.source, templated)

    def execute(self, context: Context) -> Any:
        """Acquire a partition, call the function, and report how the partition's tenure ended.

        :raises SettingsError: before anything is acquired, when the work cannot be done here.
        :raises ConnectionError: before anything is acquired, when the Spark Connect server does not answer.
        :raises PartitionFailedError: when the work failed.
        :raises PartitionNotOwnedError: when the lease was lost; nothing this task wrote counts.
        """
        self._context = context
        self.hint = self.op_kwargs.get(HINT, self.hint)
        return super().execute(context)

    def execute_callable(self) -> dict[str, Any] | None:
        """Call the function for one partition after the other; return the summary, ``None`` without any."""
        check_distributions()
        coordinator = self.coordinator(self._context)
        with connect_session(server_url(self.conn_id), self.config_kwargs) as spark, capped_listing(spark):
            root = self._root(spark)
            memory = TaskMemory(self._context)
            leases = self.choose(self._context, coordinator, memory)
            if not leases:
                return None
            lease, *further = leases
            reports = InProcessReports(self._context, memory, lease, further)
            driver = DriverContext(
                spark=spark, coordinator=coordinator, output_root=root, report=reports, on_stuck=end_process
            )
            with lease_span(self._context, self.source, lease):
                stop = work_in_process(
                    partial(self._call, dict(self.op_kwargs)),
                    driver,
                    leases,
                    places=self.concurrent_leases,
                    most=self.max_leases,
                    max_runtime=self.max_runtime,
                    killed=lambda: self._killed,
                    balance=self.balancing,
                    together=self.together,
                )
        show_partition(self._context, reports.tenures.label)
        reports.conclude(coordinator, stop)
        memory.remember(lease.key, lease.fence, reported=True)
        return reports.tenures.summary()

    def _do_render_template_fields(
        self,
        parent: Any,
        template_fields: Iterable[str],
        context: Context,
        jinja_env: jinja2.Environment,
        seen_oids: set[int],
    ) -> None:
        """Render the hint as the text field that it is, also where it comes among the function's arguments."""
        fields = list(template_fields)
        given: object = self.op_kwargs if parent is self else None  # a mapping, or a task's output that will be one
        hinted = isinstance(given, Mapping) and {HINT, "op_kwargs"} <= set(fields) and HINT in given
        if hinted:
            self.op_kwargs = dict(self.op_kwargs)
            self.hint = self.op_kwargs.pop(HINT)
        super()._do_render_template_fields(parent, fields, context, jinja_env, seen_oids)
        if hinted:
            self.op_kwargs = {**self.op_kwargs, HINT: self.hint}

    def on_kill(self) -> None:
        """Begin no further partition. While the function runs, its tenure takes Airflow's signal itself."""
        self._killed = True

    def _root(self, spark: Any) -> str | None:
        root = self.coordination.output_root(self.output_root)
        if root is None:
            return None
        root = normal_root(root)
        check_output_root(spark, root)
        return root

    def _call(self, given: dict[str, Any], spark: Any, lease: Any) -> Any:
        """Call the function as ``PythonOperator`` does, with the session and the lease beside its own arguments."""
        own = self
        if self.concurrent_leases > 1:  # the arguments stand in the operator, and each thread has its own
            own = object.__new__(type(self))
            own.__dict__.update(self.__dict__)
        own.op_kwargs = {**given, "spark": spark, "lease": lease}
        return super(LeasedPySparkOperator, own).execute_callable()


_REMEDY = f"Create it with the type {SparkConnectHook.conn_type}, for example with host localhost and port 15002"


def server_url(conn_id: str) -> str:
    """Return the ``sc://…`` URL of a connection; it may hold a token, which Airflow then masks in every log.

    :raises SettingsError: when the connection is not defined, of another type, or names no server.
    """
    hook = SparkConnectHook(conn_id)
    try:
        connection = hook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise SettingsError("conn_id", conn_id, "is not a defined Airflow connection", _REMEDY) from error
    if connection.conn_type != hook.conn_type:
        raise SettingsError("conn_id", conn_id, f"is a connection of type {connection.conn_type}", _REMEDY)
    if not connection.host:
        raise SettingsError("conn_id", conn_id, "is a connection without a host", _REMEDY)
    url = str(hook.get_connection_url())
    for text in filter(None, (connection.login, connection.password)):
        url = url.replace(
            f"={quote(text)}", f"={quote(text, safe='')}"
        )  # the hook leaves a / as it is, pyspark does not
    mask(connection.password)
    return url
