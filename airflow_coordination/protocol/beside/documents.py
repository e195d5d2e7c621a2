"""Documents of a source: texts with versions, the newest of which counts, each written by somebody for a reason.

One document is the source's *view*, which says what readers see of what was published; others are its rules. They are
small, read whole, and changed by compare-and-swap: whoever writes names the version that was there.

Source: Druid's dynamic configuration, whose changes name an author and a comment and keep their history.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError

VIEW: Final = "view"
"""The name of the document that says what readers see of a source."""
RULES: Final = "rules/"
"""How the names of the documents begin that say the rules of a dataset."""
DEFAULT_RULES: Final = f"{RULES}_default"
"""The name of the document of the rules that come after those of each dataset: one of all sources with a prefix."""
LOCATIONS: Final = "locations"
"""The name of the document that says where copies may lie: one of all sources with a prefix."""
LOST_LOCATIONS: Final = "locations/lost"
"""The name of the document that says which of them cannot be read, and since when: one of all sources with a prefix."""
COMPACTION: Final = "compaction/"
"""How the names of the documents begin that say how a dataset is compacted."""
CONFIGURATION: Final = "coordinator"
"""The name of the document that configures the duties: one of all sources with a prefix (Druid's path of it)."""
MAX_DOCUMENT_BYTES: Final = 64 * 1024
MAX_NAME_BYTES: Final = 300
ABSENT: Final = 0
"""The version of a document that nobody has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A version of a document, as it was written and stays.

    :param source: the stored source identifier.
    :param name: the document's name in it.
    :param version: 1 for the first, and one more each time.
    :param content: JSON.
    :param author: who has written it.
    :param comment: why.
    :param op: the operation that has written it.
    :param at: when, by the store's clock.
    """

    source: str
    name: str
    version: int
    content: str
    author: str
    comment: str
    op: str
    at: datetime


def said_in(name: str, text: str, max_depth: int, remedy: str) -> Any:
    """Return what the text of a document says.

    :param name: how the error names it.
    :param max_depth: the most levels of arrays and objects.
    :param remedy: what to write instead.
    :raises InvalidInputError: when it is no JSON, or longer than a document.
    """
    try:
        return parse(text, max_bytes=MAX_DOCUMENT_BYTES, max_depth=max_depth)
    except ValueError as error:
        raise InvalidInputError(name, text[:200], f"is no JSON ({error})", remedy) from None


@dataclass(frozen=True, slots=True)
class BranchCounts:
    """How far the partitions of a branch are: those that were reset into it or created in it, and run there still.

    :param partitions: how many there are.
    :param completed: how many of them have completed.
    :param parked: how many wait for a person.
    """

    partitions: int = 0
    completed: int = 0
    parked: int = 0


@dataclass(frozen=True, slots=True)
class Looked:
    """What somebody saw who is about to change a document.

    :param document: its newest version; ``None`` where there is none.
    :param now: when that was, by the store's clock.
    :param counts: how far the branch was that was asked for, in the same moment or later.
    """

    document: Document | None
    now: datetime
    counts: BranchCounts | None = None

    @property
    def content(self) -> str | None:
        """What it says; ``None`` where there is no document."""
        return self.document.content if self.document else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDocument:
    """Write the next version of a document, if the newest one is the one seen.

    :param source: the stored source identifier.
    :param name: the document's name in it, at most :data:`MAX_NAME_BYTES`.
    :param seen: the newest version as it was read; :data:`ABSENT` where there was none.
    :param content: JSON, at most :data:`MAX_DOCUMENT_BYTES`.
    :param author: who writes it.
    :param comment: why.
    :param op: of this step: a repetition is the same version once more.
    """

    source: str
    name: str
    seen: int
    content: str
    author: str
    comment: str
    op: str

    @property
    def version(self) -> int:
        """The version that it writes."""
        return self.seen + 1

    def written(self, at: datetime) -> Document:
        """Return the version that it writes.

        :param at: the store's time.
        """
        return Document(
            source=self.source,
            name=self.name,
            version=self.version,
            content=self.content,
            author=self.author,
            comment=self.comment,
            op=self.op,
            at=at,
        )
