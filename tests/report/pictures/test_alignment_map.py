"""The picture of a pair: well-formed, escaped, and it shows which entities were projected."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from nersery import Entity, Sentence
from nersery.core.alignments import Alignment, Link
from nersery.core.outcome import Reject
from nersery.crosslingual.label_projection.projection import Projection
from nersery.report.pictures.alignment_map import alignment_map
from nersery.report.pictures.matrix import CELL

SVG = "{http://www.w3.org/2000/svg}"
SOURCE = Sentence(("Ada", "Lovelace", "<b>", "Bo"), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")), id="s")
LINKS = (Link(0, 1, 0.5), Link(1, 2, 0.25), Link(2, 0))


def draw(target: str = "& अडा L", source: Sentence = SOURCE, alignment: Alignment = LINKS) -> ElementTree.Element:
    outcome = Projection().project(source, Sentence(tuple(target.split()), id="t"), alignment)
    sentence = outcome.sentence if isinstance(outcome, Reject) else outcome
    assert sentence is not None
    return ElementTree.fromstring(alignment_map(source, sentence, alignment))


def parts(picture: ElementTree.Element, kind: str) -> list[dict[str, str]]:
    return [part.attrib for part in picture.iter(f"{SVG}rect") if part.get("class") == kind]


def labels(picture: ElementTree.Element) -> dict[str, str]:
    return {str(text.text): str(text.get("class")) for text in picture.iter(f"{SVG}text") if text.get("class")}


def test_each_link_has_a_cell_as_dark_as_its_score():
    found = [
        (float(cell["x"]) // CELL, float(cell["y"]) // CELL, cell["fill-opacity"]) for cell in parts(draw(), "cell")
    ]
    assert found == [(1, 0, "0.50"), (2, 1, "0.25"), (0, 2, "1.00")]
    titles = [title.text for title in draw().iter(f"{SVG}title")]
    assert "Ada → अडा: 0.500" in titles
    assert "<b> → &: 1.000" in titles


def test_the_legend_fits_into_the_picture():
    picture = draw()
    longest = max(len("".join(text.itertext())) for text in picture.iter(f"{SVG}text"))
    assert longest > 80, "the legend"
    assert float(picture.attrib["viewBox"].split()[2]) >= 7 * longest


def test_escapes_words():
    text = str(alignment_map(SOURCE, Sentence(("&", "<i>", "c"), id="t"), LINKS))
    assert "<b>" not in text
    assert "<i>" not in text
    assert labels(draw())["<b>"] == "word"


def test_frames_projected_entities_and_strikes_out_lost_ones():
    picture = draw()
    (frame,) = parts(picture, "chosen")
    assert (int(frame["x"]) // CELL, int(frame["y"]) // CELL) == (1, 0)
    assert (int(frame["width"]), int(frame["height"])) == (2 * CELL - 2, 2 * CELL - 2)
    found = labels(picture)
    assert found["Ada PER"] == found["Lovelace"] == found["अडा PER"] == "entity"
    assert found["Bo LOC"] == "lost"
    assert len(parts(picture, "band")) == 3


@pytest.mark.parametrize("name", ["PER", "person"])
def test_an_entity_with_a_link_only_to_another_entity_is_lost(name: str):
    target = Sentence(("Ada", "Lovelace"), (Entity(0, 2, name),), id="t")
    alignment = (Link(3, 1), Link(0, 0), Link(1, 1))
    for source in (SOURCE, Sentence(SOURCE.words, (Entity(0, 2, "PER"), Entity(3, 4, "PER")), id="s")):
        picture = ElementTree.fromstring(alignment_map(source, target, alignment))
        assert len(parts(picture, "chosen")) == 1
        assert labels(picture)[f"Bo {source.entities[1].type}"] == "lost"
        assert labels(picture)["Ada PER"] == "entity"


@pytest.mark.parametrize("target", ["شركة آدا كتبت", "東京 " + "東" * 50 + " x", "a b c"])
def test_words_in_any_script_fit_the_picture(target: str):
    picture = draw(target)
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    assert picture.attrib["viewBox"] == f"0 0 {width:.0f} {height:.0f}"
    frame = parts(picture, "frame")[0]
    assert float(frame["width"]) < width
    assert float(frame["height"]) < height
    assert "prefers-color-scheme: dark" in str(ElementTree.tostring(picture))


def test_draws_pairs_without_links_or_entities():
    assert parts(draw(alignment=()), "cell") == []
    assert parts(draw(source=Sentence(("a",), id="s"), alignment=()), "chosen") == []
