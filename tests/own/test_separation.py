"""Words that tell the documents of a target from the source's are named; HTML can be stripped."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest
from user_documents import make_documents, sentences

from transferbench.own import separation
from transferbench.own.doubts import data_doubts, fit_doubts
from transferbench.own.markup import share_with_tags, strip_tags
from transferbench.own.problem import documents_problem, used_options
from transferbench.own.separation import separations
from transferbench.problem import Fit

NUMBER = 80
HTML = '<div class="post">{}<br/>&nbsp;</div>'


def documents(name: str, form: str, seed: int, every: int = 1):
    """Return documents, every one of some number in a form."""
    texts = [text for text, _ in sentences(seed, NUMBER, 0)]
    labels = [label for _, label in sentences(seed, NUMBER, 0)]
    changed = [form.format(t) if i % every == 0 else t for i, t in enumerate(texts)]
    return make_documents(name, changed, labels)


def found(form: str, *, source: str = "{}", every: int = 1, **options):
    """Return the separation of the target, if there is one, and the doubts about the data."""
    parts = [documents("s.csv", source, 1)], [documents("t.csv", form, 2, every)]
    options = used_options([*parts[0], *parts[1]], options)
    problem, _ = documents_problem(*parts, options)
    separation = separations(problem, *parts, options)
    texts = [doubt.text for doubt in data_doubts(problem, separation)]
    return problem, separation, [text for text in texts if "separates its documents from" in text]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (HTML, ("div", "br", "class", "nbsp", "post")),
        ("{}\n-- \nSent from my iPhone", ("sent", "from", "my", "iphone")),
        ("{} zzconstant", ("zzconstant",)),
        ("**bold** {} [link](http://example.org)", ("bold", "link", "http", "example", "org")),
        ("{} 2024", ("2024",)),
    ],
    ids=["html", "signature", "constant", "markdown", "number"],
)
def test_words_of_one_domain_only_are_named(form, words):
    _, _, (text,) = found(form)
    named = text.partition("mainly by: ")[2].partition(" in the target")[0].split(", ")
    assert {*named} == {*words}
    assert ("the option html=strip" in text) == (form == HTML)
    _, _, (text,) = found("{}", source=form)
    assert words[0] in text.partition(" in the source")[0]


def test_another_language_is_named_by_its_words():
    backwards = [text[::-1] for text, _ in sentences(2, NUMBER, 0)]
    source = documents("s.csv", "{}", 1)
    target = make_documents("t.csv", backwards, [""] * NUMBER)
    options = used_options([source, target], {})
    problem, _ = documents_problem([source], [target], options)
    (separation,) = separations(problem, [source], [target], options).values()
    assert separation.suspicious
    assert len(separation.features.split(", ")) <= 10


@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("{}", {}),
        ("{{{}}}", {}),
        (HTML, {"source": HTML}),
        (HTML, {"html": "strip"}),
        ("{} &amp; <3", {"every": 8}),
        ("{} meeting", {"every": 2}),
    ],
    ids=["alike", "braces", "HTML in both", "stripped", "few", "half"],
)
def test_ordinary_documents_have_no_doubt(form, how):
    assert found(form, **how)[2] == []


def test_html_in_some_documents_is_named():
    _, _, (text,) = found(HTML, every=3)
    assert "div" in text
    assert "the option html=strip removes HTML" in text


@pytest.mark.parametrize(
    ("form", "every", "said"),
    [
        ("{} sent from my phone", 2, ".* phone.* in the source; this model learns from the sou"),
        (HTML, 1, "the source differs, see what separates it; this model learns from the source"),
    ],
)
def test_the_doubt_about_a_model_without_transfer_names_the_words_once(form, every, said):
    problem, separation, doubts = found(form, every=every)
    assert len(doubts) == (form == HTML)
    for text in doubts:
        assert re.match(r"a classifier separates its documents from .* \(AUC 1.00\), main", text)
        assert text.endswith(" or signatures, remove them (the option html=strip removes HTML)")
    fit = Fit(tuple(np.eye(2)[np.arange(NUMBER) % 2] for _ in range(2)))
    (doubt,) = fit_doubts("lr", problem, {}, fit, separation)
    assert re.match(said, doubt.text)
    (plain,) = fit_doubts("lr", problem, {}, fit)
    assert not re.search("phone|see what", plain.text)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("a < b and c > d, I <3 it", "a < b and c > d, I <3 it"),
        ("mail <ann@example.org>", "mail <ann@example.org>"),
        ("<p class='x'>one</p>two<br>three", " one two three"),
        ("A&nbsp;B &amp; &#67;&#x44;", "A\xa0B & CD"),
        ("x<!-- no <b> -->y<script>var a = '<p>';</script >z", "x y z"),
        ("open <style>p {} ", "open  "),
        ("<!DOCTYPE html><my-tag/>t", "  t"),
        (json.dumps({"a": 1}), '{"a": 1}'),
    ],
)
def test_tags_are_stripped_and_nothing_else(text, stripped):
    assert strip_tags(text) == stripped


def test_stripping_takes_linear_time():
    begin = time.process_time()
    for part in ("<", "<a ", "<!--", "<script ", "</script", "&a", "<p" * 3 + ">"):
        strip_tags(part * 30_000)
        share_with_tags([part * 30_000])
    assert time.process_time() - begin < 3


def test_shares_are_those_of_all_documents(monkeypatch):
    """The classifier sees a random part of the documents, the shares do not depend on it."""
    monkeypatch.setattr(separation, "SAMPLE", 40)
    _, found_by_part, _ = found("{} sent from my phone", every=2)
    (part,) = found_by_part.values()
    texts = [sentences(seed, NUMBER, 0) for seed in (1, 2)]
    for word in part.words:
        shares = [np.mean([word.name in text.split() for text, _ in of]) for of in texts]
        added = word.name in ("sent", "from", "my", "phone")
        assert (word.in_sources, word.in_target) == (shares[0], 0.5 if added else shares[1])
    assert {"sent", "from", "my", "phone"} <= {word.name for word in part.words}
