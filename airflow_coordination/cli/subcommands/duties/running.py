"""``duties …``: the groups of duties run from here, once or again and again, and what became of their last runs."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import FrameType

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.running import START_DELAY, Group, GroupRun, GroupRunner, serve
from airflow_coordination.duties.groups.state import Result
from airflow_coordination.duties.groups.told import Outcome, ToldDuty, ToldGroup, look, told_duty
from airflow_coordination.planning.duties.groups import Duties
from airflow_coordination.values.settings import check_known
from airflow_coordination.values.status import PartitionStatus


def run(context: CommandContext, args: Namespace) -> int:
    """Run groups of duties: again and again until stopped, or once; return 1 if a duty failed in the one run.

    :raises SettingsError: when there is no such group, or the properties cannot be.
    """
    duties = _duties(context, args)
    runner = _runner(context, args, duties)
    wanted = [named(duties, name) for name in args.group] if args.group else duties.groups
    groups = [resolved(each) for each in wanted]
    if args.now and not args.dry_run:
        for group in groups:
            _let_go_on(runner, group, args)
    if args.dry_run or args.once or args.now:
        return _once(runner.look if args.dry_run else runner.run, groups, args)
    _log_to_standard_error()
    say(f"Running {', '.join(group.name for group in groups)} until this process is stopped.")
    with _until_stopped() as over:
        serve(runner, groups, over)
    return 0


def status(context: CommandContext, args: Namespace) -> int:
    """Print what became of the last runs, a line for each duty, and what to look at; return 1 if a duty failed."""
    runner = _runner(context, args)
    told = look(runner.duties, context.store.now())
    print_rows([row for group in told.groups for row in _rows(group)], args.output)
    if not told.groups:
        say("No group was ever run in this store: start `duties run`, or a DAG of `duty_dags()`.")
    for trouble in told.troubles:
        say(f"{trouble.sentence} {trouble.then}")
    return int(any(duty.outcome is Outcome.FAILED for group in told.groups for duty in group.duties))


def forget(context: CommandContext, args: Namespace) -> None:
    """Take a group away that no properties name any more, with what is remembered of it.

    :raises SettingsError: when nobody has run it, naming the nearest.
    :raises PartitionUpdateError: while somebody leads it.
    """
    runner = _runner(context, args)
    check_known([args.name], list(runner.states()), "duties")
    if agreed(args, f"forget group {args.name}", f"Forget group {args.name}?", context.store):
        runner.forget(args.name, args.by or account(), args.why)
        say(f"Done: group {args.name} is forgotten. Run again, it begins as a new one.")


def _duties(context: CommandContext, args: Namespace) -> Duties:
    found = configured(args.properties or context.airflow().duties_properties)
    for line in (*found.notes, *found.warnings):
        say(line)
    return found


def _runner(context: CommandContext, args: Namespace, duties: Duties | None = None) -> GroupRunner:
    return GroupRunner(
        context.store,
        f"{account()} on {socket.gethostname()}, process {os.getpid()}",
        prefix=args.partition_prefix,
        output_root=getattr(args, "output_root", None),
        only=getattr(args, "source", None),
        start_delay=duties.start_delay if duties else START_DELAY,
        margins=duties.margins if duties else None,
        settings=context.settings(),
    )


def _let_go_on(runner: GroupRunner, group: Group, args: Namespace) -> None:
    found = runner.states().get(group.name)
    if found is not None and found[0].status is PartitionStatus.CLOSED:
        runner.run_now(group.name, args.by or account(), args.why or "asked for: duties run --now")


def _once(run: Callable[[Group], GroupRun], groups: Iterable[Group], args: Namespace) -> int:
    rows: list[Row] = []
    failed = False
    logging.getLogger("airflow_coordination").addHandler(logging.NullHandler())  # it is all said below
    for group in groups:
        found = run(group)
        _tell(found)
        if found.ran:
            rows += [_row(found.group, name, result) for name, result in found.state.duties.items()]
            failed = failed or bool(found.state.failing)
    print_rows(rows, args.output)
    return int(failed)


def _tell(run: GroupRun) -> None:
    if run.rival is not None:
        say(f"{run.group} is led by {run.rival}{_until(run.rival_until)}; nothing was done here.")
    elif run.paused:
        say(f"{run.group}: pauseCoordination is true; nothing was done.")
    elif not run.ran:
        say(f"{run.group} is not due{_until(run.waits_until)}; --now runs it at once.")
    for name, result in run.state.duties.items() if run.ran else ():
        for warning in result.warnings:
            say(f"{name}: {warning}")


def _until(moment: datetime | None) -> str:
    return f" until {moment.isoformat(timespec='seconds')}" if moment is not None else ""


def _row(group: str, name: str, result: Result) -> dict[str, object]:
    return _told_row(group, told_duty(name, result))


def _told_row(group: str, duty: ToldDuty) -> dict[str, object]:
    about = {"group": group, "duty": duty.name, "result": duty.outcome.value, "said": duty.said}
    return {**about, "seconds": duty.took.total_seconds()}


def _rows(group: ToldGroup) -> Iterator[Row]:
    about = {"fails": 0, "last_run": group.ran_at, "next_run": group.due, "led_by": group.leader}
    for duty in group.duties or [told_duty("", Result(said="has not run yet", idle=True))]:
        yield {**_told_row(group.name, duty), **about, "fails": duty.fails}


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set."""
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        say("Stopping when the runs that have begun are done.")
        over.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield over
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_to_standard_error() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
