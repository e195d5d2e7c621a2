"""Which published files surely have no row that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_coordination.outputs.index import roots_read
from airflow_coordination.outputs.leaving_out.conditions import Condition
from airflow_coordination.outputs.leaving_out.kept import kept_values
from airflow_coordination.outputs.manifests import Manifest, digest_of
from airflow_coordination.systems.objects.storage import join


@dataclass(slots=True)
class Chosen:
    """What is known of files before they are read.

    :param excluded: addresses of those that surely have no such row.
    :param unknown: how many files there are of which nothing is known about any column that is asked for.
    """

    excluded: set[str] = field(default_factory=set)
    unknown: int = 0


def chosen(identifier: str, dataset: str, manifests: Sequence[Manifest], condition: Condition) -> Chosen:
    """Look at what the index has of files; without one, and of what it lacks, nothing is known.

    Files of overlays, which have rows of many origins, and of other formats than Parquet are always read.

    :param identifier: the stored identifier of the source.
    :param manifests: as they were published.
    """
    roots = roots_read(manifest.address for manifest in manifests if not manifest.merged)
    known, found = kept_values(identifier, dataset, roots), Chosen()
    for manifest in manifests:
        plain = known and manifest.format == "parquet" and not manifest.merged
        values = known.get(digest_of(manifest.to_bytes()), {}) if plain else {}
        for file in manifest.files:
            extremes = values.get(file.path, {})
            found.unknown += not any(each.column in extremes for each in condition.row)
            told = file.schema or manifest.schema
            if told and condition.excludes(extremes):
                found.excluded.add(join(manifest.directory, file.path))
    return found
