"""``airflow coordination …``: the same commands, with Airflow's connections."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow.cli.cli_config import ARG_VERBOSE, ActionCommand, Arg, GroupCommand
from airflow.utils.cli import suppress_logs_and_warning

from airflow_coordination.cli.command import STORE, Command, Option
from airflow_coordination.cli.commands import COMMANDS, FIRST, GROUPS, SECTIONS
from airflow_coordination.cli.context import AirflowPlaces, CommandContext
from airflow_coordination.cli.grammar import teach
from airflow_coordination.cli.standalone import parser, run, standalone_context
from airflow_coordination.hooks.runs import AirflowRuns
from airflow_coordination.leases.handover import STORE_VARIABLE
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.diagnostics import Finding
from airflow_coordination.values.program import BY_PYTHON, PROGRAM
from airflow_coordination.values.settings import Settings

_CHAIN: Final = "_AIRFLOW_PROCESS_CONTEXT"
"""Says which secrets backends the task SDK asks; ``airflow connections test`` sets it, too."""
CONNECTION = Option(("--conn-id",), {"default": "coordination_default", "help": "The Airflow connection of the store"})


def get_cli_commands() -> list[GroupCommand]:
    """Return the provider's commands for Airflow's command line."""
    groups = [GroupCommand(name, told, list(map(_airflow_command, those))) for name, (told, those) in GROUPS.items()]
    commands = [_airflow_command(command) for command in COMMANDS]
    told = "\n".join([FIRST, "", *(f"{title}: {_names(those)}" for title, those in SECTIONS.items())])
    return [GroupCommand("coordination", "Look after leased partitions", [*commands, *groups], told)]


def _names(commands: Iterable[Command]) -> str:
    return " ".join(command.name for command in commands)


def main(argv: Sequence[str] | None = None) -> int:
    """Do as ``airflow coordination`` does, for an Airflow whose command line takes no commands of ours (3.1).

    :param argv: the words after ``python -m airflow_coordination``.
    """
    args = parser((STORE, CONNECTION)).parse_args(argv)
    args.verbose = False
    _runner(args.command)(args)
    return 0


class _Teaching(Arg):
    """An argument that teaches its parser our grammar: Airflow makes the parser, and hands it to arguments only.

    :param option: the argument.
    :param options: all of the command.
    """

    def __init__(self, option: Option, options: Sequence[Option]) -> None:
        super().__init__(option.flags, **option.settings)  # type: ignore[no-untyped-call]
        self._options = options

    def add_to_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add it."""
        super().add_to_parser(parser)
        teach(parser, self._options)


def _airflow_command(command: Command) -> ActionCommand:
    options = (*command.options, *((STORE, CONNECTION) if command.has_store else ()))
    args = [Arg(option.flags, **option.settings) for option in options[1:]]  # type: ignore[no-untyped-call]
    args = [_Teaching(options[0], options), *args, ARG_VERBOSE]
    return ActionCommand(command.name, command.help, _runner(command), args)


def _runner(command: Command) -> Callable[[argparse.Namespace], None]:
    @suppress_logs_and_warning  # Airflow logs to standard output, where the answer is JSON or YAML for programs
    def run_command(args: argparse.Namespace) -> None:
        code = run(command, args, _context)
        if code:
            sys.exit(code)

    return run_command


def _context(args: argparse.Namespace) -> CommandContext:
    """Return the context of ``--store``, otherwise of the connection."""
    if getattr(args, "store", None) or _named_by_the_environment(args):
        return standalone_context(args, AirflowRuns())
    return CommandContext(
        lambda: _connected(args.conn_id),
        lambda: _around(args.conn_id),
        _places,
        lambda: _configured(args.conn_id),
        AirflowRuns(),
    )


def _named_by_the_environment(args: argparse.Namespace) -> bool:
    """Return whether ``python -m airflow_coordination`` takes the store that it takes without Airflow."""
    by_default = getattr(args, "conn_id", None) == CONNECTION.settings["default"]
    return PROGRAM == BY_PYTHON and by_default and bool(os.environ.get(STORE_VARIABLE))


def _places() -> AirflowPlaces:
    from airflow.configuration import conf

    return AirflowPlaces(
        Path(conf.get("core", "dags_folder")),
        conf.get("coordination", "board_connections"),
        conf.get("api", "base_url", fallback=None),
        conf.get("coordination", "duties_properties", fallback=""),
    )


def _around(conn_id: str) -> Iterable[Finding]:
    from airflow_coordination.cli.doctor_airflow import look_around

    with _airflows_database():
        yield from look_around(conn_id)


def _connected(conn_id: str) -> PartitionStore:
    from airflow_coordination.hooks.coordination import CoordinationHook

    with _airflows_database():
        return CoordinationHook(conn_id).get_conn()


def _configured(conn_id: str) -> Settings:
    from airflow_coordination.hooks.coordination import CoordinationHook

    with _airflows_database():
        return CoordinationHook(conn_id).settings({})


@contextmanager
def _airflows_database() -> Iterator[None]:
    """Let connections and Variables be found in Airflow's database: outside of tasks the SDK does not look there."""
    before = os.environ.get(_CHAIN)
    os.environ[_CHAIN] = "server"
    try:
        yield
    finally:
        del os.environ[_CHAIN]
        if before is not None:
            os.environ[_CHAIN] = before
