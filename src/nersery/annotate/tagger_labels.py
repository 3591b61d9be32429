"""Teacher and student: labels predicted by a tagger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nersery.annotate.base import Annotator
from nersery.annotate.components.outer_words import OuterWords
from nersery.core.errors import SettingsError, at, did_you_mean
from nersery.core.registry import create_nested, name_of, unfitted
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.text.definitions import check_types
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.core.wording import either
from nersery.taggers.base import Backend, Tagger, load_tagger
from nersery.taggers.training.gold_tagger import gold_tagger, trained_on_gold


@dataclass
class TaggerLabels(Annotator):
    """Labels sentences with the predictions of a tagger, the teacher; a student is then trained on them.

    In a recipe, systems with the same teacher share it. If the system's `base` has labelled raw text, the teacher also
    learns from that. Predicted mentions lose punctuation that no gold mention ends with.

    Args:
        tagger: Folder or Hugging Face name of a tagger. None: in a run, that of the system's base; elsewhere the
            default tagger, trained on gold first.
        types: New names for the tagger's types; an empty one drops the type, e.g. `{ LOC = "place", MISC = "" }`.
        teacher: Settings of a (larger) tagger to train on gold and label with instead, with its `method`, e.g. `{ model
            = "roberta-large", steps = 300, learning_rate = 2e-5 }`.
        labels: `hard` keeps the best labels; `soft` also the probabilities of uncertain ones, which the student learns.
        backend: What runs a named tagger: `torch`, or `onnx` if it was trained with ``--onnx``.

    Reference:
        Mhaske et al. (2023), Naamapadam, ACL, sections 3.1 (the types to keep) and 5.3.2 (hard labels, after Wu et al.
        2020, UniTrans, IJCAI). Soft labels: Wang et al. (2020). Structure-Level Knowledge Distillation for Multilingual
        Sequence Labeling. ACL, section 3.2.
    """

    tagger: ModelName | None = None
    types: dict[str, str] = field(default_factory=dict)
    teacher: dict[str, Any] = field(default_factory=dict)
    labels: Literal["hard", "soft"] = "hard"
    backend: Backend = "torch"
    _tagger: Tagger | None = hidden(default=None)
    _gold_ends: OuterWords | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(filter(None, self.types.values()), "types")
        if self.teacher and self.tagger is not None:
            raise SettingsError(
                "the settings tagger (a trained teacher) and teacher (one to train) are both given: leave one out"
            )
        if self.tagger is None and self.backend != "torch":
            raise SettingsError("backend is for a saved tagger: name one with the setting tagger")
        if self.teacher:
            self._new_teacher()

    def _new_teacher(self) -> Tagger:
        try:
            return create_nested("teacher", self.teacher)
        except SettingsError as error:
            raise SettingsError("\n".join(at("teacher", str(error).split("\n")))) from error

    @property
    def learns(self) -> bool:
        return self.tagger is None

    def check(self) -> None:
        if self.teacher:
            self._new_teacher().check()
        if self.tagger is not None and self._tagger is None:
            self._tagger = load_tagger(self.tagger, backend=self.backend)
            self._check_names(self._tagger)

    def check_types(self, types: Collection[str]) -> None:
        """Compare the named tagger's types with those of labelled sentences; see `Annotator.check_types`."""
        foreign, difference = self._foreign_types(types, 'types = {{ {} = "" }}')
        if foreign:
            raise SettingsError(difference)
        if difference:
            warn(difference)

    def _foreign_types(self, types: Collection[str], example: str) -> tuple[list[str], str]:
        """Types that a named tagger predicts but labelled sentences lack, and a message about how the types differ.

        Args:
            example: How a user drops a type; ``{}`` stands for the type.
        """
        if self.tagger is None or self._tagger is None:
            return [], ""
        predicted = {self.types.get(type_, type_) for type_ in self._tagger.types} - {""}
        detail = f"it predicts {', '.join(sorted(predicted))}; the labelled sentences have {', '.join(sorted(types))}"
        if foreign := sorted(predicted - {*types}):
            return foreign, (
                f'the tagger "{self.tagger}" predicts types that the labelled sentences lack: {detail}. Rename or drop '
                f"{', '.join(foreign)}, e.g. {example.format(foreign[0])}"
            )
        unlabelled = f'the tagger "{self.tagger}" leaves mentions of some types unlabelled: {detail}'
        return [], unlabelled if {*types} - predicted else ""

    def _check_names(self, tagger: Tagger) -> None:
        if unknown := [type_ for type_ in self.types if type_ not in tagger.types]:
            hint = did_you_mean(unknown[0], tagger.types)
            raise SettingsError(f'types has "{unknown[0]}", which the tagger does not predict; {hint}')

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Use the named tagger, or train one on gold.

        Raises:
            DataError: When there is a teacher to train but no data to train it on.
            SettingsError: When there is no tagger and no data to train one on, or ``types`` has a type that it lacks.
        """
        self.check()
        if self.teacher:
            self._tagger = trained_on_gold(self._new_teacher(), gold, training)
        elif self.tagger is None:
            self._tagger = gold_tagger(name_of(self), None, gold, training)
        assert self._tagger is not None, "the named one has been opened"
        self._check_names(self._tagger)
        self._gold_ends = OuterWords.of(gold) if self.learns and types_in(gold) else None  # a named tagger ignores gold
        if training.tagger is None and (types := types_in(gold)):  # a run has called `check_types` with all its types
            _, difference = self._foreign_types(types, either("--set types.{}=", 'types = {{ {} = "" }}'))
            if difference:
                warn(difference)

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        if self._tagger is None:
            raise unfitted(self, "annotate")
        predict = self._tagger.predict_soft if self.labels == "soft" else self._tagger.predict
        labelled = [sentence.with_types(self.types) for sentence in predict(sentences)]
        return labelled if self._gold_ends is None else [*map(self._gold_ends.without_outer_punctuation, labelled)]
