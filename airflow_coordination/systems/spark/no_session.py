"""In the place of a session, for partition functions that need no Spark: such as one that copies files."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

_NOTHING: Final = SimpleNamespace(get=lambda *_: None)


class NoSession:
    """A session without jobs, as far as a tenure asks one: it never stops, and there is nothing to cancel."""

    is_stopped: Final = False
    conf: Final = _NOTHING

    def addTag(self, tag: str) -> None:  # noqa: N802
        """Mark nothing."""

    def removeTag(self, tag: str) -> None:  # noqa: N802
        """Take no mark away."""

    def interruptTag(self, tag: str) -> None:  # noqa: N802
        """Cancel nothing."""

    def registerProgressHandler(self, handler: Any) -> None:  # noqa: N802
        """Tell nobody of jobs that are none."""

    def removeProgressHandler(self, handler: Any) -> None:  # noqa: N802
        """Tell nobody of jobs that are none."""

    def getTags(self) -> set[str]:  # noqa: N802
        """Return no marks."""
        return set()
