"""An index of OpenSearch: bulks by record id, fenced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.systems.http.request import check_address, know_headers
from airflow_coordination.systems.http.sink import ANSWER_WITHIN
from airflow_coordination.systems.opensearch.bulk import OpenSearchWriter
from airflow_coordination.systems.patience import RETRY_FOR, check_sink
from airflow_coordination.systems.sink import (
    Guarantee,
    SinkNotReadyError,
    SinkTask,
    SinkWriter,
    check_chosen,
    check_fence_names,
    without_library,
)
from airflow_coordination.values.input_errors import InvalidInputError

_NOT_IN_NAMES: Final = frozenset(' *?,"<>|/\\#:')
_OF_OPENSEARCH: Final = frozenset({"_id", "_index", "_routing", "_source", "_version", "_field_names", "_ignored"})
_BLOCKS: Final = ("read_only", "read_only_allow_delete", "write")
_NO_PIPELINE: Final = "_none"


@dataclass(frozen=True, slots=True)
class OpenSearchSink:
    """Writes records into an index, each as the document whose ``_id`` is its key.

    *Fenced*: a document's version is the fence's token (``external_gte``), and two further fields tell which partition
    wrote it, under which token. An owner that lost its lease cannot overwrite what its successor wrote. Another
    partition can: let the key of a record belong to one partition. A document that only a lost tenure wrote stays,
    under its fence.

    The index, or the alias of one index, must be there and know the two fields; :meth:`setup` sees to both. Driver and
    executors need opensearch-py (``pip install 'airflow-coordination[opensearch]'``).

    :param url: ``http://`` or ``https://``, without a user's name or password: give a header.
    :param index: its name, or an alias of one index.
    :param where: an SQL condition of Spark; ``None`` for all records.
    :param headers: further headers, such as ``Authorization``. Their values are treated as secrets.
    :param ca_certs: a file of certificates to trust, on the driver and each executor; ``None`` for the usual ones.
    :param fence_fields: the names of the two fields: keyword, and long.
    :param columns: the columns that are in the documents, whose ``_id`` is the key in any case; ``None`` for
        all. Conditions see the others all the same.
    :param bulk_records: how many records one request holds.
    :param timeout: how long one request may take.
    :param retry_for: how long transient answers, for the whole bulk or some records, are repeated.
    :raises InvalidInputError: naming the argument that cannot be used.
    """

    url: str
    index: str
    where: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_certs: str | None = None
    fence_fields: tuple[str, str] = ("lease_partition", "lease_fence")
    bulk_records: int = 1_000
    timeout: timedelta = ANSWER_WITHIN
    retry_for: timedelta = RETRY_FOR
    columns: tuple[str, ...] | None = None
    guarantee: Guarantee = field(default=Guarantee.FENCED, init=False)

    def __post_init__(self) -> None:
        check_address(self.url)
        check_fence_names("fence_fields", self.fence_fields)
        name: object = self.index
        if not isinstance(name, str) or not name or name[0] in "_-+." or _NOT_IN_NAMES & set(name):
            raise InvalidInputError("index", name, "is no name of one index", "Give an index or an alias, no pattern")
        know_headers(self.headers)
        check_sink(self.retry_for, self.bulk_records)
        check_sink(self.timeout, self.bulk_records, field="timeout")
        object.__setattr__(self, "columns", check_chosen(self.columns))

    def setup(self) -> None:
        """Create the index unless it is there, and add the two fields of the fence to its mapping.

        :raises SinkNotReadyError: when OpenSearch cannot be reached, or refuses.
        """
        partition, token = self.fence_fields
        mapping = {"properties": {partition: {"type": "keyword"}, token: {"type": "long"}}}
        with self._asked() as client:
            if client.indices.exists(index=self.index):
                client.indices.put_mapping(index=self.index, body=mapping)
            else:
                client.indices.create(index=self.index, body={"mappings": mapping})

    def check(self, columns: Sequence[str], key: str) -> None:
        """Look whether the index is there and can keep the fence.

        :raises SinkNotReadyError: naming what is missing, and the remedy.
        :raises InvalidInputError: for columns whose names are taken.
        """
        self._check_columns(self.columns or columns)
        with self._asked() as client:
            found = client.indices.get(index=self.index, ignore=[404])
            if found.get("status") == 404:
                remedy = "Create it with the mapping you want, then run OpenSearchSink(…).setup()"
                raise SinkNotReadyError("index", self.index, "does not exist", remedy)
            if len(found) != 1 or "data_stream" in next(iter(found.values())):
                problem = "is several indices or a data stream, where a document has no place of its own"
                raise SinkNotReadyError("index", self.index, problem, "Give one index, or an alias of one")
            [about] = found.values()
            self._check_open(client, about.get("settings", {}).get("index", {}))
        self._check_mapping(about.get("mappings", {}))

    def open(self, task: SinkTask) -> SinkWriter:
        """Return a writer with a connection of its own."""
        return OpenSearchWriter(
            self.client(),
            self.index,
            task,
            fence_fields=self.fence_fields,
            retry_for=self.retry_for,
            columns=self.columns,
        )

    def client(self) -> Any:
        """Return a new client of opensearch-py. It repeats nothing itself."""
        from opensearchpy import OpenSearch

        trusted: dict[str, Any] = {"ca_certs": self.ca_certs} if self.ca_certs else {}
        return OpenSearch(
            hosts=[self.url],
            headers=dict(self.headers),
            timeout=self.timeout.total_seconds(),
            max_retries=0,
            pool_maxsize=1,
            **trusted,
        )

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        try:
            from opensearchpy.exceptions import OpenSearchException
        except ModuleNotFoundError as error:
            raise without_library("index", self.index, error, "airflow-coordination[opensearch]") from error
        client = self.client()
        try:
            yield client
        except OpenSearchException as error:
            told = f"{type(error).__name__}: {error}"[:300]
            remedy = "Check the address and the rights, from the driver and from each executor"
            raise SinkNotReadyError("index", self.index, f"cannot be used: {told}", remedy) from error
        finally:
            client.close()

    def _check_columns(self, columns: Sequence[str]) -> None:
        taken = {*self.fence_fields, *_OF_OPENSEARCH}
        if wrong := [name for name in columns if name in taken]:
            problem = "is a name that OpenSearch or the fence needs itself"
            raise InvalidInputError("records", wrong[0], problem, "Rename the column, or give other fence_fields=(…)")

    def _check_open(self, client: Any, settings: Mapping[str, Any]) -> None:
        """Refuse an index that would take no record whatever is in it."""
        if settings.get("verified_before_close") == "true":
            raise SinkNotReadyError("index", self.index, "is closed", f"POST /{self.index}/_open, or give another")
        blocks = settings.get("blocks", {})
        if shut := sorted(name for name in _BLOCKS if blocks.get(name) == "true"):
            problem = f"takes no records: index.blocks.{shut[0]} is set"
            raise SinkNotReadyError("index", self.index, problem, "Take the block away, or give another index")
        for name in ("default_pipeline", "final_pipeline"):
            pipeline = settings.get(name, _NO_PIPELINE)
            if pipeline != _NO_PIPELINE and client.ingest.get_pipeline(id=pipeline, ignore=[403, 404]) == {}:
                problem = f"sends each record through the pipeline {pipeline!r}, which does not exist"
                raise SinkNotReadyError("index", self.index, problem, f"Create it, or set index.{name} to another")

    def _check_mapping(self, mapping: Mapping[str, Any]) -> None:
        known = mapping.get("properties", {})
        for name, wanted in zip(self.fence_fields, ("keyword", "long"), strict=True):
            if known.get(name, {}).get("type") != wanted:
                problem = f"has no field {name!r} of the type {wanted}, which tells who wrote a document"
                raise SinkNotReadyError("index", self.index, problem, "Run OpenSearchSink(…).setup() once")
        if mapping.get("_routing", {}).get("required"):
            problem = "wants a routing with each document, which this sink does not send"
            raise SinkNotReadyError("index", self.index, problem, "Give an index without required _routing")
        if set(mapping.get("_source", {})) & {"enabled", "includes", "excludes"}:
            problem = "does not keep the whole _source, in which the fence is looked up"
            raise SinkNotReadyError("index", self.index, problem, "Give an index that keeps it")
