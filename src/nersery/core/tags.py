"""Tag schemes. Only readers and writers use them; all other code works with entities, without ``B-`` and ``I-``.

A tag is ``O``, or a letter, a hyphen and a type, which may contain hyphens. `SCHEMES` defines the letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from nersery.core.errors import SettingsError, did_you_mean, shown
from nersery.core.sentence import Entity
from nersery.core.sentence_validation import LETTERS, is_type_name

OUTSIDE = "O"
EMPTY = ("", "-", "_")
"""Values that some files have in place of ``O``."""
_TAG = re.compile(rf"O|[{LETTERS}]-.+", re.DOTALL)
_IN_NAMES = "_-.:/&\u200c\u200d"
"""Characters of types besides letters, marks and digits; the last two join or separate letters in some scripts."""
_DASHES = "_\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""Characters that some files have in place of the hyphen of a tag, most of them dashes from a word processor."""
_SEVERAL = re.compile(rf"(O|[{LETTERS}]-.+)[|,] ?(O|[{LETTERS}]-.+)", re.DOTALL)
_BROKEN_TAG = re.compile(rf"[{LETTERS}][{_DASHES}].+|-.*|_|{_SEVERAL.pattern}", re.DOTALL)
ONE_LEVEL = (
    r"nested entities are not supported, so keep one level, e.g. the first by sed -E 's/[|,][^\t ]*$//' old > new; "
    "if levels are in separate columns, --tag-column chooses one"
)
"""The advice for tags of several levels."""

ONE_LETTER_TYPES = r"if one letter is a type, write it as a tag: sed -E 's/([\t ])([A-NP-Z])(\r?)$/\1I-\2\3/' old > new"
"""The advice for types such as ``D``, which `is_bare` considers typing errors."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A tag scheme.

    Args:
        begin: Letter of the first word of an entity.
        inside: Letter of its inner words.
        end: Letter of its last word; equal to `inside` if ends are not marked.
        single: Letter of an entity of one word.
        lazy: Use `begin` only directly after an entity of the same type, else `inside`.
    """

    name: str
    begin: str
    inside: str
    end: str
    single: str
    lazy: bool = False

    @property
    def marks_ends(self) -> bool:
        """Whether tags mark the last word of an entity."""
        return self.end != self.inside

    @property
    def letters(self) -> str:
        """The letters of the scheme, each once."""
        return "".join(dict.fromkeys((self.begin, self.inside, self.end, self.single)))


SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme("IOB1", "B", "I", "I", "B", lazy=True),
            Scheme("IOB2", "B", "I", "I", "B"),
            Scheme("BIOES", "B", "I", "E", "S"),
            Scheme("BILOU", "B", "I", "L", "U"),
            Scheme("BMES", "B", "M", "E", "S"),
            Scheme("BMEWO", "B", "M", "E", "W"),
        )
    }
)
_OTHER_NAMES = {"BIO": "IOB2", "BIO2": "IOB2", "IOBES": "BIOES", "BIOLU": "BILOU", "BMESO": "BMES"}


def scheme_name(name: str) -> str:
    """The canonical name of a scheme; aliases and case are accepted.

    Raises:
        SettingsError: If there is no such scheme.

    >>> scheme_name("iobes")
    'BIOES'
    """
    if not isinstance(name, str):
        raise SettingsError(f"the tag scheme is {shown(name)}, expected its name; known: {', '.join(SCHEMES)}")
    canonical = _OTHER_NAMES.get(name.upper(), name.upper())
    if canonical not in SCHEMES:
        read_as = "IO is read as IOB1; " if canonical == "IO" else ""
        raise SettingsError(f'there is no tag scheme "{name}"; {read_as}{did_you_mean(name, SCHEMES)}')
    return canonical


def looks_like_tag(value: str, *, broken: bool = False) -> bool:
    """Whether a value has the form of a tag; with ``broken``, also that of a tag that a repair could fix."""
    return _TAG.fullmatch(value) is not None or (broken and _BROKEN_TAG.fullmatch(value) is not None)


def holds_several(tag: str) -> bool:
    """Whether a value holds the tags of several levels, as ``B-PER|B-ORG`` and ``O|O`` do."""
    return _SEVERAL.fullmatch(tag) is not None


def has_small_letter(tag: str, letters: str) -> bool:
    """Whether only the case of a tag's letter is wrong, as in ``b-per`` and ``o``."""
    return tag == OUTSIDE.lower() or (tag[1:2] == "-" and len(tag) > 2 and tag[0] in letters.lower())


def has_other_dash(tag: str, letters: str) -> bool:
    """Whether another character stands for a tag's hyphen, as in ``B_PER``, or ``B–PER`` with a dash."""
    return len(tag) > 2 and tag[1] in _DASHES and tag[0] in letters


def without_outer_space(tag: str) -> str:
    """The tag without spaces at its ends and around the hyphen after its letter, as in ``B- PER``."""
    tag = tag.strip(" ")
    letter, hyphen, type_ = (part.strip(" ") for part in tag.partition("-"))
    return f"{letter}-{type_}" if hyphen and type_ and letter in LETTERS else tag


def has_letter_last(tag: str, letters: str) -> bool:
    """Whether a tag's letter follows its type, as in ``PER-B``."""
    return len(tag) > 3 and tag[-2] in "-_" and tag[-1] in letters and tag[1] not in "-_" and tag[0] != "-"


def is_bare(tag: str) -> bool:
    """Whether a tag looks like a type alone, a name in any script. One character is more likely an error for ``O``.

    >>> is_bare("PER"), is_bare("व्यक्ति"), is_bare("(PER*"), is_bare("12")
    (True, True, False, False)
    """
    if len(tag) < 2 or tag[0] == "-" or tag[1] in "-_" or not any(map(str.isalpha, tag)):
        return False
    return all(character in _IN_NAMES or unicodedata.category(character)[0] in "LMN" for character in tag)


class _TagMeaning(NamedTuple):
    """The meaning of a tag for its word."""

    opens: bool
    closes: bool
    type: str | None


NO_ENTITY = _TagMeaning(False, False, None)


class _TagMeanings(dict[str, _TagMeaning]):
    """The meaning of each tag in one scheme, computed once. Invalid tags map to `NO_ENTITY`."""

    def __init__(self, scheme: Scheme) -> None:
        super().__init__({OUTSIDE: NO_ENTITY})
        self.scheme = scheme

    def __missing__(self, tag: str) -> _TagMeaning:
        scheme, letter, type_ = self.scheme, tag[:1], tag[2:]
        if tag[1:2] != "-" or letter not in scheme.letters or not is_type_name(type_):
            return NO_ENTITY  # not stored, because `_issues` and `_illegal` detect unknown tags by their absence
        opens = letter in (scheme.begin, scheme.single)
        closes = scheme.marks_ends and letter in (scheme.end, scheme.single)
        meaning = self[tag] = _TagMeaning(opens, closes, type_)
        return meaning


@cache
def meanings_of(scheme: str) -> _TagMeanings:
    """The meaning of each tag in a scheme; invalid tags map to `NO_ENTITY`."""
    return _TagMeanings(SCHEMES[scheme])


UNKNOWN_TAG = "unknown tag"


@dataclass(frozen=True, slots=True)
class TagIssue:
    """An illegal tag.

    Args:
        index: Position of the word.
        kind: Equal for issues of the same kind, so that they can be counted.
        message: What is wrong, and what would be legal.
        repair: Name of the repair that fixes the tag, or empty.
        fix: What to do if no repair fixes the tag, or empty.
    """

    index: int
    kind: str
    message: str
    repair: str = ""
    fix: str = ""


def decode(tags: Sequence[str], scheme: str) -> tuple[tuple[Entity, ...], tuple[TagIssue, ...]]:
    """The entities of a tag sequence, and its illegal tags.

    Illegal tags are read as conlleval reads them: a tag that cannot continue an entity begins one.

    Args:
        scheme: A key of `SCHEMES`.

    >>> decode(["B-PER", "I-PER", "O", "B-LOC"], "IOB2")[0]
    (Entity(start=0, end=2, type='PER', score=None), Entity(start=3, end=4, type='LOC', score=None))
    """
    if tags.count(OUTSIDE) == len(tags):
        return (), ()
    meanings, lazy = meanings_of(scheme), SCHEMES[scheme].lazy
    entities: list[Entity] = []
    orphans: list[int] = []
    current, start, closed, unknown = None, 0, 0, False
    for index, tag in enumerate(tags):
        opens, closes, type_ = meanings[tag]
        if current is not None and (opens or type_ != current):  # the tag before this one ended the entity
            entities.append(Entity(start, index, current))
            current = None
        if type_ is None:
            unknown = unknown or tag != OUTSIDE
        elif current is None:
            current, start = type_, index
            if not opens and not lazy:  # in IOB1 alone, I- may begin an entity
                orphans.append(index)
        if closes and current is not None:
            entities.append(Entity(start, index + 1, current))
            current = None
            closed += 1
    if current is not None:
        entities.append(Entity(start, len(tags), current))
    broken = unknown or orphans or (SCHEMES[scheme].marks_ends and closed < len(entities))
    return tuple(entities), _issues(tags, scheme, entities, orphans) if broken else ()


def encode(entities: Iterable[Entity], length: int, scheme: str) -> list[str]:
    """The tags of a sentence of ``length`` words.

    >>> encode([Entity(0, 1, "PER"), Entity(1, 3, "PER")], 4, "IOB1")
    ['I-PER', 'B-PER', 'I-PER', 'O']
    """
    letters = SCHEMES[scheme]
    tags = [OUTSIDE] * length
    for start, end, type_ in ((entity.start, entity.end, entity.type) for entity in entities):
        tags[start:end] = [f"{letters.inside}-{type_}"] * (end - start)
        # IOB1 needs B- only where I- would continue the entity before it.
        if letters.lazy and (start == 0 or tags[start - 1] not in (f"B-{type_}", f"I-{type_}")):
            continue
        tags[end - 1] = f"{letters.end}-{type_}"
        tags[start] = f"{letters.begin if end - start > 1 else letters.single}-{type_}"
    return tags


_EVIDENCE = (("W", "BMEWO"), ("M", "BMES"), ("LU", "BILOU"), ("ES", "BIOES"))


def detect(pairs: Iterable[tuple[str, str]]) -> str:
    """The scheme of a corpus, detected from its pairs of neighbouring tags.

    E or S suggest BIOES, L or U suggest BILOU, M suggests BMES and W suggests BMEWO, unless that scheme makes at least
    the same number of pairs illegal as IOB1. With B and I alone, the scheme is IOB2, unless I begins entities and B
    only separates entities of one type. The default is IOB2.

    Args:
        pairs: All pairs of neighbouring tags, with ``O`` before the first and after the last word of a sentence.

    >>> detect({("O", "I-PER"), ("I-PER", "I-PER"), ("I-PER", "O")})
    'IOB1'
    """
    hyphenated = {(_hyphenated(left), _hyphenated(right)) for left, right in pairs}
    letters = {right[0] for _, right in hyphenated if looks_like_tag(right)}
    for evidence, name in _EVIDENCE:
        # IOB1 allows every sequence of B and I, so its illegal pairs are those with letters that it does not have.
        if letters.intersection(evidence) and _illegal(hyphenated, name) < _illegal(hyphenated, "IOB1"):
            return name
    # The letters of tags that begin an entity whatever the letter is: the tag before is O or of another type.
    openers = {right[0] for left, right in hyphenated if looks_like_tag(right) and left[1:] != right[1:] != left}
    return "IOB1" if "I" in openers and "B" not in openers else "IOB2"


def _hyphenated(tag: str) -> str:
    """The tag with a hyphen in place of an underscore or a dash: a tag broken by one is still evidence."""
    return f"{tag[0]}-{tag[2:]}" if has_other_dash(tag, LETTERS) else tag


def _illegal(pairs: Iterable[tuple[str, str]], scheme: str) -> int:
    """The number of pairs of neighbouring tags that are illegal in a scheme."""
    meanings, marks_ends = meanings_of(scheme), SCHEMES[scheme].marks_ends
    count = 0
    for left, right in pairs:
        before, after = meanings[left], meanings[right]
        is_open = before.type is not None and not before.closes
        continues = after.type is not None and not after.opens
        joined = is_open and continues and before.type == after.type
        unknown = {left, right} - meanings.keys()
        orphan = continues and not joined and not SCHEMES[scheme].lazy
        count += bool(unknown) or orphan or (is_open and marks_ends and not joined)
    return count


def _issues(
    tags: Sequence[str], scheme: str, entities: Sequence[Entity], orphans: Sequence[int]
) -> tuple[TagIssue, ...]:
    meanings, letters = meanings_of(scheme), SCHEMES[scheme]
    issues = [_unknown_tag(index, tag, letters) for index, tag in enumerate(tags) if tag not in meanings]
    issues += [_orphan(index, tags, letters) for index in orphans]
    if letters.marks_ends:
        left_open = (entity for entity in entities if not meanings[tags[entity.end - 1]].closes)
        issues += [_open_end(entity, tags, letters) for entity in left_open]
    return tuple(sorted(issues, key=lambda issue: issue.index))


def _unknown_tag(index: int, tag: str, scheme: Scheme) -> TagIssue:
    repair, why, fix = "", "it is not a tag", ""
    if tag != without_outer_space(tag):
        repair = "outer-space"
        why = "it begins or ends with a space" if tag != tag.strip(" ") else "there is a space beside its hyphen"
    elif holds_several(tag):
        why, fix = "it holds several tags", ONE_LEVEL
    elif tag in EMPTY:
        repair, why = "bare-dash", "letter and type are missing" if tag else "it is empty"
    elif tag[:1] == "-":
        repair, why = "lost-prefix", "its letter is missing"
    elif has_small_letter(tag, scheme.letters):
        repair, why = "small-letter", "its letter is not a capital"
    elif has_letter_last(tag, scheme.letters):
        repair, why = "letter-last", "its letter follows its type"
    elif has_other_dash(tag, scheme.letters):
        code = "" if tag[1] == "_" else f" (U+{ord(tag[1]):04X})"
        repair, why = "underscore", f"it has {tag[1]}{code} instead of -"
    elif tag[1:2] == "-" and tag[:1] not in scheme.letters:
        why = f"{scheme.name} has no letter {tag[0]}"
    elif tag in (*LETTERS, *(f"{letter}-" for letter in LETTERS)):
        fix = r"add the type, e.g. sed -E 's/([\t ,;])([BIES])-?\r?$/\1\2-Disease/' old > new"
        why = "its type is missing"
    elif len(tag) == 1 and tag.isupper():
        fix = ONE_LETTER_TYPES
    elif tag[1:2] == "-":
        why = "its type begins or ends with white space, or contains a tab or a line break"
    elif tag.startswith(("(", "*", ")")):
        why, fix = "its bracket is nested or has no partner", "close every bracket; keep one of nested entities"
    elif is_bare(tag):
        repair, why = "bare-type", "its letter is missing"
    *others, last = (f"{letter}-TYPE" for letter in scheme.letters)
    legal = f"{', '.join(('O', *others))} or {last}"
    return TagIssue(index, UNKNOWN_TAG, f"the tag {tag!r} cannot be read: {why}; expected {legal}", repair, fix)


def _orphan(index: int, tags: Sequence[str], scheme: Scheme) -> TagIssue:
    tag, before = tags[index], repr(tags[index - 1]) if index else "the start of the sentence"
    legal = " or ".join(f"{letter}-{tag[2:]}" for letter in dict.fromkeys((scheme.begin, scheme.single)))
    message = f"{tag!r} continues an entity, but no entity of its type is open after {before}; expected O, {legal}"
    if index and tags[index - 1][:2] in (f"{scheme.begin}-", f"{scheme.inside}-"):
        message += ", or the same type if both words are one entity"
    return TagIssue(index, "entity without beginning", message, "orphan-inside")


def _open_end(entity: Entity, tags: Sequence[str], scheme: Scheme) -> TagIssue:
    last = entity.end - 1
    after = repr(tags[entity.end]) if entity.end < len(tags) else "the end of the sentence"
    legal = f"{scheme.inside}-{entity.type} or {scheme.end}-{entity.type}"
    message = f"the entity at {tags[last]!r} is not ended before {after}; expected {legal} after it"
    if entity.end - entity.start == 1:
        message += f", or {scheme.single}-{entity.type} in its place"
    return TagIssue(last, "entity without end", message, "open-end")
