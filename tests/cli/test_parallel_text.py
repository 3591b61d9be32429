"""The commands `align` and `project`, with an aligner that needs no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nersery import Entity, Sentence, io
from nersery.cli import methods, parallel_text  # noqa: F401 - they add their commands
from nersery.core.alignments import Link
from nersery.core.outcome import Reject
from nersery.core.training_context import NO_TRAINING, Training
from nersery.crosslingual.aligners.base import Aligner, Alignment, Pair
from nersery.io.pharaoh import AlignmentFile
from tests.cli.calls import Result, call
from tests.standins import register

FITTED: list[int] = []
"""The number of pairs that each aligner has learnt from."""
BROKEN: list[int] = []
"""The calls of `align`, counted from 1, in which the process stops."""


@dataclass
class InPlace(Aligner):
    """Links each word with the one at the same position; rejects a pair with ``poison`` in it."""

    probability: float = 0.5
    _calls: int = 0

    def fit(self, pairs: Sequence[Pair], training: Training = NO_TRAINING) -> None:
        FITTED.append(len(pairs))

    def align(self, pairs: Sequence[Pair]) -> Sequence[Alignment | Reject]:
        self._calls += 1
        if self._calls in BROKEN:
            raise KeyboardInterrupt
        return [Reject("poisoned") if "poison" in pair.source else self._links(pair) for pair in pairs]

    def _links(self, pair: Pair) -> Alignment:
        return tuple(Link(n, n, self.probability) for n in range(min(len(pair.source), len(pair.target))))


@pytest.fixture(autouse=True)
def _aligner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the aligner ``in_place``."""
    register(monkeypatch, "align", "in_place", f"{__name__}:InPlace")
    FITTED.clear()
    BROKEN.clear()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a labelled source, its translation, and links."""
    monkeypatch.chdir(tmp_path)
    io.write(
        [
            Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),), id="a"),
            Sentence(("nobody",), id="b"),
            Sentence(("in", "Oslo"), (Entity(1, 2, "LOC"),), id="c"),
            Sentence(("in", "Lima"), (Entity(1, 2, "LOC"),), id="d"),
        ],
        "en.jsonl",
    )
    Path("de.txt").write_text("Ada Lovelace schrieb\nniemand\n\nin Lima\n")
    Path("links").write_text("0-0:0.5 1-1:0.5 2-2:0.5\n0-0\n\n0-0\n")


def align(*args: str) -> Result:
    return call("crosslingual", "align", "en.jsonl", "de.txt", "out.align", "--method", "in_place", *args)


def project(*args: str, alignments: str = "links") -> Result:
    return call("crosslingual", "project", "en.jsonl", "de.txt", "out.jsonl", "--alignments", alignments, *args)


# --- align ----------------------------------------------------------------------------------------------------------


def test_each_line_of_links_belongs_to_a_line_of_text():
    result = align()
    assert result.code == 0, result.err
    assert Path("out.align").read_text() == "0-0:0.5 1-1:0.5 2-2:0.5\n0-0:0.5\n\n0-0:0.5 1-1:0.5\n"
    assert result.out == "out.align: read 4, wrote 3, rejected 1 (empty line in the target: 1)\n"
    assert "paired by order" in result.err
    (reject,) = io.read_rejects(Path("out.align.rejects.jsonl"))
    assert reject.sentence is not None
    assert reject.sentence.id == "c"
    assert FITTED == [3]


def test_a_pair_that_cannot_be_aligned_is_rejected_and_the_job_continues():
    io.write([Sentence((word,)) for word in ("a", "poison", "c", "d")], "en.jsonl")
    Path("de.txt").write_text("A\nB\nC\nD\n")
    assert "rejected 1 (poisoned: 1)" in align().out
    assert Path("out.align").read_text() == "0-0:0.5\n\n0-0:0.5\n0-0:0.5\n"
    (reject,) = io.read_rejects(Path("out.align.rejects.jsonl"))
    assert reject.sentence is not None
    assert reject.sentence.text == "B"


@pytest.mark.parametrize(
    ("args", "alignments", "note"),
    [
        ((), "1-1 2-2 3-3\n1-1\n\n1-1 2-2\n", "do the files count from 1 (--first 1)?"),
        ((), "0-7\n0-7\n\n0-7\n", "odd does not seem to belong to en.jsonl and de.txt"),
        (("--set", 'keep=["PRE"]'), "0-0\n0-0\n\n0-0\n", 'no source entity has the type "PRE"'),
    ],
)
def test_notes_unlikely_alignments_and_settings(args: tuple[str, ...], alignments: str, note: str):
    Path("odd").write_text(alignments)
    result = project(*args, alignments="odd")
    assert result.code == 0
    assert note in result.err


def test_a_source_without_labels_is_noted():
    io.write([sentence.with_entities(()) for sentence in io.read("en.jsonl")], "en.jsonl")
    assert "note: no source sentence has an entity" in project().err


def test_malformed_alignments_do_not_count_as_missing_labels():
    Path("links").write_text("x\n0-0\nx\nx\n")
    assert "note:" not in project("--repair", "drop-sentence").err


def test_links_can_count_from_1_and_omit_probabilities():
    assert align("--first", "1", "--plain", "--set", "probability=1").code == 0
    assert Path("out.align").read_text().splitlines()[0] == "1-1 2-2 3-3"
    assert list(AlignmentFile("out.align", first=1))[3] == (Link(0, 0), Link(1, 1))


@pytest.mark.usefixtures("saves_each_batch")
def test_the_same_command_resumes():
    BROKEN.append(3)
    assert align("--batch-size", "1").code == 130
    assert not Path("out.align").exists()
    BROKEN.clear()
    result = align("--batch-size", "1", "--json")
    assert json.loads(result.out)["read"] == 4
    resumed = Path("out.align").read_bytes()
    assert align("--force").code == 0
    assert Path("out.align").read_bytes() == resumed
    assert not Path("out.align.part").exists()


@pytest.mark.usefixtures("saves_each_batch")
def test_other_settings_do_not_resume():
    BROKEN.append(3)
    assert align("--batch-size", "1").code == 130
    result = align("--batch-size", "1", "--set", "probability=0.25")
    assert result.code == 2
    assert "settings.probability" in result.err


def test_text_is_split_on_each_side():
    Path("en.txt").write_text("Ada, wrote.\n")
    Path("de.txt").write_text("東京。\n")
    command = ["crosslingual", "align", "en.txt", "de.txt", "out.align", "--method", "in_place", "--plain"]
    assert call(*command, "--split", "punctuation", "--target-split", "characters").code == 0
    assert Path("out.align").read_text() == "0-0 1-1 2-2\n"
    assert call(*command, "--split", "words", "--force").code == 2


# --- project --------------------------------------------------------------------------------------------------------


def test_labels_are_projected():
    result = project("--target-language", "de", "--language", "en")
    assert result.code == 0, result.err
    sentences = io.read("out.jsonl")
    assert [(s.id, s.labels, s.language) for s in sentences] == [("de:1", ((0, 2, "PER"),), "de"), ("de:2", (), "de")]
    assert sentences[0].scores == {"alignment_quality": pytest.approx(0.5), "entity_quality": pytest.approx(0.5)}
    assert sentences[0].origin is not None
    assert (sentences[0].origin.method, sentences[0].origin.parents) == ("project", ("a",))
    lost, empty = sorted(io.read_rejects(Path("out.jsonl.rejects.jsonl")), key=lambda reject: reject.reason)
    assert (lost.reason, empty.reason) == ("an entity without an aligned word", "empty line in the target")
    assert lost.sentence is not None
    assert lost.sentence.comments == ("# not projected: LOC Lima [1, 2) of d: an entity without an aligned word",)
    assert "read 4, wrote 2, rejected 2" in result.out


def test_projection_settings_are_applied_and_checked():
    assert project("--set", "keep_incomplete=true", "--set", "rename.PER=PERSON", "--set", 'drop=["LOC"]').code == 0
    assert [s.labels for s in io.read("out.jsonl")] == [((0, 2, "PERSON"),), (), ()]
    assert [s.scores["projected"] for s in io.read("out.jsonl")] == [1.0, 1.0, 1.0]
    result = project("--set", "maxgap=2", "--set", "threshold=high", "--force")
    assert result.code == 2
    assert 'project has no setting "maxgap"; did you mean "max_gap"' in result.err
    assert "project.threshold is 'high'" in result.err


def test_projected_sentences_can_be_filtered_by_quality():
    assert project().code == 0
    io.write([], "none.jsonl")
    result = call(
        "select", "out.jsonl", "kept.jsonl", "--method", "alignment_quality", "--gold", "none.jsonl",
        "--set", "empty_rate=0",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert [s.id for s in io.read("kept.jsonl")] == ["de:1"]
    counted = json.loads(call("inspect", "stats", "out.jsonl", "kept.jsonl", "--json").out)
    assert counted[0]["dropped"] == {"an entity without an aligned word": 1, "empty line in the target": 1}
    assert counted[1]["dropped"] == {"no entities": 1}
    shown = call("inspect", "stats", "out.jsonl", "kept.jsonl").out
    assert "dropped before: 2 sentences" in shown
    assert "1  no entities" in shown
    assert [line.split() for line in shown.splitlines()][-3::2] == [
        ["type", "out.jsonl", "kept.jsonl"],
        ["PER", "1", "1"],
    ]


def test_refuses_links_of_another_text():
    Path("links").write_text("0-0\n")
    result = project()
    assert result.code == 3
    assert "links: 1 lines of alignments, expected 4: one for each pair of sentences" in result.err
    assert not Path("out.jsonl.part").exists()


@pytest.mark.parametrize("of_text", [0, 1, 3])
@pytest.mark.parametrize("of_links", [0, 1, 3])
def test_blank_lines_at_the_end_are_ignored(of_text: int, of_links: int) -> None:
    """Both in text and in a file of links, even if only one has some; but no link is lost."""
    Path("en.txt").write_text("Ada wrote\nnobody\n\nin Lima\n" + "\n" * of_text)
    Path("de.txt").write_text("Ada schrieb\nniemand\n\nin Lima\n" + " \n" * of_text)
    Path("links").write_text("0-0 1-1\n0-0\n\n0-0\n" + "\r\n" * of_links)
    text = ("crosslingual", "project", "en.txt", "de.txt", "o.jsonl", "--alignments", "links")
    result = call(*text)
    assert result.code == 0, result.err
    assert f"read {4 + of_text}, wrote 3, rejected {1 + of_text} " in result.out
    Path("links").write_text("0-0 1-1\n0-0\n\n0-0\n" + "\n" * of_text + "0-0\n")
    assert call(*text, "--force").code == 3
    Path("links").write_text("0-0 1-1\n0-0\n\n")
    assert call(*text, "--force").code == 3


def test_refuses_files_of_unequal_length():
    Path("de.txt").write_text("A\nB\n")
    result = project()
    assert result.code == 3
    assert "en.jsonl: 4 sentences, but 2 in de.txt" in result.err


def test_a_shift_between_files_of_equal_length_is_noted_by_both_commands():
    lines = [f"wrote {number * number % 97} " + "x" * (number * 7 % 31 + 1) + "\n" for number in range(60)]
    Path("en.txt").write_text("".join(lines))
    Path("de.txt").write_text("".join([*lines[:20], *lines[21:], "more\n"]))
    io.write([Sentence(sentence.words, id=sentence.id) for sentence in io.read("en.txt")], "en.jsonl")
    note = "note: en.jsonl has as many sentences as de.txt, but they seem to stop matching near sentence 21: 22 here, "
    assert note in align("--force").err
    assert note in project("--force", alignments="out.align").err
    assert "note: en" not in project("--force", "--quiet", alignments="out.align").err


def test_malformed_links_are_errors_or_rejects():
    Path("links").write_text("0-0 1-1\n0_0\n\n0-0 1-1\n")
    result = project()
    assert result.code == 3
    assert "links:2: '0_0' is not a link" in result.err
    assert (
        "(empty line in the target: 1, malformed alignment: 1)" in project("--repair", "drop-sentence", "--force").out
    )
    comments = [r.sentence.comments for r in io.read_rejects(Path("out.jsonl.rejects.jsonl")) if r.sentence]
    assert any("links:2: '0_0' is not a link" in comment for own in comments for comment in own)


def test_a_link_out_of_range_is_a_reject():
    Path("links").write_text("0-0 1-1\n0-9\n\n1-1\n")
    assert "an alignment link points outside the sentence: 1" in project().out
    reasons = {r.reason: r.sentence for r in io.read_rejects(Path("out.jsonl.rejects.jsonl"))}
    sentence = reasons["an alignment link points outside the sentence"]
    assert sentence is not None
    assert sentence.comments == ("# link 0-9, counted from 0: the target has 1 words, expected 0 to 0",)


def test_alignments_can_count_from_one():
    Path("links").write_text("1-1 2-2\n1-1\n\n2-2\n")
    assert project("--first", "1").code == 0
    assert [s.labels for s in io.read("out.jsonl")] == [((0, 2, "PER"),), (), ((1, 2, "LOC"),)]
    result = project("--first", "2")
    assert result.code == 2


def test_probabilities_can_come_from_their_own_file():
    Path("links").write_text("0-0 1-1 2-2\n0-0\n\n0-0 1-1\n")
    Path("chances").write_text("0.5 0.5 0.5\n1\n\n0.5 0.5\n")
    assert project("--probabilities", "chances").code == 0
    assert io.read("out.jsonl")[0].scores["alignment_quality"] == pytest.approx(0.5)
    assert project("--probabilities", "chances", "--also", "en.jsonl", "--alignments", "links").code == 2


def test_several_sources_vote():
    io.write([s.with_entities(()) if s.id == "a" else s for s in io.read("en.jsonl")], "fr.jsonl")
    io.write(io.read("en.jsonl"), "es.jsonl")
    Path("links").write_text("0-0 1-1 2-2\n0-0\n\n0-0 1-1\n")
    two = project("--also", "fr.jsonl", "--alignments", "links")
    assert "the sources disagree on an entity: 1" in two.out
    three = project(
        "--also", "fr.jsonl", "--alignments", "links", "--also", "es.jsonl", "--alignments", "links", "--force"
    )
    assert three.code == 0, three.err
    first = io.read("out.jsonl")[0]
    assert first.labels == ((0, 2, "PER"),)
    assert first.entities[0].score == pytest.approx(2 / 3)
    assert first.origin is not None
    assert first.origin.parents == ("a", "a", "a")
    result = project("--also", "fr.jsonl", "--force")
    assert result.code == 2
    assert "2 sources and 1 alignment files" in result.err


def test_alignments_in_another_order_than_their_sources_are_noted():
    """A source that does not fit its alignments has no vote, so the other one decides."""
    sentences = [Sentence(("Ada", "x"), (Entity(0, 1, "PER"),), id="e"), Sentence(("y",), id="f")]
    io.write([*sentences, *[*io.read("en.jsonl")][2:]], "fr.jsonl")
    Path("fr.align").write_text("0-0\n0-0\n\n0-0 1-1\n")
    Path("links").write_text("0-0 2-2\n0-0\n\n0-0\n")
    swapped = project("--also", "fr.jsonl", "--alignments", "links", "--set", 'drop=["LOC"]', alignments="fr.align")
    assert "wrote 3" in swapped.out
    note = "note: links does not seem to belong to fr.jsonl and de.txt: links point outside their sentences, "
    assert f"{note}first in line 1 (such lines: 1)" in swapped.err
    assert "as for `align` (--split, --language, --target-split, --target-language)\n" in swapped.err
    assert "fr.align does not seem" not in swapped.err
    right = project("--also", "fr.jsonl", "--alignments", "fr.align", "--force")
    assert "seem" not in right.err


def test_notes_text_split_into_other_words_than_were_aligned():
    """Labels would move to other words, or be lost, although no link points outside its sentence."""
    io.write([Sentence(("Ada", "here"), (Entity(0, 1, "PER"),))] * 12, "en.jsonl")
    Path("de.txt").write_text("อาดา ที่นี่\n" * 12)
    assert align().code == 0
    other = project("--target-split", "characters", alignments="out.align")
    assert (
        "note: the words of de.txt seem to differ from those that were aligned: in only 0 of 12 lines of out.align, a "
        "link reaches the last word. Split the text into words as for `align` (--target-split, --target-language)\n"
    ) in other.err
    assert "seem to differ" not in project("--force", alignments="out.align").err


def test_a_picture_shows_the_chosen_pair():
    assert project("--picture", "pair.svg").code == 0
    assert "Ada Lovelace wrote" in Path("pair.svg").read_text()
    assert ElementTree.parse("pair.svg").getroot().tag.endswith("svg")
    assert project("--picture", "pair.svg").code == 2
    assert project("--picture", "pair.svg", "--picture-of", "de:4", "--force").code == 0
    assert "in Lima" in Path("pair.svg").read_text()
    result = project("--picture", "pair.svg", "--picture-of", "de:99", "--force")
    assert result.code == 2
    assert "no pair has a target with that id" in result.err


def test_a_wrong_picture_is_refused_before_any_work():
    for name in ("out.jsonl", "out.jsonl.rejects.jsonl", "links", "de.txt"):
        result = project("--picture", name, "--force")
        assert result.code == 2, name
        assert "results are written there" in result.err or "is an input" in result.err
    assert project("--picture", "pair.svg", "--picture-of", "de:99").code == 2
    result = project("--picture", "pair.png")
    assert (result.code, "e.g. pair.svg" in result.err) == (2, True)
    assert not Path("out.jsonl").exists()


def test_an_input_is_never_overwritten():
    before = Path("links").read_bytes()
    result = call("crosslingual", "project", "en.jsonl", "de.txt", "links", "--alignments", "links", "--force")
    assert result.code == 2
    assert Path("links").read_bytes() == before


def test_sources_that_lack_sentences_vote_by_ids():
    """In each file of links, the lines of the target come first, then those of unmatched source sentences."""
    for name, numbers in (("de", (1, 2, 5)), ("en", (1, 2, 3)), ("fr", (1, 2, 4))):
        io.write([Sentence(("Ada", "x"), (Entity(0, 1, "PER"),), id=f"d{n}") for n in numbers], f"{name}.jsonl")
    for name in ("en", "fr"):
        call(
            "crosslingual",
            "align",
            f"{name}.jsonl",
            "de.jsonl",
            f"{name}.align",
            "--method",
            "in_place",
            "--pair-by",
            "id",
        )
        assert len(Path(f"{name}.align").read_text("utf-8").splitlines()) == 4
    files = ("--alignments", "en.align", "--also", "fr.jsonl", "--alignments", "fr.align", "--pair-by", "id")
    result = call("crosslingual", "project", "en.jsonl", "de.jsonl", "out.jsonl", *files)
    assert result.code == 0, result.err
    assert [(s.id, s.labels) for s in io.read("out.jsonl")] == [("d1", ((0, 1, "PER"),)), ("d2", ((0, 1, "PER"),))]
    assert "read 5, wrote 2, rejected 3" in result.out
