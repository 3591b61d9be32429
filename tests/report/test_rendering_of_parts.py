"""Reports that lack parts, or have very many of one, are rendered nevertheless."""

import pytest

from tests.report.pages import Page, in_languages, render_html, render_markdown
from tests.report.report_fixture import build


def test_a_single_seed_is_reported_as_having_no_spread():
    report = build() | {"seeds": [0]}
    for system in report["systems"]:
        for measure in (system["f1"], system["precision"], system["recall"]):
            measure |= {"std": None, "values": measure["values"][:1]}
    for text in (render_html(report), render_markdown(report)):
        assert "one run: no spread" in text
        assert "One seed: the spread is unknown" in text
    assert "Seed 0 (one run: no spread)" in render_markdown(report)


def test_an_empty_report_renders():
    for report in ({}, {"systems": []}, {"systems": [{"name": "gold"}]}, {"systems": [{"name": "a", "method": "a"}]}):
        assert "Nothing was scored." in render_html(report)
        assert "Nothing was scored." in render_markdown(report)


def test_omits_a_sample_without_size_and_lists_nersery_once():
    report = build()
    report["sample"] = {"size": None, "protocol": "stratified"}
    report["versions"]["nersery"] = "0.1.0"
    for text in (Page(render_html(report)).text, render_markdown(report)):
        assert "sample of" not in text
        assert "stratified sample" not in text
    names = [line for line in render_markdown(report).split("\n") if line.startswith("| nersery |")]
    assert names == ["| nersery | 0.1.0 |"]


def test_languages_are_not_mentioned_if_there_are_none():
    for text in (Page(render_html(build())).text, render_markdown(build())):
        assert "language" not in text.lower()


def keys(value, path=()):
    """The paths of all keys, one for each shape, except those within a sentence, which are required."""
    if isinstance(value, dict) and "words" not in value:
        for key, part in value.items():
            yield (*path, key)
            yield from keys(part, (*path, key))
    elif isinstance(value, list) and value:
        yield from keys(value[-1], (*path, len(value) - 1))


def small():
    """A report with one example of each part."""
    report = build()
    report |= {
        "systems": [report["systems"][0], report["systems"][2]],
        "recipe": {},
        "data": {"test": report["data"]["test"]},
    }
    for system in report["systems"]:
        system["per_type"] = {"PER": system["per_type"]["PER"]}
        system["examples"] = system.get("examples", [])[-1:]
    return in_languages(report, "hi")


SMALL = small()


def without(value, path):
    """A copy in which the part at the path is null."""
    if not path:
        return None
    first, *rest = path
    copied = value.copy()
    copied[first] = without(value[first], rest)
    return copied


PATHS = [path for path in keys(SMALL) if path[-1] != "child"]


def side_by_side(paths):
    """Groups of about six, in which no path is a prefix of another."""
    for length in sorted({len(path) for path in paths}):
        alike = [path for path in paths if len(path) == length]
        count = len(alike) // 6 + 1
        yield from (alike[start::count] for start in range(count))


@pytest.mark.parametrize("paths", side_by_side(PATHS))
def test_several_parts_may_be_null_or_missing(paths):
    assert_it_renders_without(paths)


@pytest.mark.torture
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_any_part_may_be_null_or_missing(path):
    assert_it_renders_without([path])


def assert_it_renders_without(paths):
    report = SMALL
    for path in paths:
        report = without(report, path)
    assert "</html>" in render_html(report)
    assert "## Versions" in render_markdown(report)


def test_many_types_have_distinct_hues_and_long_names_are_kept():
    report = build()
    system = report["systems"][1]
    system["name"] = "a_method_with_a_name_that_is_longer_than_any_screen_is_wide" * 2
    system["per_type"] = {f"type-{number}": system["per_type"]["PER"] for number in range(80)}
    html = render_html(report)
    hues = {line.split(";")[0] for line in html.split("--hue: ")[1:]}
    assert len(hues) >= 80
    assert system["name"] in Page(html).text


def test_a_report_without_the_baseline_still_names_it():
    report = build()
    del report["systems"][0]
    text = Page(render_html(report)).text
    assert "Against gold only" in text
    assert "fixed: “أم كلثوم” PER" in text
