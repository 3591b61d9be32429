"""Writes CoNLL columns: word, extra columns and tag on each line, a blank line after each sentence."""

from __future__ import annotations

from itertools import chain

from nersery.core import tags
from nersery.core.errors import DataError, FormatError, Issue, SettingsError
from nersery.core.sentence import Sentence
from nersery.core.wording import either
from nersery.io.base import Writer
from nersery.io.columns_and_rows.columns import DOCUMENT_MARK, MARKS, TAG_MARK, WORD_MARK, Layout, last_looks_inner
from nersery.io.input_files.text_file import BYTE_ORDER_MARK

TAB = "\t"


class ConllWriter(Writer):
    """Writes word, extra columns and tag, after the sentence's comments; ids, languages, origins and scores are lost.

    Args:
        scheme: A name of `nersery.core.tags.SCHEMES`.
        separator: A tab, or a space, which then cannot occur in words and types.

    Raises:
        SettingsError: If the scheme or separator is unknown.
    """

    def __init__(self, scheme: str = "IOB2", separator: str = TAB) -> None:
        if separator not in (TAB, " "):
            raise SettingsError(f"the separator is {separator!r}, expected a tab or a space")
        self.scheme, self.separator = tags.scheme_name(scheme), separator

    def encode(self, sentence: Sentence) -> str:
        """The sentence and a blank line.

        Raises:
            DataError: If the number of columns differs from the first sentence, or a value or comment would be read
                differently.
        """
        self.columns = len(sentence.columns) if self.columns is None else self.columns
        if len(sentence.columns) != self.columns:
            extra_columns = f"it has {len(sentence.columns)} extra columns"
            raise _refused(sentence, f"{extra_columns}, the sentences before it have {self.columns}")
        columns = (*sentence.columns, tags.encode(sentence.entities, len(sentence), self.scheme))
        rows = list(map(self.separator.join, zip(sentence.words, *columns, strict=True)))
        text = "\n".join(rows)
        if self.separator == " ":  # no sentence has a tab in a value
            _refuse_spaces(sentence, text)
        layout = Layout(len(columns) + 1, 0, len(columns), self.separator == TAB)
        mark = f"{WORD_MARK}\n" if layout.is_comment(rows[0]) or text[0] == BYTE_ORDER_MARK else ""
        # In front of each such sentence, because the writer does not know what a job wrote before it was killed.
        tag_mark = f"{TAG_MARK}\n" if sentence.columns and last_looks_inner((sentence.words, *columns)) else ""
        return f"{tag_mark}{_head(sentence, layout)}{mark}{text}\n\n"


def _refuse_spaces(sentence: Sentence, text: str) -> None:
    """Raise an error if spaces would split or lose a value; `FormatError` for a type, which many sentences have."""
    if text.count(" ") == len(sentence) * (len(sentence.columns) + 1) and all(map(all, sentence.columns)):
        return
    if type_ := next((entity.type for entity in sentence.entities if " " in entity.type), ""):
        issue = Issue(f"the type {type_!r} cannot be written with spaces as separators", sentence=sentence.id)
        option = either(f": --type '{type_}={type_.replace(' ', '_')}'", "")
        fix = f"write columns separated by tabs, or rename it{option}"
        raise FormatError(issue, fix=fix)
    values = (*sentence.words, *chain.from_iterable(sentence.columns))
    odd = next(value for value in values if not value or " " in value)
    raise _refused(sentence, f"{odd!r} cannot be a value with spaces as separators")


def _head(sentence: Sentence, layout: Layout) -> str:
    """The comments of a sentence; a blank line follows a document mark."""
    lines = []
    for comment in sentence.comments:
        if comment[:1] not in ("#", "-") or comment in MARKS or not layout.is_comment(comment):
            raise _refused(sentence, f"its comment {comment!r} would not be read as a comment")
        lines.append(f"{comment}\n\n" if comment.startswith(DOCUMENT_MARK) else f"{comment}\n")
    return "".join(lines)


def _refused(sentence: Sentence, message: str) -> DataError:
    return DataError(
        Issue(f"cannot be written as columns: {message}", sentence=sentence.id),
        fix="write JSONL, which holds every sentence, or columns separated by tabs",
    )
