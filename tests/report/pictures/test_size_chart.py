from xml.etree import ElementTree

import pytest

from nersery.report.parts import SweepCell
from nersery.report.pictures.charts import size_panels


def cells(*rows):
    return [SweepCell(size=size, system=system, f1=f1) for size, system, f1 in rows]


FULL = cells((100, "gold", 0.5), (400, "gold", 0.6), (100, "<b>", 0.55), (400, "<b>", 0.65), (200, "<b>", None))


def elements(panel, kind):
    return [one for one in ElementTree.fromstring(panel).iter() if one.get("class") == kind]


def test_each_system_has_a_panel_with_gold_only_in_the_background():
    (gold, own), (label, other) = size_panels(FULL)
    assert (gold, label) == ("gold only", "<b>")
    assert [len(elements(own, kind)) for kind in ("curve", "ghost", "best")] == [1, 0, 2]
    assert [len(elements(other, kind)) for kind in ("curve", "ghost", "best")] == [1, 1, 2]
    assert "<b>" not in other
    assert [tick.text for tick in elements(other, "tick")] == ["100", "400"]


def test_gold_sentences_with_another_tagger_have_the_name_of_all_reports():
    rows = cells(*((size, name, 0.5) for name in ("gold", "gold, roberta") for size in (100, 400)))
    assert [label for label, _ in size_panels(rows)] == ["gold only", "gold only, roberta"]
    assert "F1 by training sentences: gold only, roberta" in size_panels(rows)[1][1]


def test_higher_f1_is_higher_and_sizes_are_on_a_log_scale():
    rows = cells(*((size, "gold", f1) for size, f1 in ((100, 0.4), (200, 0.5), (400, 0.6))))
    ((_, panel),) = size_panels(rows)
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in elements(panel, "best")]
    assert places[0][1] > places[1][1] > places[2][1]
    assert places[1][0] - places[0][0] == pytest.approx(places[2][0] - places[1][0], abs=0.2)


@pytest.mark.parametrize(
    "rows", [[], cells((100, "gold", 0.5)), cells((None, "gold", 0.5)), cells((100, "gold", 0.5), (200, "gold", None))]
)
def test_a_single_size_gets_no_chart(rows):
    assert size_panels(rows) == []
