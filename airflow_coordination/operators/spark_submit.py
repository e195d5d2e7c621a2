"""The operator that processes leased partitions with spark-submit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.handover import HandOver
from airflow_coordination.leases.lease import Lease
from airflow_coordination.links.partitions import PartitionsLink
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.operators.leased_operator import LeasedOperator
from airflow_coordination.submission.arguments import warn_of_run_dates
from airflow_coordination.submission.client_mode import ClientMode
from airflow_coordination.submission.cluster_mode import ClusterMode
from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.driver_inputs import inputs_for
from airflow_coordination.submission.preflight import check_submission, is_foreign, local_file
from airflow_coordination.submission.spark_provider import ProviderOperator
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook, shipped_archive
from airflow_coordination.submission.supervision import Application, SubmissionMode, Supervision, check_concurrency
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.systems.objects.storage import check_writable

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


class LeasedSparkSubmitOperator(LeasedOperator, ProviderOperator):
    """Everything ``SparkSubmitOperator`` does, under the lease of one partition, or of several one after the other.

    The application is one of ours (a function with ``@partition_application``), which renews and ends its
    lease itself; or any jar or script, for which this task renews. A failing partition fails its task; a
    retry takes the same partition again or learns that it is done. In cluster mode the driver outlives a task
    that dies, and the retry adopts it; what may be sent there which way: :mod:`~.submission.credential_routes`.
    Pushes how many tenures ended in which way, and the first partitions.

    :param complete_on_success: for jobs that know nothing of leases: exit code 0 completes the partition.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, *LeasedOperator.lease_fields)
    operator_extra_links = (PartitionsLink(), SparkUILink())
    ui_color = "#e8f0fe"

    def __init__(self, *, complete_on_success: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.complete_on_success = complete_on_success
        self._killed = False
        self._submission: tuple[LeasedSparkSubmitHook, SubmissionMode] | None = None
        self.spark_ui_url = ""
        templated = {name: getattr(self, name) for name in SparkSubmitOperator.template_fields}
        warn_of_run_dates(self.task_id, self.source, templated)

    def execute(self, context: Context) -> dict[str, Any] | None:  # type: ignore[override]
        """Acquire a partition, submit the application, watch over it, and report how the partition's tenure ended.

        :return: how many tenures ended in which way, and the first partitions; ``None`` without any.
        :raises SettingsError: before anything is acquired, when the submission cannot work.
        :raises DeploymentError: when this worker cannot do it; nothing is charged, and what was acquired is free again.
        :raises PartitionFailedError: when the work failed.
        :raises PartitionNotOwnedError: when the lease was lost; nothing this task wrote counts.
        """
        hook = self._checked_hook()
        inputs = inputs_for(self.coordination.connection, hook.driver, foreign=is_foreign(self.application))
        # The no-progress watch is the driver's affair.
        coordinator = self.coordinator(context, replace(self.settings, no_progress_timeout=None))
        memory = TaskMemory(context)
        mode = self._mode(hook, coordinator, context)
        self._submission = hook, mode
        hook.stopped = self._killed
        leases = self.choose(context, coordinator, memory, mode.adopt(memory, context["ti"].try_number))
        if not leases:
            return None
        lease, *further = leases
        hook.call_it(self.source if self._several else f"{self.source} {lease.key}")
        inputs = inputs.with_tenure(self._hand_over(coordinator, lease, further, mode.task_pid))
        supervision = Supervision(hook, mode, coordinator, memory, self._application)
        return supervision.run(context, lease, inputs, partial(super().execute, context), further).summary()

    def on_kill(self) -> None:
        """End the driver and give its lease back, here or as ``execute`` unwinds."""
        self._killed = True
        if self._submission is not None:
            hook, mode = self._submission
            hook.stopped = True
            mode.kill()

    @property
    def _several(self) -> bool:
        return self.max_leases != 1

    @property
    def _at_a_time(self) -> int:
        """Under how many leases its driver may be at a time."""
        return self.together or self.concurrent_leases

    @property
    def _application(self) -> Application:
        """The application; one that does not begin its tenure itself needs ``complete_on_success``."""
        begins = not is_foreign(self.application) and not self.complete_on_success
        return Application(self.application, begins, self.complete_on_success, self._several)

    def _checked_hook(self) -> LeasedSparkSubmitHook:
        """Return the hook of a submission that can work here."""
        balanced = self.balancing is not None
        check_concurrency(self.concurrent_leases, self._application, balanced=balanced, together=self.together)
        hook = LeasedSparkSubmitHook(**self.hook_arguments())
        self.submit_with(hook)
        if not is_foreign(self.application):
            hook.ship(shipped_archive())
        if hook.driver is not Driver.STANDALONE:  # there the node that starts the driver looks for the file
            self.application = local_file(self.application)
        check_submission(hook, self.application, self.env_vars, durable=self.durable)
        if hook.driver is Driver.WORKER and (root := self.coordination.output_root(self.output_root)):
            check_writable(root)
        return hook

    def _mode(self, hook: LeasedSparkSubmitHook, coordinator: SourceCoordinator, context: Context) -> SubmissionMode:
        if hook.driver is Driver.WORKER:
            return ClientMode(hook, coordinator, context, several=self._several, places=self._at_a_time)
        return ClusterMode(self, hook, coordinator, context, several=self._several, places=self._at_a_time)

    def _hand_over(
        self, coordinator: SourceCoordinator, lease: Lease, further: Sequence[Lease], task_pid: int | None
    ) -> HandOver:
        """Return the tenure for the driver."""
        return HandOver(
            source=self.source,
            partition_prefix=coordinator.partition_prefix,
            key=lease.key,
            fence=lease.fence,
            owner=coordinator.owner.text,
            settings=self.settings,
            store_id=coordinator.store.store_id,
            output_root=self.coordination.output_root(self.output_root),
            max_leases=self.max_leases,
            max_runtime=self.max_runtime,
            task_pid=task_pid,
            concurrent_leases=self.concurrent_leases,
            balance=self.balancing,
            together=self.together,
            retaken=tuple((each.key, each.fence) for each in further),
        )
