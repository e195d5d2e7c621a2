"""The memory of a task instance over its tries, and what it shows in the grid; never the authority."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import identifier_of

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

    from airflow_coordination.leases.coordinator import SourceCoordinator
    from airflow_coordination.submission.tenure_book import TenureBook


_MEMORY: Final = "coordination"


class TaskMemory:
    """Keeps the lease that a task instance works under, in Airflow's task state store."""

    def __init__(self, context: Context) -> None:
        self._store = context.get("task_state_store")

    def recall(self) -> Mapping[str, Any] | None:
        """Return ``{"key", "fence", "reported"}``, ``None`` before the first lease."""
        found = self._store.get(_MEMORY) if self._store is not None else None
        return found if isinstance(found, dict) else None

    def remember(self, key: str, fence: Fence, *, reported: bool = False) -> None:
        """Keep the lease; ``reported`` once this instance has told its end to Airflow."""
        if self._store is not None:
            self._store.set(_MEMORY, {"key": key, "fence": str(fence), "reported": reported})

    def forget(self) -> None:
        """Let the next try take whatever comes first: no partition is left to go on with."""
        if self._store is not None:
            self._store.set(_MEMORY, "")


log = logging.getLogger(__name__)

LONGEST_LABEL: Final = 250
"""Characters that Airflow's database has room for. A key may have eight times as many."""
_TAIL: Final = 16
LABEL_EVERY = 5.0
"""Seconds between two changes of a label in the grid: each is a request to Airflow's API server."""


class Label:
    """The label of one task instance. It follows the partitions of a drain, but does not show each of thousands.

    :param context: of the task.
    :param text: what it shows now.
    """

    def __init__(self, context: Context, text: str) -> None:
        self._context, self._text, self._since = context, text, 0.0

    def show(self, text: str) -> None:
        """Show ``text``, unless the label has changed a moment ago."""
        now = time.monotonic()
        if text != self._text and now - self._since >= LABEL_EVERY:
            show_partition(self._context, text)
            self._text, self._since = text, now


def label_of(text: str) -> str:
    """Return ``text`` as a label: cut if it is too long, with a tail that tells it from others that begin alike."""
    if len(text) <= LONGEST_LABEL:
        return text
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_TAIL]
    return f"{text[: LONGEST_LABEL - _TAIL - 1]}…{tail}"


def show_partition(context: Context, text: str) -> None:
    """Label this mapped task instance with a partition's key, from now on. No label is worth the work: nothing raises.

    A ``map_index_template`` of the user's own goes before; it finds the label as ``partition``.
    """
    try:
        _show(context, label_of(text))
    except Exception as error:  # Airflow does not answer, or knows no labels like this one
        log.warning("Airflow could not be told of partition %a: %s", text, error)


def _show(context: Context, label: str) -> None:
    context["partition"] = label  # type: ignore[typeddict-unknown-key]
    ti = context["ti"]
    if context.get("map_index_template") or ti.map_index is None or ti.map_index < 0:
        return
    context["map_index_template"] = _template(context, label)
    with suppress(ImportError, AttributeError):  # inside Airflow; without it the label appears at the end
        from airflow.sdk.execution_time import task_runner
        from airflow.sdk.execution_time.comms import SetRenderedMapIndex

        ti.rendered_map_index = label
        task_runner.SUPERVISOR_COMMS.send(SetRenderedMapIndex(rendered_map_index=label))


def _template(context: Context, label: str) -> str:
    """Return what Airflow renders to the label; a DAG with native objects would make a number of the label 2013."""
    dag = getattr(context.get("task"), "dag", None)
    if not getattr(dag, "render_template_as_native_obj", False):
        return "{{ partition }}"
    context["partition_as_literal"] = repr(label)  # type: ignore[typeddict-unknown-key]
    return "{{ partition_as_literal }}"


MOST_KEYS = 1_000
"""The most keys in one asset event; Airflow keeps it as one value in its database."""


def _shown(coordinator: SourceCoordinator, tenures: TenureBook) -> Sequence[str]:
    """Return the partitions that were done where readers see it; all of them where the store says nothing."""
    if not tenures.branches:
        return tenures.done
    try:
        return tenures.done_in(coordinator.branches.shown(identifier_of(coordinator)))
    except CoordinationError as error:
        log.warning("Asset events may tell of what runs in a branch and does not show yet: %s", error)
        return tenures.done


def tell_of_done(context: Context, tenures: TenureBook, coordinator: SourceCoordinator) -> None:
    """Let the asset events of this task carry the keys of what it has completed or closed, as far as readers see it.

    What a tenure has done in a branch that does not show yet is left out: the event comes when it shows. So is what it
    has done in one that was rolled back: nobody ever sees it. A task that has done nothing else emits no event.

    :param tenures: of the task; the branch that each ran in counts, not the one that its partition runs in now.
    :param coordinator: of the source.
    """
    task = context["task"]
    if not task.outlets:
        return
    keys = _shown(coordinator, tenures)
    if tenures.done and not (keys or tenures.unnamed):
        task.outlets = []
    tell_outlets(context, keys, tenures.unnamed)


def tell_outlets(context: Context, keys: Sequence[str], unnamed: int = 0) -> None:
    """Let the asset events of this task carry keys, as ``extra["partitions"]``, and how many there are beside them.

    They stay plain events: consumers scheduled on the asset alone are not triggered by events with a partition.
    """
    for outlet in context["task"].outlets:
        extra = context["outlet_events"][outlet].extra
        extra["partitions"] = list(keys[:MOST_KEYS])
        if more := max(len(keys) - MOST_KEYS, 0) + unnamed:
            extra["more_partitions"] = more
