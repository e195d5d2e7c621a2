"""What people do to duties on the board, in their own name: change their configuration, let a group be run at once."""

from __future__ import annotations

import logging

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.acting import UNKNOWN
from airflow_coordination.board.duties.models import ConfigRequest, ConfigResult, RunNowRequest, RunNowResult
from airflow_coordination.board.duties.reading import open_duties
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.duties.configuring import config_at, set_config
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.planning.duties.configuration import differences
from airflow_coordination.values.errors import (
    ConfigurationChangedError,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionUpdateError,
)
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import check_said, storable

_log = logging.getLogger(__name__)


def change_config(user: BaseUser, asked: ConfigRequest) -> ConfigResult:
    """Change keys of the configuration in the user's own name, unless somebody has set them since the user saw it.

    :raises NotVisibleError: when the user may not edit every DAG, or there is no such store.
    :raises InvalidInputError: when no reason is given.
    :raises StoreDoesNotAnswerError: when the store has refused nothing and done nothing.
    """
    by = user.get_name() or user.get_id()
    check_said(by, asked.why)
    with open_duties(user, asked.store) as (_, coordinator):
        try:
            before = config_at(coordinator, asked.seen)
            done = set_config(coordinator, asked.changes, by, asked.why, asked.seen)
        except (ConfigurationChangedError, InvalidInputError, PartitionUpdateError) as error:
            return ConfigResult(done=False, sentence=storable(error), version=asked.seen)
        except OutcomeUnknownError:
            return ConfigResult(done=False, sentence=UNKNOWN, version=asked.seen)
        except CoordinationError as error:
            _log.warning("The board could not configure the store of connection %s: %s", asked.store, error)
            raise StoreDoesNotAnswerError(asked.store) from error
        if done.version == asked.seen:
            return ConfigResult(done=True, sentence="There was nothing to change.", version=done.version)
        what = ", ".join(str(each) for each in differences(before.config, done.config) if each.key in asked.changes)
        said = f"Version {done.version}: {what or 'it was so already'}. It is in force from the next run of each group."
        return ConfigResult(done=True, sentence=said, version=done.version, notes=list(done.config.notes))


def run_now(user: BaseUser, asked: RunNowRequest) -> RunNowResult:
    """Let a group that waits be run by whoever comes next, in the user's own name.

    :raises NotVisibleError: when the user may not edit every DAG, or there is no such store.
    :raises InvalidInputError: when no reason is given, or no group can have the name.
    :raises StoreDoesNotAnswerError: when the store has refused nothing and done nothing.
    """
    by = user.get_name() or user.get_id()
    check_said(by, asked.why)
    with open_duties(user, asked.store) as (store, _):
        try:
            GroupRunner(store, user.get_id()).run_now(asked.group, by, asked.why)
        except InvalidInputError:
            raise
        except PartitionNotFoundError:
            said = f"Nobody has run a group {asked.group} here yet; the first run of a group makes it."
            return RunNowResult(done=False, sentence=said)
        except PartitionUpdateError as error:
            return RunNowResult(done=False, sentence=storable(error))
        except OutcomeUnknownError:
            return RunNowResult(done=False, sentence=UNKNOWN)
        except CoordinationError as error:
            _log.warning("The board could not let a group run in the store of connection %s: %s", asked.store, error)
            raise StoreDoesNotAnswerError(asked.store) from error
    return RunNowResult(done=True, sentence=f"{asked.group} is run by whoever runs groups next.")
