"""The check that an output root can be written, as far as that is known before anything is written."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from airflow_coordination.outputs.storage import is_local, normal_root
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import SettingsError


def usable_root(output_root: str | None) -> str:
    """Return the root that blocks go below.

    :param output_root: normalised; ``None`` where nobody has set it.
    :raises SettingsError: when there is none.
    :raises DeploymentError: when this process cannot write below it.
    """
    if output_root is None:
        raise SettingsError("output_root", None, "is not set, so there is no place for blocks", "Set output_root")
    check_writable(output_root)
    return output_root


def check_writable(output_root: str, called: str = "output_root") -> None:
    """Refuse a local root that this process cannot write below. Object stores are asked by the first write.

    :param output_root: as the user gave it.
    :param called: what it is called in the message.
    :raises DeploymentError: naming the directory and this host.
    :raises InvalidInputError: when it is no address.
    """
    root = normal_root(output_root)
    if not is_local(root):
        return
    place = Path(root)
    there = next(each for each in (place, *place.parents) if os.path.exists(each))
    if not there.is_dir():
        problem = f"{called} {root!a} cannot be used on {socket.gethostname()!a}: {str(there)!a} is a file"
        raise DeploymentError(problem, "Give a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        problem = f"{called} {root!a} cannot be used on {socket.gethostname()!a}: {str(there)!a} is not writable"
        raise DeploymentError(problem, "Give the user of this worker the right, or another directory")
