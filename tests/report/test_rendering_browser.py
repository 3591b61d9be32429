"""What a reader sees when the report is opened in a browser, from a file and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Window, in_browser, sync_api
from tests.report.pages import EVIL, HEADLINE, render_html, with_evil
from tests.report.report_fixture import build

pytestmark = in_browser
WIDE, NARROW, PAPER = 1280, 390, 673
"""Widths in CSS pixels; `PAPER` is A4 without its margins."""


@pytest.fixture(scope="module")
def window() -> Iterator[tuple[Window, list[str]]]:
    """A browser page, and a list of everything it does that it must not do."""
    faults: list[str] = []

    def requested(request: sync_api.Request) -> None:
        if not request.url.startswith(("file://", "data:")):
            faults.append(f"request: {request.url}")

    def asked(dialog: sync_api.Dialog) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    with sync_api.sync_playwright() as playwright:
        yield (
            Window(
                playwright,
                request=requested,
                dialog=asked,
                console=lambda message: faults.append(f"console: {message.text}"),
                pageerror=lambda error: faults.append(f"error: {error}"),
            ),
            faults,
        )


@pytest.fixture
def visit(window, tmp_path: Path):
    """Opens a report; fails the test if the page printed to the console, sent a request or opened a dialog."""
    page, faults = window[0].page, window[1]

    def open_page(report, width: int = WIDE, scheme: str = "light") -> sync_api.Page:
        path = tmp_path / "report.html"
        path.write_text(render_html(report), "utf-8")
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=scheme)
        page.goto(path.as_uri())
        return page

    yield open_page
    found = faults.copy()
    faults.clear()
    assert found == []


def fits(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def brightness(page, element: str, property_: str) -> int:
    red, green, blue = page.locator(element).evaluate(
        "(element, name) => getComputedStyle(element)[name].match(/[\\d.]+/g).slice(0, 3).map(Number)", property_
    )
    return red + green + blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW, 360])
def test_the_headline_and_the_chart_are_visible_and_fit_the_screen(visit, width, scheme):
    page = visit(build(), width, scheme)
    headline = page.get_by_text(HEADLINE, exact=True)
    assert headline.is_visible()
    assert headline.bounding_box()["y"] < 900
    dots = page.locator("svg.f1 circle.seed")
    assert dots.count() == 12
    boxes = dots.evaluate_all("dots => dots.map(dot => dot.getBoundingClientRect().toJSON())")
    assert all(box["width"] >= 8 and box["left"] >= 0 and box["right"] <= width for box in boxes)
    assert page.locator("svg.f1 line.reference").count() == 1
    assert fits(page)
    page_is_bright = brightness(page, "body", "backgroundColor") > brightness(page, "body", "color")
    assert page_is_bright is (scheme == "light")


def test_a_wide_table_scrolls_in_its_own_box(visit):
    page = visit(build(), NARROW)
    box = page.get_by_role("region", name="Precision, recall and F1 in percent points")
    assert box.first.evaluate("box => box.scrollWidth > box.clientWidth")
    box.first.evaluate("box => box.scrollBy(1000, 0)")
    assert page.get_by_role("columnheader", name="Training sentences").bounding_box()["x"] < NARROW


def test_entities_and_changed_words_are_marked(visit):
    page = visit(build())
    pair = page.locator("#generated .pair").first
    child = pair.locator(".child")
    assert child.locator(".sentence").inner_text().replace("\xa0", " ") == (
        "portrayed by agnès varda PER in the 2019 film cléo from 5 to 7 CW"
    )
    assert child.locator(".entity .words").all_inner_texts() == ["agnès varda", "cléo from 5 to 7"]
    assert child.locator(".entity .type").all_inner_texts() == ["PER", "CW"]
    assert child.locator("ins").all_inner_texts() == ["agnès varda", "cléo from 5 to 7"]
    assert pair.locator("del").all_inner_texts() == ["song kang-ho", "the king's letters"]
    colours = [
        entity.evaluate("entity => getComputedStyle(entity).backgroundColor")
        for entity in child.locator(".entity").all()
    ]
    assert len({*colours, "rgba(0, 0, 0, 0)"}) == 3


@pytest.mark.parametrize(("width", "beside"), [(WIDE, True), (NARROW, False)])
def test_the_parent_is_beside_its_child_or_above_it(visit, width, beside):
    parent, child = visit(build(), width).locator("#generated .pair").first.locator(".side").all()
    before, after = parent.bounding_box(), child.bounding_box()
    assert (before["y"] == after["y"] and before["x"] + before["width"] <= after["x"]) is beside
    assert (before["y"] + before["height"] <= after["y"]) is not beside


def test_names_in_a_narrow_table_wrap_between_words(visit):
    page = visit(build(), NARROW)
    page.locator("#changes summary", has_text="By type").click()
    name = page.get_by_role("cell", name="mention_replacement").first
    assert name.bounding_box()["height"] < 75  # two lines


def test_sentences_and_entities_in_a_narrow_table_keep_a_readable_width(visit):
    report = build()
    entities = "Inconel 718 (MATERIAL), specific capacity (PROPERTY), 500 ° C (VALUE)"
    report["next_sentences"] = [{"id": "raw:1", "text": "Inconel 718 was calcined at 500 ° C .", "entities": entities}]
    page = visit(report, NARROW)
    cell = page.get_by_role("cell", name=entities)
    assert cell.bounding_box()["width"] > 170
    assert cell.bounding_box()["height"] < 130  # whole words on four lines
    assert fits(page)


def test_every_script_has_its_own_direction(visit):
    report = build()
    report["next_sentences"] = [{"id": "1", "text": "وُلدت فيروز في بيروت (Beirut) .", "entities": "بيروت (LOC)"}]
    page = visit(report)
    for cell in page.locator("#next tbody tr").first.locator("th, td.text").all()[:2]:
        assert cell.evaluate("cell => getComputedStyle(cell).direction") == "rtl"
    for language, direction in (("ar", "rtl"), ("hi", "ltr"), ("en", "ltr")):
        sentence = page.locator(f".sentence[lang={language}]").first
        assert sentence.evaluate("sentence => getComputedStyle(sentence).direction") == direction


def test_more_examples_open_without_a_script(visit):
    page = visit(build(), NARROW)
    hidden = page.locator("#generated details .sentence").first
    assert not hidden.is_visible()
    page.get_by_text("2 more examples").first.click()
    assert hidden.is_visible()
    assert fits(page)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_navigation_stays_visible_and_covers_no_heading(visit, width):
    page = visit(build(), width)
    page.emulate_media(media="screen", reduced_motion="reduce")
    bar = page.get_by_role("navigation", name="Sections")
    bar.get_by_role("link", name="Errors").click()
    box = bar.bounding_box()
    assert box["y"] == 0
    assert page.get_by_role("heading", name="What goes wrong").bounding_box()["y"] >= box["height"]
    assert box["height"] < 60


def test_a_table_is_saved_as_csv(visit):
    page = visit(build())
    with page.expect_download() as saved:
        page.get_by_role("link", name="scores as CSV").click()
    assert saved.value.suggested_filename == "scores.csv"
    assert Path(saved.value.path()).read_text("utf-8").startswith("Method,Precision,Precision std,")


def test_settings_are_collapsed(visit):
    page = visit(build())
    assert not page.get_by_text("optimizer.learning_rate").is_visible()
    page.get_by_text("The recipe with all defaults and changes").click()
    assert page.get_by_text("optimizer.learning_rate").is_visible()


def test_fixed_and_broken_entities_are_side_by_side(visit):
    page = visit(build())
    before, after = page.locator("#changes .pair").first.locator(".side").all()
    assert before.locator(".label").inner_text() == "gold only"
    assert after.locator(".label").inner_text() == "mention_replacement"
    assert before.locator(".words").all_inner_texts() == ["القاهرة"]
    assert after.locator(".words").all_inner_texts() == ["أم كلثوم"]
    assert before.locator(".sentence").evaluate("one => getComputedStyle(one).direction") == "rtl"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_forty_systems_fit_the_screen(visit, width):
    report = build()
    one = report["systems"][2]
    report["systems"] += [one | {"name": f"method {number}"} for number in range(36)]
    page = visit(report, width)
    assert page.locator("#results svg.f1 .wide").count() == 40
    assert page.locator("#results figure svg.f1").first.locator(".name:visible").count() == 12
    assert fits(page)
    assert page.get_by_text("and 29 more").is_visible()


@pytest.mark.parametrize(
    ("width", "shown"),
    [(WIDE, "mention_replacement + agreement + certainty"), (NARROW, "mention_replacement + agreeme…")],
)
def test_a_long_name_is_cut_only_on_a_narrow_screen(visit, width: int, shown: str) -> None:
    report = build()
    report["systems"][1]["name"] = "mention_replacement + agreement + certainty"
    name = visit(report, width).locator("#results svg.f1 .name:visible").nth(1)
    assert (name.text_content() or "").startswith(shown)


def test_collapsed_sections_are_printed(visit):
    page = visit(build())
    page.emulate_media(media="print")
    assert page.locator("#rejected details .sentence").first.is_visible()
    assert page.get_by_text("optimizer.learning_rate").is_visible()
    assert not page.get_by_role("navigation", name="Sections").is_visible()


def test_tables_fit_the_paper_in_no_larger_letters_than_the_text(visit):
    report = build()
    for system in report["systems"][1:]:
        system["name"] = "label_wise_token_replacement"
    page = visit(report, PAPER)
    page.emulate_media(media="print")
    of_text, of_table = (
        page.locator(name).first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
        for name in ("body", "td")
    )
    assert of_table <= of_text
    assert fits(page)


@pytest.mark.parametrize(("count", "is_printed"), [(18, True), (30, False)])
def test_a_confusion_matrix_wider_than_the_paper_is_printed_as_a_list(visit, count, is_printed):
    report, types = build(), [f"a_very_long_type_{number}" for number in range(count)]
    confusion = {gold: dict.fromkeys(types, 1234) for gold in types}
    for system in report["systems"]:
        system["errors"]["confusion"] = confusion
    page = visit(report, PAPER)
    assert page.locator(".confusion tbody").is_visible()
    page.emulate_media(media="print")
    assert fits(page)
    assert page.locator(".confusion tbody").is_visible() is is_printed
    assert page.get_by_role("region", name="Wrong types of all methods").locator("tr").count() > count


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_hostile_text_is_shown_as_it_is(visit, width):
    page = visit(with_evil(build()), width)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true })")
    words = page.locator("#generated details").filter(has_text=EVIL[0]).locator(".pair").first.locator(".child .words")
    assert words.inner_text() == " ".join(EVIL[:2])
    assert words.is_visible()
    assert page.locator("h1").inner_text() == " ".join(EVIL)
    assert page.get_by_role("listitem").filter(has_text=" ".join(EVIL)).first.is_visible()
    assert page.locator("script, img").count() == 0
    assert fits(page)


def test_long_names_and_words_stay_on_the_screen(visit):
    report = build()
    long = "x" * 400
    report |= {"name": long, "notes": [long], "command": long, "description": long}
    report["versions"][long] = long
    system = report["systems"][1]
    system["name"] = system["method"] = long
    system["per_type"][long] = system["per_type"]["PER"]
    system["generation"]["reasons"] = {long: 3}
    system["examples"][0]["child"] = {"id": long, "words": [long], "entities": [{"start": 0, "end": 1, "type": long}]}
    system["reject_examples"][0]["reason"] = long
    page = visit(report, 360)
    page.locator("details").evaluate_all("all => all.forEach(details => { details.open = true })")
    assert fits(page)


def test_restarts_a_browser_that_died(window) -> None:
    window[0].page.context.browser.close()
    assert window[0].page.evaluate("1 + 1") == 2


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_the_navigation_hides_nothing_that_the_keyboard_reaches(visit, key):
    page = visit(build())
    page.set_viewport_size({"width": 640, "height": 300})
    page.emulate_media(media="screen", reduced_motion="reduce")
    page.locator("summary").nth(4).focus()
    for _ in range(25):
        page.keyboard.press(key)
        link = page.locator("main :is(a, summary):focus")
        if link.count():
            edge = page.get_by_role("navigation", name="Sections").bounding_box()["height"]
            assert link.bounding_box()["y"] >= edge


def test_printed_examples_name_their_system(visit):
    page = visit(build())
    page.emulate_media(media="print")
    for name in ("gold only", "label_wise_token_replacement", "mention_replacement", "synonym_replacement"):
        assert page.locator("#errors summary").get_by_text(f"{name}: 2 examples").is_visible()


def test_letters_of_twice_the_size_fit_the_screen(visit):
    page = visit(build(), NARROW)
    page.evaluate("document.documentElement.style.fontSize = '32px'")
    assert fits(page)


def test_legends_and_bars_keep_their_colours_in_high_contrast(visit):
    page = visit(build())
    page.emulate_media(media="screen", forced_colors="active")
    seen = [
        brightness(page, name, "backgroundColor")
        for name in ("body", "#results .dot", "details[open] tbody:nth-of-type(1) > .kept .bar")
    ]
    page.emulate_media(media="screen", forced_colors="none")
    assert seen[1] != seen[0] != seen[2]


def test_every_column_has_a_heading(visit):
    headings = visit(build()).locator("thead th").all_text_contents()
    assert all(heading.strip() for heading in headings)


def test_a_name_from_right_to_left_keeps_its_column_and_its_place_before_figures(visit) -> None:
    report = build()
    system = next(system for system in report["systems"] if system.get("examples"))
    system["name"] = "שם של שיטה"
    page = visit(report)
    sides = page.locator(".scores-table th[scope=row]").evaluate_all(
        "all => all.map((cell) => { const text = document.createRange(); text.selectNodeContents(cell);"
        " return Math.round(text.getBoundingClientRect().left); })"
    )
    assert len({*sides}) == 1
    assert "שם של שיטה" in page.locator("summary bdi").all_inner_texts()


def test_a_long_word_in_a_header_is_broken(visit):
    page = visit(build(), WIDE)
    header = page.locator(".scores-table thead th").nth(1)
    header.evaluate("header => { header.textContent = 'Biological'.repeat(12) }")
    assert header.bounding_box()["width"] < 210
    assert header.evaluate("header => header.scrollWidth <= header.clientWidth")
