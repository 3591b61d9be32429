"""Values that columns cannot hold are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nersery.core.errors import DataError
from nersery.core.sentence import Entity, Sentence
from nersery.io import writer


@pytest.mark.parametrize(
    ("sentence", "separator", "message"),
    [
        (Sentence(("New York",)), " ", "'New York' cannot be a value with spaces as separators"),
        (Sentence(("a",), (Entity(0, 1, "creative work"),)), " ", "'creative work'"),
        (Sentence(("a",), columns=(("",),)), " ", "'' cannot be a value with spaces as separators"),
        (Sentence(("a",), comments=("no hash",)), "\t", "comment 'no hash'"),
        (Sentence(("a",), comments=("# nersery: the last column is the tag",)), "\t", "would not be read as a comment"),
        (Sentence(("a",), comments=("#a\tO",)), "\t", "would not be read as a comment"),
    ],
)
def test_what_columns_cannot_hold_is_refused(sentence: Sentence, separator: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        writer("conll", separator=separator).encode(replace(sentence, id="s7"))
    assert caught.value.issues[0].sentence == "s7"


def test_differing_numbers_of_extra_columns_are_refused() -> None:
    encoder = writer("conll")
    encoder.encode(Sentence(("a",), columns=(("x",),)))
    with pytest.raises(DataError, match=r"sentence 2: .*it has 0 extra columns, .* before it have 1"):
        encoder.encode(Sentence(("b",), id="2"))
