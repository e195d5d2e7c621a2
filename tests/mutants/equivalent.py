"""Generated mutants that nothing can tell from the code as it is, and why."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

_HELD: Final = "only what is held has a time at which its lease ends"
_NO_TOMBSTONE: Final = "a tombstone is never held"
_WAITS_FOR_NOBODY: Final = "what waits for a parent is never acquired, so what is held, or was, waits for nobody"
_CHAIN: Final = "whatever changes its status writes its last operation, too, which is asked for"
_AS_IT_IS: Final = "what is held has that value already"

EQUIVALENT: Final[tuple[tuple[str, str], ...]] = (
    ("rule.acquire/conjunct 1", _HELD),
    ("rule.reclaim/conjunct 1", _HELD),
    ("rule.act.* held/conjunct 1", _NO_TOMBSTONE),
    ("rule.act.* held/loses waits_for", _WAITS_FOR_NOBODY),
    ("rule.act.* held/field waits_for", _WAITS_FOR_NOBODY),
    *(
        (f"rule.{rule}/loses waits_for", _WAITS_FOR_NOBODY)
        for rule in ("acquire", "acquire_as_seen", "retake", "steal", "end")
    ),
    ("rule.reclaim/loses waits_for", _WAITS_FOR_NOBODY),
    ("rule.reopen/loses waits_for", _WAITS_FOR_NOBODY),
    ("rule.act.release held/after always then 1", _WAITS_FOR_NOBODY),
    ("rule.act.* held/field reopen_at", _AS_IT_IS),
    ("rule.reclaim/field reopen_at", _AS_IT_IS),
    ("rule.act.release held/field closed_count", _AS_IT_IS),
    ("rule.act.[dfp]* held/field closed_count", _AS_IT_IS),  # delete, finish, park
    ("rule.act.[dfp]* held/field available_at", _AS_IT_IS),
    ("rule.act.clean_up free/conjunct 2", _CHAIN),
    ("rule.act.clean_up free/conjunct 6", "for what has finished nobody comes to wait"),
    ("rule.place/conjunct [12]", _CHAIN),
    ("rule.act.retract free/loses staged", "it is refused while blocks are staged"),
    *(
        (f"rule.act.clean_up free/field {name}", "a completion has taken it away")
        for name in ("reopen_at", "available_at", "staged", "waits_for", "awaited_op")
    ),
    ("rule.act.clean_up free/loses failures", "a completion has set it to 0"),
    ("rule.act.clean_up free/loses lost_leases", "a completion has set it to 0"),
    ("rule.begin/conjunct 1", _CHAIN),
    ("rule.begin/conjunct 3", "the nonce is asked for as the operation before, too"),
    ("rule.retake/conjunct 1", "only what is held has an owner"),
    ("rule.retake/conjunct 2", "no two tenures have the same last operation, which is asked for"),
    ("rule.followed/conjunct [14]", "the operation that parked it is asked for, and nothing was written since"),
    ("rule.refresh/conjunct 1", "the reset that is asked for as its last operation has given it this generation"),
    ("rule.refresh/conjunct [34]", _CHAIN),
    *(
        (f"rule.refresh/loses {name}", "a reset has begun it anew")
        for name in ("closed_count", "failures", "lost_leases", "progress_text", "staged")
    ),
    ("rule.adopt/conjunct 1", "who holds nothing has no try"),
    ("rule.reopen/conjunct 1", "only what is closed has a time to reopen"),
    ("rule.steal/conjunct 1", "only what is held has a lease that still runs"),
    ("rule.steal/conjunct 2", "the mark that is asked for names the tenure, too"),
    ("rule.reclaim/field closed_count", _AS_IT_IS),
)
"""Patterns of names, and the reason."""


def reason_of(name: str) -> str | None:
    """Return why nothing can catch this mutant, ``None`` if something can."""
    return next((reason for pattern, reason in EQUIVALENT if fnmatchcase(name, pattern)), None)
