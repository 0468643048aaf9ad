from __future__ import annotations

from typing import Literal

import pytest

from transferbench.errors import UserError
from transferbench.models.external import ANY
from transferbench.parameters import Count, Weight, convert, parse, resolve, schema, takes_seed


def model(
    problem, *, k: Count = 4, lam: Weight = 1.0, how: Literal["a", "b"] = "a", on: bool = True,
    seed: int, watch=None,
):  # fmt: skip
    """A function with the signature of a model's fit."""


def test_the_signature_is_the_schema():
    assert list(schema(model)) == ["k", "lam", "how", "on"]
    assert takes_seed(model)
    assert not takes_seed(lambda problem, *, C=1.0: None)


def test_given_values_are_converted_and_the_rest_are_defaults():
    assert resolve(model, {"k": 8.0, "lam": "1e2"}, "m") == {
        "k": 8, "lam": 100.0, "how": "a", "on": True
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kk": 1}, "unknown parameter of m 'kk'. Did you mean 'k'?"),
        ({"seed": 1}, "unknown parameter of m 'seed'"),
        ({"k": 0}, "m: parameter k: expected integer ≥ 1, got 0"),
        ({"k": 1.5}, "expected integer ≥ 1, got 1.5"),
        ({"k": True}, "expected integer ≥ 1, got True"),
        ({"k": "many"}, "expected integer ≥ 1, got 'many'"),
        ({"lam": -1}, "expected number ≥ 0, got -1"),
        ({"lam": None}, "expected number ≥ 0, got None"),
        ({"how": "c"}, "expected one of a, b, got 'c'"),
        ({"on": "perhaps"}, "expected true or false, got 'perhaps'"),
    ],
)
def test_a_wrong_value_is_a_one_line_error_with_what_was_expected(given, message):
    with pytest.raises(UserError) as error:
        resolve(model, given, "m")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_assignments_get_the_types_of_the_schema():
    given = parse(("k=8", "lam=1e2", "how=b", "on=no"))
    assert resolve(model, given, "m") == {"k": 8, "lam": 100.0, "how": "b", "on": False}
    assert parse(("text=[a=z",)) == {"text": "[a=z"}
    assert convert("none", Count | None, "k") is None
    assert convert("7", Count | None, "k") == 7
    assert convert("none", str, "how") == "none"
    with pytest.raises(UserError, match="integer ≥ 1 or none"):
        convert("x", Count | None, "p")
    with pytest.raises(UserError, match="NAME=VALUE"):
        parse(("k",))
    with pytest.raises(UserError, match="'k' is given twice; give it once"):
        parse(("k=1", "k=2"))


def test_a_list_can_be_given_as_text_with_commas_or_as_one_value():
    layers = tuple[Count, ...]
    assert convert("200,40", layers, "p") == (200, 40)
    assert convert(7, layers, "p") == convert("7", layers, "p") == convert([7], layers, "p") == (7,)
    with pytest.raises(UserError, match="p: expected list of integer ≥ 1, got"):
        convert("200,x", layers, "p")


@pytest.mark.parametrize("type_", [int, float, Count, Weight, int | None, ANY])
@pytest.mark.parametrize("text", ["1_0", " 1_0", "-1_000", "1_0e2", "1_0.5"])
def test_underscores_make_no_number(type_, text):
    with pytest.raises(UserError, match=r"expected .*; write numbers without _\."):
        convert(text, type_, "p")


def test_only_digits_make_numbers_and_texts_stay():
    for wrong in ("0x10", "\uff15", "\u0663", "1e400", "nan", "true", True, "", "1,5"):
        with pytest.raises(UserError, match="expected number"):
            convert(wrong, Weight, "p")
    for given, value in ((" 5", 5), ("+5", 5), (".5", 0.5), ("5.", 5), ("1E2", 100), (7, 7)):
        assert convert(given, Weight, "p") == value
    for wrong in ("1_0,2", ["1_0"], [True, 2]):
        with pytest.raises(UserError, match="expected list of integer"):
            convert(wrong, tuple[Count, ...], "p")
    assert convert("1_0", str, "p") == "1_0"
    assert convert("a_1", ANY, "p") == "a_1"
