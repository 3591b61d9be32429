"""The conversions of `Corpus` from and to objects of other libraries.

The core cannot import formats, so it imports the module that does the work by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from datasets import Dataset
    from pandas import DataFrame
    from spacy.tokens import Doc


def conversion_hint(rows: Any, row: Any) -> str:
    """The hint that ends an error message if rows are not sentences but can be converted; otherwise empty.

    Args:
        row: One of the rows.
    """
    if hasattr(rows, "iloc"):
        return ". To make a corpus from a data frame, use Corpus.from_pandas"
    if hasattr(rows, "ents") or hasattr(row, "ents"):
        return ". To make a corpus from spaCy's documents, use Corpus.from_spacy"
    if isinstance(rows, Mapping) or isinstance(row, Mapping):
        return ". To make a corpus from a split of a dataset, or from rows with words and tags, use Corpus.from_dataset"
    if isinstance(row, list | tuple):
        return ". To make a corpus from lists of words and lists of tags, use Corpus.from_bio(words, tags)"
    if hasattr(row, "by_id"):
        return ". Give one corpus, or join several: one + other"
    if isinstance(row, str | Path) and os.path.exists(row):
        return ". Name one file, or join several: nersery.read(one) + nersery.read(other)"
    if isinstance(row, str):
        return ". To make a corpus from texts, use Corpus.from_texts; from words and tags, Corpus.from_bio"
    return ""


def _functions(module: str = "libraries") -> Any:
    return import_module(f"nersery.io.{module}")


class Conversions:
    """The conversions of a corpus. All check their input as they check a file: broken tags are an error."""

    if TYPE_CHECKING:

        def __init__(self, sentences: Iterable[Any]) -> None: ...

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset | Iterable[dict[str, Any]],
        *,
        words: str | None = None,
        tags: str | None = None,
        names: Sequence[str] | Mapping[Any, Any] = (),
        **options: Any,
    ) -> Self:
        """The sentences of a split of a Hugging Face dataset, or of any rows with words and tags.

        Args:
            dataset: One split; each row holds a sentence.
            words: Column of the words; None takes ``tokens`` or ``words``.
            tags: Column of the tags, or ``entities``; None takes ``ner_tags``, ``tags`` or ``entities``.
            names: Names of the tags if the tags are numbers and the dataset has no ``ClassLabel``: a list, or a
                mapping such as ``id2label`` or ``label2id`` of a model.
            options: ``language``, ``scheme`` and ``repair``, as in `nersery.read`.

        Raises:
            DataError: With all issues of the rows.

        >>> from nersery import Corpus
        >>> rows = [{"tokens": ["Ada", "wrote"], "ner_tags": [1, 0]}]
        >>> Corpus.from_dataset(rows, names=["O", "B-PER", "I-PER"])[0].labels
        ((0, 1, 'PER'),)
        """
        return cls(_functions().dataset_sentences(dataset, words, tags, names, options))

    def to_dataset(self, *, scheme: str = "IOB2", types: Sequence[str] = ()) -> Dataset:
        """A Hugging Face dataset with ``id``, ``tokens`` and ``ner_tags`` (`ClassLabel`), and ``language`` if known.

        Args:
            scheme: Tag scheme.
            types: The types to number; by default those of the corpus. Name them to number all splits alike.

        Raises:
            MissingResourceError: If `datasets` is not installed.
            DataError: If the corpus has another type.
        """
        return _functions().to_dataset(self, scheme, types)

    @classmethod
    def from_spacy(cls, docs: Doc | Iterable[Doc], **options: Any) -> Self:
        """The sentences of spaCy documents; a document without sentence boundaries is one sentence.

        Words keep their character offsets in the text of the document. White-space tokens are left out. A document from
        `to_spacy` is converted back to its words and offsets, even with other sentence boundaries.

        Args:
            options: ``language``, which overrides that of the documents, as in `nersery.read`.

        Raises:
            DataError: If an entity crosses the end of a sentence, or is white space.
        """
        return cls(_functions("annotation_tools.spacy_documents").spacy_sentences(docs, options))

    def to_spacy(self, vocab: Any = None) -> list[Doc]:
        """A spaCy document for each sentence, with ``ents``, and the id in ``user_data``.

        Args:
            vocab: A `Vocab` or a pipeline to share; None makes one for each language.

        Raises:
            MissingResourceError: If spaCy is not installed.
        """
        return list(_functions("annotation_tools.spacy_documents").to_spacy(self, vocab))

    @classmethod
    def from_pandas(
        cls,
        frame: DataFrame,
        *,
        words: str | None = None,
        tags: str | None = None,
        sentence: str | None = None,
        names: Sequence[str] | Mapping[Any, Any] = (),
        **options: Any,
    ) -> Self:
        """The sentences of a data frame with a row for each word, or with lists and a row for each sentence.

        A column ``language`` gives the language of its sentences.

        Args:
            words: Column of the words; None takes ``word``, ``words``, ``token`` or ``tokens``, or else ``form``.
            tags: Column of the tags; None takes ``tag``, ``tags``, ``ner_tag``, ``ner_tags``, ``label`` or ``labels``,
                or else ``ner``, ``ner_labels``, ``iob``, ``bio`` or ``entity``. Of several, it takes the one with tags.
            sentence: Column that names the sentence of a word, which may be empty except at its first word; None takes
                ``sentence``, ``sentence_id`` or ``id``.
            names: Names of the tags if the tags are numbers; see `from_dataset`.
            options: ``language``, ``scheme`` and ``repair``, as in `nersery.read`.

        Raises:
            DataError: With all issues of the rows.
        """
        return cls(_functions("data_frames").pandas_sentences(frame, words, tags, sentence, names, options))

    def to_pandas(self, *, scheme: str = "IOB2") -> DataFrame:
        """A data frame with a row for each word: ``sentence``, ``word``, ``tag``, and ``language`` if known.

        Raises:
            MissingResourceError: If pandas is not installed.
        """
        return _functions("data_frames").to_pandas(self, scheme)

    @classmethod
    def from_texts(cls, texts: Iterable[str], **options: Any) -> Self:
        """Sentences without labels, one for each text. Each is split into words like a text file.

        Words keep their character offsets in the text. Ids are ``texts:1`` and so on.

        Args:
            options: ``split``, ``language`` and ``repair``, as in `nersery.read`.

        Raises:
            DataError: If a text is blank, or with all issues of the texts.

        >>> from nersery import Corpus
        >>> Corpus.from_texts(["Ada lives in Oslo."])[0].words
        ('Ada', 'lives', 'in', 'Oslo', '.')
        """
        return cls(_functions().text_sentences(texts, options))

    @classmethod
    def from_bio(cls, words: Iterable[Sequence[str]], tags: Iterable[Sequence[str]], **options: Any) -> Self:
        """The sentences of lists of words and lists of tags, in any scheme.

        Args:
            options: ``language``, ``scheme`` and ``repair``, as in `nersery.read`.

        Raises:
            DataError: With all issues of the lists.

        >>> from nersery import Corpus
        >>> Corpus.from_bio([["Ada", "Lovelace", "wrote"]], [["B-PER", "I-PER", "O"]])[0].labels
        ((0, 2, 'PER'),)
        """
        return cls(_functions().bio_sentences(words, tags, options))

    def to_bio(self, *, scheme: str = "IOB2") -> tuple[list[list[str]], list[list[str]]]:
        """The words and the tags of each sentence.

        >>> from nersery import Corpus, Entity, Sentence
        >>> Corpus([Sentence(("Oslo", "greets"), (Entity(0, 1, "LOC"),))]).to_bio()
        ([['Oslo', 'greets']], [['B-LOC', 'O']])
        """
        return _functions().to_bio(self, scheme)
