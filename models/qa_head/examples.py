"""The training data of the question-answering head: texts with marked names, and questions over a tree of kinds."""

from __future__ import annotations

import itertools
import json
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from nersery import io
from nersery.core.random import item_rng
from nersery.core.text import definitions

HERE = Path(__file__).parent
MAX_TEXT_LENGTH = 34
"""The most words of a sentence; longer sentences are left out."""
ANY = "entity"
"""The root of the tree: the kind of a name about which nothing more is known."""
NAMED_TYPES = {
    "PER": "person",
    "LOC": "place",
    "ORG": "organization",
    "MISC": "misc",
    "CORP": "company",
    "GRP": "group",
    "CW": "work",
    "PROD": "product",
    "FAC": "building",
    "EVENT": "event",
    "NORP": "nationality",
    "Organ": "organ",
    "Cell": "cell",
    "Cellular_component": "cell_part",
    "Multi-tissue_structure": "tissue",
    "Tissue": "tissue",
    "Organism_subdivision": "body_part",
    "Organism_substance": "substance",
    "Pathological_formation": "growth",
    "Anatomical_system": "anatomy",
    "Developing_anatomical_structure": "anatomy",
    "Immaterial_anatomical_entity": "anatomy",
}
DEFAULTS = {
    "person": ("PER", "PERSON"),
    "place": ("LOC",),
    "country": ("GPE",),
    "organization": ("ORG",),
    "company": ("CORP",),
    "group": ("GRP",),
    "misc": ("MISC",),
    "work": ("CW", "WORK_OF_ART"),
    "product": ("PROD", "PRODUCT"),
    "event": ("EVENT",),
    "building": ("FAC",),
    "disease": ("DISEASE",),
    "chemical": ("CHEMICAL",),
    "material": ("MATERIAL",),
    "gene": ("GENE",),
    "date": ("DATE",),
    "time": ("TIME",),
    "percent": ("PERCENT",),
    "money": ("MONEY",),
    "quantity": ("QUANTITY",),
    "ordinal": ("ORDINAL",),
    "cardinal": ("CARDINAL",),
}
"""Kinds with types for which nersery has its own question, which is asked unchanged."""

ODD_RATE = 0.35
USUAL = (
    "nationality",
    "country",
    "drug",
    "food",
    "disease",
    "chemical",
    "gene",
    "organism",
    "material",
    "discipline",
    "genre",
)
"""Kinds with names that cannot be arbitrary words."""
FIGURE, FIGURE_RATE = "figure", 0.25
"""The weight of figures against names in the choice of a question. It is low, because figures are in many texts."""
SPLIT_RATE = 0.3
"""The share of filled sentences in which hyphens are separate words, as in some corpora."""
LETTER = r"[\w\u0900-\u0963\u0971-\u097f\u200c\u200d]"
Names = dict[str, list[tuple[str, ...]]]


class Kind(NamedTuple):
    """A node of the tree, see ``kinds.toml``."""

    parent: str
    nouns: tuple[str, ...]
    phrases: tuple[str, ...]
    endings: frozenset[str]
    names: tuple[tuple[str, ...], ...]
    things: frozenset[str]
    also: str
    """Another kind. Its names also belong to this one."""


class Mention(NamedTuple):
    """The words ``[start, end)`` and their kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Text:
    """A sentence.

    Args:
        covers: The branches of the tree for which every name in the sentence is marked.
        asked: A question that the mentions answer; empty asks for kinds.
    """

    words: tuple[str, ...]
    mentions: tuple[Mention, ...]
    covers: tuple[str, ...]
    asked: str = ""


class Example(NamedTuple):
    """A question about a sentence.

    Args:
        answers: Spans of words ``[start, end)``; empty if there is no answer.
        unknown: Words for which it is unknown whether they answer the question.
        for_teacher: Whether a teacher answers it, too. This applies only to questions about kinds, which are English.
    """

    question: str
    words: tuple[str, ...]
    answers: tuple[tuple[int, int], ...]
    unknown: frozenset[int]
    for_teacher: bool = True


# --- the tree -----------------------------------------------------------------------------------------------------


class Kinds:
    """The tree of kinds."""

    def __init__(self, path: Path = HERE / "kinds.toml") -> None:
        self.kinds = {
            name: Kind(
                table.get("parent", ANY),
                tuple(table.get("nouns", "").split()),
                tuple(table.get("phrases", ())),
                frozenset(table.get("endings", "").split()),
                tuple(tuple(words_of(text)) for text in table.get("names", "").split("; ") if text),
                frozenset(table.get("things", "").split()),
                table.get("also", ""),
            )
            for name, table in tomllib.loads(path.read_text("utf-8")).items()
        }

    def line(self, kind: str) -> tuple[str, ...]:
        """A kind and all its ancestors, the root last."""
        found = [kind]
        while found[-1] != ANY:
            found.append(self.kinds[found[-1]].parent)
        return tuple(found)

    def children(self, kind: str) -> list[str]:
        """The kinds directly below a kind."""
        return [name for name, node in self.kinds.items() if node.parent == kind]

    @cached_property
    def by_noun(self) -> dict[str, str]:
        """The kind of a name that a noun describes."""
        return {noun: name for name, kind in self.kinds.items() for noun in kind.nouns}

    @cached_property
    def by_name(self) -> dict[tuple[str, ...], str]:
        """The kind of a name, without names that have several kinds."""
        found: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for name, kind in self.kinds.items():
            for words in kind.names:
                found[words].add(name)
        return {words: min(names) for words, names in found.items() if len(names) == 1}

    @cached_property
    def by_ending(self) -> dict[str, str]:
        """The kind of a name that ends with a word."""
        return {ending: name for name, kind in self.kinds.items() for ending in kind.endings}

    @cached_property
    def by_thing(self) -> dict[str, str]:
        """The kind of a word that is not a name."""
        return {thing: name for name, kind in self.kinds.items() for thing in kind.things}


def words_of(text: str) -> list[str]:
    """The words and punctuation marks of a text. Vowel signs of Devanagari are part of words, unlike in ``\\w``."""
    return re.findall(rf"(?:[A-Z]\.){{2,}}|{LETTER}+(?:[-'’&+/.]{LETTER}+)*|[^\w\s]", text)


# --- texts --------------------------------------------------------------------------------------------------------


def labelled(path: Path, covers: Sequence[str], **layout: int) -> list[Text]:
    """The sentences of a labelled corpus."""
    texts = []
    for sentence in io.read(path, **layout, repair=("lost-prefix", "ragged-lines", "outer-space", "drop-sentence")):
        mentions = tuple(Mention(e.start, e.end, NAMED_TYPES[e.type]) for e in sentence.entities)
        texts.append(Text(sentence.words, mentions, tuple(covers)))
    return texts


def unlabelled(words: Sequence[str]) -> Text:
    """A sentence in which it is unknown whether any word answers a question."""
    return Text(tuple(words), (Mention(0, len(words), ANY),), ())


def asked(path: Path) -> list[Text]:
    """Questions about the sentence of a paragraph that answers them, and about other sentences that do not."""
    texts = []
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            texts += list(_asked(paragraph))
    return texts


def _asked(paragraph: dict[str, object]) -> Iterator[Text]:
    context = str(paragraph["context"])
    borders = [0, *(match.end() for match in re.finditer(r"[.!?] (?=[A-Z\"])|। ", context)), len(context)]
    sentences = list(itertools.pairwise(borders))
    for question in paragraph["qas"]:  # type: ignore[attr-defined]
        answer = question["answers"][0]
        start, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
        for first, last in sentences:
            words = tuple(words_of(context[first:last]))
            if not words:
                continue
            if first <= start and end <= last:
                begin = len(words_of(context[first:start]))
                found = Mention(begin, begin + len(words_of(context[start:end])), ANY)
                if found.start < found.end and words[found.start : found.end] == tuple(words_of(context[start:end])):
                    yield Text(words, (found,), (), question["question"])
            elif end <= first or last <= start:
                yield Text(words, (), (), question["question"])


def filled(kinds: Kinds, names: Names, phrases: Sequence[tuple[str, ...]], copies: int, seed: int) -> list[Text]:
    """The sentences of ``sentences.txt`` with names in their gaps. Some are names only in the context of the sentence.

    Args:
        phrases: Arbitrary phrases, which may be the title of a work.
    """
    texts = []
    covers = tuple(kind for kind in kinds.children(ANY) if kind != "anatomy")
    for number, line in enumerate((HERE / "sentences.txt").read_text("utf-8").splitlines()):
        for copy in range(copies if "{" in line else 2):
            rng = item_rng(seed, "fill", number, copy)
            words: list[str] = []
            mentions = []
            for word in line.split():
                kind = word.strip("{}")
                if kind == "year":
                    words.append(str(rng.randint(1800, 2020)))
                elif kind in kinds.kinds and word != kind:
                    odd = phrases if "work" in kinds.line(kind) else names[ANY]
                    is_usual = kind in USUAL or FIGURE in kinds.line(kind)
                    name = rng.choice(odd if rng.random() < ODD_RATE and not is_usual else names[kind])
                    mentions.append(Mention(len(words), len(words) + len(name), kind))
                    words += name
                else:
                    words.append(word)
            text = Text(tuple(words), tuple(mentions), covers)
            texts.append(_split(text) if rng.random() < SPLIT_RATE else text)
    return texts


def _split(text: Text) -> Text:
    """The text with words split at their hyphens."""
    places, words = [], list[str]()
    for word in text.words:
        places.append(len(words))
        words += [part for part in re.split(r"(-)", word) if part]
    places.append(len(words))
    mentions = tuple(Mention(places[m.start], places[m.end], m.kind) for m in text.mentions)
    return replace(text, words=tuple(words), mentions=mentions)


# --- questions ----------------------------------------------------------------------------------------------------

FORMS = (
    ("Which {} is mentioned in texts?", 6),
    ("What is the {} mentioned in texts?", 3),
    ("Which {} is mentioned in the text?", 2),
    ("What {} is mentioned in texts?", 1),
    ("What is the name of the {}?", 1),
    ("Which words name a {}?", 1),
    ("Which {} is named here?", 1),
    ("{}", 2),
)
PERSON_FORMS = (("Who is the {} mentioned in texts?", 6), ("Who is mentioned in texts?", 1), ("Who is named here?", 1))
DEFAULT_RATE, PHRASE_RATE = 0.35, 0.5


class Questions:
    """Draws questions about texts."""

    def __init__(self, kinds: Kinds, pools: Names, replaced: float = 0.25) -> None:
        self.kinds, self.pools, self.replaced = kinds, pools, replaced

    def draw(self, text: Text, rng: random.Random) -> Example:
        """Draw a question about a text. For most texts with names, it has an answer."""
        if text.asked:
            answers = tuple((m.start, m.end) for m in text.mentions)
            return Example(text.asked, text.words, answers, frozenset(), for_teacher=False)
        if text.covers and rng.random() < self.replaced:
            text = self._with_other_names(text, rng)
        targets = self._targets(text, rng)
        also = {self.kinds.kinds[target].also for target in targets} - targets
        answers = tuple((m.start, m.end) for m in text.mentions if targets & set(self.kinds.line(m.kind)))
        answers += tuple((m.start, m.end) for m in text.mentions if m.kind in also)
        above = {kind for target in targets for kind in self.kinds.line(target)[1:]}
        unknown = {
            word
            for mention in text.mentions
            if mention.kind in above and not targets & set(self.kinds.line(mention.kind))
            for word in range(mention.start, mention.end)
        }
        return Example(self._words(targets, rng), text.words, answers, frozenset(unknown))

    def _with_other_names(self, text: Text, rng: random.Random) -> Text:
        """The text with some of its names replaced by other names of the same kind."""
        words: list[str] = []
        mentions, end = [], 0
        for mention in sorted(text.mentions):
            words += text.words[end : mention.start]
            name = text.words[mention.start : mention.end]
            if self.pools.get(mention.kind) and rng.random() < 0.7:
                name = rng.choice(self.pools[mention.kind])
            mentions.append(Mention(len(words), len(words) + len(name), mention.kind))
            words += name
            end = mention.end
        return replace(text, words=(*words, *text.words[end:]), mentions=tuple(mentions))

    def _targets(self, text: Text, rng: random.Random) -> set[str]:
        """The kinds to ask for: one, or several with the same parent."""
        kinds = sorted({mention.kind for mention in text.mentions} - {ANY})
        lines = [self.kinds.line(kind)[:-1] for kind in kinds]
        if lines and rng.random() < 0.65:
            line = rng.choices(lines, [FIGURE_RATE if FIGURE in line else 1 for line in lines])[0]
            target = line[-1] if rng.random() < 0.3 else rng.choice(line)
        else:
            branch = rng.choice(text.covers) if text.covers else rng.choice(list(self.kinds.kinds))
            below = [name for name in self.kinds.kinds if branch in self.kinds.line(name)]
            target = rng.choice([*below, *(name for name in below if name in DEFAULTS)])
        siblings = [name for name in self.kinds.children(self.kinds.kinds[target].parent) if self._nouns(name)]
        if self.kinds.kinds[target].parent != ANY and self._nouns(target) and rng.random() < 0.2:
            return {target, *rng.sample(siblings, min(len(siblings), rng.randint(1, 2)))}
        return {target}

    def _nouns(self, kind: str) -> tuple[str, ...]:
        return self.kinds.kinds[kind].nouns

    def _words(self, targets: set[str], rng: random.Random) -> str:
        """A question for some kinds, in one of many wordings."""
        target = min(targets)
        if len(targets) > 1:
            nouns = [rng.choice(self._nouns(kind)[:4]) for kind in sorted(targets)]
            said = f"{', '.join(nouns[:-1])} or {nouns[-1]}"
        elif target in DEFAULTS and rng.random() < DEFAULT_RATE:
            return definitions.question(rng.choice(DEFAULTS[target]), {})
        else:
            nouns = list(self._nouns(target)[:6])
            phrases = list(self.kinds.kinds[target].phrases)
            if target in DEFAULTS:
                phrases += [definitions.definition(type, {}) for type in DEFAULTS[target]]
            said = rng.choice(phrases)
            if nouns and target not in ("person", "place") and rng.random() > PHRASE_RATE:
                said = " or ".join(rng.sample(nouns, min(len(nouns), rng.randint(1, 3))))
        forms = PERSON_FORMS + FORMS[1:] if targets == {"person"} else FORMS
        form = rng.choices([form for form, _ in forms], [weight for _, weight in forms])[0]
        return form.format(said)
