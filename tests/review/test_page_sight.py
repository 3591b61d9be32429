"""What a person sees and hears on the page: long sentences, small windows, filters without a match, screen readers."""

from __future__ import annotations

import pytest

from nersery import Entity, Sentence
from nersery.review.decisions import Decision
from tests.browser import in_browser
from tests.review.conftest import EVIL, LONG, is_in_view, press

pytestmark = in_browser


def test_arrow_keys_keep_the_selected_word_in_view(review) -> None:
    page, _ = review
    page.set_viewport_size({"width": 390, "height": 400})
    page.evaluate(LONG)
    press(page, "ArrowRight", *["Shift+ArrowRight"] * 80)
    assert page.locator(".chosen").count() == 81
    assert page.evaluate("scrollY") > 0
    assert is_in_view(page, ".word[data-at='80']")
    bar = page.locator("main > .actions").bounding_box()
    word = page.locator(".word[data-at='80']").bounding_box()
    assert word["y"] + word["height"] <= bar["y"], "the buttons do not hide it"


def test_a_sentence_is_shown_from_its_beginning(review) -> None:
    page, _ = review
    page.set_viewport_size({"width": 640, "height": 300})
    page.evaluate(LONG)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    press(page, "j")
    page.set_viewport_size({"width": 640, "height": 300})
    assert is_in_view(page, "#place")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (640, 400), (390, 700)])
def test_the_buttons_of_a_long_sentence_stay_in_view(review, width: int, height: int) -> None:
    page, _ = review
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(LONG)
    page.evaluate("scrollTo(0, 0)")
    assert all(is_in_view(page, button) for button in ("#accept", "#reject", "#undo", "#next"))


def test_the_list_of_keys_begins_with_its_first_key_in_a_small_window(review) -> None:
    page, _ = review
    page.set_viewport_size({"width": 640, "height": 400})  # a laptop's window at 200 %
    press(page, "?")
    assert is_in_view(page, "#help-title")


def test_a_filter_or_search_without_a_match_is_named(review) -> None:
    page, _ = review
    page.select_option("#filter", "reject")
    press(page)
    assert page.inner_text("#counts") == "0 accepted, 0 rejected, 3 to go. No sentence matches, so the last one stays."
    page.select_option("#filter", "all")
    press(page, "/")
    page.keyboard.type("zzz")
    press(page, "Enter")
    assert page.inner_text("#counts").endswith(", 0 found. No sentence matches, so the last one stays.")
    press(page, "/", "Control+a", "Delete", "Enter")
    assert page.inner_text("#counts") == "0 accepted, 0 rejected, 3 to go"


def test_a_sentence_that_another_person_has_decided_is_not_shown_as_open(review) -> None:
    page, decisions = review
    decisions.decide("he", Decision("reject", ()))
    press(page, "a")
    assert page.inner_text("#place") == "3 of 3"
    assert page.inner_text("#counts") == "1 accepted, 1 rejected, 1 to go"


@pytest.mark.parametrize(("name", "expected"), [("per", "PER"), ("DATE", "DATE")])
def test_a_key_labels_with_any_type_by_its_name(review, name: str, expected: str) -> None:
    page, decisions = review
    press(page, "t")  # without a selection there is nothing to label: Playwright would dismiss the dialog
    page.once("dialog", lambda dialog: dialog.accept(name))
    press(page, "ArrowRight", "t")
    assert decisions[EVIL].labels == ((0, 1, expected), (2, 3, "PER"))


def test_enter_held_down_on_a_button_decides_one_sentence(review) -> None:
    page, decisions = review
    page.focus("#accept")
    press(page, "Shift")
    for _ in range(4):
        page.keyboard.down("Enter")
        press(page)
    page.keyboard.up("Enter")
    assert decisions.counts["accept"] == 1


def test_leaving_the_page_with_an_unsaved_note_asks_first(review) -> None:
    page, decisions = review
    press(page, "n")
    page.keyboard.type("why")
    leaves = "dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert not page.evaluate(leaves)
    press(page, "Enter")
    assert page.evaluate(leaves), "a saved note is no reason to ask"
    assert decisions[EVIL].note == "why"


def test_screen_readers_hear_the_sentence_and_the_types_of_its_entities(review) -> None:
    page, _ = review
    snapshot = page.locator("main").aria_snapshot()
    assert 'group "The sentence.' in snapshot
    assert "Ada\N{NO-BREAK SPACE}PER" in page.locator("mark").inner_text()
    assert 'button "Remove the label PER from Ada"' in snapshot
    press(page, "j")
    assert page.inner_text("#announcement") == "2 of 3: זה שר בירושלים (LOC)"
    assert page.get_attribute("#announcement", "aria-live") == "polite"
    press(page, "ArrowLeft", "2")
    assert page.inner_text("#announcement").endswith("(PER)"), "a new label is heard, too"


def test_the_eraser_stays_beside_its_type(review) -> None:
    page, _ = review
    page.evaluate("take({...one, words: ['Oslo', 'x'], labels: [], corrected: [[0, 1, 'LOC']]}, at)")
    for width in range(84, 150, 3):
        page.evaluate("width => { document.getElementById('sentence').style.width = `${width}px`; }", width)
        kind, eraser = page.locator("mark .type").bounding_box(), page.locator("mark button").bounding_box()
        assert abs(kind["y"] + kind["height"] / 2 - eraser["y"] - eraser["height"] / 2) < 10


def test_selected_words_are_marked_in_high_contrast(review) -> None:
    page, _ = review
    page.emulate_media(forced_colors="active")
    press(page, "ArrowRight")
    style = page.locator(".chosen").evaluate("word => getComputedStyle(word).outlineStyle")
    page.emulate_media(forced_colors="none")
    assert style == "solid"


def test_a_type_with_a_long_name_leaves_the_page_as_wide_as_the_window(review) -> None:
    page, _ = review
    page.once("dialog", lambda dialog: dialog.accept("long" * 60))
    press(page, "ArrowRight", "t")
    assert page.locator("#type option").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_scripts_without_spaces_are_shown_without_them(review) -> None:
    page, decisions = review
    decisions.corpus.add(Sentence(("我", "在", "北京", "。"), (Entity(2, 3, "LOC"),), id="zh"))
    page.reload()
    press(page, "k")
    assert page.inner_text("#sentence").startswith("我在北京\N{NO-BREAK SPACE}LOC")
    assert page.inner_text("#announcement") == "4 of 4: 我在北京 (LOC)。"
    press(page, "ArrowRight", "ArrowRight")
    assert page.locator(".chosen").all_inner_texts() == ["在"], "words are still selected one by one"
