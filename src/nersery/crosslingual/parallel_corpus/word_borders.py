"""Chooses how plain text on one side of parallel text is split, so that its words are like those of the other side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from nersery.core.alignments import Alignment
from nersery.core.outcome import Reject
from nersery.crosslingual.parallel_corpus.sides import Lines, with_splitting
from nersery.io.base import Source
from nersery.io.input_files.folder import FolderSource
from nersery.io.pharaoh import AlignmentFile
from nersery.io.text import SAMPLE_LINES
from nersery.io.word_splitting.tokenization import (
    MAX_ATTACHED_SHARE,
    Splitter,
    attached_punctuation,
    splitter,
    suggested_splitting,
)

Links = Iterable[Alignment | Reject]
MIN_BEYOND = 0.1
"""Share of lines with a link to a word that the text has only if it is split further: 0.7 to 1 if it was, in 11
languages, and 0 if it was split at spaces.
"""
AS_LINKED = '; split only at spaces, because the links refer to such words (the split "{}" does not fit them)'


def split_to_match(
    target: Source, sources: Sequence[Source], links: Sequence[Links] = ()
) -> tuple[Source, tuple[Source, ...]]:
    """The sides of parallel text, split alike.

    Text without a named split is cut into characters if its script has no spaces, and punctuation is split off unless
    the other side has it in its words. Links made of text split at spaces keep that split. A folder is split like the
    text that it begins with.

    Args:
        links: Those of each source to the target, if there are some already.
    """
    split_sources = tuple(_split(source, target) for source in sources)
    return _split(target, sources[0], links), split_sources


def _split(side: Source, other: Source, links: Sequence[Links] = ()) -> Source:
    text = next(_texts(side), None)
    if text is None or text.is_named:
        return side
    lines = _first_lines(side)
    splitting = suggested_splitting(lines)
    if splitting == "spaces" or (splitting == "punctuation" and _has_attached_punctuation(other)):
        return side
    if links and not _reach_beyond(lines, splitter(splitting, text.options.language), links):
        return with_splitting(side, "spaces", AS_LINKED.format(splitting))
    return with_splitting(side, splitting, text.note_of_split(splitting))


def _texts(side: Source) -> Iterator[Lines]:
    """The text that a side begins with: the file, or the first files of a folder."""
    for file in side.sources() if isinstance(side, FolderSource) else (side,):
        if not isinstance(file, Lines):
            return
        yield file


def _first_lines(side: Source) -> list[str]:
    """The lines that show how the text of a side is split."""
    return [*islice(chain.from_iterable(text.first_lines() for text in _texts(side)), SAMPLE_LINES)]


def _has_attached_punctuation(side: Source) -> bool:
    """Whether the words of the other side have punctuation; those of text without spaces will not."""
    text, lines = next(_texts(side), None), _first_lines(side)
    if text is not None and not text.is_named and suggested_splitting(lines) == "characters":
        return False
    words = map(text.split, lines) if text is not None else (s.words for s in side)
    share, _ = attached_punctuation(islice(words, SAMPLE_LINES), min_count=1)
    return (share or 0) > MAX_ATTACHED_SHARE


def _reach_beyond(texts: Sequence[str], split: Splitter, links: Sequence[Links]) -> bool:
    """Whether links reach words that lines of a target have only if they are split further than at spaces."""
    lengths = [(len(text.split()), len(split(text))) for text in texts]
    lines = beyond = 0
    for alignments in links:
        sample = [*islice(alignments, len(lengths))]
        first = _first_word(alignments, sample)
        for alignment, (between_spaces, words) in zip(sample, lengths, strict=False):
            if not isinstance(alignment, Reject) and alignment and words > between_spaces:
                lines += 1
                beyond += max(link[1] for link in alignment) - first >= between_spaces
    return not lines or beyond > MIN_BEYOND * lines


def _first_word(links: Links, sample: Links) -> int:
    """The number of the first word: 1 if no link names word 0, because the user may have forgotten ``first``."""
    if isinstance(links, AlignmentFile) and links.first:
        return 0  # reading has subtracted it
    found = [link for alignment in sample if not isinstance(alignment, Reject) for link in alignment]
    return int(bool(found) and not any(0 in link[:2] for link in found))
