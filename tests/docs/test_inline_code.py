"""Code in the text of pages, and in what our errors say, names what there is: attributes and arguments."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

import pytest

from airflow_coordination.leases import Lease, Partition, SourceCoordinator
from airflow_coordination.outputs.attempts import OpenBlock
from airflow_coordination.spark import PartitionLease, ShardBatch, ShardBatches
from airflow_coordination.stores.in_memory import InMemoryStore
from tests.docs.pages import PAGES, label
from tests.house.tree import PACKAGE, ROOT

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
ROOMS = ("decorators", "follow_ups", "hooks", "leases", "operators", "outputs", "sensors", "sinks", "sources", "spark",
         "stores", "streams", "testing", "triggers")  # fmt: skip
OBJECTS = {
    "batch": (ShardBatch,),
    "batches": (ShardBatches,),
    "block": (OpenBlock,),
    "coordinator": (SourceCoordinator,),
    "lease": (PartitionLease,),
    "lease.partition": (Partition,),
}
"""What the pages call by these names."""
PAGES_TODAY = [page for page in PAGES if page.parent.name != "decisions"]
"""A decision has the words of its day."""


@cache
def public_names() -> dict[str, object]:
    """Return what our rooms offer, by name."""
    found = {}
    for room in ROOMS:
        module = import_module(f"{PACKAGE.name}.{room}")
        found |= {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return found


def arguments(of: object) -> set[str] | None:
    """Return the arguments of a callable, those of all a class inherits from among them; ``None`` if any name goes."""
    functions = [each.__init__ for each in of.__mro__ if "__init__" in vars(each)] if inspect.isclass(of) else [of]
    functions = [each for each in functions if inspect.isfunction(each)]
    return {name for each in functions for name in inspect.signature(each).parameters} if functions else None


def parsed(code: str) -> list[ast.AST]:
    """Return the nodes of a piece of code; nothing of what is no Python. ``…`` stands for whatever it may be."""
    text = re.sub(r"=(?=[,)])", "=...", " ".join(code.split()).replace("…", "..."))
    try:
        return list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return []


def unknown_attributes(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield what an object that the pages speak of does not have."""
    for node in nodes:
        owners = OBJECTS.get(ast.unparse(node.value)) if isinstance(node, ast.Attribute) else None
        if owners and node.attr != "py" and not any(node.attr in known_of(owner) for owner in owners):
            yield ast.unparse(node)


def known_of(owner: type) -> set[str]:
    """Return the attributes of a class's objects, fields and parts among them."""
    parts = vars(SourceCoordinator(InMemoryStore(), "flights", "ana")) if owner is SourceCoordinator else ()
    return {*dir(owner), *getattr(owner, "__annotations__", {}), *parts}


def unknown_arguments(nodes: list[ast.AST], names: dict[str, object]) -> Iterator[str]:
    """Yield the arguments that a public name does not take."""
    for node in nodes:
        called = names.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        taken = arguments(called) if callable(called) else None
        if taken is not None:
            yield from (f"{node.func.id}({each.arg}=)" for each in node.keywords if each.arg not in {*taken, None})


def wrong_code(text: str) -> Iterator[str]:
    """Yield what the code in the text of a page names, and what there is not."""
    for code in INLINE.findall(FENCED.sub("", text)):
        nodes = parsed(code)
        yield from (*unknown_attributes(nodes), *unknown_arguments(nodes, public_names()))


@pytest.mark.parametrize("page", PAGES_TODAY, ids=label)
def test_source_s7_inline_code_names_what_there_is(page) -> None:
    """S7: the page on Kafka named ``lease.key``, which does not exist."""
    assert list(wrong_code(page.read_text())) == []


def test_source_s7_what_our_errors_say_names_what_there_is() -> None:
    """S7: so did a remedy."""
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = re.findall(r"\blease\.(?!py\b)([a-z]\w*)", node.value)
                known = (
                    known_of(PartitionLease) | known_of(Lease)
                    if "spark" not in path.parts
                    else known_of(PartitionLease)
                )
                wrong += [
                    f"{path.relative_to(ROOT)}:{node.lineno}: lease.{name}" for name in named if name not in known
                ]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("lease.key", ["lease.key"]),
        ("lease.partition.keys", ["lease.partition.keys"]),
        ("lease.partition.payload", []),
        ("coordinator.people.reopen(key)", []),
        ("coordinator.persons.reopen(key)", ["coordinator.persons"]),
        ("with lease.publish(…)", []),
        ("drain(…, suplier=months)", ["drain(suplier=)"]),
        ("drain(supplier=)", []),
        ("LeasedSparkSubmitOperator(conn_id=…, max_leases=None)", []),
        ("LeasedSparkSubmitOperator(max_lease=None)", ["LeasedSparkSubmitOperator(max_lease=)"]),
    ],
)
def test_what_is_wrong_is_seen(code: str, wrong: list[str]) -> None:
    """The check can fail."""
    nodes = parsed(code)
    assert [*unknown_attributes(nodes), *unknown_arguments(nodes, public_names())] == wrong
