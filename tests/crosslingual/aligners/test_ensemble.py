"""The ensemble: its vote, its settings, failing members, and the effect of suggestions."""

from dataclasses import dataclass, field

import pytest

from nersery.core import registry
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.settings import file_settings
from nersery.core.training_context import Training
from nersery.crosslingual.aligners import ensemble as voters
from nersery.crosslingual.aligners import statistical
from nersery.crosslingual.aligners.base import Aligner, Link, Pair
from nersery.crosslingual.aligners.ensemble import OUT_OF_RANGE, WEIGHTS, Ensemble
from nersery.crosslingual.aligners.statistical import Statistical
from nersery.models.bundled_models import multilingual_e5
from nersery.models.training.training_state import OtherTrainingError
from tests.crosslingual.models import f1, translations

PAIR = Pair(("a", "b"), ("x", "y"))
PLAIN = {"suggestion_counts": 0.0, "suggestion_exponent": 0.0}


@dataclass
class Fixed(Aligner):
    """Returns the same answer for each pair."""

    answer: tuple | Reject = ()
    seen: list = field(default_factory=list)

    def fit(self, pairs, training=None):
        self.seen += pairs

    def align(self, pairs):
        self.seen += pairs
        return [self.answer for _ in pairs]


def voting(*answers, weights=None, **settings):
    """An ensemble of members with fixed answers."""
    names = [f"m{number}" for number in range(len(answers))]
    ensemble = Ensemble(
        members={name: {"method": "statistical"} for name in names},
        weights=dict(zip(names, weights or [], strict=False)),
        **settings,
    )
    ensemble._aligners = {name: Fixed(answer) for name, answer in zip(names, answers, strict=True)}
    ensemble._pass_suggestions()
    return ensemble


def links(*points):
    return tuple(Link(*point) for point in points)


def test_a_probability_is_the_weighted_share_of_the_votes():
    both, one = links((0, 0, 1.0), (1, 1, 0.5)), links((0, 0, 0.5))
    assert voting(both, one, threshold=0.2).align([PAIR]) == [links((0, 0, 0.75), (1, 1, 0.25))]
    assert voting(both, one, weights=[3, 1], threshold=0.2).align([PAIR]) == [links((0, 0, 0.875), (1, 1, 0.375))]
    assert voting(both, one, threshold=0.3).align([PAIR]) == [links((0, 0, 0.75))]


def test_the_better_of_competing_links_wins():
    assert voting(links((0, 0)), links((0, 2, 0.9)), links((0, 2, 0.9))).align([Pair(("a",), ("x", "-", "y"))]) == [
        links((0, 2, 0.6))
    ]


def test_a_member_that_rejects_a_pair_has_no_vote():
    assert voting(links((0, 0, 0.8)), Reject("too long")).align([PAIR]) == [links((0, 0, 0.8))]
    assert voting(Reject("too long"), Reject("too odd")).align([PAIR]) == [Reject("too long")]


@pytest.mark.parametrize("link", [(2, 0), (0, 2), (-1, 0)])
def test_rejects_a_pair_if_members_disagree_about_the_number_of_words(link):
    assert voting(links((0, 0)), links(link)).align([PAIR]) == [Reject(OUT_OF_RANGE)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"members": {"statistcal": {}}}, 'no aligner is called "statistcal"; did you mean "statistical"'),
        ({"members": {"ensemble": {}}}, "an ensemble cannot be a member of an ensemble"),
        ({"members": {"mine": {"method": "ensemble"}}}, "an ensemble cannot be a member"),
        ({"members": {"statistical": {"prefix": -1}}}, "members.statistical: prefix is -1"),
        ({"members": {"statistical": {"colour": 1}}}, 'has no setting "colour"'),
        ({"members": {"statistical": {}}, "weights": {"argmax": 1}}, 'weights names "argmax", which is not a member'),
        ({"weights": {"argmax": 0}}, "weights.argmax is 0, expected a number above 0"),
        ({"weights": {"argmax": "much"}}, "weights is"),
        ({"weights": [1, 2]}, "expected a table"),
        ({"threshold": 1.5}, "threshold is 1.5, expected a number in"),
        ({"suggestion_counts": -1}, "suggestion_counts is -1, expected 0 or more"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(SettingsError) as caught:
        registry.create("align", "ensemble", settings)
    assert message in str(caught.value)


def test_all_issues_are_reported_at_once():
    with pytest.raises(SettingsError) as caught:
        Ensemble(members={"nobody": {}, "ensemble": {}}, threshold=2, weights={"x": 1})
    assert len(str(caught.value).split("\n")) == 4


def test_a_recipe_finds_the_files_of_nested_members():
    settings = {"aligner": {"method": "ensemble", "members": {"s": {"method": "statistical", "priors": "known"}}}}
    found = list(file_settings.file_and_model_names(registry.get("annotate", "projected_labels"), settings))
    assert [(keys, name) for keys, _, name in found] == [(("aligner", "members", "s", "priors"), "known")]
    moved = file_settings.replaced(settings, {found[0][0]: "/there/known"})
    assert moved["aligner"]["members"]["s"]["priors"] == "/there/known"


def test_equals_the_statistical_aligner_without_the_multilingual_model(monkeypatch, recwarn):
    def missing():
        raise MissingResourceError("the bundled multilingual model is not installed")

    monkeypatch.setattr(multilingual_e5, "folder", missing)
    from nersery.models.bundled_models import bundled

    bundled.folder.cache_clear()
    pairs, _ = translations(40, seed=1)
    ensemble, alone = Ensemble(threshold=0.3), Statistical()
    ensemble.fit(pairs)
    alone.fit(pairs)
    assert ensemble.align(pairs) == alone.align(pairs)
    with pytest.raises(MissingResourceError):
        Ensemble(members={"softmax": {"method": "embeddings"}}).check()


def test_default_members_have_weights():
    assert set(Ensemble()._aligners) == set(WEIGHTS)


class Oracle(Fixed):
    """Returns the gold links of some pairs."""

    def __init__(self, pairs, gold, share):
        super().__init__()
        self.known = {pair.id: links(*sorted(g)) for pair, g in list(zip(pairs, gold, strict=True))[:share]}

    def align(self, pairs):
        return [self.known.get(pair.id, Reject("not known")) for pair in pairs]


UNTAUGHT = {"string_similarity": 0, "ibm1_steps": 0, "hmm_steps": 0}


def informed(pairs, oracle, **settings):
    """An ensemble of the oracle and a statistical aligner that learns only from suggestions."""
    ensemble = Ensemble(members={"statistical": UNTAUGHT, "oracle": {"method": "statistical"}}, **settings)
    ensemble._aligners["oracle"] = oracle
    ensemble._pass_suggestions()
    ensemble.fit(pairs)
    return ensemble


def test_suggestions_teach_the_statistical_aligner():
    pairs, gold = translations(40, seed=3)
    alone = informed(pairs, Oracle(pairs, gold, 30), **PLAIN)
    taught = informed(pairs, Oracle(pairs, gold, 30), suggestion_exponent=0.0)
    assert f1(alone, pairs[30:], gold[30:]) < 0.7
    assert f1(taught, pairs[30:], gold[30:]) > 0.9, "pairs of which nothing is suggested gain from the others"


def test_fitting_again_asks_the_members_again():
    pairs, gold = translations(20, seed=3)
    oracle = Oracle(pairs, gold, 20)
    ensemble = informed(pairs, oracle, **PLAIN)
    ensemble.align(pairs)
    oracle.known = {}
    ensemble.fit(pairs)
    assert ensemble.align(pairs) == informed(pairs, oracle, **PLAIN).align(pairs)


def test_suggestions_weigh_the_words_of_a_pair():
    pairs, gold = translations(12, seed=3)
    weighed, unweighed = (
        informed(pairs, Oracle(pairs, gold, 12), **settings)._aligners["statistical"]
        for settings in ({"suggestion_counts": 0.0}, PLAIN)
    )
    assert f1(unweighed, pairs, gold) < 0.7
    assert f1(weighed, pairs, gold) > 0.9


def test_max_pairs_limits_the_pairs_that_suggest_links():
    pairs, gold = translations(12, seed=3)
    oracle = Oracle(pairs, gold, 12)
    asked = []
    oracle.align = lambda batch: asked.extend(batch) or Oracle.align(oracle, batch)
    informed(pairs, oracle, max_pairs=4)
    assert [pair.id for pair in asked] == ["0", "3", "6", "9"]


@pytest.mark.parametrize(("room", "again"), [(12, 0), (5, 7)])
def test_suggested_links_are_computed_once_if_there_is_room(monkeypatch, room, again):
    monkeypatch.setattr(voters, "MAX_CACHED", room)
    monkeypatch.setattr(voters, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(statistical, "SUGGESTED_AT_ONCE", 3)
    pairs, gold = translations(12, seed=3)
    oracle = Oracle(pairs, gold, 12)
    ensemble = informed(pairs, oracle)
    asked = []
    oracle.align = lambda batch: asked.extend(batch) or Oracle.align(oracle, batch)
    forgetful = informed(pairs, Oracle(pairs, gold, 12))
    forgetful._first, forgetful._latest = {}, {}
    assert ensemble.align(pairs) == forgetful.align(pairs)
    assert len(asked) == again


def test_resumes_but_refuses_what_was_learnt_with_other_settings(tmp_path):
    pairs, _ = translations(20, seed=1)
    members = {"statistical": {}, "whole": {"method": "statistical", "prefix": 0}}
    first = Ensemble(members=members)
    first.fit(pairs, Training((), 0, None, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"state.json", "statistical", "whole"}
    again = Ensemble(members=members)
    again.fit(pairs, Training((), 0, None, tmp_path))
    assert again.align(pairs) == first.align(pairs)
    with pytest.raises(OtherTrainingError, match="weights"):
        Ensemble(members=members, weights={"whole": 2}).fit(pairs, Training((), 0, None, tmp_path))


def test_characters_are_joined_while_they_are_aligned():
    pairs = [Pair(("Wales", "is", "small"), tuple("威尔士很小")), Pair(("small",), ("小", "1", "个"))]
    ensemble = voting(links((0, 0), (2, 2)), threshold=0.2)
    ensemble._tokenize = lambda text: {"威尔士很小": ["▁", "威尔士", "很", "小"]}[text]
    assert ensemble.align(pairs[:1]) == [links((0, 0), (0, 1), (0, 2), (2, 4))]
    (seen,) = ensemble._aligners["m0"].seen
    assert seen.target == ("威尔士", "很", "小")
    ensemble._tokenize = lambda text: ["other"]
    assert ensemble.align(pairs[:1]) == [links((0, 0), (2, 2))], "a text that the vocabulary changes stays as it is"
    ensemble._tokenize = lambda text: ["▁", text]
    ensemble.fit([Pair(("a",), ("b",))] * 1000 + pairs)
    assert ensemble._aligners["m0"].seen[-2].target == ("威尔士很小",), "also where characters come late"
    assert Ensemble(join=False)._tokenize is None
    assert Ensemble(members={"statistical": {}})._tokenize is None
