"""Every promise has a test that is named after it, and no test is named after a promise that nobody made."""

from __future__ import annotations

from scripts.docs_promises import PROMISES, ROOT, named_after, proofs


def test_every_promise_has_a_test():
    """The page that lists them is kept fresh like every other."""
    assert [promise for promise in PROMISES if promise not in proofs()] == []


def test_the_protocols_promises_are_all_there():
    """Twenty-nine of safety and eleven of liveness."""
    numbered = [f"S{number}" for number in range(1, 30)] + [f"L{number}" for number in range(1, 12)]
    assert [promise for promise in PROMISES if promise[0] in "SL"] == numbered


def test_no_test_is_named_after_a_promise_that_is_not_there():
    """A wrong number would stand in no table."""
    assert [(file.relative_to(ROOT), test) for promise, file, test in named_after() if promise not in PROMISES] == []
