"""Round trips of CoNLL files: words, tags, columns and comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nersery.core.sentence import Entity, Sentence
from nersery.core.tags import SCHEMES
from nersery.io import open_corpus, read, write
from tests.io.conll_texts import opened
from tests.io.strategies import sentences


def test_writes_extra_columns_and_comments_unchanged(path: Path) -> None:
    text = "-DOCSTART- -X- O\n\n# a\nAda\tNNP\tB-PER\nwrote\t\tO\n\n-DOCSTART-\n\nOslo\tNNP\tB-LOC\n\n"
    first, _ = corpus = list(opened(path, text))
    assert first.columns == (("NNP", ""),)
    assert first.comments == ("-DOCSTART- -X- O", "# a")
    write(corpus, path)
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("separator", ["\t", " "])
@given(data=st.data(), scheme=st.sampled_from(list(SCHEMES)))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, separator: str, data: st.DataObject, scheme: str) -> None:
    columns = data.draw(st.integers(0, 2))
    kind = sentences(forbidden=" " if separator == " " else "", columns=columns)
    written = data.draw(st.lists(kind, max_size=5))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write(written, path, scheme=scheme, separator=separator)
    back = read(path, word_column=1 if columns else None)
    assert [replace(sentence, id="") for sentence in back] == written


@given(
    st.lists(st.sampled_from(["# a", "#", "# sent_id = 5", "# x\ty", "-DOCSTART- -X- O", "-DOCSTART-", "# O"])),
    st.sampled_from(["-DOCSTART-", "#", "# id x", "a"]),
)
@example(["-DOCSTART-"], "-DOCSTART-")
def test_comments_and_words_like_comments_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, comments: Sequence[str], word: str
) -> None:
    sentence = Sentence((word, "x"), (Entity(1, 2, "X"),), comments=tuple(comments))
    path = tmp_path_factory.mktemp("round") / "a.conll"
    write([sentence, Sentence((word,))], path)
    first, second = read(path)
    assert (first.words, first.comments, first.labels) == ((word, "x"), tuple(comments), ((1, 2, "X"),))
    assert (second.words, second.comments) == ((word,), ())


NESTED = (
    "1\tDie\tO\tO\n2\tUni\tB-ORG\tO\n3\tKiel\tI-ORG\tB-ORG\n4\tgab\tO\tO\n\n"
    "1\tDer\tO\tO\n2\tTSV\tB-ORG\tO\n3\tAda\tI-ORG\tO\n4\ttrat\tO\tO\n5\tan\tO\tO\n6\t.\tO\tO\n7\t!\tO\tO\n\n"
)


@pytest.mark.parametrize("separator", ["\t", " "])
def test_reads_a_written_inner_level_as_the_tag(path: Path, separator: str) -> None:
    inner = list(opened(path, NESTED, tag_column=4))
    write(inner, path, separator=separator)
    source = open_corpus(path)
    assert "tag 4; columns 3 and 4 look like tags, 4 is read" in source.description
    assert list(source) == inner
    assert path.read_text("utf-8").count("# nersery: the last column is the tag\n") == 1


def test_does_not_read_extra_columns_as_predictions(path: Path) -> None:
    predicted = [sentence.with_entities(()) for sentence in opened(path, NESTED, tag_column=4)]
    write(predicted, path)
    assert [sentence.labels for sentence in read(path)] == [(), ()]
    assert list(read(path)) == predicted
    assert read(path, tag_column=3)[0].labels == ((1, 3, "ORG"),), "a named column is read all the same"


def test_does_not_mark_files_that_are_read_correctly_anyway(path: Path) -> None:
    outer = opened(path, NESTED)
    written = path.with_name("outer.conll")
    write(outer, written)
    assert "nersery" not in written.read_text("utf-8")
    text = "U-Bahn\tU-Bahn\tB-NP\tO\nhalt\thalten\tB-VP\tO\n\nEU\tEU\tB-NP\tB-ORG\n\n"
    write(opened(path, text), path)
    assert path.read_text("utf-8") == text


def test_a_word_may_begin_with_a_byte_order_mark(path: Path) -> None:
    corpus = [Sentence(("\ufeffIn", "\ufeff"), id="train:1"), Sentence(("\ufeff",), id="train:2", comments=("# a",))]
    write(corpus, path)
    assert list(read(path)) == corpus
    assert list(read(path, repair="byte-order-mark")) == corpus
