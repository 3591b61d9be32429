"""Teacher and student: labels that a tagger predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nersery.annotate.base import Annotator
from nersery.core.definitions import check_types
from nersery.core.errors import NerseryError, SettingsError, did_you_mean
from nersery.core.registry import ModelName, name_of
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.taggers.base import Tagger, load_tagger
from nersery.taggers.components.gold_tagger import gold_tagger


@dataclass
class TaggerLabels(Annotator):
    """Labels sentences with the predictions of a tagger, the teacher; a student is then trained on them.

    The scores of the tagger's entities are kept.

    Args:
        tagger: Folder of a tagger, or a Hugging Face token-classification model. None: in a run, the tagger of the
            system's base; elsewhere the default tagger, trained on gold first.
        types: New names for the tagger's types; an empty name drops the type's entities, e.g.
            ``{ LOC = "place", MISC = "" }``. Other types keep their names.

    Reference:
        Arnav Mhaske et al. (2023). Naamapadam: A Large-Scale Named Entity Annotated Data for Indic Languages. ACL,
        sections 3.1 (the types to keep) and 5.3.2 (hard labels, after Wu et al. 2020, UniTrans, IJCAI).
    """

    tagger: ModelName | None = None
    types: dict[str, str] = field(default_factory=dict)
    _tagger: Tagger | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(filter(None, self.types.values()), "types")

    @property
    def learns(self) -> bool:
        """Whether the tagger is trained on gold; see `Annotator.learns`."""
        return self.tagger is None

    def check(self) -> None:
        """Open the tagger, if one is named; see `Annotator.check`."""
        if self.tagger is not None and self._tagger is None:
            self._tagger = load_tagger(self.tagger)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Take the tagger that is there, or train one on gold.

        Raises:
            SettingsError: When there is no tagger, and nothing to train one on; or ``types`` has one that it does not.
        """
        self.check()
        opened = self._tagger if self.tagger is not None else None
        self._tagger = tagger = opened or gold_tagger(name_of(self), None, gold, training)
        if unknown := [type_ for type_ in self.types if type_ not in tagger.types]:
            hint = did_you_mean(unknown[0], tagger.types)
            raise SettingsError(f'types has "{unknown[0]}", which the tagger does not predict; {hint}')

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences under the tagger's labels.

        Raises:
            NerseryError: When there was no fit.
        """
        if self._tagger is None:
            raise NerseryError("tagger_labels has no tagger yet: call fit before annotate")
        return [sentence.with_types(self.types) for sentence in self._tagger.predict(sentences)]
