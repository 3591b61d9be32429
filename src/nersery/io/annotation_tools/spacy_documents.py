"""Converts sentences from and to spaCy's documents. spaCy is not needed to read them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nersery.core.entity import Entity
from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.extras import required
from nersery.core.sentence import Sentence
from nersery.core.text.languages import primary
from nersery.core.text.spacing import spaces_in
from nersery.core.warnings import warn
from nersery.io.annotation_tools.standoff import layout
from nersery.io.base import read_options

MULTI_LANGUAGE = "xx"
"""spaCy's code for text in any language."""
_KEPT = ("id", "language", "document", "offsets")
"""The attributes of its sentence that a spaCy document keeps in ``user_data``."""


def spacy_sentences(docs: Any, options: Mapping[str, Any]) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_spacy`."""
    language = read_options(options, ("language",)).language if options else None
    if not hasattr(docs, "__iter__"):
        advice = ". For a DocBin, give its get_docs(nlp.vocab)" if hasattr(docs, "get_docs") else ""
        raise SettingsError(f"the documents are {shown(docs)}, expected those of spaCy{advice}")
    for number, doc in enumerate([docs] if hasattr(docs, "ents") else docs, start=1):
        if not hasattr(doc, "ents"):
            raise SettingsError(f"document {number} is {shown(doc)}, expected a Doc of spaCy")
        if hasattr(doc, "as_doc"):
            raise SettingsError(f"document {number} is the span {shown(doc)}, expected a Doc. Give span.as_doc()")
        yield from document_sentences(doc, f"spacy:{number}", language)


def document_sentences(doc: Any, id: str, language: str | None = None) -> Iterator[Sentence]:
    """The sentences of a document of spaCy.

    Args:
        id: Id of the document, unless `to_spacy` has put one into its ``user_data``.
    """
    user_data: Mapping[str, Any] = doc.user_data if isinstance(doc.user_data.get("id"), str) else {}
    id, is_ours = user_data.get("id") or id, user_data.keys() >= {*_KEPT}
    if doc.spans:
        warn(f"of spaCy's documents, only doc.ents are read, not the spans {', '.join(map(repr, doc.spans))}")
    document = user_data.get("document", "")
    own_offsets = _source_offsets(doc, user_data["offsets"]) if is_ours else None
    if own_offsets is None:
        document, own_offsets = id, [(token.idx, token.idx + len(token)) for token in doc]
    # In documents of `to_spacy`, each token is a word, even if it is a no-break space.
    words = {token.i for token in doc if is_ours or not token.is_space}
    ents = doc.ents  # in order and without overlap
    starts, ends = [entity.start for entity in ents], [entity.end for entity in ents]
    if wordless := [entity for entity in ents if words.isdisjoint(range(entity.start, entity.end))]:
        message = f"the entity {shown(wordless[0].text)} ({wordless[0].label_}) is white space, expected a word in it"
        raise DataError(Issue(message, sentence=id), fix="remove it from doc.ents")
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]] if len(doc) else []
    parts = [(span, tokens) for span in spans if (tokens := [token for token in span if token.i in words])]
    for sentence_number, (span, tokens) in enumerate(parts, start=1):
        word_positions, entities = {token.i: position for position, token in enumerate(tokens)}, []
        for entity in ents[bisect_right(ends, span.start) : bisect_left(starts, span.end)]:
            inside = [word_positions[token.i] for token in entity if token.i in word_positions]
            if entity.start < span.start or entity.end > span.end:
                message = f"the entity {shown(entity.text)} crosses the end of a sentence, expected it within one"
                raise DataError(Issue(message, sentence=id), fix="correct the sentence boundaries of the document")
            entities.append(Entity(inside[0], inside[-1] + 1, entity.label_))
        yield Sentence(
            tuple(token.text for token in tokens),
            tuple(entities),
            id if len(parts) == 1 else f"{id}:{sentence_number}",
            user_data.get("language", doc.lang_) if language is None else language,
            document=document,
            offsets=tuple(own_offsets[token.i] for token in tokens) if own_offsets else (),
        )


def _source_offsets(doc: Any, offsets: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]] | None:
    """The offsets of the tokens of a document of `to_spacy` in the text that its sentence came from.

    Args:
        offsets: Offsets of the words from which it was made. Its tokens may have been merged or split since.

    Returns:
        An empty sequence if that text is not known, and None if the tokens no longer fit it.
    """
    if not offsets:
        return ()
    characters: list[int] = []
    """The position of each character of the document in that text."""
    for (start, end), has_space in zip(offsets, [*spaces_in(offsets), False], strict=True):
        characters += range(start, end + has_space)
    if len(characters) == len(doc.text):
        return [(characters[token.idx], characters[token.idx + len(token) - 1] + 1) for token in doc]
    return offsets if len(offsets) == len(doc) else None


def spacy_vocabulary(language: str = "") -> Any:
    """The vocabulary of ``spacy.blank``, without a slow pipeline; that of `MULTI_LANGUAGE` for unknown languages."""
    spacy = required("spacy", "spacy")
    try:
        known = spacy.util.get_lang_class(language or MULTI_LANGUAGE)
    except ImportError:
        known = spacy.util.get_lang_class(MULTI_LANGUAGE)
    return required("spacy.vocab", "spacy").create_vocab(known.lang, known.Defaults)


def to_spacy(corpus: Iterable[Sentence], vocab: Any) -> Iterator[Any]:
    """See `nersery.Corpus.to_spacy`."""
    tokens = required("spacy.tokens", "spacy")
    vocabularies: dict[str, Any] = {}
    if not isinstance(getattr(vocab, "vocab", vocab), required("spacy.vocab", "spacy").Vocab | None):
        raise SettingsError(f"vocab is {shown(vocab)}, expected a Vocab of spaCy, or a pipeline")
    for sentence in corpus:
        language = primary(sentence.language)
        if vocab is None and language not in vocabularies:
            vocabularies[language] = spacy_vocabulary(language)
        shared = vocabularies[language] if vocab is None else getattr(vocab, "vocab", vocab)
        doc = tokens.Doc(shared, list(sentence.words), [*spaces_in(layout(sentence)[1]), False])
        doc.ents = [tokens.Span(doc, entity.start, entity.end, entity.type) for entity in sentence.entities]
        for name in _KEPT:
            doc.user_data[name] = getattr(sentence, name)
        yield doc
