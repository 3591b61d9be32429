"""Recognition of text that the bundled question head was trained on."""

from __future__ import annotations

from nersery import io
from nersery.io.input_files.shipped import shipped
from nersery.models.bundled_models.question_text import FILE, WIDTH, count_known, fingerprint

KNOWN = "Frederick H. Collier was the first colonel ."
"""A sentence of Wikigold (CC BY 4.0)."""


def test_case_tokenization_and_punctuation_do_not_matter():
    versions = (KNOWN, KNOWN.lower(), "frederick h . collier was the first colonel", KNOWN.replace(" ", "\u00a0 "))
    assert [count_known([text.split()]) for text in versions] == [1] * len(versions)


def test_other_words_and_short_sentences_are_not_known():
    others = (KNOWN.replace("first", "second"), "", ". . . . . .", "Thank you so much")
    assert count_known(text.split() for text in others) == 0
    assert fingerprint(["Yes", "."]) == b""


def test_the_example_corpus_is_not_known():
    for path in shipped("recipes/example").glob("*.conll"):
        assert count_known(sentence.words for sentence in io.read(path)) == 0


def test_the_file_is_small_and_sorted():
    content = FILE.read_bytes()
    hashes = [content[start : start + WIDTH] for start in range(0, len(content), WIDTH)]
    assert hashes == sorted(set(hashes))
    assert {len(one) for one in hashes} == {WIDTH}
    assert len(content) < 300_000
