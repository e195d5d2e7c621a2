"""What a purge of a dataset would delete, for people to look at: it is carried out on the command line alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.acting import open_to_act
from airflow_coordination.board.showing.effects import too_many
from airflow_coordination.board.showing.models import PurgedHead, PurgeDryRunRequest, PurgeDryRunResult
from airflow_coordination.duties.retention.purge import ToPurge, to_purge
from airflow_coordination.outputs.published import Walk, starts_of, walks
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.planning.unused.emptying import Unseen
from airflow_coordination.planning.view.showing import branch_of
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.input_errors import InvalidInputError

SHOWN: Final = 5


def dry_run(user: BaseUser, asked: PurgeDryRunRequest) -> PurgeDryRunResult:
    """Say what a purge with the default margins would delete of a dataset; nothing is changed.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    """
    margins = Margins(datasets=(asked.dataset,))
    with open_to_act(user, asked.store, asked.source) as (store, coordinator):
        refusal, found = too_many(coordinator, asked.dataset), ToPurge()
        try:
            found = found if refusal else to_purge(coordinator, margins)
        except InvalidInputError as error:
            refusal = str(error)
        heads = [each.head for each in found.heads]
        files = _files(heads)
        return PurgeDryRunResult(
            sentence=_sentence(heads, files),
            margins=f"hidden for {margins.buffer}, and whose interval ended {margins.duration_to_retain} ago",
            heads=len(heads),
            rows=sum(head.rows for head in heads),
            bytes=sum(head.bytes for head in heads),
            files=None if files is None else sum(files),
            samples=_samples(found.heads, files),
            marks=[str(each.interval) for each in found.marks],
            skipped=dict(found.skipped),
            refusal=refusal,
            typed=_typed(store, asked),
        )


def _typed(store: PartitionStore, asked: PurgeDryRunRequest) -> str:
    options = ["--dataset", asked.dataset, "--output-root", remedies.WHY, "--dry-run"]
    return remedies.about(remedies.shell_of(store), "outputs purge", asked.source, options=options)


def _sentence(heads: Sequence[HeadRecord], files: Sequence[int] | None) -> str:
    if not heads:
        return "Nothing would be deleted."
    partitions, rows = len({head.key for head in heads}), sum(head.rows for head in heads)
    said = f"{rows:,} rows and {sum(head.bytes for head in heads):,} bytes of {partitions:,} partition(s)"
    if files is None:
        return f"{said} would be deleted; how many files that is cannot be read from here."
    return f"{sum(files):,} file(s) with {said} would be deleted."


def _files(heads: Iterable[HeadRecord]) -> list[int] | None:
    """Return how many files each of these has published; ``None`` where a manifest cannot be read from here."""
    try:
        return [_number(walks(starts_of([head]))) for head in heads]
    except (OutputError, ImportError):
        return None


def _number(found: Iterable[Walk]) -> int:
    return sum(len(manifest.files) for walk in found for manifest in walk.chain)


def _samples(heads: Sequence[Unseen], files: Sequence[int] | None) -> list[PurgedHead]:
    return [
        PurgedHead(
            key=each.head.key,
            branch=branch_of(each.head),
            rows=each.head.rows,
            bytes=each.head.bytes,
            files=None if files is None else files[place],
            since=each.since,
            why=each.why,
        )
        for place, each in enumerate(heads[:SHOWN])
    ]
