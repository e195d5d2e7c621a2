"""Checks of blocks: something was written, it can be read, and nobody has changed it since, asked by both sides."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_coordination.outputs.errors import OutputError, partition_label
from airflow_coordination.outputs.layout import is_hidden_by_name
from airflow_coordination.outputs.manifests import RESTORE, DataFile, Manifest, digest_of
from airflow_coordination.outputs.parquet import Footer, FooterError, read_footer
from airflow_coordination.outputs.storage import list_files, read_bytes, side_by_side
from airflow_coordination.values.names import storable

log = logging.getLogger(__name__)

NEVER_EMPTY = frozenset({"parquet", "orc", "avro"})
"""Spark writes a file of these even for no rows, because the schema is in it."""


SUCCESS = "_SUCCESS"
"""The files that Spark leaves even of a write of no rows by partition columns."""


def check_something_written(manifest: Manifest, listed: Sequence[str], *, allow_empty: bool) -> None:
    """Warn about a block without files; refuse it where Spark would have left one, or where readers would see none.

    :param manifest: of the block.
    :param listed: all paths in its directory, hidden ones too.
    :param allow_empty: the function says that there may be nothing to write.
    :raises OutputError: when nothing was written into the block's directory, or only under names that are hidden.
    """
    hidden = next((path for path in listed if is_hidden_by_name(path, manifest.format)), None)
    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    if manifest.files or allow_empty:
        if hidden is not None:
            log.warning("Block of %s: %s has %a, which readers take for hidden", what, manifest.directory, hidden)
        return
    if hidden is not None:
        problem = f"has no file but {hidden!a}, and what begins with _ or . is hidden from readers"
        raise OutputError(what, manifest.directory, problem, "Give the file another name")
    if manifest.format in NEVER_EMPTY and not any(path.split("/")[-1] == SUCCESS for path in listed):
        raise OutputError(
            what,
            manifest.directory,
            f"has no file, although Spark writes one of {manifest.format} even for no rows; it may be somewhere else",
            "Write to block.path, or say lease.publish(…, allow_empty=True) where there may be nothing to write",
        )
    log.warning("Block of %s: %s has no data file, so no rows are published", what, manifest.directory)


def check_can_be_read(manifest: Manifest) -> None:
    """Refuse a block that would be published and that no reader could read.

    :raises OutputError: when its manifest would not be understood, or a file has a name that is no text.
    """
    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    if odd := next((file.path for file in manifest.files if not _is_text(file.path)), None):
        raise OutputError(
            what, f"{manifest.directory}/{storable(odd)}", "has a name that is not UTF-8", "Give it another name"
        )
    try:
        content = manifest.to_bytes()
    except (TypeError, ValueError) as error:
        problem = f"would have a manifest that cannot be written ({error})"
        raise OutputError(what, manifest.directory, problem, "Give options as text") from error
    try:
        Manifest.from_bytes(content, manifest.address)
    except OutputError as error:
        problem = f"would have a manifest that nobody can read: it {error.problem}"
        remedy = "Give options that readers know, as text, and columns of Spark's own types"
        raise OutputError(what, manifest.directory, problem, remedy) from error


def _is_text(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def check_unchanged(manifests: Sequence[Manifest]) -> None:
    """Look once more at finished blocks, side by side, before an ending makes them count.

    :raises OutputError: when a manifest or one of its files is missing, or is not as it was when the block was left.
    """
    side_by_side(_check_unchanged, manifests)


def _check_unchanged(manifest: Manifest) -> None:
    for file, found in _other_sizes(manifest):
        problem = "is gone" if found is None else f"has {found} bytes, not {file.size}"
        raise _changed(manifest, f"{manifest.directory}/{file.path}", problem)
    try:
        content = read_bytes(manifest.address)
    except FileNotFoundError as error:
        raise _changed(manifest, manifest.address, "is gone") from error
    if digest_of(content) != digest_of(manifest.to_bytes()):
        raise _changed(manifest, manifest.address, "has another content")


def check_published(manifests: Sequence[Manifest], *, rows: bool = False) -> None:
    """Look at published files before they are read: one listing for each block, side by side.

    :param rows: look into the footer of each Parquet file, too: one or two requests a file.
    :raises OutputError: when a file is missing or is not what was published, naming partition and file.
    """
    side_by_side(_check_published, manifests)
    if rows:
        side_by_side(
            _check_rows, [(each, file) for each in manifests if each.format == "parquet" for file in each.files]
        )


def _check_published(manifest: Manifest) -> None:
    for file, found in _other_sizes(manifest):
        problem = "is missing" if found is None else f"has {found} bytes, and {file.size} were published"
        raise _not_as_published(manifest, file, problem)


def _check_rows(published: tuple[Manifest, DataFile]) -> None:
    manifest, file = published
    footer = _footer(manifest, file)
    if footer.rows != file.rows or footer.schema != (file.schema or footer.schema):
        rows = "other columns" if footer.rows == file.rows else f"{footer.rows} rows, and {file.rows} were published"
        raise _not_as_published(manifest, file, f"has {rows}")


def told_by_footers(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return manifests with the schemas of Parquet files whose publisher did not look for them, as it does now.

    :raises OutputError: when a footer cannot be read, or has a column that Spark does not read.
    """
    asked = [(each, file) for each in manifests if each.format == "parquet" for file in each.files if not file.schema]
    found = dict(zip(((each.address, file.path) for each, file in asked), side_by_side(_schema, asked), strict=True))
    return [_with_schemas(each, found) for each in manifests] if found else list(manifests)


def _with_schemas(manifest: Manifest, found: Mapping[tuple[str, str], str | None]) -> Manifest:
    files = [replace(file, schema=found.get((manifest.address, file.path), file.schema)) for file in manifest.files]
    return replace(manifest, files=tuple(files))


def _schema(published: tuple[Manifest, DataFile]) -> str | None:
    return _footer(*published).schema


def _footer(manifest: Manifest, file: DataFile) -> Footer:
    try:
        return read_footer(f"{manifest.directory}/{file.path}", file.size)
    except (FooterError, FileNotFoundError) as error:
        raise _not_as_published(manifest, file, str(error)) from error


def _not_as_published(manifest: Manifest, file: DataFile, problem: str) -> OutputError:
    what = f"read the output of {partition_label(manifest.source, manifest.key)}"
    return OutputError(what, f"{manifest.directory}/{file.path}", problem, RESTORE)


def _other_sizes(manifest: Manifest) -> Iterator[tuple[DataFile, int | None]]:
    """Yield the files that are not there as the manifest says, with their size now; ``None`` for what is gone."""
    sizes = {file.path: file.size for file in list_files(manifest.directory)} if manifest.files else {}
    for file in manifest.files:
        if sizes.get(file.path) != file.size:
            yield file, sizes.get(file.path)


def _changed(manifest: Manifest, address: str, problem: str) -> OutputError:
    what = f"publish {manifest.dataset!r} of {partition_label(manifest.source, manifest.key)}"
    remedy = "Write to block.path inside its with-block only; publish again for more"
    return OutputError(what, address, f"{problem} since its with-block was left", remedy)
