"""Corpora from and to spaCy's documents in memory."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import pytest
import spacy
import spacy.tokens

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError, SettingsError
from tests.io.test_libraries import CORPUS, content

PLACED = Sentence(
    ("Ada", "wrote", ".", "\u3000", "Bo", "slept"),
    (Entity(0, 1, "PER"), Entity(3, 5, "PER")),
    "1",
    "en",
    document="d",
    offsets=((7, 10), (12, 17), (17, 18), (18, 19), (19, 21), (22, 27)),
)


def test_the_language_of_documents_of_spacy_is_checked() -> None:
    with pytest.raises(SettingsError, match="language is 'english', expected a BCP 47 tag"):
        Corpus.from_spacy([], language="english")


def test_spacy_documents_survive_a_round_trip(tmp_path: Path) -> None:
    docs = CORPUS.to_spacy()
    assert [doc.lang_ for doc in docs] == ["en", "hi", "en"]
    assert [(span.text, span.label_) for span in docs[0].ents] == [("Ada Lovelace", "PER"), ("שלום", "MISC")]
    assert content(Corpus.from_spacy(docs)) == content(CORPUS)
    spacy.tokens.DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "a.spacy")
    vocab = spacy.blank("en").vocab
    back = Corpus.from_spacy(spacy.tokens.DocBin().from_disk(tmp_path / "a.spacy").get_docs(vocab), language="xx")
    assert content(back) == content(CORPUS)
    shared = CORPUS.to_spacy(spacy.blank("de"))
    assert {doc.lang_ for doc in shared} == {"de"}


def test_spacy_sentences_keep_their_place_in_the_document() -> None:
    text = "Ada  Lovelace wrote.\n\nShe lived in London."
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    doc = pipeline(text)
    doc.ents = [doc.char_span(0, 13, "PER"), doc.char_span(text.index("London"), len(text) - 1, "LOC")]
    corpus = Corpus.from_spacy(doc)
    assert [sentence.words for sentence in corpus] == [
        ("Ada", "Lovelace", "wrote", "."),
        ("She", "lived", "in", "London", "."),
    ]
    found = [text[start:end] for sentence in corpus for start, end, _ in sentence.character_spans]
    assert found == ["Ada  Lovelace", "London"]
    assert {sentence.document for sentence in corpus} == {"spacy:1"}
    again = Corpus.from_spacy(corpus.to_spacy())
    assert [s.character_spans for s in again] == [s.character_spans for s in corpus]
    assert [doc.text for doc in corpus.to_spacy()] == ["Ada Lovelace wrote.", "She lived in London."]


def test_keeps_words_if_sentence_boundaries_change() -> None:
    assert Corpus.from_spacy(Corpus([PLACED]).to_spacy()) == Corpus([PLACED])
    assert Corpus.from_spacy(CORPUS.to_spacy()) == CORPUS
    sentencizer = spacy.blank("en").add_pipe("sentencizer")
    first, second = Corpus.from_spacy([sentencizer(doc) for doc in Corpus([PLACED]).to_spacy()])
    assert (first.words, first.labels, first.offsets) == (PLACED.words[:3], ((0, 1, "PER"),), PLACED.offsets[:3])
    assert (second.words, second.labels, second.offsets) == (PLACED.words[3:], ((0, 2, "PER"),), PLACED.offsets[3:])
    assert {first.document, second.document} == {"d"}


def test_merged_and_split_tokens_keep_their_place() -> None:
    (doc,) = Corpus([PLACED]).to_spacy()
    with doc.retokenize() as tokens:
        tokens.merge(doc[1:3])
        tokens.split(doc[5], ["sle", "pt"], heads=[doc[4], doc[4]])
    (sentence,) = Corpus.from_spacy(doc)
    assert sentence.words == ("Ada", "wrote.", "\u3000", "Bo", "sle", "pt")
    assert sentence.offsets == ((7, 10), (12, 18), (18, 19), (19, 21), (22, 25), (25, 27))


def test_uses_offsets_of_the_doc_if_its_tokens_no_longer_fit() -> None:
    longer = Sentence(("Ada", "&", "Bo"), id="1", document="d", offsets=((0, 3), (4, 9), (10, 12)))  # &amp;
    (doc,) = Corpus([longer]).to_spacy()
    assert Corpus.from_spacy(doc)[0] == longer
    with doc.retokenize() as tokens:
        tokens.merge(doc[:2])
    (sentence,) = Corpus.from_spacy(doc)
    assert (sentence.words, sentence.offsets, sentence.document) == (("Ada &", "Bo"), ((0, 5), (6, 8)), "1")


def test_an_entity_of_white_space_is_an_error() -> None:
    doc = spacy.blank("en")("Ada   wrote")
    doc.ents = [spacy.tokens.Span(doc, 1, 2, "PER")]
    with pytest.raises(DataError, match=r"sentence spacy:1: the entity .* \(PER\) is white space\b"):
        Corpus.from_spacy(doc)


def test_an_entity_across_sentences_is_an_error() -> None:
    doc = spacy.blank("en")("Ada . Lovelace")
    for token, start in zip(doc, (True, False, True), strict=True):
        token.is_sent_start = start
    doc.ents = [spacy.tokens.Span(doc, 0, 3, "PER")]
    with pytest.raises(DataError, match="crosses the end of a sentence"):
        Corpus.from_spacy(doc)


def test_many_sentences_with_entities_take_linear_time() -> None:
    count, words = 1500, ["Ada", "wrote"]
    doc = spacy.tokens.Doc(spacy.vocab.Vocab(), words * count, sent_starts=[True, False] * count)
    doc.ents = [spacy.tokens.Span(doc, at, at + 1, "PER") for at in range(0, 2 * count, 2)]
    began = process_time()
    assert [sentence.labels for sentence in Corpus.from_spacy(doc)] == [((0, 1, "PER"),)] * count
    assert process_time() - began < 1, "all entities were searched for each sentence, which took 3 s"


def test_suggests_documents_for_spans_and_a_docbin() -> None:
    doc = spacy.blank("en")("Ada wrote")
    for spans in (doc[:1], [doc[:1]]):
        with pytest.raises(SettingsError, match=r"document 1 is the span Ada, expected a Doc. Give span.as_doc\(\)"):
            Corpus.from_spacy(spans)
    with pytest.raises(SettingsError, match=r"expected those of spaCy. For a DocBin, give its get_docs"):
        Corpus.from_spacy(spacy.tokens.DocBin(docs=[doc]))  # type: ignore[arg-type]


@pytest.mark.parametrize("vocab", ["en", 5])
def test_refuses_other_objects_as_a_vocabulary(vocab: Any) -> None:
    with pytest.raises(SettingsError, match=f"vocab is {vocab!r}, expected a Vocab of spaCy, or a pipeline"):
        Corpus([Sentence(("Ada",))]).to_spacy(vocab)
