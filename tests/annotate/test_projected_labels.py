from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.annotate import projected_labels
from nersery.annotate.base import annotate
from nersery.annotate.projected_labels import ProjectedLabels
from nersery.core.alignments import Link, Pair
from nersery.core.errors import DataError, MissingResourceError, NerseryError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.training_context import NO_TRAINING, Training
from nersery.crosslingual.aligners.base import Aligner
from tests.crosslingual.parallel_corpus.test_bitext import translations

ENGLISH = [
    Sentence(("Ada", "Lovelace", "saw", "Oslo"), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")), id="e1"),
    Sentence(("nobody", "came"), id="e2"),
    Sentence(("in", "Rome"), (Entity(1, 2, "LOC"),), id="e3"),
]
RAW = Corpus(
    [
        Sentence(("Oslo", "sah", "Ada", "Lovelace"), id="d1", language="de"),
        Sentence(("niemand", "kam"), id="d2"),
        Sentence(("dort",), id="d3"),
    ]
)


@dataclass
class Same(Aligner):
    """Links equal words."""

    learnt: Sequence[Pair] = ()

    def fit(self, pairs: Sequence[Pair], training: Training = NO_TRAINING) -> None:
        self.learnt = pairs

    def align(self, pairs: Sequence[Pair]) -> list[Any]:
        return [
            Reject("too long")
            if pair.id == "d4"
            else tuple(
                Link(place, pair.target.index(word)) for place, word in enumerate(pair.source) if word in pair.target
            )
            for pair in pairs
        ]


class Nothing:
    """A tagger that finds no entities."""

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        return [sentence.with_entities(()) for sentence in sentences]


@pytest.fixture(autouse=True)
def aligner(monkeypatch: pytest.MonkeyPatch) -> Same:
    made = Same()
    monkeypatch.setattr(projected_labels, "create_nested", lambda setting, table: made)
    return made


@pytest.fixture
def source(tmp_path: Path) -> str:
    io.write(ENGLISH, tmp_path / "en.jsonl")
    return str(tmp_path / "en.jsonl")


def test_labels_follow_their_aligned_words(source: str) -> None:
    result = annotate(RAW, ProjectedLabels(source))
    assert [(s.id, s.labels) for s in result.corpus] == [("d1", ((0, 1, "LOC"), (2, 4, "PER"))), ("d2", ())]
    assert result.corpus[0].origin
    assert result.corpus[0].origin.parents == ("e1",)
    assert result.corpus[0].language == "de"
    assert 0 < result.corpus[0].scores["alignment_quality"] <= 1
    assert result.tally.reasons == {"an entity without an aligned word": 1}


def test_a_comment_names_entities_that_were_not_projected(source: str) -> None:
    raw = Corpus([replace(RAW[0], comments=("# seen",)), *RAW[1:]])
    result = annotate(raw, ProjectedLabels(source, projection={"keep_incomplete": True}))
    assert [len(sentence.comments) for sentence in result.corpus] == [1, 0, 1]
    assert result.corpus[0].comments == ("# seen",)
    assert "not projected: LOC Rome" in result.corpus[2].comments[0]


def test_pairs_by_id_rather_than_by_order(tmp_path: Path) -> None:
    io.write([RAW[1], RAW[0].with_entities([Entity(0, 1, "LOC")]), RAW[2]], tmp_path / "same.jsonl")
    result = annotate(RAW, ProjectedLabels(str(tmp_path / "same.jsonl")))
    assert [s.labels for s in result.corpus] == [((0, 1, "LOC"),), (), ()]


def test_applies_the_settings_of_the_projection(source: str) -> None:
    result = annotate(RAW, ProjectedLabels(source, projection={"drop": ["LOC"], "rename": {"PER": "P"}}))
    assert [s.labels for s in result.corpus] == [((2, 4, "P"),), (), ()]


def test_learns_from_more_text_without_labelling_it(source: str, aligner: Same, tmp_path: Path) -> None:
    for name in ("more.en", "more.de"):
        (tmp_path / f"{name}.txt").write_text("a b\nc\n")
    method = ProjectedLabels(
        source, more_source=str(tmp_path / "more.en.txt"), more_target=str(tmp_path / "more.de.txt")
    )
    result = annotate(RAW, method)
    assert [pair.id for pair in aligner.learnt] == ["d1", "d2", "d3", "more/more.de:1", "more/more.de:2"]
    assert result.tally.read == 3


def test_text_may_have_any_extension(tmp_path: Path, aligner: Same) -> None:
    for name, text in {
        "raw.de": "Oslo !\n",
        "raw.fr": "Oslo .\n",
        "more.de": "Oslo a\n",
        "more.fr": "Oslo b\n",
    }.items():
        (tmp_path / name).write_text(text)
    fr, more_fr, more_de = (str(tmp_path / name) for name in ("raw.fr", "more.fr", "more.de"))
    method = ProjectedLabels(fr, labels="predicted", more_source=more_fr, more_target=more_de)
    training = Training(tagger=Nothing)  # type: ignore[arg-type]
    assert annotate(tmp_path / "raw.de", method, training=training).tally.read == 1
    assert [(pair.source, pair.target) for pair in aligner.learnt] == [
        (("Oslo", "."), ("Oslo", "!")),
        (("Oslo", "b"), ("Oslo", "a")),
    ]


def test_plain_text_is_split_as_requested(tmp_path: Path, aligner: Same) -> None:
    for name, text in {"en": "«Oslo»\n\n", "more.en": "(a)\n", "more.de": "(a) l'Oslo\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    names = {
        key: str(tmp_path / f"{name}.txt") for key, name in (("more_source", "more.en"), ("more_target", "more.de"))
    }
    method = ProjectedLabels(str(tmp_path / "en.txt"), split="punctuation", labels="predicted", **names)
    method.fit((), Training(tagger=Nothing))  # type: ignore[arg-type]
    method.fit_candidates([Sentence(("«", "Oslo", "»"), id="d1", language="fr")])
    assert aligner.learnt[0].source == ("«", "Oslo", "»")
    assert aligner.learnt[1].source == ("(", "a", ")")
    assert aligner.learnt[1].target == ("(", "a", ")", "l'", "Oslo"), "more_target is in the language of the targets"


def test_plain_text_is_split_like_gold_or_by_its_look_by_default(tmp_path: Path, aligner: Same) -> None:
    (tmp_path / "en.txt").write_text("Oslo, here.\n")
    attached = Sentence(("Oslo,", "Rome,", "Kiel."))
    for split, gold, words in (
        (None, [], ("Oslo", ",", "here", ".")),
        ("spaces", [], ("Oslo,", "here.")),
        (None, [attached] * 5, ("Oslo,", "here.")),
    ):
        method = ProjectedLabels(str(tmp_path / "en.txt"), split=split, labels="predicted")  # type: ignore[arg-type]
        method.fit(gold, Training(tagger=Nothing))  # type: ignore[arg-type]
        method.fit_candidates([Sentence(("Oslo",), id="d1")])
        assert aligner.learnt[0].source == words


@pytest.mark.parametrize(
    ("target", "source", "fits"),
    [("a\n\nb\nc\n", "A\nB\n\nC\n", False), ("a\n\nb\nc\n", "A\n\nB\nC\n", True), ("a\nb\nc\n", "A\nB\n\nC\n", True)],
)
def test_refuses_blank_lines_in_different_places(target: str, source: str, fits: bool, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(target)
    (tmp_path / "s.txt").write_text(source)
    method = ProjectedLabels(str(tmp_path / "s.txt"), labels="predicted")
    method.fit((), Training(tagger=Nothing))  # type: ignore[arg-type]
    corpus = Corpus(io.open_corpus(tmp_path / "t.txt"))
    if fits:
        method.fit_candidates(corpus)
        return
    with pytest.raises(DataError, match="sentence 2 is in line 2 here, but in line 3 there"):
        method.fit_candidates(corpus)


@pytest.mark.parametrize("labels", ["given", "predicted"])
def test_refuses_unannotated_translations_as_given_labels(tmp_path: Path, labels: Any) -> None:
    rows: list[dict[str, Any]] = [{"entities": [{"start": 0, "end": 1, "type": "PER"}]}, {"entities": None}]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps({"words": ["Ada"], **row}) + "\n" for row in rows), "utf-8")
    method = ProjectedLabels(str(path), labels=labels)
    method.fit((), Training(tagger=Nothing))  # type: ignore[arg-type]
    targets = Corpus([Sentence(("Ada",), id=id) for id in "ab"])
    if labels == "predicted":
        method.fit_candidates(targets)
        return
    with pytest.raises(DataError, match="entities"):
        method.fit_candidates(targets)


def test_numbers_in_corpus_ids_are_not_line_numbers(tmp_path: Path) -> None:
    """Samples of a corpus can have any numbers, and equal ids can be in any order."""
    targets = Corpus([Sentence((f"t{n}",), id=f"de:{n}") for n in (5, 9)])
    for ids, in_order in ((("en:4", "en:8"), ["en:4", "en:8"]), (("de:9", "de:5"), ["de:5", "de:9"])):
        io.write([Sentence((id,), id=id) for id in ids], tmp_path / "s.jsonl")
        method = ProjectedLabels(str(tmp_path / "s.jsonl"), labels="predicted")
        method.fit((), Training(tagger=Nothing))  # type: ignore[arg-type]
        method.fit_candidates(targets)
        found = [sentence.origin for sentence in method.annotate(targets) if isinstance(sentence, Sentence)]
        assert [origin.parents for origin in found if origin] == [(id,) for id in in_order]


def test_a_tagger_labels_the_translations(source: str) -> None:
    training = Training(tagger=Nothing)  # type: ignore[arg-type]
    result = annotate(RAW, ProjectedLabels(source, labels="predicted"), training=training)
    assert [s.labels for s in result.corpus] == [(), (), ()]


def test_rejects_what_the_aligner_rejects(tmp_path: Path) -> None:
    io.write([*ENGLISH, ENGLISH[0].replace_span(0, 1, ["Eva"])], tmp_path / "en.conll")
    raw = Corpus([*RAW, Sentence(("x",), id="d4")])
    result = annotate(raw, ProjectedLabels(str(tmp_path / "en.conll")))
    assert result.rejects[-1] == Reject("too long", raw[3])


def test_a_shift_between_the_texts_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = (
        [Sentence(tuple(line.split()), id=f"{side}{number}") for number, line in enumerate(lines)]
        for side, lines in zip("st", translations(200), strict=True)
    )
    here[0] = replace(here[0], entities=(Entity(0, 1, "PER"),))
    io.write(here, tmp_path / "s.jsonl")
    annotate(Corpus(there), ProjectedLabels(str(tmp_path / "s.jsonl")))
    assert not capsys.readouterr().err
    annotate(Corpus([*there[:99], *there[100:], there[99]]), ProjectedLabels(str(tmp_path / "s.jsonl")))
    assert (
        "s.jsonl has as many sentences as the text that it translates, but they seem to stop matching near sentence 100"
        in (capsys.readouterr().err)
    )


def test_refuses_fewer_or_more_translations_than_sentences(source: str) -> None:
    with pytest.raises(DataError, match="3 sentences here, but 2 in the text that they translate"):
        annotate(RAW[:2], ProjectedLabels(source))


def test_refuses_a_source_file_without_labels(tmp_path: Path) -> None:
    io.write([sentence.with_entities(()) for sentence in ENGLISH], tmp_path / "en.txt")
    with pytest.raises(DataError, match='let a tagger label it: labels = "predicted"'):
        annotate(RAW, ProjectedLabels(str(tmp_path / "en.txt")))


def test_check_looks_for_the_source_file(source: str) -> None:
    with pytest.raises(MissingResourceError, match=r"missing\.txt does not exist"):
        ProjectedLabels("missing.txt").check()
    ProjectedLabels(source).check()


def test_reports_all_invalid_settings_together(source: str) -> None:
    with pytest.raises(SettingsError, match=r'(?s)has no setting "gap".*more_source and more_target go together'):
        ProjectedLabels(source, more_source="x", projection={"gap": 1})


def test_refuses_a_tagger_when_labels_are_given(source: str) -> None:
    with pytest.raises(SettingsError, match='tagger is for labels = "predicted", but labels is "given"'):
        ProjectedLabels(source, tagger="my-tagger")


def test_annotate_before_fit_candidates_is_an_error(source: str) -> None:
    with pytest.raises(NerseryError, match="call fit_candidates first"):
        ProjectedLabels(source).annotate(RAW)


def test_sentences_without_ids_are_refused(source: str) -> None:
    raw = [replace(sentence, id="") for sentence in RAW]
    with pytest.raises(NerseryError, match="use the sentences of a Corpus"):
        annotate(raw, ProjectedLabels(source))
