"""One driver's own directory under one fence, the blocks it finishes there, and how these are checked."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_coordination.outputs.copies.pieces import Copied
from airflow_coordination.outputs.formats import TextOptions, check_quoted
from airflow_coordination.outputs.layout import (
    MARKER,
    Marker,
    attempt_directory,
    attempts_root,
    block_directory,
    is_data,
    is_hidden_by_name,
    partition_directory,
)
from airflow_coordination.outputs.manifests import (
    RESTORE,
    DataFile,
    Manifest,
    Reference,
    digest_of,
    is_due,
    write_trail,
)
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.outputs.parquet import Footer, FooterError, read_footer
from airflow_coordination.outputs.schema_compatibility import check_names, check_told
from airflow_coordination.outputs.zones import check_times
from airflow_coordination.systems.objects.storage import (
    OutputError,
    StoredFile,
    join,
    list_files,
    read_bytes,
    side_by_side,
    write_bytes,
)
from airflow_coordination.values.blocks import MAX_DATASET_BYTES, Block, Mode
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import check_users_name, partition_label, storable

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


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows and types of files that only reading them tells.

    :param rows: their number, ``None`` where the files tell it themselves.
    :param columns: their names, without partition columns.
    :param schema: Spark's JSON text of it where the files hold types, ``None`` where they are guessed (JSON, CSV).
    :param zone: the writer's time zone, if partition columns are times, or look like them.
    """

    rows: int | None
    columns: tuple[str, ...] = ()
    schema: str | None = None
    zone: str | None = None


Measure = Callable[[str, Sequence[str]], Measured]
"""Reads files (second argument, relative) in a directory (first), for formats that do not tell by file."""
Accept = Callable[[Manifest, Sequence[Manifest]], None]
"""Refuses a block (its manifest; those of the tenure before it) that cannot be read with the rest of its dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """A block that is being written.

    :param path: the directory to write into; it does not exist yet.
    :param dataset: the dataset it is for.
    :param options: for Spark's writer, ``df.write.options(**block.options)``, so that CSV and JSON give back what is
        written; empty where no schema was told, and for other formats.
    """

    path: str
    dataset: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def holds(self, finished: Block) -> bool:
        """Whether ``finished`` is what was written here."""
        return finished.address.startswith(f"{self.path}/")


def still_open(action: str, source: str, key: str, block: OpenBlock) -> OutputError:
    """Return the error for what is tried while a block is open: its rows would be lost (promise S14)."""
    problem = f"is a block of {block.dataset!r} that is still open"
    label = partition_label(source, key)
    return OutputError(f"{action} of {label}", block.path, problem, "Leave its with-block first")


@dataclass(slots=True)
class Attempt:
    """The directory of one driver process under one fence. Nobody else ever writes there.

    :param output_root: the directory of all output, normalised.
    :param source: the stored source identifier.
    :param key: the partition key.
    :param fence: the tenure.
    :param store_id: the store that gave the fence, so that another store's collector leaves the directory alone.
    """

    output_root: str
    source: str
    key: str
    fence: Fence
    store_id: str
    process: str = field(default_factory=lambda: secrets.token_hex(4))
    _numbers: int = 0
    _finished: list[Manifest] = field(default_factory=list)

    @property
    def finished(self) -> Sequence[Manifest]:
        """The manifests of its finished blocks."""
        return tuple(self._finished)

    @property
    def directory(self) -> str:
        """The directory of all its blocks."""
        partition = partition_directory(self.source, self.key)
        return join(attempts_root(self.output_root), partition, attempt_directory(self.fence, self.process))

    def open(self, dataset: str, options: TextOptions | None = None) -> OpenBlock:
        """Return the place for a new block.

        :param options: of its writer and readers.

        :raises InvalidKeyError: when ``dataset`` is empty, holds NUL, exceeds 255 bytes, or begins with ``~``.
        """
        check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
        if not self._numbers:
            self._mark()
        self._numbers += 1
        path = join(self.directory, block_directory(dataset, self._numbers))
        return OpenBlock(path=path, dataset=dataset, options=options.writing if options else {})

    def finish(
        self,
        block: OpenBlock,
        *,
        mode: Mode = "replace",
        follows: Reference | None = None,
        file_format: str = "parquet",
        options: TextOptions | None = None,
        measure: Measure | None = None,
        allow_empty: bool = False,
        schema: str | None = None,
        accept: Accept | None = None,
        only: Collection[str] | None = None,
        merged: Merged | None = None,
        copied: Copied | None = None,
    ) -> Block:
        """Write the manifest of what is in the block's directory now, and return the block.

        :param mode: append to the blocks that the partition published before, or replace them.
        :param follows: the manifest it adds to.
        :param file_format: Spark's name of the format.
        :param options: of its writer and readers.
        :param measure: counts rows where the files do not tell; without it they count as 0.
        :param allow_empty: there may be nothing in it.
        :param schema: the whole schema as Spark's JSON text, if it is known.
        :param accept: refuses what does not fit the rest of the dataset.
        :param only: the files that belong to it, as paths in its directory; all by default.
        :param merged: what it stands for, if it is an overlay.
        :param copied: what lies beside it in blocks of their own, if it is a copy.
        :raises OutputError: when the files cannot be read, are not of ``file_format``, or there are none although
            Spark would have written one.
        """
        listed = list_files(block.path)
        stored = [file for file in listed if is_data(file.path) and (only is None or file.path in only)]
        files = self._describe(block, stored, file_format)
        if options and options.exact and schema and file_format == "csv":
            check_quoted(block.path, [file.path for file in files], options, schema)
        measured = measure(block.path, [file.path for file in files]) if measure and files else None
        if measured and measured.schema:
            files = [replace(file, schema=measured.schema) for file in files]
        manifest = Manifest(
            source=self.source,
            key=self.key,
            dataset=block.dataset,
            fence=str(self.fence),
            directory=block.path,
            files=tuple(files),
            rows=copied.rows if copied else _rows(measured, files),
            format=file_format,
            options=dict(options.reading) if options else {},
            follows=follows,
            schema=schema,
            zone=measured.zone if measured else None,
            merged=merged,
            copied=copied.pieces if copied else (),
        )
        check_something_written(manifest, [file.path for file in listed], allow_empty=allow_empty)
        check_names(manifest, [file.path for file in listed], measured.columns if measured else ())
        check_told(manifest)
        check_times(manifest)
        if accept is not None:
            accept(manifest, self._finished)
        check_can_be_read(manifest)
        write_bytes(manifest.address, manifest.to_bytes())
        self._finished.append(manifest)
        self._leave_trail(manifest)
        return manifest.block(mode)

    def _leave_trail(self, manifest: Manifest) -> None:
        own = {each.address: each for each in self._finished if each.dataset == manifest.dataset}
        if manifest.follows and is_due(len(own), self.fence.token):
            write_trail(manifest, own)

    def forget(self, opened: Collection[OpenBlock]) -> None:
        """Take what was finished in these blocks for nothing: no ending will publish it.

        :param opened: blocks of this attempt.
        """
        paths = {block.path for block in opened}
        self._finished = [each for each in self._finished if each.directory not in paths]

    def check(self) -> None:
        """Look once more at every block that was finished here.

        :raises OutputError: when one of them is not as it was: what an ending published could not be read.
        """
        check_unchanged(self._finished)

    def _mark(self) -> None:
        """Say in the directory whose it is, so that the collector never has to guess."""
        marker = Marker(source=self.source, key=self.key, fence=self.fence, store_id=self.store_id)
        write_bytes(join(self.directory, MARKER), marker.to_bytes())

    def _describe(self, block: OpenBlock, stored: Sequence[StoredFile], file_format: str) -> list[DataFile]:
        if file_format != "parquet":
            return [DataFile(file.path, file.size) for file in stored]
        return side_by_side(lambda file: self._describe_parquet(block, file), stored)

    def _describe_parquet(self, block: OpenBlock, file: StoredFile) -> DataFile:
        address = join(block.path, file.path)
        try:
            footer = read_footer(address, file.size)
        except (FooterError, FileNotFoundError) as error:
            what = f"publish {block.dataset!r} of {partition_label(self.source, self.key)}"
            remedy = "Write Parquet that Spark reads into block.path, or name the format: lease.publish(…, format=…)"
            raise OutputError(what, address, str(error), remedy) from error
        return DataFile(file.path, file.size, footer.rows, footer.schema)


def _rows(measured: Measured | None, files: Sequence[DataFile]) -> int:
    told = measured.rows if measured else None
    return sum(file.rows or 0 for file in files) if told is None else told
