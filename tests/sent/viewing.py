"""What readers see of a source, as operations whose costs are counted: its documents, and partitions in a branch."""

from __future__ import annotations

from typing import Any

from airflow_coordination.planning.view.view import EMPTY
from airflow_coordination.protocol.beside.documents import VIEW, BranchCounts
from airflow_coordination.protocol.beside.parts import Branches, parts_of
from airflow_coordination.protocol.writes import Act, Action, Create, NewPartition
from airflow_coordination.testing.forwarding import there
from airflow_coordination.values.blocks import Block
from tests.sent.operations import OPERATIONS
from tests.sent.place import Place, Steps, operation

__all__ = ["OPERATIONS"]

BRANCH = 7
BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)


def changed(at: Place, content: str = EMPTY.text) -> None:
    """Write the next version of the view."""
    at.c.documents.change(VIEW, lambda _: content, "ana", "test")


def acting(at: Place, key: str, action: Action, **more: Any) -> Act:
    """Return a person's action on a partition as it is."""
    seen = at.c.partition(key)
    assert seen is not None
    said = {"op": at.order.op_id(), "by": "ana", "why": "test", **more}
    return Act(source=source(at), key=key, action=action, seen=seen, **said)


def source(at: Place) -> str:
    return f"{at.c.source}|PARTITION"


def branches(at: Place) -> Branches:
    return there(parts_of(at.store).branches)


def inside(at: Place, *keys: str) -> None:
    """Create partitions, and reset them into the branch."""
    at.c.create_partitions(keys)
    for key in keys:
        assert at.store.act(acting(at, key, Action.RESET, branch=BRANCH)).applied


@operation("read the view of a source: a reader does so twice")
def read_view(at: Place) -> Steps:
    changed(at)
    yield
    at.c.documents.view()


@operation("change a document: read it, and write its next version")
def change_document(at: Place) -> Steps:
    changed(at)
    yield
    changed(at, EMPTY.text + " ")


@operation("forget old versions of documents, of one there is one")
def forget_versions(at: Place) -> Steps:
    changed(at)
    changed(at, EMPTY.text + " ")
    now = at.store.now()
    yield
    assert there(parts_of(at.store).documents).forget_versions(source(at), VIEW, now) == 1


@operation("reset a partition into a branch")
def reset_into_branch(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    act = acting(at, "a", Action.RESET, branch=BRANCH)
    yield
    assert at.store.act(act).applied


@operation("create one in a branch")
def create_in_branch(at: Place) -> Steps:
    new = NewPartition(key="a", payload_text=None, priority=0)
    write = Create(source=source(at), op=at.order.op_id(), partitions=(new,), branch=BRANCH)
    yield
    assert at.store.create(write).created == 1


@operation("how far a branch of 3 is")
def count_branch(at: Place) -> Steps:
    inside(at, "a", "b", "c")
    yield
    assert branches(at).branch_counts(source(at), BRANCH).partitions == 3


@operation("the same together with the view, before it is published")
def look(at: Place) -> Steps:
    changed(at)
    inside(at, "a", "b", "c")
    yield
    seen = there(parts_of(at.store).documents).look(source(at), VIEW, BRANCH)
    assert seen.document is not None
    assert seen.counts == BranchCounts(3)


@operation("list a branch of 3 (up to 100 at a time)")
def list_branch(at: Place) -> Steps:
    inside(at, "a", "b", "c")
    yield
    assert len(branches(at).branch_partitions(source(at), BRANCH, None, 100)) == 3


@operation("empty one of the datasets that a partition has published")
def narrowed_retract(at: Place) -> Steps:
    at.c.complete(at.lease("a"), [BLOCK])
    act = acting(at, "a", Action.RETRACT, datasets=("clean",))
    yield
    assert at.store.act(act).applied
