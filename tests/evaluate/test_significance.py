import random
from itertools import product

import numpy as np
import pytest

from nersery.core.errors import DataError, SettingsError
from nersery.evaluate import significance
from nersery.evaluate.scores import Counts
from nersery.evaluate.significance import caution, f1_interval, holm, paired_bootstrap, sign_flip


def counts(rng, sentences, recall, gold=None):
    """A tagger that finds each gold entity with probability ``recall`` and adds a wrong one now and then."""
    gold = rng.integers(0, 4, sentences) if gold is None else gold
    correct = rng.binomial(gold, recall)
    return np.stack([correct, correct + rng.binomial(2, 0.2, sentences), gold], axis=1)


def plain_bootstrap(baseline, system, samples, seed):
    """The resampled differences in F1, by a naive implementation."""
    rng = random.Random(seed)
    drawn = []
    for _ in range(samples):
        rows = rng.choices(range(len(baseline)), k=len(baseline))
        f1 = [Counts(*each[rows].sum(axis=0).tolist()).f1 for each in (baseline, system)]
        drawn.append(f1[1] - f1[0])
    return np.array(drawn)


def test_agrees_with_the_plain_definition():
    rng = np.random.default_rng(0)
    baseline = counts(rng, 150, 0.50)
    system = counts(rng, 150, 0.56, baseline[:, 2])
    drawn = plain_bootstrap(baseline, system, 4_000, seed=1)
    result = paired_bootstrap(baseline, system, samples=20_000)
    observed = Counts(*system.sum(axis=0).tolist()).f1 - Counts(*baseline.sum(axis=0).tolist()).f1
    assert result.difference == pytest.approx(observed)
    assert (result.low, result.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.005)
    p = np.mean(np.abs(drawn - observed) >= abs(observed))
    assert 0.02 < p < 0.6
    assert result.p_value == pytest.approx(p, abs=0.03)


def test_result_depends_on_the_seed_but_not_on_the_sentence_order():
    rng = np.random.default_rng(2)
    baseline = counts(rng, 200, 0.5)
    system = counts(rng, 200, 0.6, baseline[:, 2])
    shuffled = rng.permutation(200)
    first = paired_bootstrap(baseline, system, samples=500, seed=3)
    assert first == paired_bootstrap(baseline[shuffled], system[shuffled], samples=500, seed=3)
    assert first != paired_bootstrap(baseline, system, samples=500, seed=4)


def test_small_blocks_give_the_same_result(monkeypatch):
    rng = np.random.default_rng(2)
    baseline = counts(rng, 100, 0.5)
    system = counts(rng, 100, 0.6, baseline[:, 2])
    whole = paired_bootstrap(baseline, system, samples=1_000)
    monkeypatch.setattr(significance, "BLOCK_CELLS", 700)
    assert paired_bootstrap(baseline, system, samples=1_000) == whole


def test_swapping_the_systems_flips_the_sign():
    rng = np.random.default_rng(4)
    baseline = counts(rng, 300, 0.5)
    system = counts(rng, 300, 0.6, baseline[:, 2])
    there, back = paired_bootstrap(baseline, system), paired_bootstrap(system, baseline)
    assert there.difference == -back.difference
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=0.005)
    assert there.p_value == pytest.approx(back.p_value, abs=0.02)


def test_identical_systems_do_not_differ():
    same = counts(np.random.default_rng(1), 100, 0.5)
    result = paired_bootstrap(same, same, samples=200)
    assert (result.difference, result.low, result.high, result.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_a_large_difference_has_a_small_p_value_but_never_zero():
    rng = np.random.default_rng(1)
    baseline = counts(rng, 400, 0.3)
    result = paired_bootstrap(baseline, counts(rng, 400, 0.7, baseline[:, 2]), samples=999)
    assert result.low > 0
    assert result.p_value == 1 / 1000


def test_p_values_are_uniform_under_the_null_hypothesis():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(300):
        baseline = counts(rng, 120, 0.5)
        p_values.append(paired_bootstrap(baseline, counts(rng, 120, 0.5, baseline[:, 2]), samples=200).p_value)
    shares = [np.mean(np.array(p_values) <= level) for level in (0.1, 0.5, 0.9)]
    assert shares == pytest.approx([0.1, 0.5, 0.9], abs=0.08)


def test_interval_has_its_nominal_coverage():
    rng = np.random.default_rng(6)
    trials, size = 500, 150
    baseline = counts(rng, trials * size, 0.5)
    system = counts(rng, trials * size, 0.6, baseline[:, 2])
    truth = paired_bootstrap(baseline, system, samples=1).difference
    parts = [slice(start, start + size) for start in range(0, trials * size, size)]
    results = [paired_bootstrap(baseline[part], system[part], samples=200) for part in parts]
    covered = sum(result.low <= truth <= result.high for result in results)
    assert covered / trials == pytest.approx(0.94, abs=0.03)  # a little below 0.95: 150 sentences are few


def test_several_runs_are_averaged_over_the_same_sentences():
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 4, 200)
    baseline = np.stack([counts(rng, 200, 0.5, gold) for _ in range(3)])
    system = np.stack([counts(rng, 200, 0.6, gold) for _ in range(3)])
    pooled = paired_bootstrap(baseline, system)
    singles = [paired_bootstrap(b, s) for b, s in zip(baseline, system, strict=True)]
    assert pooled.difference == pytest.approx(np.mean([single.difference for single in singles]))
    assert pooled.runs == 3
    assert pooled.sentences == 200
    assert pooled.high - pooled.low < max(single.high - single.low for single in singles)
    # The same run three times over is no new evidence.
    assert paired_bootstrap(np.stack([baseline[0]] * 3), np.stack([system[0]] * 3)).p_value == pytest.approx(
        singles[0].p_value, abs=1e-9
    )


@pytest.mark.parametrize(("sentences", "p"), [(1, 1.0), (3, 0.25), (5, 0.0625), (10, 2 / 1024)])
def test_few_sentences_prove_little(sentences, p):
    gold = np.ones(sentences, dtype=np.int64)
    nothing, everything = np.stack([0 * gold, 0 * gold, gold], axis=1), np.stack([gold] * 3, axis=1)
    assert paired_bootstrap(nothing, everything).p_value == p
    same = np.tile(everything[:1], (500, 1))
    among_many = paired_bootstrap(np.vstack([nothing, same]), np.vstack([everything, same]))
    assert among_many.p_value >= p  # sentences on which both are alike prove nothing


def test_works_without_any_entity():
    nothing = np.zeros((10, 3), dtype=np.int64)
    assert paired_bootstrap(nothing, nothing, samples=50).p_value == 1.0


def test_counts_that_cannot_be_paired_are_an_error():
    one = counts(np.random.default_rng(1), 10, 0.5)
    with pytest.raises(DataError, match=r"\(10, 3\) and \(9, 3\)"):
        paired_bootstrap(one, one[:9])
    other_gold = one + np.array([0, 0, 1])
    with pytest.raises(DataError, match="gold entities differ"):
        paired_bootstrap(one, other_gold)
    with pytest.raises(DataError, match="no sentence"):
        paired_bootstrap(one[:0], one[:0])
    with pytest.raises(SettingsError, match="samples is 0"):
        paired_bootstrap(one, one, samples=0)


def test_comparison_as_text():
    result = significance.Comparison(0.0132, -0.0021, 0.0287, 0.0841, 100, 3)
    assert str(result) == "+1.3, 95 % interval −0.2 to +2.9"
    assert result.as_dict()["runs"] == 3
    assert str(significance.Comparison(-0.9, -1.0, 0.8, 0.5, 1, 1)) == "−90.0, 95 % interval −100.0 to +80.0"


def test_sign_flip_counts_all_sign_combinations():
    baseline, system = [0.30, 0.32, 0.31, 0.35], [0.33, 0.31, 0.36, 0.37]
    differences = [b - a for a, b in zip(baseline, system, strict=True)]
    flips = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in product((1, -1), repeat=4)]
    expected = np.mean([abs(flip) >= abs(sum(differences)) - 1e-9 for flip in flips])
    assert sign_flip(baseline, system) == expected == 0.25


@pytest.mark.parametrize(("n", "least"), [(2, 0.5), (3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_sign_flip_has_a_smallest_p_value(n, least):
    assert sign_flip([0.3 + k / 100 for k in range(n)], [0.4 + k / 100 for k in range(n)]) == least


def test_sign_flip_of_no_difference_is_one():
    assert sign_flip([0.3, 0.4, 0.5], [0.3, 0.4, 0.5]) == 1.0


def test_sign_flip_with_many_seeds_draws_flips():
    rng = random.Random(0)
    baseline = [rng.gauss(0.4, 0.02) for _ in range(20)]
    system = [value + rng.gauss(0.005, 0.02) for value in baseline]
    p = sign_flip(baseline, system)
    assert p == sign_flip(baseline, system)
    assert 0.05 < p < 1
    assert sign_flip(baseline, system, seed=1) == pytest.approx(p, abs=0.01)


def test_sign_flip_needs_pairs():
    with pytest.raises(DataError, match="at least two"):
        sign_flip([0.3], [0.4])
    with pytest.raises(DataError, match="3 runs of the baseline with 2"):
        sign_flip([0.3, 0.3, 0.3], [0.4, 0.4])


def test_f1_interval_contains_the_observed_f1_and_shrinks_with_more_data():
    few = counts(np.random.default_rng(2), 60, 0.5)
    low, high = f1_interval(few[None], samples=2_000)
    more = f1_interval(np.tile(few, (16, 1))[None], samples=2_000)
    assert low < Counts(*few.sum(axis=0).tolist()).f1 < high
    assert more[1] - more[0] == pytest.approx((high - low) / 4, rel=0.2)
    assert f1_interval(few[None], samples=2_000) == (low, high)


def test_holm_corrects_the_smallest_most_and_keeps_the_order():
    assert holm([0.04, 0.01, 0.03, 0.005]) == [0.06, 0.03, 0.06, 0.02]
    assert holm([0.9, 0.4]) == [0.9, 0.8]
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_caution_about_few_test_sentences():
    assert caution(50) == ""
    assert caution(49).startswith("Only 49 test sentences: ")
    assert caution(1).startswith("Only 1 test sentence: ")


def test_the_interval_of_f1_depends_on_the_seed_and_averages_runs():
    one = counts(np.random.default_rng(2), 60, 0.5)
    assert f1_interval(one[None], samples=500) != f1_interval(one[None], samples=500, seed=1)
    assert f1_interval(np.stack([one, one]), samples=500) == pytest.approx(f1_interval(one[None], samples=500))


def test_refuses_counts_of_unequal_shapes_or_gold():
    one = counts(np.random.default_rng(1), 10, 0.5)
    for baseline, system in ((one[None], one), (one[:, :2], one[:, :2]), (one[0], one[0]), (one[None, None],) * 2):
        with pytest.raises(DataError, match="cannot pair counts of the shapes"):
            paired_bootstrap(baseline, system)
    with pytest.raises(DataError, match="gold entities differ"):  # in one run of several
        paired_bootstrap(np.stack([one, one]), np.stack([one, one + np.array([0, 0, 1])]))


def test_sign_flip_is_exact_for_few_seeds_and_sampled_for_more(monkeypatch):
    monkeypatch.setattr(significance, "EXACT_SEEDS", 4)
    assert {sign_flip([0.0] * 4, [1.0] * 4, seed=seed) for seed in range(5)} == {2 / 2**4}
    drawn = {sign_flip([0.0] * 5, [1.0] * 5, seed=seed) for seed in range(20)}
    assert {16 * p for p in drawn} > {1, 2}
    assert sum(sign_flip([0.0] * 5, [1.0] * 5, seed=seed) for seed in range(20)) < 4, "2.4 expected"
    assert min(drawn) == 1 / 2**4, "the observed difference is one of the sixteen"
