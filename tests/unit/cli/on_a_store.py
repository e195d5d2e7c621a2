"""The command line on a store that is open already, and a dataset of days on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.standalone import run
from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from tests.unit.typed import PARSER

Cli = Callable[..., tuple[int, str, str]]


def cli_on(store: PartitionStore, capsys) -> Cli:
    """Return what runs a command line; it returns exit code, standard output and standard error."""

    def typed(*argv: str) -> tuple[int, str, str]:
        args = PARSER.parse_args(argv)
        code = run(args.command, args, lambda _: CommandContext(lambda: store))
        said = capsys.readouterr()
        return code, said.out, said.err

    return typed


def publish(coordinator: SourceCoordinator, *keys: str, intervals: Iterable[str | None] = (), rows: int = 10) -> None:
    """Publish to dataset ``clean`` for each key; the interval is the day that the key names, unless others are said."""
    said = dict(zip(keys, intervals, strict=False))
    coordinator.create_partitions(list(keys))
    for key in keys:
        lease = coordinator.acquire_partition(key)
        assert lease is not None
        name = f"{key}-{lease.partition.token}"
        block = Block("clean", f"/{name}", name, rows, 100)
        coordinator.complete(lease, [block], interval=said.get(key, f"{key}/P1D"))
