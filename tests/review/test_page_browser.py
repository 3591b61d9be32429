"""What a person does on the page, in a browser."""

from __future__ import annotations

import re

import pytest

from nersery.report.model import Report, SplitReport
from nersery.report.rendering import report_files
from nersery.review.decisions import Decision
from tests.browser import in_browser, sync_api
from tests.review.conftest import EVIL, SETTLED, press

pytestmark = in_browser


def test_keys_label_words_and_accept(review) -> None:
    page, decisions = review
    assert page.inner_text(".word >> nth=0") == EVIL
    assert page.query_selector("img") is None
    press(page, *["ArrowRight"] * 3, "Shift+ArrowRight", "2", "a")
    assert decisions[EVIL] == Decision("accept", ((2, 4, "PER"),))
    assert page.inner_text("#place") == "2 of 3"
    assert page.inner_text("#counts") == "1 accepted, 0 rejected, 2 to go"


@pytest.mark.parametrize(
    ("digit", "letter"), [("2", "A"), ("2", "ф"), ("२", "\N{DEVANAGARI VOWEL SIGN O}")], ids=["Caps Lock", "ru", "hi"]
)
def test_keys_work_on_every_keyboard(review, digit: str, letter: str) -> None:
    page, decisions = review
    press(page, *["ArrowRight"] * 3)
    for key, code in ((digit, "Digit2"), (letter, "KeyA")):
        page.evaluate(
            "pressed => document.dispatchEvent(new KeyboardEvent('keydown', {...pressed, bubbles: true}))",
            {"key": key, "code": code},
        )
        page.evaluate(SETTLED)
    assert decisions[EVIL] == Decision("accept", ((2, 3, "PER"),))


def test_arrow_keys_follow_the_direction_of_the_script(review) -> None:
    page, decisions = review
    press(page, "j", "ArrowLeft", "ArrowLeft", "1")
    assert decisions["he"].labels == ((1, 2, "LOC"), (2, 3, "LOC"))
    press(page, "o")
    assert decisions["he"].labels == ((2, 3, "LOC"),)


def test_the_mouse_labels_and_a_note_is_kept(review) -> None:
    page, decisions = review
    press(page, "k")
    page.hover(".word >> nth=1")
    page.mouse.down()
    page.hover(".word >> nth=2")
    page.mouse.up()
    page.click("#types button >> nth=0")
    page.fill("#note", "where?")
    press(page, "Enter", "r")
    assert decisions["emoji"] == Decision("reject", ((1, 3, "LOC"),), "where?")
    page.select_option("#filter", "reject")
    press(page)
    page.click("mark button")
    press(page, "u")
    assert decisions["emoji"] == Decision("reject", ((1, 3, "LOC"),), "where?")
    press(page, "c")
    assert decisions["emoji"] == Decision("", ((1, 3, "LOC"),), "where?")


def test_a_click_selects_the_whole_entity_and_a_second_one_the_word(review) -> None:
    page, decisions = review
    press(page, *["ArrowRight"] * 3, "Shift+ArrowRight", "2")
    assert decisions[EVIL].labels == ((2, 4, "PER"),)
    press(page, "Escape")
    page.click(".word >> nth=3")
    assert page.inner_text("#announcement") == "selected: Ada Lovelace (PER)"
    press(page, "1")
    assert decisions[EVIL].labels == ((2, 4, "LOC"),), "the mention is as long as before"
    page.click(".word >> nth=3")
    assert page.inner_text("#announcement") == "selected: Lovelace"
    press(page, "0")
    assert decisions[EVIL].labels == ()
    press(page, "Control+z", "Escape", "ArrowLeft")
    assert page.inner_text("#announcement") == "selected: Ada Lovelace (LOC)", "the keyboard does the same"


def test_dragging_selects_words_even_over_an_entity(review) -> None:
    page, _ = review
    press(page, *["ArrowRight"] * 3, "Shift+ArrowRight", "2")
    page.hover(".word >> nth=3")
    page.mouse.down()
    page.hover(".word >> nth=1")
    page.mouse.up()
    assert page.inner_text("#announcement") == "selected: &amp; Ada Lovelace (PER)"


def test_a_finger_that_moves_along_a_line_selects_words(review) -> None:
    page, _ = review
    boxes = [page.locator(f".word >> nth={number}").bounding_box() for number in range(4)]
    touch = page.context.new_cdp_session(page)
    points = [[{"x": box["x"] + box["width"] / 2, "y": box["y"] + 8}] for box in boxes[1:]]
    for kind, places in zip(("touchStart", "touchMove", "touchMove", "touchEnd"), (*points, []), strict=True):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
    page.wait_for_selector(".chosen >> nth=2")
    assert page.inner_text("#announcement") == "selected: &amp; Ada (PER) Lovelace"


@pytest.mark.parametrize("undo", ["u", "Control+z", "button"])
def test_undo_reverts_the_last_changes_wherever_they_were_made(review, undo: str) -> None:
    page, decisions = review

    def back() -> None:
        page.click("#undo") if undo == "button" else press(page, undo)
        page.evaluate(SETTLED)

    press(page, "a", "r", "ArrowRight", "1")
    assert page.inner_text("#place") == "3 of 3"
    back()
    assert decisions["emoji"].labels == ()
    back()
    assert decisions["he"].verdict == ""
    assert page.inner_text("#place") == "2 of 3", "what is undone is shown"
    back()
    assert decisions[EVIL].verdict == ""
    assert page.inner_text("#counts") == "0 accepted, 0 rejected, 3 to go"
    assert page.is_disabled("#undo")


def test_several_changes_of_one_sentence_are_undone_one_by_one(review) -> None:
    page, decisions = review
    press(page, "ArrowRight", "1", "r", "k", "a", "k")
    assert decisions[EVIL].verdict == "accept"
    press(page, "u")
    assert decisions[EVIL].verdict == "reject"
    press(page, "u")
    assert decisions[EVIL] == Decision("", ((0, 1, "LOC"), (2, 3, "PER")))
    press(page, "u")
    assert decisions[EVIL].labels == ((2, 3, "PER"),)
    assert not page.is_visible("#conflict")


def test_ctrl_z_in_the_note_is_the_browsers_own(review) -> None:
    page, decisions = review
    press(page, "a", "n")
    page.keyboard.type("why")
    press(page, "Control+z")
    assert decisions[EVIL].verdict == "accept"


def test_a_question_mark_lists_the_keys(review) -> None:
    page, decisions = review
    press(page, "?")
    assert "undo your last change" in page.inner_text("#help")
    press(page, "a")
    assert decisions.counts["accept"] == 0, "no key decides behind the list"
    press(page, "Escape")
    assert not page.is_visible("#help")
    press(page, "a")
    assert decisions.counts["accept"] == 1
    assert page.inner_text("#next").startswith("Next")
    assert page.inner_text("#undo").startswith("Undo")


@pytest.mark.parametrize("mine", [True, False])
def test_two_pages_never_overwrite_each_other(review, mine: bool) -> None:
    page, decisions = review
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".word")
    press(page, "ArrowRight", "1", "r")
    press(other, "a")
    assert other.is_visible("#conflict")
    assert decisions[EVIL].verdict == "reject", "nothing is overwritten"
    assert "rejected" in other.inner_text("#theirs")
    assert "LOC" in other.inner_text("#theirs")
    assert "LOC" not in other.inner_text("#mine")
    other.click("#replace") if mine else press(other, "Escape")
    other.evaluate(SETTLED)
    assert decisions[EVIL].verdict == ("accept" if mine else "reject")
    assert other.inner_text("#place") == "1 of 3"
    if mine:
        press(page, "u")
        assert page.is_visible("#conflict"), "undo does not revert what another page decided"
        assert decisions[EVIL].verdict == "accept"
    other.close()


@pytest.mark.parametrize("between", [[], ["j"]])
def test_pending_changes_wait_for_the_choice_between_two_decisions(review, between: list[str]) -> None:
    page, decisions = review
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".word")
    press(other, "/")
    other.keyboard.type("lovelace")  # so that the next sentence is this one
    press(other, "Enter")
    press(page, "r")
    other.route("**/sentence/*", lambda route: (other.wait_for_timeout(150), route.continue_()))
    for key in ("ArrowRight", "1", *between, "a"):
        other.keyboard.press(key)
    press(other)
    assert decisions[EVIL].verdict == "reject", "nothing is overwritten before the choice"
    assert "accepted" in other.inner_text("#mine")
    assert "LOC" in other.inner_text("#mine")
    other.click("#replace")
    other.evaluate(SETTLED)
    assert decisions[EVIL] == Decision("accept", ((0, 1, "LOC"), (2, 3, "PER")))
    assert not other.is_visible("#conflict")
    other.close()


def test_undo_takes_back_the_choice_between_two_decisions(review) -> None:
    page, decisions = review
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".word")
    press(other, "j", "a", "k", "k")
    press(page, "ArrowRight", "1", "r")
    press(other, "a")
    other.click("#replace")
    press(other, "u")
    assert decisions[EVIL] == Decision("reject", ((0, 1, "LOC"), (2, 3, "PER"))), "the decision of the other page"
    assert decisions["he"].verdict == "accept", "the change before stays"
    press(other, "u")
    assert decisions["he"].verdict == ""
    assert other.is_disabled("#undo")
    other.close()


def test_a_label_right_after_undo_is_not_a_conflict(review) -> None:
    page, decisions = review
    press(page, "ArrowRight", "1")
    page.route("**/sentence/*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    for key in ("u", "2"):
        page.keyboard.press(key)
    press(page)
    assert decisions[EVIL].labels == ((0, 1, "PER"), (2, 3, "PER"))
    assert not page.is_visible("#conflict")


@pytest.mark.parametrize("width", [1200, 390])
def test_the_file_name_stays_on_one_line(review, width: int) -> None:
    page, _ = review
    page.evaluate("document.getElementById('name').textContent = 'out/replacement.jsonl'")
    page.set_viewport_size({"width": width, "height": 800})
    assert page.locator("h1").bounding_box()["height"] < 30  # one line
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_colours_are_those_of_the_report(review) -> None:
    page, _ = review
    report = Report(data={"train": SplitReport(types={"LOC": 1, "PER": 1})})
    hues = re.findall(r'class="chip" style="--hue: (\d+)"><bdi>(\w+)', report_files(report)["report.html"])
    buttons = page.query_selector_all("#types button:not(.plain)")
    hue = "button => button.style.getPropertyValue('--hue')"
    shown = {button.inner_text().split()[0]: button.evaluate(hue) for button in buttons}
    assert shown == {name: hue for hue, name in hues}


def test_a_label_right_after_a_decision_does_not_undo_it(review) -> None:
    page, decisions = review
    page.route("**/sentence/*", lambda route: (page.wait_for_timeout(150), route.continue_()))
    for key in ("ArrowRight", "a", "1"):
        page.keyboard.press(key)
    press(page)
    assert decisions[EVIL].verdict == "accept"
    assert page.inner_text("#counts") == "1 accepted, 0 rejected, 2 to go"


def test_a_key_held_down_decides_one_sentence(review) -> None:
    page, decisions = review
    page.keyboard.down("a")
    for _ in range(5):
        page.keyboard.down("a")
        page.evaluate(SETTLED)
    page.keyboard.up("a")  # the next test shares the keyboard
    assert decisions.counts["accept"] == 1


def test_right_to_left_words_are_shown_in_their_order(review) -> None:
    page, _ = review
    press(page, "j", "j")
    page.evaluate("take({...one, words: ['the', 'דוד', 'בן', 'גוריון', 'x'], labels: [], corrected: []}, at)")
    places = [word.bounding_box()["x"] for word in page.query_selector_all(".word")]
    assert places[1] > places[2] > places[3]


def test_keys_for_types_stay_the_same(review) -> None:
    page, decisions = review
    page.once("dialog", lambda dialog: dialog.accept("DATE"))
    page.click(".word >> nth=0")
    page.click("text=another type")
    press(page, "j")
    page.reload()
    page.wait_for_selector(".word")
    assert page.inner_text("#types button >> nth=2").startswith("DATE")
    assert list(decisions.types) == ["DATE", "PER"]


def test_the_page_can_end_the_review(review) -> None:
    page, _ = review
    page.click("#over")
    page.wait_for_selector("text=The review has ended")


def test_loading_survives_a_failed_request_and_stops_at_the_end(review) -> None:
    page, _ = review
    asked = []

    def overview(route: sync_api.Route) -> None:
        """Return all but the first sentence late, after a failed request."""
        asked.append(route)
        whole = route.fetch().json()
        if len(asked) == 2:
            route.fulfill(status=404, json={"error": "not now"})
        else:
            count = 1 if len(asked) == 1 else 3
            route.fulfill(json={**whole, "verdicts": whole["verdicts"][:count], "isWhole": False})

    page.route("**/overview", overview)
    page.reload()
    page.wait_for_selector("text=not now")
    page.wait_for_selector("text=3 to go (still reading)")
    assert not page.is_visible("#error")
    assert page.inner_text("#place") == "1 of 3"
    page.click("#over")
    page.wait_for_selector("text=The review has ended")
    before = len(asked)
    page.wait_for_timeout(1200)  # milliseconds: two more polls
    assert len(asked) == before


def test_a_type_and_a_method_may_be_chosen(review) -> None:
    page, _ = review
    assert not page.is_visible("#method"), "no sentence says how it was made"
    assert page.locator("#type option").all_inner_texts() == ["any", "LOC", "PER"]
    page.get_by_label("Type").select_option("LOC")
    page.evaluate(SETTLED)
    assert page.inner_text("#place") == "2 of 3"
    assert page.inner_text("#counts").endswith("3 to go, 1 found")
    assert page.evaluate("document.activeElement.id") == "sentence", "so that keys work on it"
    page.evaluate("window.prompt = () => 'NAME'")
    press(page, "ArrowRight", "t")
    assert page.locator("#type option").all_inner_texts() == ["any", "LOC", "PER", "NAME"]
    assert page.input_value("#type") == "LOC"
    page.get_by_label("Type").select_option("")
    page.evaluate(SETTLED)
    assert page.inner_text("#counts").endswith("to go")


def test_search_finds_text(review) -> None:
    page, _ = review
    press(page, "/")
    page.keyboard.type("oslo")
    press(page, "Enter")
    assert page.inner_text("#place") == "3 of 3"
    assert page.inner_text("#counts").endswith("3 to go, 1 found")
    press(page, "j")
    assert page.inner_text("#place") == "3 of 3", "there is no other"
