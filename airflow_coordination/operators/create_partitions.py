"""The operator that runs a source's supplier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_coordination.duties.follow_ups import follow_up_what_is_left
from airflow_coordination.duties.retention.supplying import RuledSupplier, RuleList, check_rules, ruled_supplier
from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.policies import give_retry_policy
from airflow_coordination.hooks.settings import time_given
from airflow_coordination.hooks.task_errors import SupplierBusyError
from airflow_coordination.hooks.telemetry import task_stats
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.supply import Supplier, check_supplier
from airflow_coordination.operators.branches import branch_given
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.systems.rights import FollowUpRights, rights_given

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


class CreatePartitionsOperator(TextFields):
    """Runs a supplier under the source's global-state lease and creates the partitions it gives that do not exist.

    Before it, it does what drivers that died have left to be done after their endings (``then=``), as far as its own
    settings allow that: a note is in the store, and whoever may write there may have written it.

    Pushes ``{"created": …, "existing": …, "changed": […], "rival": null}``. While somebody else holds the source's
    lease nothing is listed, and the task fails, to be tried again soon; a try of the same task that died holds it no
    longer.

    :param source: the source's name. (templated)
    :param supplier: called with the source's global state (a dict). It changes it and returns keys or
        ``PartitionIdentifier`` values, or is a generator that yields them and ``Checkpoint(state)``.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :param ownership_timeout: how long the supplier's lease lasts without renewal (timedelta or seconds).
    :param follow_up_rights: what else may be done of what notes say. Of itself the supplier allows the objects below
        what an ``object_listing`` lists, the queue of ``sqs_notifications``, and the servers of ``kafka_ranges``.
    :param clean_after: afterwards remove parents that finished so long ago (timedelta or seconds) and nobody needs.
    :param rules: partitions that these drop are not created, and counted under ``"dropped"``: a list as Druid's JSON
        has it, ``[{"type": "dropBeforeByPeriod", "period": "P30D"}]``, or a dataset, whose rules of the moment hold.
    :param interval_from_key: with ``rules``: how keys tell their interval, such as ``%Y-%m-%d*``, where the payload has
        no ``"interval"``.
    :param branch: create them in this branch, which has begun; partitions that exist stay where they are. (templated)
    """

    template_fields: Sequence[str] = ("source", "partition_prefix", "branch")
    text_fields: Sequence[str] = ("source", "partition_prefix")
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        source: str,
        supplier: Supplier,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        ownership_timeout: timedelta | float | None = None,
        clean_after: timedelta | float | None = None,
        follow_up_rights: FollowUpRights | None = None,
        rules: RuleList | str | None = None,
        interval_from_key: str | None = None,
        branch: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        give_retry_policy(self)
        check_supplier(supplier)
        check_rules(rules, interval_from_key)
        self.rules = rules
        self.interval_from_key = interval_from_key
        self.source = source
        self.supplier = supplier
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.ownership_timeout = ownership_timeout
        self.clean_after = time_given("clean_after", clean_after)
        self.follow_up_rights = rights_given(follow_up_rights)
        self.branch = branch
        self._in_branch = branch is not None

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the supplier.

        :raises InvalidInputError: when it gives something that is no partition, or leaves a state that is no JSON; or
            the branch is not begun, or what was given for it came to nothing.
        :raises SupplierBusyError: while somebody else holds the source's lease.
        """
        branch = self._branch()
        coordinator = self._coordinator(context)
        root = CoordinationHook(self.coordination_conn_id).output_root(None)
        follow_up_what_is_left(coordinator, self.follow_up_rights.with_those_of(self.supplier, root))
        supplier = ruled_supplier(self.supplier, coordinator, self.rules, self.interval_from_key) or self.supplier
        run = coordinator.supplying.run(supplier, self.clean_after, branch)
        if not run.ran:
            raise SupplierBusyError(self.source, run.rival, run.rival_until)
        coordinator.supplying.register_dag(self.dag_id)
        created, existing = run.created.created, run.created.existing
        if not created and not existing:
            self.log.info("The supplier of source %s found nothing.", self.source)
        else:
            self.log.info("Source %s: %d partitions created, %d existed already.", self.source, created, existing)
        if run.created.refreshed:
            self.log.info("%d of them had been reset, and have the payload of now.", run.created.refreshed)
        if run.created.changed:
            self.log.warning(
                "The supplier now gives another payload or priority for partitions that exist, for example %s. "
                "What was stored first stays; to process one again, with the payload of now, run `%s`, then this task.",
                ascii(run.created.changed[:10]),
                typed(coordinator, "reset", run.created.changed[0]),
            )
        result = {"created": created, "existing": existing, "changed": list(run.created.changed), "rival": None}
        return result | self._dropped(supplier)

    def _branch(self) -> int | None:
        """Return the branch to create in; one that was named and came to nothing is never taken for the base.

        :raises InvalidInputError: when it is no number, or was rendered to nothing.
        """
        return branch_given("" if self._in_branch and self.branch is None else self.branch)

    def _dropped(self, supplier: Supplier) -> dict[str, int]:
        """Say and return how many partitions were not created because of the rules."""
        if not isinstance(supplier, RuledSupplier):
            return {}
        for rule, number in supplier.dropped.items():
            self.log.info("%d partitions were not created: %s drops their interval.", number, rule)
        return {"dropped": sum(supplier.dropped.values())}

    def _coordinator(self, context: Context) -> SourceCoordinator:
        hook = CoordinationHook(self.coordination_conn_id)
        return hook.coordinator(
            self.source,
            owner_of(context),
            partition_prefix=self.partition_prefix,
            settings=hook.settings({"ownership_timeout": self.ownership_timeout}),
            metrics=task_stats(context, self.source),
        )
