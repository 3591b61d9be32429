"""Plain text: one sentence per line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from typing import ClassVar

from nersery.core.errors import DataError, FormatError, Issue, printable
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.text.spacing import lacks_spaces
from nersery.core.text.text_forms import is_invisible
from nersery.core.warnings import warn
from nersery.io.base import Findings, ReadOptions, Source, Writer, carriage_return_issue, issues_in, unreadable_sentence
from nersery.io.formats import WORDS, FileHead, Format
from nersery.io.input_files.foreign import refuse_foreign
from nersery.io.input_files.text_file import TextFile
from nersery.io.word_splitting.scripts_without_spaces import IN_SYLLABLE, runs_on
from nersery.io.word_splitting.tokenization import (
    MAX_ATTACHED_SHARE,
    Splitting,
    attached_punctuation,
    splitter,
    suggested_splitting,
)

MAX_LINE_LENGTH = 100_000
"""The longest line in characters. A book in one line would take the memory of thousands of sentences at every step."""
SAMPLE_LINES = 1000
LABELS_FIX = "write .jsonl or .conll, or drop all labels on purpose: nersery dataset convert --to words"
JSONL_FIX = "write .jsonl, which holds every word"
SPLIT_OFF = '; punctuation is split off (the split "spaces" keeps it in the words)'
LEFT_IN = "; punctuation stays in the words, as in the labelled sentences"
CHARACTERS = '; its script has no spaces, so each {} is a word (the split "spaces" cuts only at spaces)'
PHRASES = '; its script has no spaces, so whole phrases are taken for words (the split "{}" cuts them)'
SOME_PHRASES = (
    "; in {:,} of its first lines, such as line {}, whole phrases are taken for words, because their script has no "
    'spaces (the split "characters" cuts them)'
)
ATTACHED = '; punctuation is in the words, as in "{}" (the split "punctuation" separates it, as in most labelled text)'
ESCAPED = (
    "; it has characters as HTML writes them, as in {} (decode them: python3 -c "
    "'import html, sys; sys.stdout.write(html.unescape(sys.stdin.read()))' < raw.txt > decoded.txt)"
)
TABBED = "; each line has {} columns, all read as words (keep only the text, e.g. cut -f{} raw.txt > text.txt)"
BARRED = (
    "; its lines hold several texts separated by |||, all read as words (keep the last by sed 's/.*||| *//', or the "
    "first, e.g. sed 's/ *|||.*//' raw.txt > text.txt)"
)
TAGGED = "; its lines begin with XML tags, read as words (delete them: sed -E 's/<[^>]*>//g' raw.txt > text.txt)"
_TAG = re.compile(r"\s*</?[A-Za-z][^<>]*>")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{2,6}|#x[0-9A-Fa-f]{2,6});")
INNER_BREAKS = (
    "a line break other than a line feed, such as U+2028, is within {:,} of its lines, first in line {:,}: each such "
    "line is read as one sentence. If it is several, convert such breaks: python3 -c 'import sys; "
    'print(*sys.stdin.read().splitlines(), sep="\\n")\' < raw.txt > text.txt'
)
_END = re.compile(r"[.!?](?<!\b[\w.].)(?=\s+\W?[^\W\d_a-z])|[।۔؟።፧։߹᠃᱾။។៕。！？]")
"""The end of a sentence before another one, or in scripts that mark it clearly; not that of an abbreviated name. The
signs have Unicode's property Sentence_Terminal.
"""
MIN_CHARACTERS = 200
"""The minimum length of a paragraph, in characters."""
MIN_ROWS = 2
"""The minimum number of rows in a table. A single line may have a tab by chance."""
SPLIT_HINT = (
    r"put each sentence on a line of its own, e.g. with sed -E 's/([.!?] |। |۔ |؟ |። |։ |᠃ |။|។|。|！|？)/\1\n/g'"
)

PARAGRAPHS = f"; most lines have several sentences, as line {{}} has, and each is read as one ({SPLIT_HINT})"


class TextSource(Source):
    """Unlabelled sentences, one per line, with ids ``{file}:{line}``; blank lines are left out, with a note.

    If words are split at more than white space, the sentences hold the offsets of their words in the line.

    Args:
        keep_punctuation: Leave punctuation in the words, unless the options name a splitting.
    """

    splits_text = True
    blank_line: ClassVar[Reject | None] = None
    """The reject for a blank line. None leaves the line out, with a note."""

    def __init__(self, file: TextFile, options: ReadOptions, *, keep_punctuation: bool = False) -> None:
        super().__init__(file, options)
        self._keep_punctuation = keep_punctuation
        keeps_whole = keep_punctuation and self.suggested == "punctuation"
        self.split = splitter(options.split or ("spaces" if keeps_whole else self.suggested), options.language)
        self._empty = all(map(is_blank, file.beginnings(MAX_LINE_LENGTH)))

    @cached_property
    def suggested(self) -> Splitting:
        """The splitting that suits the first lines."""
        return suggested_splitting(self.first_lines())

    def first_lines(self) -> Iterator[str]:
        """The lines that show how the text is split."""
        return islice(self.file.beginnings(MAX_LINE_LENGTH), SAMPLE_LINES)

    @property
    def description(self) -> str:
        """The format, and whether the file is empty or its words look wrong."""
        return "text, empty" if self._empty else f"text{self._oddity}"

    @cached_property
    def _oddity(self) -> str:
        """A note if the words of the first lines do not look like words; empty if they do."""
        texts = [*self.first_lines()]
        entity = next(filter(None, map(_ENTITY.search, texts)), None)
        markup = TAGGED if len([*filter(_TAG.match, texts)]) > len(texts) / 2 else ""
        markup += BARRED if sum("|||" in text for text in texts) > len(texts) / 2 else ""
        markup += _paragraphs(texts)
        return self._oddity_of_words(texts) + _tabbed(texts) + markup + (ESCAPED.format(entity[0]) if entity else "")

    def _oddity_of_words(self, texts: Sequence[str]) -> str:
        if self.options.split is None:
            return self.note_of_split(self.suggested) + _phrases(texts) * (self.suggested != "characters")
        lines = [*map(self.split, texts)]
        if runs_on([*chain.from_iterable(lines)]):
            return PHRASES.format(self.suggested)
        share, word = attached_punctuation(lines)
        return ATTACHED.format(printable(word)) if share and share > MAX_ATTACHED_SHARE else ""

    def note_of_split(self, splitting: Splitting) -> str:
        """A note on a splitting that was chosen by the look of the text; empty for one at spaces."""
        texts = [*self.first_lines()]
        has_syllables = sum(IN_SYLLABLE.search(text) is not None for text in texts) > len(texts) / 2
        apart = CHARACTERS.format("syllable" if has_syllables else "character")
        notes = {"punctuation": LEFT_IN if self._keep_punctuation else SPLIT_OFF, "characters": apart}
        return notes.get(splitting, "")

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        blank = first = before_sentences = 0
        joined = first_joined = 0
        for number, line in enumerate(self.file.beginnings(MAX_LINE_LENGTH), start=1):
            written = self.split(line)
            words, cleaned = findings.clean(written)
            words, long = tuple(filter(None, words)), _too_long(line, number)
            if all(map(is_invisible, words)) and long is None:
                if self.blank_line:
                    findings.rejects.append(self.blank_line)
                else:
                    blank, first = blank + 1, first or number
                continue
            before_sentences = blank
            id = f"{self.file.stem}:{number}"
            issues = [issue for issue in (long, carriage_return_issue(line, number)) if issue]
            try:
                offsets = () if self.split is str.split or cleaned else tuple(word_offsets(written, line))
                sentence = Sentence(words, id=id, language=self.options.language, offsets=offsets)
            except DataError as error:
                issues += issues_in(error, number)
            if issues:
                findings.record_broken(id, issues, unreadable_sentence(line))
            else:
                findings.count_repairs(cleaned)
                if len([*filter(str.strip, line.splitlines())]) > 1:
                    joined, first_joined = joined + 1, first_joined or number
                yield sentence
        if joined:
            warn(f"{self.file.name}: {INNER_BREAKS.format(joined, first_joined)}")
        if before_sentences:
            lines = f"{before_sentences:,} blank lines, the first is" if before_sentences > 1 else "a blank line,"
            fix = "delete the same lines from its translation, if there is one"
            warn(f"{self.file.name}: left out {lines} line {first:,}; {fix}")


def _phrases(lines: Sequence[str]) -> str:
    """A note on lines without spaces among others, as Chinese ones among English ones; empty if there is none."""
    split = [line.split() for line in lines]
    running = [number for number, words in enumerate(split, start=1) if runs_on(words)]
    # In split text, too, a line may be one long word.
    is_split = not runs_on([*filter(lacks_spaces, chain.from_iterable(split))])
    return "" if is_split or not running else SOME_PHRASES.format(len(running), running[0])


def _paragraphs(lines: Sequence[str]) -> str:
    """A note on lines that are whole paragraphs, as programs for writing export them; empty for other lines."""
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if not is_blank(line)]
    long = [number for number, line in numbered if len(line) > MIN_CHARACTERS and len(_END.findall(line)) > 2]
    return PARAGRAPHS.format(long[0]) if len(long) > len(numbered) / 2 else ""


def word_offsets(words: Iterable[str], line: str) -> Iterator[tuple[int, int]]:
    """The characters ``[start, end)`` of each word of a line, in code points.

    >>> [*word_offsets(["Oslo", "!"], "  Oslo!")]
    [(2, 6), (6, 7)]
    """
    end = 0
    for word in words:
        start = line.index(word, end)
        end = start + len(word)
        yield start, end


def is_blank(line: str) -> bool:
    """Whether a line has no visible characters.

    >>> is_blank(" \\n"), is_blank("\\u200b"), is_blank("a")
    (True, True, False)
    """
    return line.isspace() or all(map(is_invisible, line.split()))


def _tabbed(lines: Sequence[str]) -> str:
    """A note on lines that are rows of a table, as in the Leipzig corpora; empty for other lines.

    The text is the longest column, unless its cells all begin alike, as those of a source such as "CC-BY 2.0 …" do.

    >>> "2 columns" in _tabbed(["1\\tShe met Ada.", "2\\tShe left."]), _tabbed(["\\tShe met Ada.", "\\tShe left."])
    (True, '')
    """
    rows = [line.split("\t") for line in lines if not is_blank(line)]
    widths = {len(row) for row in rows}
    if len(rows) < MIN_ROWS or widths == {1} or len(widths) > 1 or any(map(is_blank, chain.from_iterable(rows))):
        return ""
    columns = [*zip(*rows, strict=True)]
    lengths = [sum(map(len, cells)) * (len({" ".join(cell.split()[:3]) for cell in cells}) > 1) for cells in columns]
    return TABBED.format(len(lengths), 1 + lengths.index(max(lengths)))


def _too_long(line: str, number: int) -> Issue | None:
    """An issue for a line that is too long for one sentence. Only its beginning was read."""
    if len(line.rstrip("\r\n")) <= MAX_LINE_LENGTH:
        return None
    message = f"the line has more than {MAX_LINE_LENGTH:,} characters, expected one sentence (no more of it was read)"
    return Issue(message, line=number, kind="line too long, its beginning kept", fixes=(SPLIT_HINT,))


class TextWriter(Writer):
    """Writes the words, one sentence per line. Ids, scores and columns are lost.

    Args:
        drop_labels: Drop labels too. Otherwise a labelled sentence is refused.
    """

    def __init__(self, *, drop_labels: bool = False) -> None:
        self.drop_labels = drop_labels

    def encode(self, sentence: Sentence) -> str:
        """One line.

        Raises:
            DataError: If labels would be lost, a word contains white space, or the whole sentence is invisible.
        """
        if sentence.entities and not self.drop_labels:
            count = f"its {len(sentence.entities)} labels" if len(sentence.entities) > 1 else "its label"
            raise FormatError(Issue(f"plain text cannot hold {count}", sentence=sentence.id), fix=LABELS_FIX)
        for position, word in enumerate(sentence.words):
            if word.split() != [word]:
                message = f"word {position} is {word!r}: in plain text, white space would split it into several words"
                raise DataError(Issue(message, sentence=sentence.id), fix=JSONL_FIX)
        if all(map(is_invisible, sentence.words)):
            message = "it has only invisible characters, and plain text is read without blank lines"
            raise DataError(Issue(message, sentence=sentence.id), fix=JSONL_FIX)
        return f"{sentence.text}\n"


def _recognises(head: FileHead) -> bool:
    """Whether a file of no other format is text. Raise `DataError` if its labels would be read as words."""
    refuse_foreign(head)
    return head.extension in ("", ".txt") or not head.lines


FORMATS = (
    Format(
        "text",
        "a sentence on each line",
        (".txt",),
        TextSource,
        TextWriter,
        keeps=frozenset({WORDS}),
        recognises=_recognises,
        rank=4,
        shares_extensions=True,
    ),
    Format(
        "words", "the same, dropping all labels", writer=partial(TextWriter, drop_labels=True), keeps=frozenset({WORDS})
    ),
)
