"""What histories of runs are compared with: the view as it was during each call."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol.beside.documents import VIEW, Document
from airflow_coordination.testing.history import Kind, Operation, Told
from airflow_coordination.testing.history.views import Views
from tests.branching.noted import KnownViews

BEGINS, ROLLS_BACK = 10.0, 20.0
AT = datetime(2013, 1, 1, tzinfo=UTC)


def test_calls_of_a_long_history_that_is_read_in_parts_are_not_mistaken_for_one_another() -> None:
    """A call that is gone leaves its place in memory to a later one; the view may have changed in between."""
    changes = [_operation(Kind.VIEW, BEGINS, "began", 1), _operation(Kind.VIEW, ROLLS_BACK, "rolled", 2)]
    views, known = Views(_documents(), changes), KnownViews(_documents(), changes)
    seen = set()
    for time in _times():
        made = _operation(Kind.RESET, time)
        seen.add(id(made))
        assert known.during(made) == views.during(made)
        assert known.state_of(1, made) == views.state_of(1, made)
    assert len(seen) < 20, "no call has come to stand where another one was: it shows nothing"
    assert known.state_of(1, _operation(Kind.RESET, BEGINS + 5)) is not None


def _times() -> Iterator[float]:
    yield from (1.5 * number for number in range(20))


_NUMBERS = count()


def _operation(kind: Kind, time: float, comment: str = "", version: int = 0) -> Operation:
    """Return a call that took a second."""
    given = {"comment": comment} if comment else {}
    result = {"version": version} if version else {}
    return Operation(next(_NUMBERS), "one", kind, "a", None, given, time, Told.OK, time + 1, result)


def _documents() -> list[Document]:
    begun, number = changing.begun(EMPTY, {"all": True}, None, "ana", "late data", AT)
    texts = {"began": begun.text, "rolled": changing.rolled_back(begun, number, AT).text}
    return [
        Document(source="s", name=VIEW, version=at, content=text, author="ana", comment=said, op=said, at=AT)
        for at, (said, text) in enumerate(texts.items(), 1)
    ]
