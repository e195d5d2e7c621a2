"""``branches diff``: what a branch changes for readers, partition by partition, before it counts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say, working
from airflow_coordination.duties.branches.look import BranchLook, Change, Contents, DatasetContents, KeyLook, look_at
from airflow_coordination.duties.branches.selection import named
from airflow_coordination.planning.view.view import BranchState

_TOLD: Final = {
    Change.NEW: "have rows with it alone",
    Change.GONE: "have none with it",
    Change.MISSING: "have completed in it and published nothing in the place of what they had, which stays",
    Change.SINCE: "have published elsewhere since, which stays",
    Change.HIDDEN: "have rows of an interval that is hidden, and show when it is restored",
}


def diff(context: CommandContext, args: Namespace) -> None:
    """Print what readers see of each partition without the branch and with it, and whose rows are others.

    :raises InvalidInputError: when there is no such branch, or it was rolled back.
    :raises OutputError: when something published is missing.
    :raises SettingsError: where there is no pyspark, and rows are to be compared.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    look = look_at(coordinator, args.number, args.dataset)
    contents: Contents = () if args.no_contents or not look.changed else _contents(context, look, args.master)
    same = {(each.dataset, each.key): each.same for dataset in contents for each in dataset.keys}
    print_rows([_row(each, same.get((each.dataset, each.key))) for each in look.keys], args.output)
    for sentence in _told(look, contents, compared=not args.no_contents):
        say(sentence)


def _contents(context: CommandContext, look: BranchLook, master: str) -> Contents:
    from airflow_coordination.spark.branch_look import compared_here  # what drivers need, and hardly a command

    with working("Comparing rows"):
        return compared_here(context.store, look, master=master)


def _row(look: KeyLook, same: bool | None) -> Row:
    return {
        "dataset": look.dataset,
        "key": look.key,
        "change": str(look.change),
        "contents": None if same is None else "same" if same else "different",
        "rows_before": look.rows_before,
        "rows_after": look.rows_after,
        "bytes_before": look.bytes_before,
        "bytes_after": look.bytes_after,
        "status": None if look.status is None else str(look.status),
    }


def _told(look: BranchLook, contents: Contents, *, compared: bool) -> Iterator[str]:
    branch = look.branch
    what = "Published, it changes" if branch.state is BranchState.BEGUN else "It changes"
    rows, size = f"{look.rows_before} → {look.rows_after}", f"{look.bytes_before} → {look.bytes_after}"
    changed = f"{len(look.changed)} of {len(look.keys)}"
    yield f"Branch {branch.number} is {branch.state}. {what} {changed}: {rows} rows, {size} bytes."
    for dataset in contents:
        yield from _of_dataset(dataset)
    if not compared and look.changed:
        yield "Rows were not compared (--no-contents)."
    for change, what in _TOLD.items():
        if found := look.of(change):
            yield f"{len(found)} {what}: {_named(found)}."
    if look.silent:
        what = "partition(s) have completed in it and published nothing at all"
        yield f"{len(look.silent)} {what}: {named(look.silent)}."
    if look.unfinished:
        yield f"{len(look.unfinished)} partition(s) have not completed in it yet: {named(look.unfinished)}."


def _of_dataset(dataset: DatasetContents) -> Iterator[str]:
    name = dataset.dataset
    if dataset.different:
        yield f"{len(dataset.different)} of {name} have other rows: {named(each.key for each in dataset.different)}."
    else:
        yield f"All {len(dataset.keys)} of {name} that change have the same rows as before."
    if dataset.only_before:
        yield f"Columns of {name} that are there without it only, not compared: {', '.join(dataset.only_before)}."
    if dataset.only_after:
        yield f"Columns of {name} that are there with it only, not compared: {', '.join(dataset.only_after)}."
    for column, (before, after) in dataset.retyped.items():
        yield f"Column {column} of {name} was {before}, and is {after} with it."


def _named(looks: Sequence[KeyLook]) -> str:
    return named(f"{each.key} ({each.dataset})" for each in looks)
