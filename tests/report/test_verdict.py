import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.evaluate.significance import holm
from nersery.report import verdict as module
from nersery.report.model import Report, SystemReport


def verdict(systems, seeds):
    return module.verdict(Report.model_validate({"systems": systems, "seeds": list(range(seeds))}))


def system(name, mean, p=None, method="m", difference=None, interval=(-0.01, 0.02)):
    tested = None
    if p is not None:
        tested = {"difference": difference, "low": interval[0], "high": interval[1], "p": p}
    return {"name": name, "method": method, "f1": {"mean": mean}, "against_gold": tested}


GOLD = system("gold", 0.462, method=None)


def test_the_baseline_is_known_by_its_name_as_in_recipes():
    assert SystemReport(name="gold", method="tagger").is_baseline
    assert not SystemReport(name="gold, roberta").is_baseline


def test_a_significant_gain_is_the_headline():
    found = verdict([GOLD, system("a", 0.483, 0.02, difference=0.021, interval=(0.004, 0.038))], seeds=3)
    assert found.tone == "better"
    assert found.sentence == "a: 48.3 F1, 2.1 above gold only (95\u00a0% interval 0.4 to 3.8, p = 0.02)."
    assert found.details == ()


def test_a_gain_that_is_not_significant_may_be_chance():
    found = verdict([GOLD, system("a", 0.471, 0.16, difference=0.009)], seeds=3)
    assert found.tone == "unclear"
    assert (
        found.sentence
        == "a: 47.1 F1, 0.9 above gold only, which may be chance (95\u00a0% interval −1.0 to 2.0, p = 0.16)."
    )


def test_the_headline_is_the_choice_of_the_search_not_the_best_on_test():
    systems = [GOLD, system("a", 0.483, 0.02, difference=0.021), system("b", 0.455, 0.3, difference=-0.007)]
    report = {"systems": systems, "seeds": [0], "search": [{"name": "b", "fate": "chosen"}, {"name": "a"}]}
    found = module.verdict(Report.model_validate(report))
    assert found.sentence.startswith("b: 45.5 F1, 0.7 below gold only")
    assert "Also better than gold only: a (+2.1)." in found.details


def test_a_loss_is_stated_plainly():
    systems = [GOLD, system("b", 0.4, 0.0001, difference=-0.062), system("a", 0.44, 0.00001, difference=-0.022)]
    found = verdict(systems, seeds=3)
    assert found.tone == "worse"
    assert found.sentence.startswith("No method helped. The best is a: 44.0 F1, 2.2 below gold only (")
    assert "p < 0.001)" in found.sentence
    assert "Worse than gold only: b (−6.2)." in found.details


def test_no_difference_is_level_with_gold():
    found = verdict([GOLD, system("a", 0.462, 0.98, difference=0.0)], seeds=3)
    assert "Augmentation did not help. a: 46.2 F1, level with gold only (" in found.sentence
    assert "chance" not in found.sentence


@pytest.mark.parametrize(("seeds", "is_named"), [(1, True), (2, False)])
def test_one_seed_is_named_as_a_weakness(seeds, is_named):
    found = verdict([GOLD, system("a", 0.483, 0.02, difference=0.021)], seeds)
    assert any("One seed" in detail for detail in found.details) is is_named


@pytest.mark.parametrize(("sentences", "is_named"), [(49, True), (50, False)])
def test_few_test_sentences_are_named_as_a_weakness(sentences, is_named):
    tested = system("a", 0.483, 0.02, difference=0.021)
    tested["against_gold"]["sentences"] = sentences
    found = verdict([GOLD, tested], seeds=3)
    assert (
        "Only 49 test sentences: the interval is too narrow and the p-value too small." in found.details
    ) is is_named


def test_several_comparisons_weaken_the_best_one():
    others = [system(name, 0.46, 0.9, difference=-0.002) for name in "bc"]
    found = verdict([GOLD, *others, system("a", 0.483, 0.02, difference=0.021)], seeds=3)
    assert found.details[0] == "Corrected for 3 comparisons (Holm): p = 0.06, so the difference may be chance."
    assert found.details[1] == "No clear difference from gold only: b (−0.2), c (−0.2)."


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        ([], "Nothing was scored."),
        (
            [system("gold", 0.0), system("a", 0.0)],
            "Every F1 is 0: no tagger found a correct entity, so nothing can be compared.",
        ),
        ([GOLD], "gold only: 46.2 F1; no augmentation was tried."),
        ([GOLD, system("a", None)], "gold only: 46.2 F1; no augmentation was tried."),
        ([system("a", 0.5)], "a: 50.0 F1. Gold only was not run, so whether augmentation helped is unknown."),
        ([GOLD, system("a", 0.471)], "a: 47.1 F1, 0.9 above gold only (not tested)."),
    ],
)
def test_the_sentence_for_incomplete_results(systems, sentence):
    assert verdict(systems, seeds=3).sentence == sentence


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert all(p <= new <= 1 for p, new in zip(p_values, corrected, strict=True))
    ranked = [new for _, new in sorted(zip(p_values, corrected, strict=True))]
    assert ranked == sorted(ranked)


def test_a_correction_that_changes_the_verdict_is_explained():
    systems = [GOLD, system("a", 0.48, 0.03, difference=0.02), system("b", 0.46, 0.5), system("c", 0.46, 0.6)]
    assert verdict(systems, seeds=1).tone == "unclear"
    assert verdict(systems, seeds=1).details[0].endswith("p = 0.09, so the difference may be chance.")


@pytest.mark.parametrize(
    ("seeds", "p", "detail"),
    [
        (5, 0.0625, "Over the seeds alone (sign-flip test): p = 0.062; with 5 seeds it cannot be below 0.062."),
        (5, 0.375, "cannot be below 0.062: the seeds disagree, and more seeds may change the result."),
        (8, 0.0078, "Over the seeds alone (sign-flip test): p = 0.0078."),
    ],
)
def test_details_include_the_p_value_over_seeds(seeds: int, p: float, detail: str):
    best = system("a", 0.48, 0.001, difference=0.02)
    best["against_gold"]["p_over_seeds"] = p
    assert any(detail in shown for shown in verdict([GOLD, best], seeds).details)
