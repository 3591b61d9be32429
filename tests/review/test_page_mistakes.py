"""Mistakes and input methods on the page neither lose nor write anything."""

from __future__ import annotations

import pytest

from nersery.review.decisions import Decision
from tests.browser import in_browser, sync_api
from tests.review.conftest import EVIL, LONG, SETTLED, is_in_view, press

pytestmark = in_browser


def test_dragging_from_beside_the_words_selects_nothing(review) -> None:
    page, _ = review
    page.click(".word >> nth=3")
    press(page, "j")
    box = page.query_selector("#sentence").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] + 5)
    page.mouse.down()
    page.hover(".word >> nth=1")
    page.mouse.up()
    assert page.query_selector(".chosen") is None


def test_enter_of_an_input_method_does_not_leave_the_note(review) -> None:
    page, _ = review
    page.focus("#note")
    composed = {"key": "Enter", "code": "Enter", "isComposing": True, "bubbles": True}
    page.evaluate("key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', key))", composed)
    assert page.evaluate("document.activeElement.id") == "note"
    press(page, "Enter")
    assert page.evaluate("document.activeElement.id") == "sentence"


def test_loading_does_not_hide_the_error_of_a_decision(review) -> None:
    page, _ = review
    page.route("**/sentence/0", lambda route: _refuse_posts(route))
    page.evaluate("all.isWhole = false")
    press(page, "r")
    assert page.inner_text("#error") == "the disk is full"
    page.evaluate("inTurn(readOn)")
    page.evaluate(SETTLED)
    assert page.is_visible("#error")
    press(page, "j", "r")
    assert not page.is_visible("#error")


def _refuse_posts(route: sync_api.Route) -> None:
    if route.request.method == "POST":
        route.fulfill(status=404, json={"error": "the disk is full"})
    else:
        route.continue_()


@pytest.mark.parametrize("keys", ["ArrowLeft 0", "o", "c", "ArrowRight ArrowRight ArrowRight 2"])
def test_a_key_that_changes_nothing_is_not_a_decision(review, keys: str) -> None:
    page, decisions = review
    press(page, *keys.replace("ArrowLeft 0", "ArrowRight 0").split())
    assert decisions.version(EVIL) == 0
    assert page.is_disabled("#undo")


def test_types_of_the_originals_have_colours_of_their_own(review) -> None:
    page, _ = review
    beside = [
        {
            "id": "x",
            "language": "",
            "words": ["Oslo", "Ada"],
            "touches": [],
            "labels": [[0, 1, "CITY"], [1, 2, "WOMAN"]],
        }
    ]
    page.evaluate("beside => take({...one, beside}, at)", beside)
    hues = page.evaluate("[...document.querySelectorAll('#beside mark')].map((mark) => mark.style.cssText)")
    assert len({*hues}) == 2


def test_an_address_without_its_last_slash_shows_the_page(review) -> None:
    page, _ = review
    page.goto(page.url.rstrip("/"))
    page.wait_for_selector(".word")


@pytest.mark.parametrize(("name", "message"), [("B-PER", 'did you mean "PER"?'), ("O", "words outside entities")])
def test_a_tag_is_not_a_type(review, name: str, message: str) -> None:
    page, decisions = review
    page.once("dialog", lambda dialog: dialog.accept(name))
    press(page, "ArrowRight", "t")
    assert message in page.inner_text("#error")
    assert decisions[EVIL].labels == ((2, 3, "PER"),)
    assert page.locator("#types button:not(.plain)").count() == 2, "no button offers it"
    press(page, "a")
    assert decisions[EVIL] == Decision("accept", ((2, 3, "PER"),))


def test_a_second_decision_before_the_next_sentence_arrives_skips_none(review) -> None:
    page, decisions = review
    page.route("**/sentence/1", lambda route: (page.wait_for_timeout(200), route.continue_()))
    page.keyboard.press("a")
    page.wait_for_timeout(100)  # milliseconds: the decision is saved, the next sentence on its way
    page.keyboard.press("r")
    press(page)
    assert page.inner_text("#place") == "2 of 3"
    assert decisions[EVIL].verdict == "reject"


def test_a_note_that_is_too_long_is_refused_not_cut(review) -> None:
    page, decisions = review
    press(page, "n")
    page.keyboard.insert_text("x" * 501)
    press(page, "Enter")
    assert "501 characters, expected at most 500" in page.inner_text("#error")
    assert len(page.input_value("#note")) == 501
    press(page, "n", "End", "Backspace", "Enter")
    assert decisions[EVIL].note == "x" * 500


@pytest.mark.parametrize(("key", "expected"), [("a", "This change was not saved"), ("j", "Decisions are kept")])
def test_a_lost_command_is_reported_in_view(review, key: str, expected: str) -> None:
    page, _ = review
    page.evaluate(LONG)
    page.route("**/sentence/*", lambda route: route.abort())
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    press(page, key)
    assert expected in page.inner_text("#error")
    assert is_in_view(page, "#error")


@pytest.mark.parametrize("leave", ["#next", "#undo", "#over", "#filter"])
def test_a_refused_note_keeps_the_page_at_its_sentence(review, leave: str) -> None:
    page, decisions = review
    press(page, "ArrowRight", "1")
    page.fill("#note", "x" * 501)
    page.select_option(leave, "reject") if leave == "#filter" else page.click(leave)
    press(page)
    assert "501 characters, expected at most 500" in page.inner_text("#error")
    assert (page.inner_text("#place"), len(page.input_value("#note"))) == ("1 of 3", 501)
    page.select_option("#filter", "all")
    page.fill("#note", "x")
    press(page, "Enter", "j")
    assert decisions[EVIL].note == "x"
    assert page.inner_text("#place") == "2 of 3"


def test_what_could_not_be_saved_is_saved_before_the_page_moves_on(review) -> None:
    page, decisions = review
    page.route("**/sentence/0", lambda route: route.abort())
    page.fill("#note", "why")
    press(page, "Enter", "ArrowRight", "1", "j")
    assert "This change was not saved" in page.inner_text("#error")
    assert page.inner_text("#place") == "1 of 3"
    page.unroute_all()
    press(page, "j")
    assert decisions[EVIL] == Decision("", ((0, 1, "LOC"), (2, 3, "PER")), "why")
    assert page.inner_text("#place") == "2 of 3"
    assert not page.is_visible("#error")


def test_two_quick_steps_are_two_steps(review) -> None:
    page, _ = review
    page.route("**/sentence/*", lambda route: (page.wait_for_timeout(100), route.continue_()))
    for _ in range(2):
        page.keyboard.press("j")
    press(page)
    assert page.inner_text("#place") == "3 of 3"
