"""``python -m airflow_coordination …``: the commands without Airflow."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Final

from airflow_coordination.cli.command import STORE, Command, Option
from airflow_coordination.cli.commands import COMMANDS, FIRST, GROUPS, SECTIONS
from airflow_coordination.cli.context import CommandContext, Runs
from airflow_coordination.cli.grammar import teach
from airflow_coordination.cli.output import say
from airflow_coordination.leases.handover import STORE_VARIABLE
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.opening import open_store
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

NOT_READ: Final = 141
"""The exit code of a program whose output nobody reads any more, as shells say it of SIGPIPE."""


def run(
    command: Command, args: argparse.Namespace, open_context: Callable[[argparse.Namespace], CommandContext]
) -> int:
    """Carry out ``command`` and return the exit code: 0, or 1 after saying in plain words what went wrong.

    Where the program behind a pipe reads no more, as ``head`` does, that is the end of it, and no error of ours.
    """
    try:
        with closing(open_context(args)) as context:
            code = command.run(context, args) or 0
            sys.stdout.flush()
            return code
    except CoordinationError as error:
        say(f"Error: {error}")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes out the rest as it ends
        return NOT_READ


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, carry it out, and return the exit code (2 for a wrong command line)."""
    args = parser().parse_args(argv)
    return run(args.command, args, standalone_context)


def parser(stores: tuple[Option, ...] = (STORE,)) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    :param stores: the options that name a store.
    """
    parser = argparse.ArgumentParser(
        prog="python -m airflow_coordination",
        description=_told(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    groups = parser.add_subparsers(metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    _add(groups, COMMANDS, stores)
    for name, (told, commands) in GROUPS.items():
        group = groups.add_parser(name, description=told)
        _add(group.add_subparsers(metavar="COMMAND", required=True), commands, stores)
    return parser


def _told() -> str:
    """Return all commands, put together by what they are for."""
    lines = [FIRST]
    for title, commands in SECTIONS.items():
        lines += ["", f"{title}:", *(f"  {command.name:15} {command.help}" for command in commands)]
    return "\n".join([*lines, "", "Groups:", *(f"  {name:15} {told}" for name, (told, _) in GROUPS.items())])


def standalone_context(args: argparse.Namespace, runs: Runs | None = None) -> CommandContext:
    """Return the context of the store that ``--store`` or the environment variable ``COORDINATION_STORE`` names.

    :param runs: Airflow's DAGs, where the command runs within it all the same.
    """
    return CommandContext(lambda: _open(args.store or os.environ.get(STORE_VARIABLE)), runs=runs)


def _open(text: str | None) -> PartitionStore:
    if not text:
        remedy = f"Give --store URL, or set {STORE_VARIABLE} (better for a URL with a password)"
        raise SettingsError("--store", text, "is missing", remedy)
    return open_store(text)


def _add(
    groups: argparse._SubParsersAction[argparse.ArgumentParser], commands: Iterable[Command], stores: tuple[Option, ...]
) -> None:
    for command in commands:
        parser = groups.add_parser(command.name, help=command.help, description=command.help)
        options = (*command.options, *(stores if command.has_store else ()))
        for option in options:
            parser.add_argument(*option.flags, **option.settings)
        teach(parser, options)
        parser.set_defaults(command=command)
