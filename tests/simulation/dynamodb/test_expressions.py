"""The grammar: what it takes, what it makes of it, and that it guesses nothing."""

from __future__ import annotations

import pytest

from tests.simulation.dynamodb.expressions import compiled
from tests.simulation.dynamodb.items import Attribute, Item
from tests.simulation.dynamodb.key_conditions import Bounds
from tests.simulation.dynamodb.rejections import Rejected

NAMES = {"#n": "number", "#t": "text", "#x": "absent"}
ITEM: Item = {"number": {"N": "10"}, "text": {"S": "é"}}
VALUES: dict[str, Attribute] = {
    ":9": {"N": "9"},
    ":10": {"N": "10"},
    ":text": {"S": "é"},
    ":f": {"S": "f"},
    ":N": {"S": "N"},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("#n = :10", True),
        ("#n = :9", False),
        ("#n > :9", True),
        ("#n <= :9", False),
        ("#n >= :10", True),
        ("#n < :f", False),
        ("#n = :text", False),
        ("#t > :f", True),
        ("#x = :10", False),
        ("#x < :10", False),
        ("#n < #n", False),
        ("#n <= #n", True),
        ("#n <= #x", False),
        ("#x < #n", False),
        ("attribute_exists(#t)", True),
        ("attribute_exists(#x)", False),
        ("attribute_not_exists(#x)", True),
        ("attribute_type(#n, :N)", True),
        ("attribute_type(#t, :N)", False),
        ("attribute_type(#x, :N)", False),
        ("#n = :9 OR #t = :text", True),
        ("#n = :10 AND #t = :f OR #t = :text", True),
        ("#n = :10 AND (#t = :f OR #t = :text)", True),
        ("(#n = :9 AND (#t = :f OR #t = :text))", False),
        ("NOT #n = :10", False),
        ("(NOT (#n = :10 AND #t = :f))", True),
        ("#t = :text AND (NOT #x = :9)", True),
    ],
)
def test_a_condition(text: str, *, holds: bool) -> None:
    condition = compiled(text).condition
    assert condition is not None
    assert condition(ITEM, NAMES, VALUES) is holds


def test_an_update_computes_from_the_item_as_it_was() -> None:
    update = compiled(None, "SET #t = #n, #n = #n + :9 ADD #x :10 REMOVE #y").update
    assert update is not None
    names = NAMES | {"#y": "other"}
    after = update.apply(ITEM | {"other": {"BOOL": True}}, names, VALUES)
    assert after == {"text": {"N": "10"}, "number": {"N": "19"}, "absent": {"N": "10"}}
    assert ITEM == {"number": {"N": "10"}, "text": {"S": "é"}}


@pytest.mark.parametrize("text", ["SET #n = #x", "SET #n = #x + :9", "SET #n = #t + :9", "ADD #t :9"])
def test_an_update_that_does_not_fit_the_item_is_refused(text: str) -> None:
    update = compiled(None, text).update
    assert update is not None
    with pytest.raises(Rejected):
        update.apply(ITEM, NAMES, VALUES)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("#n = :a", Bounds("a", None, None)),
        ("(#n = :a AND #t = :b)", Bounds("a", ("b", True), ("b", True))),
        ("#n = :a AND #t > :b", Bounds("a", ("b", False), None)),
        ("#n = :a AND #t >= :b", Bounds("a", ("b", True), None)),
        ("#n = :a AND #t < :b", Bounds("a", None, ("b", False))),
        ("#n = :a AND #t <= :b", Bounds("a", None, ("b", True))),
        ("(#n = :a AND #t BETWEEN :b AND :c)", Bounds("a", ("b", True), ("c", True))),
    ],
)
def test_a_key_condition(text: str, bounds: Bounds) -> None:
    key = compiled(None, None, text).key
    assert key is not None
    assert key.bounds({f":{letter}": {"S": letter} for letter in "abc"}) == bounds


@pytest.mark.parametrize(
    "text",
    [
        "NOT #n",
        "#n IN (:9, :10)",
        "#n BETWEEN :9 AND :10",
        "begins_with(#t, :f)",
        "contains(#t, :f)",
        "size(#t) = :9",
        "number = :9",
        ":9 = #n",
        "#n = #t",
        "#n.#t = :9",
        "#n[0] = :9",
        "#n = :9 #t",
        "(#n = :9",
        "#n = :9 and #t = :f",
        "",
    ],
)
def test_what_the_store_does_not_say_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotImplementedError, match="in the expression"):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        "SET #n = if_not_exists(#n, :9)",
        "SET #n = #n - :9",
        "SET #n = #n + :9 + :10",
        "SET #n = :9 + #n",
        "SET #n.#t = :9",
        "DELETE #n :9",
        "ADD #n #t",
        "REMOVE #n[0]",
    ],
)
def test_an_update_that_the_store_does_not_say_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotImplementedError, match="in the expression"):
        compiled(None, text)


@pytest.mark.parametrize(
    "text", ["#n = :a OR #t = :b", "#n > :a", "begins_with(#n, :a)", "#n = :a AND begins_with(#t, :b)"]
)
def test_a_key_condition_that_the_store_does_not_say_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotImplementedError, match="in the expression"):
        compiled(None, None, text)


@pytest.mark.parametrize(
    ("test", "change"),
    [
        ("#n < :it", None),
        ("attribute_type(#n, :it)", None),
        (None, "ADD #n :it"),
        (None, "SET #n = #n + :it"),
    ],
)
def test_a_value_without_use_there_is_refused_before_anything_is_looked_at(
    test: str | None, change: str | None
) -> None:
    said = compiled(test, change)
    with pytest.raises(Rejected, match="operand type"):
        said.check({"#n": "number"}, {":it": {"BOOL": True}})


@pytest.mark.parametrize("names", [{}, {"#n": "number", "#more": "x"}])
def test_placeholders_are_those_of_the_expressions(names: dict[str, str]) -> None:
    with pytest.raises(Rejected, match="ExpressionAttributeNames"):
        compiled("#n = :9").check(names, {":9": {"N": "9"}})
