"""The operators that let partitions run again in a branch, and show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.look import BranchLook
from airflow_coordination.duties.branches.running import partitions_of
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.duties.branches.showing import publish
from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.telemetry import task_stats
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.submission.task_instance import MOST_KEYS
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import check_said

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


def branch_given(value: object) -> int | None:
    """Return a branch's number, which a template may have made a text of.

    :raises InvalidInputError: when it is none. So is an empty text, which a template of nothing is rendered to.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    remedy = "Give the number of a branch, such as begin.output['branch'] of a BeginBranchOperator"
    raise InvalidInputError("branch", value, "is no number of a branch", remedy)


class BeginBranchOperator(TextFields):
    """Lets partitions run again aside: what they publish shows when the branch is published, all of it at once.

    They are claimable then, and run by the tasks that always run them. Killed, the next try goes on with the branch.

    Pushes ``{"branch": 7, "partitions": 31, "reset": 31, "retired": 0}``, and under the key ``branch`` the number, for
    ``begin.output["branch"]``.

    :param source: the source's name. (templated)
    :param why: the reason, kept in the history of the view and the audit. (templated)
    :param keys: these partitions: a list of texts, or one template that is rendered to a list, in a DAG with
        ``render_template_as_native_obj=True``. (templated)
    :param key_prefix: or all whose key begins so. (templated)
    :param interval: or all of which rows show in it, such as ``"2013-01/P1M"``. (templated)
    :param dataset: with ``interval``: judged by this dataset alone. (templated)
    :param everything: or all there are.
    :param nothing: or none yet, for partitions that are created in the branch.
    :param then: do what follows their endings (``then=``) before the branch is published, too.
    :param even_if_it_reopens: also partitions that read on for ever, such as shards.
    :param even_if_it_never_ran: also partitions that have completed nowhere yet.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    """

    template_fields: Sequence[str] = ("source", "why", "keys", "key_prefix", "interval", "dataset", "partition_prefix")
    text_fields: Sequence[str] = template_fields
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        source: str,
        why: str,
        keys: Sequence[str] = (),
        key_prefix: str | None = None,
        interval: str | None = None,
        dataset: str | None = None,
        everything: bool = False,
        nothing: bool = False,
        then: bool = False,
        even_if_it_reopens: bool = False,
        even_if_it_never_ran: bool = False,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.why = why
        self.keys = keys
        if isinstance(keys, str):  # one template, which gives a list
            self.text_fields = [name for name in self.template_fields if name != "keys"]
        self.key_prefix = key_prefix
        self.interval = interval
        self.dataset = dataset
        self.everything = everything
        self.nothing = nothing
        self.then = then
        self.even_if_it_reopens = even_if_it_reopens
        self.even_if_it_never_ran = even_if_it_never_ran
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix

    def execute(self, context: Context) -> dict[str, Any]:
        """Begin the branch, or go on with the one that an earlier try of this task has begun.

        :raises InvalidInputError: when partitions are in its way: which, and what to do.
        :raises SettingsError: while older code may open the store.
        """
        coordinator = _coordinator(self, context)
        coordinator.looking.check_known()
        by = _asks(context)
        selection = Selection(
            keys=self.keys,
            prefix=self.key_prefix,
            interval=self.interval,
            dataset=self.dataset,
            everything=self.everything,
            nothing=self.nothing,
        )
        mine = [each.number for each in coordinator.documents.view().branches if each.begun and each.by == by]
        done = begin(
            coordinator,
            selection,
            by,
            self.why,
            branch=mine[-1] if mine else None,
            then=self.then,
            even_if_it_reopens=self.even_if_it_reopens,
            even_if_it_never_ran=self.even_if_it_never_ran,
        )
        self.log.info("Branch %d of source %s has %d partitions.", done.number, self.source, done.partitions)
        context["ti"].xcom_push(key="branch", value=done.number)
        return {
            "branch": done.number,
            "partitions": done.partitions,
            "reset": done.reset,
            "retired": done.retired,
        }


class PublishBranchOperator(TextFields):
    """Lets readers see a branch: all of it from one instant on, and then the events of its ``outlets``.

    While partitions of it have not completed it fails, and changes nothing; so give it ``retries``. Published before,
    by an earlier try or a person, it succeeds. Its asset events carry ``extra["branch"]`` and ``extra["partitions"]``;
    the tasks that worked in the branch emit none for it.

    Pushes ``{"branch": 7, "partitions": 31}``.

    :param source: the source's name. (templated)
    :param branch: the branch's number: ``begin.output["branch"]`` of a :class:`BeginBranchOperator`. (templated)
    :param why: the reason, kept in the view's history. (templated)
    :param check: called with a :class:`.BranchLook`, what the branch changes for readers; when it raises, nothing is
        published, and the task fails.
    :param empty_missing: let partitions have nothing of the datasets that they have published nothing to in it.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    """

    template_fields: Sequence[str] = ("source", "branch", "why", "partition_prefix")
    text_fields: Sequence[str] = ("source", "why", "partition_prefix")
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        source: str,
        branch: int | str,
        why: str,
        check: Callable[[BranchLook], object] | None = None,
        empty_missing: bool = False,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if check is not None and not callable(check):
            raise SettingsError("check", check, "cannot be called", "Give a function with one parameter, a BranchLook")
        self.source = source
        self.branch = branch
        self.why = why
        self.check = check
        self.empty_missing = empty_missing
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix

    def execute(self, context: Context) -> dict[str, Any]:
        """Publish the branch, unless it shows.

        :raises InvalidInputError: when it was rolled back, or partitions of it have not completed.
        """
        coordinator = _coordinator(self, context)
        number = branch_given(self.branch)
        if number is None:
            raise InvalidInputError("branch", self.branch, "is missing", "Give begin.output['branch']")
        if number in coordinator.documents.view().shown:
            self.log.info("Branch %d of source %s shows already.", number, self.source)
        else:
            publish(
                coordinator,
                number,
                _asks(context),
                self.why,
                empty_missing=self.empty_missing,
                check=self.check,
                look=_look,
            )
            self.log.info("Branch %d of source %s shows.", number, self.source)
        keys = [each.key for each in partitions_of(coordinator, number)]
        _tell_outlets(context, number, keys)
        return {"branch": number, "partitions": len(keys)}


def _look(coordinator: SourceCoordinator, number: int) -> BranchLook:
    """Return a look whose rows can be compared; what compares them is loaded when a check looks, and no sooner."""
    from airflow_coordination.spark.branch_look import look_at

    return look_at(coordinator, number)


def _coordinator(operator: BeginBranchOperator | PublishBranchOperator, context: Context) -> SourceCoordinator:
    check_said("the DAG", operator.why)
    return CoordinationHook(operator.coordination_conn_id).coordinator(
        operator.source,
        owner_of(context),
        partition_prefix=operator.partition_prefix,
        metrics=task_stats(context, operator.source),
    )


def _asks(context: Context) -> str:
    """Return who asks, the same for each try of a task instance, and for no other."""
    ti = context["ti"]
    index = "" if ti.map_index in (None, -1) else f"/{ti.map_index}"
    return f"{ti.dag_id}/{ti.run_id}/{ti.task_id}{index}"


def _tell_outlets(context: Context, number: int, keys: Sequence[str]) -> None:
    for outlet in context["task"].outlets:
        extra = context["outlet_events"][outlet].extra
        extra["branch"] = number
        extra["partitions"] = list(keys[:MOST_KEYS])
        if len(keys) > MOST_KEYS:
            extra["more_partitions"] = len(keys) - MOST_KEYS
