"""The commands that change something: people's actions, pauses, follow-ups, clean-up, the schema."""

from __future__ import annotations

import logging
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from airflow_coordination import stores
from airflow_coordination.cli.context import CommandContext, Runs, account
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.cli.selection import selected, sentence
from airflow_coordination.duties.duty import run_duties
from airflow_coordination.duties.follow_ups import FollowUps, told
from airflow_coordination.duties.standing import CleanUp
from airflow_coordination.leases.cleaning import CleanedUp
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.creation import dags_of, registered
from airflow_coordination.monitoring.acting import TOLD, at_stake, each
from airflow_coordination.monitoring.counts import foreseen
from airflow_coordination.monitoring.deeds import new_batch
from airflow_coordination.monitoring.summaries import summary
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import command, shell_of, triggering
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.writes import Action
from airflow_coordination.systems.kafka.offsets import options_in
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.values.asking import asking_for
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, SettingsError, shown
from airflow_coordination.values.names import identifier_of

MANY: Final = 100
"""From so many partitions on a person wants to see how far it is."""


def act(context: CommandContext, action: Action, args: Namespace) -> int:
    """Carry out a person's action on the partitions meant, after showing them; return 1 if it was refused for some.

    A dry run checks what the action would check. What is refused for one partition does not keep the others from it.

    :raises PartitionNotFoundError: when one that is named does not exist; nothing is changed then.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    meant = selected(coordinator, args)
    now = context.store.now()
    stakes = [at_stake(context.store, action, one) for one in meant.shown]
    columns = dict.fromkeys(name for stake in stakes for name in stake)
    rows = [{**summary(one, now), **columns, **stake} for one, stake in zip(meant.shown, stakes, strict=True)]
    print_rows(rows, args.output)
    if "released" in columns:
        say("What was released after it goes on: nothing takes that back.")
    if scope := sentence(args.source, meant):
        say(scope)
    partitions, about = meant.partitions, f"partition(s) of source {args.source}"
    told = {"branch": args.branch, "out_of_branch": args.out_of_branch} if action is Action.RESET else {}
    run = planned(context, coordinator, partitions, args) if action is Action.RESET else None
    also = f", and trigger DAG {run.dag}, whose tasks try it first" if run else ""
    if args.dry_run:
        fit = _told(partitions, lambda partition: coordinator.people.check_action(action, partition, **told))
        say(f"Dry run: would {action} {fit} of {len(partitions)} {about}{also if fit else ''}. Nothing was changed.")
        return int(fit < len(partitions))
    if not partitions or (not args.yes and not confirmed(f"{action} {len(partitions)} {about}{also}?", context.store)):
        say("Nothing was changed.")
        return 0
    by, why = args.by or account(), args.why
    batch = new_batch() if len(partitions) > 1 else None
    done = _told(partitions, lambda one: coordinator.people.act(action, one.key, by, why, one, batch=batch, **told))
    say(f"Done: {action} {done} of {len(partitions)} {about}.")
    if action is Action.RETRACT and done:
        _tell_merged(coordinator, {partition.key for partition in partitions})
    return run.go(by) if run and done else int(done < len(partitions))


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that is to be triggered after a reset: ``reset --run``.

    :param runs: triggers it.
    :param dag: the id of its DAG.
    :param conf: what the run is given.
    """

    runs: Runs
    dag: str
    conf: dict[str, Any]

    def go(self, by: str) -> int:
        """Trigger it, and return the exit code.

        :param by: who does it.
        """
        try:
            run = self.runs.trigger(self.dag, self.conf, by)
        except Exception as error:  # Airflow's, of many kinds; the reset is done, and what is left can be typed
            say(f"Error: DAG {self.dag} could not be triggered: {error}")
            say(f"By hand: {triggering(self.dag, self.conf)}")
            return 1
        say(f"Done: triggered run {run} of DAG {self.dag}.")
        return 0


def planned(
    context: CommandContext, coordinator: SourceCoordinator, partitions: Sequence[Partition], args: Namespace
) -> Plan | None:
    """Return the run that is asked for beside the reset, after looking whether it can be; ``None`` if none is.

    :raises SettingsError: when there is no Airflow, not one partition, or not one DAG.
    """
    if not args.run:
        if args.dag is not None:
            raise SettingsError("--dag", args.dag, "is for --run", "Give --run, or leave it out")
        return None
    if context.runs is None:
        raise SettingsError("--run", True, "needs Airflow", "Type it to `airflow coordination`, where Airflow is")
    if len(partitions) != 1:
        problem = f"is for one partition, not for {len(partitions)}"
        raise SettingsError("--run", True, problem, "Name one key; of many at once, trigger the DAG yourself")
    dag = args.dag or _only_dag(coordinator)
    if context.runs.is_paused(dag):
        say(f"DAG {dag} is paused: its run waits until somebody unpauses it.")
    return Plan(context.runs, dag, asking_for(identifier_of(coordinator), partitions[0].key))


def _only_dag(coordinator: SourceCoordinator) -> str:
    dags = sorted(dags_of(registered(coordinator.store, identifier_of(coordinator))))
    if len(dags) != 1:
        problem = f"does not say which of {dags}" if dags else "finds no DAG that makes this source's partitions"
        raise SettingsError("--run", True, problem, "Name it: --dag DAG_ID")
    return dags[0]


def _tell_merged(coordinator: SourceCoordinator, keys: Set[str]) -> None:
    """Say of which partitions rows are left in what was merged: nobody reads them, and erasing is another matter."""
    store, source, prefix = coordinator.store, coordinator.source, coordinator.partition_prefix
    try:
        overlays = read_overlays(store, source, None, prefix)
    except CoordinationError as error:
        say(f"Whether rows are left in what was merged cannot be seen: {error}")
        return
    left = sorted(keys & {origin.key for overlay in overlays.row for origin in overlay.covers})
    if left:
        options = ["--output-root", "ROOT", "--now", left[0]]
        run = command("compaction run", source, prefix=prefix, shell=shell_of(store), options=options)
        more = f" and of {len(left) - 1} more" if len(left) > 1 else ""
        say(f"Rows of {shown(left[0])}{more} are left in what was merged, where no reader meets them.")
        say(f"They go when that is merged again: {run}; then collect.")


def _told(partitions: Sequence[Partition], do: Callable[[Partition], object]) -> int:
    """Do something with every partition, say for which it was refused and why, and return for how many it was not."""
    refused = 0
    for error in each(_with_progress(partitions), do):
        if error is None:
            continue
        refused += 1
        if refused <= TOLD:
            say(f"Error: {error}")
    if refused > TOLD:
        say(f"Error: {refused - TOLD} more were refused.")
    return len(partitions) - refused


def _with_progress(partitions: Sequence[Partition]) -> Iterable[Partition]:
    """Return the partitions; going through many of them draws a bar on a terminal."""
    if len(partitions) < MANY or not sys.stderr.isatty():
        return partitions
    from rich.console import Console
    from rich.progress import track

    return track(partitions, "Partitions", console=Console(stderr=True), transient=True)


def migrate(context: CommandContext, args: Namespace) -> None:
    """Create the store's schema or migrate it to this version, telling what is done: a takeover may take hours."""
    with _aloud():
        context.store.setup()
    say(f"Store {context.store.store_id} at {context.store.description} is up to date.")


class _Saying(logging.Handler):
    """Says what is logged, without times and names."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


@contextmanager
def _aloud() -> Iterator[None]:
    """Say what this package's stores log."""
    log, saying = logging.getLogger(stores.__name__), _Saying()
    before = log.level, log.propagate
    log.addHandler(saying)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(saying)
        log.setLevel(before[0])
        log.propagate = before[1]


def agreed(args: Namespace, would: str, question: str, store: PartitionStore) -> bool:
    """Return whether a command shall do what it has shown; where it shall not, say that nothing was changed.

    :param args: ``dry_run``, where the command has one, and ``yes``.
    :param would: what a dry run says that it would do.
    :raises SettingsError: where there is nobody to ask.
    """
    if getattr(args, "dry_run", False):
        say(f"Dry run: would {would}. Nothing was changed.")
        return False
    if args.yes or confirmed(question, store):
        return True
    say("Nothing was changed.")
    return False


def confirmed(question: str, store: PartitionStore) -> bool:
    """Ask on a terminal, naming the store that would be changed.

    :raises SettingsError: where there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise SettingsError("--yes", False, "is needed where there is no terminal to ask on", "Add --yes, or --dry-run")
    say(f"The store is {store.description}.")
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def pause(context: CommandContext, args: Namespace) -> None:
    """Hold new leases of a source back, after showing what is at stake.

    :raises InvalidInputError: when it is to last for what is no time.
    """
    _set(context, args, paused=True, lasts=None if args.lasts is None else _duration(args.lasts))


def resume(context: CommandContext, args: Namespace) -> None:
    """Let a paused source go on."""
    _set(context, args, paused=False)


def _duration(text: str) -> timedelta:
    period = parse_period("--for", text, zero=False)
    if period.months:
        raise InvalidInputError("--for", text, "has months or years, which are not always as long", "Give days: P30D")
    return period.rest


def _set(context: CommandContext, args: Namespace, *, paused: bool, lasts: timedelta | None = None) -> None:
    """Pause or resume a source as it was shown.

    :raises SettingsError: when the store has never heard of the source.
    :raises PartitionUpdateError: when it is so already, or somebody else was faster.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    coordinator.looking.check_known()
    seen = coordinator.looking.outlook()
    coordinator.pausing.check_pause(paused, seen.pause)
    print_rows([_at_stake(args.source, seen)], args.output)
    verb = "pause" if paused else "resume"
    if not agreed(args, f"{verb} source {args.source}", f"{verb} source {args.source}?", context.store):
        return
    by = args.by or account()
    if paused:
        now = coordinator.pausing.pause(by, args.why, seen.pause, lasts=lasts)
    else:
        now = coordinator.pausing.resume(by, args.why, seen.pause)
    say(f"Done: source {args.source} was {now}.")
    if paused and seen.assigned:
        say(f"{seen.assigned} partition(s) are held; their owners finish, and acquire no other.")


def _at_stake(source: str, seen: Outlook) -> dict[str, object]:
    last: Pause = seen.pause
    now = foreseen(seen)
    return {
        "source": source,
        "paused": last.paused,
        "by": last.by,
        "at": last.at,
        "until": last.until,
        "why": last.why,
        "claimable": now.claimable,
        "held": now.held,
        "expired": now.expired,
        "delayed": now.delayed,
        "assigned": seen.assigned,
        "waiting": seen.waiting,
    }


SHOWN = 100
"""The most notes that are printed."""


def finish_actions(context: CommandContext, args: Namespace) -> int:
    """Do what notes of a source say, or only print them, or take them away undone; 1 when some stay.

    A note is in the store, and whoever may write there may have written it; so they are shown and asked about first.

    :raises InvalidInputError: when notes are to be forgotten for no reason.
    :raises CoordinationError: when the store does not answer.
    """
    if args.forget and not args.why:
        raise InvalidInputError("--why", args.why, "is missing", "Say why with --forget; it is kept in the audit")
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = list(coordinator.follow_ups.follow_ups(args.key))
    _show(found, args)
    if not found:
        say("Nothing is left to be done after partitions that have ended.")
        return 0
    if args.forget:
        return _forget(coordinator, found, args)
    return _do(coordinator, found, args)


def _show(found: list[FollowUp], args: Namespace) -> None:
    print_rows([_row(note) for note in found[:SHOWN]], args.output)
    if len(found) > SHOWN:
        say(f"These are the first {SHOWN} of {len(found)}. All of them together say:")
        for what, number in Counter(told(note) for note in found).most_common():
            say(f"  {what} ({number})")


def _do(coordinator: SourceCoordinator, found: list[FollowUp], args: Namespace) -> int:
    """Do what was shown, and no note that has come since."""
    options = options_in(args.options_from) if args.options_from and not args.dry_run else {}
    what = f"o what {len(found)} note(s) say, with the rights of this process"
    if not agreed(args, f"d{what}", f"D{what}?", coordinator.store):
        return 0
    [report] = run_duties(coordinator, [FollowUps(FollowUpRights.of_a_person(options), found)])
    done = report.result()
    for left in done.left_alone:
        say(f"Left alone: {left}.")
    for note, error in done.failed:
        say(f"Not done for {note.key!a}: {error}")
    untried = " Others were not tried, because too many failed in a row." if done.gave_up else ""
    gone = f" {done.gone} were done or taken back by others meanwhile." if done.gone else ""
    say(f"Done: {done.done} of {len(found)} note(s).{gone}{untried}")
    return 1 if done.done + done.gone < len(found) else 0


def _forget(coordinator: SourceCoordinator, found: list[FollowUp], args: Namespace) -> int:
    notes = f"{len(found)} note(s)"
    if not agreed(args, f"forget {notes}", f"Forget {notes} without doing what they say?", coordinator.store):
        return 0
    by = args.by or account()
    for note in found:
        coordinator.follow_ups.forget_follow_up(note, by, args.why)
    say(f"Done: forgot {len(found)} note(s). What they say was not done.")
    return 0


def _row(note: FollowUp) -> Row:
    said = {"key": note.key, "tenure": note.token, "noted_at": note.noted_at}
    return {**said, "to_do": told(note), "what": note.text}


NAMED: Final = 10
"""The most of those that go that are named."""
_AGE: Final = re.compile(r"(\d{1,6})([hd])")


def clean_up(context: CommandContext, args: Namespace) -> None:
    """Remove what may go, portion by portion; killed, it goes on when it is called again.

    :raises SettingsError: when the age is none, or there is nobody to ask.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    meant = CleanUp(age_of(args.clean_after), args.gone, args.by or account(), args.why)
    [looked] = run_duties(coordinator, [replace(meant, dry_run=True)])
    found = looked.result()
    about = f"{len(found.keys)} finished parent(s) of source {args.source}{_names(found)}"
    question = f"Clean up {about}? Whoever names one of them as a partition creates it anew."
    if (found.keys or args.dry_run) and not agreed(args, f"clean up {about}", question, context.store):
        return
    [report] = run_duties(coordinator, [meant]) if found.keys else [looked]
    left = f" {report.stays} had changed meanwhile and were left." if report.stays else ""
    say(f"Done: cleaned up {len(report.result().keys)} finished parent(s) of source {args.source}.{left}")


def age_of(text: str, option: str = "--clean-after") -> timedelta:
    """Return the duration that ``text`` says, in hours or days.

    :param option: how the error names it.
    :raises SettingsError: when it says none.
    """
    if not (age := _AGE.fullmatch(text)):
        raise SettingsError(option, text, "is no age", "Write a number of hours or days: 36h, 2d")
    return timedelta(hours=int(age[1]) * (24 if age[2] == "d" else 1))


def _names(found: CleanedUp) -> str:
    named = ", ".join(map(shown, found.keys[:NAMED])) + (", …" if len(found.keys) > NAMED else "")
    return f": {named}" if named else ""
