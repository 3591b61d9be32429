"""Notes on corpora that do not fit together (types, words, common sentences), and on paragraphs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, pairwise

from nersery import io
from nersery.core.counting import plural
from nersery.core.errors import printable
from nersery.core.sentence import Sentence, types_in
from nersery.core.text.text_forms import unspaced
from nersery.evaluate.score_notes import RENAME
from nersery.io.repairs import DROP_SENTENCE
from nersery.io.word_splitting.scripts_without_spaces import is_character, split_in_characters, stands_alone
from nersery.io.word_splitting.tokenization import SENTENCES_READ, attached_punctuation
from nersery.taggers.tagger_folder.description import attached_share_learnt, characters_learnt

CLEAR_DIFFERENCE = 0.6
"""Minimum difference between two shares of attached punctuation that is worth a note."""
PARAGRAPH = 100
"""Mean number of words from which on sentences count as paragraphs. No text has sentences that long."""
EXAMPLE_WORDS = 8
"""Words of a sentence that a note quotes."""
COMPARED = 2000
"""Maximum number of raw sentences whose words are compared with those of labelled sentences."""
ENOUGH_TO_COMPARE = 50
"""Minimum number of labelled sentences for that."""
MIN_SHARED = 0.8
"""Minimum ratio of the two shares of `shared_words` for text of the same kind. For raw text from the source of the
labelled sentences, it is 0.9 to 1.2, for news and labelled medical abstracts 0.6."""
MIN_SENTENCES = 3
"""Minimum number of sentences for a meaningful mean length."""


def notes_of_reading(label: str, source: io.Source) -> list[str]:
    """Notes on what was repaired in a file, and on what was left out of it, after a full pass over it."""
    repaired, skipped = (
        ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()) if reason != DROP_SENTENCE)
        for counts in (source.repaired, source.skipped)
    )
    dropped = source.repaired[DROP_SENTENCE]
    notes = {
        f" was repaired as requested: {repaired}": repaired,
        f": {plural(dropped, 'sentence')} rejected by the repair {DROP_SENTENCE}": dropped,
        f": {plural(source.skipped.total(), 'text')} left out, as marked in the file: {skipped}": skipped,
    }
    return [label + text for text, count in notes.items() if count]


def note_of_types(label: str, part: Iterable[Sentence], known: Collection[str]) -> str:
    """A note on types that occur in labelled sentences but not in the training data; empty if there are none."""
    counts = Counter(entity.type for sentence in part for entity in sentence.entities if entity.type not in known)
    if not counts:
        return ""
    listed = ", ".join(f"{type_} ({plural(count, 'mention')})" for type_, count in sorted(counts.items()))
    return f"{label} has types that do not occur in train, so all their mentions count as missed: {listed}"


def note_of_tag_sets(files: Mapping[str, Iterable[Sentence]]) -> str:
    """A note if several files have types that no other file has, as with different tag sets; else empty."""
    types = {name: types_in(part) for name, part in files.items()}
    distinct = {name: types[name].difference(*(types[other] for other in types if other != name)) for name in types}
    listed = [f"{', '.join(sorted(only))} only in {name}" for name, only in distinct.items() if only]
    if len(listed) < 2:
        return ""
    return f"the train files have different types ({'; '.join(listed)}): if they mean the same, {RENAME}"


def note_of_unlabelled(files: Mapping[str, Iterable[Sentence]]) -> str:
    """A note on files without entities if other files have some, e.g. raw text by mistake; else empty."""
    bare = [name for name, part in files.items() if not any(sentence.entities for sentence in part)]
    if not 0 < len(bare) < len(files):
        return ""
    words = "so all words there count as outside entities: leave out unlabelled files"
    return f"no sentence of {', '.join(bare)} has an entity, {words}"


def note_of_labellings(label: str, part: Iterable[Sentence]) -> str:
    """A note on texts that occur several times with different labels, as when two people label; else empty."""
    labellings = defaultdict[tuple[str, ...], set[object]](set)
    for sentence in part:
        labellings[sentence.words].add(sentence.labels)
    different = [words for words, labels in labellings.items() if len(labels) > 1]
    if not different:
        return ""
    first = different[0]
    example = printable(" ".join(first[:EXAMPLE_WORDS])) + " …" * (len(first) > EXAMPLE_WORDS)
    counted = plural(len(different), "text")
    return f'{label} labels {counted} in several ways, such as "{example}": keep one labelling of each'


def note_of_length(label: str, words: int, sentences: int) -> str:
    """A note if sentences have the mean number of words of paragraphs; else empty."""
    mean = words / max(1, sentences)
    if mean < PARAGRAPH or sentences < MIN_SENTENCES:
        return ""
    advice = "split them into sentences, because methods keep, reject and choose whole sentences"
    return f"the sentences of {label} have {mean:.0f} words on average, which suggests paragraphs: {advice}"


def note_of_overlap(label: str, part: Collection[Sentence], other: str, sentences: Iterable[Sentence]) -> str:
    """A note on how many sentences of a part also occur in another part; empty if there are none."""
    known = {unspaced(sentence.words) for sentence in sentences}
    shared = sum(unspaced(sentence.words) in known for sentence in part)
    return f"{shared} of {len(part)} {label} sentences also occur in {other}, word for word" if shared else ""


def note_of_splitting(labelled: Iterable[Sentence], raw: Iterable[Sentence]) -> str:
    """A note if two corpora are split differently, at punctuation or in a script without spaces; else empty."""
    parts = [[sentence.words for sentence in islice(part, SENTENCES_READ)] for part in (labelled, raw)]
    return _note_of_characters(*parts) or _note_of_punctuation(*parts)


def _note_of_characters(labelled: Sequence[Sequence[str]], raw: Sequence[Sequence[str]]) -> str:
    """A note if only one of the corpora has a character of a script without spaces as a word; else empty."""
    words_of_labelled, words_of_raw = ([word for words in part for word in words] for part in (labelled, raw))
    of_labelled, of_raw = map(split_in_characters, (words_of_labelled, words_of_raw))
    if None in (of_labelled, of_raw) or of_labelled == of_raw:
        return ""
    word = _longer_word(words_of_labelled if of_raw else words_of_raw)
    if of_raw:
        return (
            "each character or syllable of raw text is a word, but words of the labelled sentences are longer, as in "
            f'"{word}": put spaces between the words of raw text with the tool that split the labelled sentences'
        )
    return (
        "each character or syllable of the labelled sentences is a word, but words of raw text are longer, as in "
        f'"{word}": split it the same way with --split characters (in [data] of a recipe, split = "characters")'
    )


def _longer_word(words: Iterable[str]) -> str:
    """The first word of several characters of a script without spaces."""
    return printable(next(word for word in words if stands_alone(word[0]) and not is_character(word)))


def _note_of_punctuation(labelled: Iterable[Sequence[str]], raw: Iterable[Sequence[str]]) -> str:
    """A note if punctuation such as commas is separate in one corpus and part of words in the other; else empty."""
    (of_labelled, labelled_word), (of_raw, raw_word) = map(attached_punctuation, (labelled, raw))
    if of_labelled is None or of_raw is None or abs(of_labelled - of_raw) < CLEAR_DIFFERENCE:
        return ""
    if of_raw > of_labelled:
        return (
            f'punctuation is part of the words in raw text, as in "{printable(raw_word)}", but separate in the '
            "labelled sentences: split both the same way with --split punctuation (in [data] of a recipe, "
            'split = "punctuation")'
        )
    word = printable(labelled_word)
    return (
        f'punctuation is part of the words in labelled sentences, as in "{word}", but separate in raw text: split both '
        "the same way"
    )


def shared_words(labelled: Sequence[Sentence], raw: Iterable[Sentence]) -> tuple[float, float]:
    """The shares of words in labelled sentences and in raw text that occur in other labelled sentences.

    Each third of the labelled sentences is compared with the others. A third is a block, because a document uses the
    same words again.
    """
    raw_words = _words(islice(raw, COMPARED))
    bounds = [len(labelled) * third // 3 for third in range(4)]
    shares = []
    for start, end in pairwise(bounds):
        known = {*_words([*labelled[:start], *labelled[end:]])}
        words = _words(labelled[start:end])
        shares.append([sum(word in known for word in part) / max(1, len(part)) for part in (words, raw_words)])
    of_labelled, of_raw = (sum(part) / len(shares) for part in zip(*shares, strict=True))
    return of_labelled, of_raw


def _words(sentences: Iterable[Sentence]) -> list[str]:
    """The words with letters, in lower case."""
    return [word.lower() for sentence in sentences for word in sentence.words if any(map(str.isalpha, word))]


def _without_mentions(sentence: Sentence) -> tuple[str, ...]:
    """The words of a sentence, with a type in place of each mention."""
    words = list(sentence.words)
    for entity in reversed(sentence.entities):
        words[entity.start : entity.end] = [f"<{entity.type}>"]
    return tuple(words)


def note_of_kind(labelled: Sequence[Sentence], raw: Collection[Sentence]) -> str:
    """A note if raw text has clearly fewer of the labelled words than other labelled sentences have; else empty.

    Labelled sentences that differ only in their mentions, as from templates, share more words than any raw text does.
    So one of them is compared.
    """
    distinct = [*{_without_mentions(sentence): sentence for sentence in labelled}.values()]
    if len(distinct) < ENOUGH_TO_COMPARE or not raw:
        return ""
    of_labelled, of_raw = shared_words(distinct, raw)
    if of_raw >= MIN_SHARED * of_labelled:
        return ""
    return (
        f"only {of_raw:.0%} of the words of raw text occur in the labelled sentences, against {of_labelled:.0%} of the "
        "words of other labelled sentences: if the subjects differ, labels on raw text are often wrong. Give raw text "
        "on the same subjects"
    )


def note_of_learnt_words(tagger: str, sentences: Iterable[Sentence]) -> str:
    """Like `note_of_splitting`, for the training data of a tagger in a folder and sentences to be labelled."""
    source = "in the sentences that the tagger learnt from: split it the same way"
    sample = [sentence.words for sentence in islice(sentences, SENTENCES_READ)]
    words = [word for sentence in sample for word in sentence]
    were_characters, are_characters = characters_learnt(tagger), split_in_characters(words)
    if were_characters and are_characters is False:
        example = _longer_word(words)
        return f'words are longer than a character, as in "{example}", unlike {source} with --split characters'
    if were_characters is False and are_characters:
        return f"each character is a word, but words are longer {source}, with spaces between its words"
    learnt = attached_share_learnt(tagger)
    share, word = attached_punctuation(sample)
    if learnt is None or share is None or abs(share - learnt) < CLEAR_DIFFERENCE:
        return ""
    if share > learnt:
        return (
            f'punctuation is part of the words, as in "{printable(word)}", but separate {source} '
            "with --split punctuation"
        )
    return f"punctuation is separate, but part of the words {source} with --split spaces"
