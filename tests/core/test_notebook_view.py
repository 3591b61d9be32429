"""What notebooks show of sentences, corpora and results."""

from __future__ import annotations

from html.parser import HTMLParser

from nersery import Corpus, Entity, Sentence
from nersery.core.notebook_view import SHOWN
from nersery.core.outcome import Reject, collect

HARD = "<script>alert(1)</script>", "\"&'", "<b>", "<i>"


class _Text(HTMLParser):
    """The tags, the texts and the values of ``title`` and ``lang``."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.texts, self.values = list[str](), list[str](), list[str | None]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value for name, value in attrs if name in ("title", "lang")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_words_types_and_ids_are_escaped() -> None:
    shown = _Text(Sentence(HARD, (Entity(1, 3, '<u title="x">'),), '"><img>', "en")._repr_html_())
    assert shown.tags == ["div", "mark", "bdi"]
    assert shown.texts == ["<script>alert(1)</script> ", "\"&' <b>\xa0", '<u title="x">', " <i>"]
    assert shown.values == ['"><img>', "en"]


def test_adjacent_entities_stay_apart_and_a_type_has_one_colour() -> None:
    sentence = Sentence(
        ("Oslo", "Paris", "and", "Ada"), (Entity(0, 1, "LOC"), Entity(1, 2, "LOC"), Entity(3, 4, "PER"))
    )
    parts = sentence._repr_html_().split("<mark ")[1:]
    assert [_Text(f"<mark {part}").texts[0] for part in parts] == ["Oslo\xa0", "Paris\xa0", "Ada\xa0"]
    styles = [part[: part.index(">")] for part in parts]
    assert styles[0] == styles[1] != styles[2]


def test_a_long_corpus_shows_its_first_sentences() -> None:
    corpus = Corpus(Sentence((f"w{number}",)) for number in range(SHOWN + 1500))
    shown = _Text(corpus._repr_html_())
    assert [text for text in shown.texts if text.strip()] == [
        "Corpus(1510 sentences, types: none)", *(f"w{number}" for number in range(SHOWN)), "… and 1,500 more",
    ]  # fmt: skip
    assert "more" not in corpus[:SHOWN]._repr_html_()


def test_a_result_also_shows_its_counts() -> None:
    html = collect([Sentence(("Oslo",), (Entity(0, 1, "LOC"),), "a"), Reject("<unchanged>")])._repr_html_()
    assert "read 2, wrote 1, rejected 1 (&lt;unchanged&gt;: 1)" in html
    assert "Oslo&nbsp;" in html
