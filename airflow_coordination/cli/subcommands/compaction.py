"""``compaction …``: what is merged next and why, doing it here, how far it is, how it is set, and giving it up."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Sequence

from airflow_coordination.cli.context import CommandContext, account
from airflow_coordination.cli.documents import print_versions, text_of
from airflow_coordination.cli.output import Row, print_rows, say, working
from airflow_coordination.cli.subcommands.acting import agreed
from airflow_coordination.duties.compaction.by_hand import at_once, give_up
from airflow_coordination.duties.compaction.configured import compaction_document, drafted, said_by, set_compaction
from airflow_coordination.duties.compaction.indexing import index_datasets
from airflow_coordination.duties.compaction.plan import Plan, State, Task
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.search import Group
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import SettingsError


def plan(context: CommandContext, args: Namespace) -> int:
    """Show what would be merged next, and make groups of it claimable; return 1 if somebody else plans."""
    planner = _planner(context, args, _slots(args))
    configs = _configs(args.config) or planner.configs()
    looked = planner.look(configs)
    print_rows([_task_row(task) for task in looked.tasks], args.output)
    begins = len(looked.begins)
    about = f"{begins} group(s) of source {args.source} claimable"
    if not agreed(args, f"make {about}", f"Make {about}?", context.store):
        return 0
    done = planner.run(configs, full=True)
    if done.rival is not None:
        until = f" until {done.rival_until.isoformat(timespec='seconds')}" if done.rival_until else ""
        say(f"{done.rival} plans{until}. Nothing was changed.")
        return 1
    index_datasets(planner.coordinator, [config.dataset for config in configs])
    moved = f" {len(done.moved)} had changed meanwhile and were left." if done.moved else ""
    say(f"Done: {len(done.begun)} group(s) of source {args.source} are claimable.{moved}")
    return 0


def run(context: CommandContext, args: Namespace) -> int:
    """Merge here what is claimable, with a Spark session of this process; return 1 if a group failed.

    :raises SettingsError: where there is no pyspark.
    """
    planner = _planner(context, args)
    if args.now is not None:
        for task in at_once(planner, args.now, args.by or account()):
            say(f"{task.key}: {task.state}")
    from airflow_coordination.spark.draining import drain  # what drivers need, and no other command does
    from airflow_coordination.spark.upkeep import compact
    from airflow_coordination.systems.spark.session import session_here

    with working("Merging"), session_here(args.master, f"compaction of {args.source}", "let a DAG merge") as spark:
        done = drain(
            compact,
            store=context.store,
            source=merged_source(args.source),
            spark=spark,
            output_root=args.output_root,
            max_leases=args.max_groups,
            partition_prefix=args.partition_prefix,
        )
    for key, error in done.errors:
        say(f"Error: {key}: {error}")
    say(f"Done: merged {done.completed} group(s) of source {args.source}; {len(done.errors)} failed or were lost.")
    return int(bool(done.errors))


def status(context: CommandContext, args: Namespace) -> None:
    """Print how far each dataset is, and say what the next run would take and what has failed."""
    looked = _planner(context, args).look()
    rows: list[Row] = []
    for name, each in looked.progress.items():
        tasks = [task for task in looked.tasks if task.work.dataset == name]
        rows.append(
            {
                "dataset": name,
                "percent": round(each.percent, 1),
                "compacted_bytes": each.compacted.bytes,
                "awaiting_bytes": each.awaiting.bytes,
                "awaiting_partitions": each.awaiting.heads,
                "skipped_bytes": each.skipped.bytes,
                "begin_next": sum(task.state in (State.CREATE, State.RESET) for task in tasks),
                **{_named(state): sum(task.state is state for task in tasks) for state in _COUNTED},
            }
        )
    print_rows(rows, args.output)
    for task in looked.tasks:
        if task.state is State.FAILED:
            say(f"{task.key}: {task.detail}")


_COUNTED = (State.UNDER_WAY, State.NO_SLOT, State.FAILED, State.LEFT)


def _named(state: State) -> str:
    return state.replace(" ", "_")


def explain(context: CommandContext, args: Namespace) -> None:
    """Print every chunk with the reason why it is merged, or is not."""
    looked = _planner(context, args).look()
    print_rows(list(_chunk_rows(looked)), args.output)


def _chunk_rows(looked: Plan) -> Iterable[Row]:
    told = set()
    for task in looked.tasks:
        told.add((task.work.dataset, task.work.chunk, task.work.part))
        yield _task_row(task)
    for group in (*looked.found.left, *looked.found.done, *looked.found.groups):
        if (group.dataset, group.chunk, group.part) not in told:
            yield _group_row(group)


def _task_row(task: Task) -> dict[str, object]:
    return {
        "dataset": task.work.dataset,
        "chunk": str(task.work.chunk),
        "part": task.work.part,
        "reason": task.reason,
        "partitions": task.heads,
        "bytes": task.bytes,
        "state": str(task.state),
        "detail": task.detail,
        "group": task.key,
    }


def _group_row(group: Group) -> dict[str, object]:
    return {
        "dataset": group.dataset,
        "chunk": str(group.chunk),
        "part": group.part,
        "reason": str(group),
        "partitions": len(group.heads),
        "bytes": group.bytes,
        "state": "",
        "detail": "",
        "group": "",
    }


def off(context: CommandContext, args: Namespace) -> None:
    """Take back all that is merged of a dataset, after looking whether the originals are there."""
    planner, by = _planner(context, args), args.by or account()
    looked = give_up(planner, args.dataset, by, args.why, dry_run=True)
    about = f"{len(looked.groups)} group(s) of dataset {args.dataset} of source {args.source}"
    back = (
        f"readers go back to {looked.originals} original file(s), and {looked.bytes} bytes of merged ones are nobody's"
    )
    if not agreed(args, f"give up {about}: {back}", f"Give up {about}? Then {back}.", context.store):
        return
    try:
        done = give_up(planner, args.dataset, by, args.why)
    except PartitionUpdateError:
        say("Some groups may have been given up. Nothing is lost; repeat the command.")
        raise
    say(f"Done: gave up {len(done.groups)} group(s). Take the dataset out of PlanCompactionOperator(configs=), too.")


def get(context: CommandContext, args: Namespace) -> None:
    """Print how a dataset is compacted, as JSON: as its document says, else as it was compacted last."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    found = coordinator.documents.newest(compaction_document(args.dataset))
    if found is not None:
        print(json.dumps(said_by(found).to_json(), indent=2, ensure_ascii=False))
        say(f"Version {found.version} of {_of(args)}, by {found.author} at {found.at.isoformat()}: {found.comment}")
        return
    last = {each.dataset: each for each in Planner(coordinator).remembered().configs()}.get(args.dataset)
    print(json.dumps(last.to_json() if last else {}, indent=2, ensure_ascii=False))
    say(f"Nobody has set {_of(args)}{': it is as it was compacted last' if last else ''}.")


def set_(context: CommandContext, args: Namespace) -> None:
    """Set how a dataset is compacted, from a file or standard input.

    :raises InvalidInputError: when it is no configuration of this dataset.
    :raises SettingsError: when the file cannot be read, or there is nobody to ask.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    content = drafted(args.dataset, text_of(args.file))
    if agreed(args, f"set {_of(args)} to {content}", f"Set {_of(args)} to {content}?", context.store):
        written = set_compaction(coordinator, args.dataset, content, args.by or account(), args.why)
        version = f", version {written.version}" if written else ""
        say(f"Done: set {_of(args)}{version}. It is in force from the next run of compactSegments.")


def history(context: CommandContext, args: Namespace) -> None:
    """Print who has set how a dataset is compacted, when and why: so many versions, or those of an interval.

    :raises InvalidInputError: when the interval is none.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    print_versions(coordinator.documents.versions(compaction_document(args.dataset)), args)


def _of(args: Namespace) -> str:
    return f"how dataset {args.dataset} of source {args.source} is compacted"


def _planner(context: CommandContext, args: Namespace, slots: CompactionSlots | None = None) -> Planner:
    return Planner(context.coordinator(args.source, args.partition_prefix), slots)


def _slots(args: Namespace) -> CompactionSlots | None:
    """Return what is said of slots; ``None`` when nothing is: then they are as in the last run."""
    said = {"ratio": args.ratio, "max_slots": args.max_slots, "capacity": args.capacity}
    given = {name: value for name, value in said.items() if value is not None}
    return CompactionSlots(**given) if given else None


def _configs(texts: Sequence[str]) -> list[CompactionConfig]:
    """Return configurations that are given as JSON objects, under Druid's names.

    :raises SettingsError: when one is no JSON.
    :raises InvalidInputError: when one is no configuration.
    """
    found = []
    for text in texts:
        try:
            said = json.loads(text)
        except ValueError as error:
            remedy = 'Give such as {"dataset": "clean", "segmentGranularity": "MONTH"}'
            raise SettingsError("--config", text, f"is no JSON ({error})", remedy) from None
        found.append(CompactionConfig.from_json(said, "--config"))
    return found
