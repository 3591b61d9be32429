import re
from xml.etree import ElementTree

import pytest

from nersery.report.model import Report, SystemReport
from nersery.report.parts import AgainstGold
from nersery.report.pictures.charts import (
    Scale,
    curve_scales,
    difference_bar,
    f1_chart,
    f1_scale,
    leading,
    learning_curves,
    scale_around,
    shortened,
)
from tests.report import report_fixture
from tests.report.report_fixture import build, measure

SLIGHT = [("a", 0.578), ("b", 0.595)]


def system(*values):
    return SystemReport.model_validate(report_fixture.system(*values))


def built():
    return Report.model_validate(build()).systems


def elements(chart, kind):
    return [one for one in ElementTree.fromstring(chart).iter() if one.get("class") == kind]


def share(element, attribute):
    return float(element.get(attribute).rstrip("%"))


def test_each_seed_has_a_dot_and_the_reference_is_the_mean_of_gold():
    systems = built()
    chart = f1_chart(systems, systems[0], [0, 1, 2])
    dots = elements(chart, "seed")
    assert len(dots) == 12
    assert dots[0].find("title").text == "seed 0: 45.5"
    reference, means = elements(chart, "reference")[0], elements(chart, "mean")
    assert reference.get("x1") == means[0].get("x1")
    ranks = sorted(range(4), key=lambda place: share(means[place], "x1"))
    assert [systems[place].name for place in ranks] == [
        "label_wise_token_replacement", "gold", "synonym_replacement", "mention_replacement",
    ]  # fmt: skip


def test_the_band_spans_the_interval():
    one = system("a", [0.4, 0.5], [1, 1])
    chart = f1_chart([one], None)
    band, mean = elements(chart, "spread")[0], elements(chart, "mean")[0]
    assert share(band, "x") + share(band, "width") / 2 == pytest.approx(share(mean, "x1"), abs=0.02)
    assert band.find("title").text == "95 % interval: 42.0 to 48.0"


def test_without_an_interval_there_is_no_band():
    one = system("a", [0.4], [100]).model_copy(update={"f1_interval": None})
    assert elements(f1_chart([one], None), "spread") == []


def test_a_small_difference_looks_small():
    close = [system(name, [value], [1]).model_copy(update={"f1_interval": None}) for name, value in SLIGHT]
    means = [share(mean, "x1") for mean in elements(f1_chart(close, None), "mean")]
    assert 0 < means[1] - means[0] <= 17


def test_first_of_forty_systems_are_the_best_and_the_baseline():
    gold, *others = (system(f"s{number}", [0.4 + number / 100], [1]) for number in range(40))
    first, rest = leading([*others, gold], gold)
    assert (len(first), len(rest)) == (12, 28)
    assert [one.name for one in first] == [*(f"s{number}" for number in range(29, 40)), "s0"]


def test_nothing_leaves_the_frame():
    chart = f1_chart([system("a", [0.0, 1.0], [1, 1]), system("b", [0.5, 0.5], [1, 1])], None)
    assert all(0 <= float(value) <= 100 for value in re.findall(r'="(-?[\d.]+)%"', chart))


def test_the_scale_stays_between_0_and_100():
    scale = f1_scale([system("a", [0.0, 0.0], [1, 1]), system("b", [0.0, 1.0], [1, 1])])
    assert (scale.low, scale.high) == (0.0, 100.0)


def test_panels_have_a_line_and_best_step_per_seed_with_gold_in_the_background():
    systems = built()
    scales = curve_scales(system.training for system in systems)
    assert len(elements(learning_curves("gold only", systems[0].training, [], scales, 1), "curve")) == 3
    panel = learning_curves("a", systems[1].training, systems[0].training, scales, 2)
    assert [len(elements(panel, kind)) for kind in ("curve", "ghost", "best")] == [3, 3, 3]


def test_curves_without_evaluations_have_no_scale():
    assert (
        curve_scales([SystemReport.model_validate(one).training for one in ({"training": [{"seed": 0}]}, {})]) is None
    )


@pytest.mark.parametrize(
    ("low", "high", "side"), [(0.01, 0.02, "above"), (-0.02, -0.01, "below"), (-0.01, 0.01, "unclear")]
)
def test_the_class_of_an_interval_is_its_side_of_zero(low, high, side):
    bar = difference_bar(AgainstGold(low=low, high=high, difference=(low + high) / 2), Scale(-3, 3))
    assert f'class="chart interval {side}"' in bar


@pytest.mark.parametrize("values", [[0.0], [50.0], [0.0, 100.0], [1e-9, 2e-9], [48.31, 48.32]])
def test_ticks_are_few_and_within_the_scale(values):
    scale = scale_around(values)
    assert 2 <= len(scale.ticks()) <= 8
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks())


def test_names_are_escaped():
    evil = SystemReport(name='"><script>alert(1)</script>', method="m", f1=measure([0.4, 0.5]))
    assert "<script>" not in f1_chart([evil], None)
    assert ElementTree.fromstring(f1_chart([evil], None)) is not None


@pytest.mark.parametrize(
    ("name", "shown"),
    [("हिन्दी" * 6, "हिन्दी" * 6), ("ẹ\u0301" * 31, "ẹ\u0301" * 29 + "…"), ("北" * 16, "北" * 14 + "…")],
)
def test_marks_do_not_count_when_a_name_is_cut_and_stay_on_their_letters(name: str, shown: str) -> None:
    assert shortened(name) == shown
