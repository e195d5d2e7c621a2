"""The owner that a task instance is to the protocol."""

from __future__ import annotations

import logging
import re
import socket
import uuid
from typing import TYPE_CHECKING, Final

from airflow.providers.common.compat.sdk import Variable, conf
from airflow.sdk.exceptions import ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse, GetVariable

from airflow_coordination.hooks.settings import SECTION
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.whereabouts import whereabouts

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)

AIRFLOW_ID: Final = "coordination_airflow_id"
"""The Airflow Variable with the name that this Airflow was given, where ``[coordination] airflow_id`` says none."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REMEDY: Final = f"Set [{SECTION}] airflow_id, the same everywhere in this Airflow and different in every other one"


def owner_of(context: Context) -> str:
    """Return ``hostname/dag/run/task/map index/try`` of the running task instance, as ``partitionOwner`` shows it.

    After the hostname it names this Airflow, the machine's boot and the process: what tells it from a namesake.

    :raises DeploymentError: when Airflow does not say which one it is.
    :raises SettingsError: when ``[coordination] airflow_id`` cannot be a name.
    """
    ti = context["ti"]
    map_index = -1 if ti.map_index is None else ti.map_index
    place = whereabouts(airflow_id())
    return Owner.of_task(socket.gethostname(), ti.dag_id, ti.run_id, ti.task_id, map_index, ti.try_number, place).text


def airflow_id() -> str | None:
    """Return the name of this Airflow: the one that is set, else the one that its first task has made.

    A task may not touch Airflow's database: it reads and makes the name as a Variable, through the API server.

    :return: ``None`` outside of tasks, where none is set.
    """
    said = configured_airflow_id()
    if said is not None or getattr(task_runner, "SUPERVISOR_COMMS", None) is None:
        return said
    try:
        return _kept() or _made()
    except Exception as error:  # a secrets backend may raise anything
        problem = f"Airflow does not give its Variable {AIRFLOW_ID}, by which it is told from others ({error})"
        raise DeploymentError(problem, _REMEDY) from error


def known_airflow_id() -> str | None:
    """Return the name of this Airflow as :func:`airflow_id` does, ``None`` where its first task is yet to make it.

    :raises SettingsError: when what is set or kept cannot be a name.
    """
    return configured_airflow_id() or _kept()


def configured_airflow_id() -> str | None:
    """Return ``[coordination] airflow_id``, ``None`` when it is not set.

    :raises SettingsError: when it cannot be a name.
    """
    return _checked(f"[{SECTION}] airflow_id", conf.get(SECTION, "airflow_id", fallback="") or None)


def _checked(field: str, name: str | None) -> str | None:
    if name is not None and not _NAME.fullmatch(name):
        problem = "is not 1 to 64 letters, digits, dots, hyphens and underscores"
        raise SettingsError(field, name, problem, "Give for example production")
    return name


def _kept() -> str | None:
    return _checked(f"Variable {AIRFLOW_ID}", Variable.get(AIRFLOW_ID, default=None))


def _made() -> str | None:
    """Make the name, and return what is kept then: of two tasks that make it at once, the later one's.

    :raises LookupError: when there is one that could not be read: another would make strangers of this Airflow's tasks.
    """
    if _is_there():
        if (name := _kept()) is not None:  # another task has made it since this one looked
            return name
        raise LookupError("it is there, but was not to be read")
    made = uuid.uuid4().hex[:12]
    Variable.set(AIRFLOW_ID, made, description="Tells this Airflow from others on one store. Do not change it.")
    log.info("This Airflow is called %s from now on: owners of leases name it", made)
    return _kept()


def _is_there() -> bool:
    """Return whether the Variable exists: ``Variable.get`` says ``None`` also of one that could not be read.

    :raises LookupError: when Airflow does not say.
    """
    if hasattr(Variable, "keys"):  # since Airflow 3.3
        return AIRFLOW_ID in Variable.keys(prefix=AIRFLOW_ID)
    answer = task_runner.SUPERVISOR_COMMS.send(GetVariable(key=AIRFLOW_ID))
    if not isinstance(answer, ErrorResponse):
        return True
    if answer.error is ErrorType.VARIABLE_NOT_FOUND:
        return False
    raise LookupError(f"the API server says {answer.error.value}")
