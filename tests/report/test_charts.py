import re
from xml.etree import ElementTree

import pytest

from nersery.report.charts import Scale, curve_scales, difference_bar, f1_chart, f1_scale, learning_curves, padded
from nersery.report.model import Report, SystemReport
from nersery.report.parts import AgainstGold
from tests.evaluate import report_fixture
from tests.evaluate.report_fixture import build, measure


def system(*values):
    return SystemReport.model_validate(report_fixture.system(*values))


def built():
    return Report.model_validate(build()).systems


def elements(chart, kind):
    return [one for one in ElementTree.fromstring(chart).iter() if one.get("class") == kind]


def share(element, attribute):
    return float(element.get(attribute).rstrip("%"))


def test_a_dot_for_each_seed_and_the_reference_at_the_mean_of_gold():
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


def test_the_band_spans_one_deviation_to_either_side():
    one = system("a", [0.4, 0.5], [1, 1])
    chart = f1_chart([one], None)
    band, mean = elements(chart, "spread")[0], elements(chart, "mean")[0]
    assert share(band, "x") + share(band, "width") / 2 == pytest.approx(share(mean, "x1"), abs=0.02)


def test_one_seed_has_a_dot_and_no_band():
    chart = f1_chart([system("a", [0.4], [100])], None)
    assert len(elements(chart, "seed")) == 1
    assert elements(chart, "spread") == []


def test_nothing_leaves_the_frame():
    chart = f1_chart([system("a", [0.0, 1.0], [1, 1]), system("b", [0.5, 0.5], [1, 1])], None)
    assert all(0 <= float(value) <= 100 for value in re.findall(r'="(-?[\d.]+)%"', chart))


def test_the_scale_stays_within_what_f1_can_be():
    scale = f1_scale([system("a", [0.0, 0.0], [1, 1]), system("b", [0.0, 1.0], [1, 1])])
    assert (scale.low, scale.high) == (0.0, 100.0)


def test_each_panel_has_a_line_and_a_best_step_for_each_seed_and_gold_behind():
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
def test_an_interval_says_on_which_side_of_zero_it_lies(low, high, side):
    bar = difference_bar(AgainstGold(low=low, high=high, difference=(low + high) / 2), Scale(-3, 3))
    assert f'class="chart interval {side}"' in bar


@pytest.mark.parametrize("values", [[0.0], [50.0], [0.0, 100.0], [1e-9, 2e-9], [48.31, 48.32]])
def test_ticks_lie_within_the_scale_and_are_few(values):
    scale = padded(values)
    assert 2 <= len(scale.ticks()) <= 8
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks())


def test_names_are_escaped():
    evil = SystemReport(name='"><script>alert(1)</script>', method="m", f1=measure([0.4, 0.5]))
    assert "<script>" not in f1_chart([evil], None)
    assert ElementTree.fromstring(f1_chart([evil], None)) is not None
