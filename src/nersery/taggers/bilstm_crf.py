"""A BiLSTM over words and their characters with a CRF, which is trained from scratch in seconds.

It is saved as safetensors and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import name_of
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import Count, CountOrZero, Positive, RateBelowOne
from nersery.core.settings.typed_settings import FileName, Precision, hidden, settings_of
from nersery.core.system.files import os_errors
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.models.embeddings.word_vectors import WordVectors, read_first, read_head
from nersery.models.passes import PassShape
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, refuse_nan
from nersery.models.pretrained.model_folder import refusing_damage
from nersery.models.pretrained.sizes import parameters_of
from nersery.models.subwords.collation import collate
from nersery.models.subwords.windows import Window
from nersery.models.training.monte_carlo_dropout import dropout_layers
from nersery.models.training.trainer import seeded
from nersery.taggers.base import Tagger, require_labels
from nersery.taggers.networks.emissions import LENGTH_MULTIPLE, emissions
from nersery.taggers.networks.recurrent import RecurrentNetwork, Sizes
from nersery.taggers.networks.word_features import KnownWords, WordTable
from nersery.taggers.output_layer.decoding import Decoding
from nersery.taggers.output_layer.tag_set import TagSet
from nersery.taggers.output_layer.tagging_loss import LabelledWindow, examples, loss
from nersery.taggers.tagger_folder.description import DESCRIPTION, from_settings, read_description, write_description
from nersery.taggers.training.tagger_training import plan_of, train_tagger
from nersery.taggers.training.training_settings import TrainingSettings

SPELLED = 128
"""Words per pass of the character LSTM. The number is fixed so that a word gets identical numbers in any pass."""
WEIGHTS_FILE = "model.safetensors"
VECTORS_FILE = "vectors.safetensors"
LEXICON_FILE = "lexicon.json"


@dataclass
class BiLSTMCRF(Decoding, Tagger, TrainingSettings):
    """A BiLSTM over words and their characters with a CRF on top, trained from scratch: the quick tagger.

    Args:
        vectors: File of word vectors to start from, in the text format of GloVe or fastText. None: random.
        max_vectors: Vectors to keep from the start of the file, besides those of training words.
        steps: Training steps. Without steps and epochs: 800, or eight epochs if more.
        learning_rate: Peak rate.
        clip: Maximum norm of a step's gradient.
        dropout: Dropout rate before and after the BiLSTM, in [0, 1).
        word_dropout: Probability, in [0, 1), of showing a training word as unknown.
        word_size: Dimension of word embeddings, and of `vectors`.
        character_size: Dimension of character embeddings.
        spelling_size: Dimension of a word's representation by its characters.
        hidden_size: Dimension of each direction of the BiLSTM.
        precision: `auto`: `bf16` if the processor supports it, else `fp32`.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.

    Reference:
        Lample et al. (2016). Neural Architectures for Named Entity Recognition. NAACL. Ma and Hovy (2016). End-to-end
        Sequence Labeling via Bi-directional LSTM-CNNs-CRF. ACL.

    Departures:
        - Both papers use gradient descent for 50 to 100 epochs; here AdamW takes a few hundred steps, with a rising and
          falling rate.
        - Lample et al. show half of the words that occur once as unknown. Here any word may become unknown, but keeps
          its vector.
        - Word vectors are frozen, and training adds to them; both papers change them.
        - Words are looked up in lower case; no digit is replaced.
        - Sentences over 512 words are read in overlapping windows, words over 64 characters by both ends.
    """

    MIN_STEPS: ClassVar[int] = 800
    MIN_EPOCHS: ClassVar[int] = 8
    vectors: FileName | None = None
    max_vectors: CountOrZero = 100_000
    learning_rate: Positive = 1e-2
    clip: Positive = 5.0
    dropout: RateBelowOne = 0.3
    word_dropout: RateBelowOne = 0.05
    word_size: Count = 100
    character_size: Count = 30
    spelling_size: Count = 100
    hidden_size: Count = 100
    precision: Precision = "auto"
    device: str = "auto"
    _known_words: KnownWords = hidden(default=KnownWords((), ()))
    _user_vectors: WordVectors | None = hidden(default=None)
    _looked_up: set[str] = hidden(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vectors == "":
            raise SettingsError("vectors is empty, expected the name of a file")
        if self.spelling_size % 2:
            raise SettingsError(f"spelling_size is {self.spelling_size}, expected an even number")

    def check(self) -> None:
        if self.vectors is not None:
            read_head(_existing(self.vectors))
        pick_device(self.device)

    def check_certainty(self) -> None:
        dropout_layers(nn.Dropout(self.dropout))

    # --- training ---------------------------------------------------------------------------------------------------

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING, *, warm: bool = False) -> dict[str, Any]:
        """Train; see `Tagger.fit`. After a warm start, the words and characters of both trainings are known."""
        require_labels(gold)
        with seeded(training.seed):
            self._build(gold, warm=warm)
            table = self._table(gold)
            windows = [example for s in gold for example in examples(table.windows(s.words), s, self._tags)]
            plan = plan_of(self, len(windows), head_learning_rate=None)
            self.history = train_tagger(
                self, self.network, windows, lambda batch: self._loss(table, batch), plan, gold, training, warm=warm
            )
        self.history["parameters"] = parameters_of(self.network)
        return self.history

    def _build(self, gold: Sequence[Sentence], *, warm: bool) -> None:
        """Build a new network. In a warm start, take over the weights of the earlier one if it has all types."""
        words = {word for sentence in gold for word in sentence.words}
        types = types_in(gold)
        earlier = self._network if warm and types <= {*self._tags.types} else None
        lexicon, tags, user_vectors = KnownWords.of(words), TagSet.of(types, self.scheme), None
        if earlier is not None:
            lexicon, tags, user_vectors = self._known_words.with_those_of(lexicon), self._tags, self._user_vectors
        self._adopt(lexicon, tags, self._vectors_of(words, user_vectors))
        if earlier is not None:
            self.network.take_over(earlier)

    def _vectors_of(self, words: set[str], user_vectors: WordVectors | None) -> WordVectors | None:
        """The user's vectors, after those that are already known in a warm start."""
        if self.vectors is None or (user_vectors is not None and words <= self._looked_up):
            return user_vectors
        first_vectors = read_first(_existing(self.vectors), self.max_vectors, words)
        for issue in first_vectors.issues:
            warn(f"{self.vectors}: {issue}")
        if not any(first_vectors.get(word) is not None for word in words):
            warn(f"{self.vectors} has no vector for any training word: is it for another language?")
        self._looked_up = words if user_vectors is None else self._looked_up | words
        return first_vectors if user_vectors is None else user_vectors.followed_by(first_vectors)

    def _adopt(self, lexicon: KnownWords, tags: TagSet, user_vectors: WordVectors | None) -> None:
        word_size = self.word_size if user_vectors is None else user_vectors.dimension
        sizes = Sizes(word_size, self.character_size, self.spelling_size, self.hidden_size)
        network = RecurrentNetwork(lexicon, tags, sizes, self.dropout, self.word_dropout)
        self._network, self._crf = network.to(pick_device(self.device)).eval(), network.crf
        self._known_words, self._tags, self._user_vectors = lexicon, tags, user_vectors

    def _table(self, sentences: Sequence[Sentence]) -> WordTable:
        words = (word for sentence in sentences for word in sentence.words)
        return WordTable(words, self._known_words, self._user_vectors)

    def _loss(self, table: WordTable, batch: Sequence[LabelledWindow]) -> Tensor:
        network, rows = self.network, collate([example.window for example in batch], 0)
        distinct, places = torch.unique(rows.input_ids, return_inverse=True)
        lengths = table.lengths[distinct]
        spelled = self._spell(table.spellings[distinct, : int(lengths.max())], lengths)
        scores = self._scores(table, rows.input_ids, spelled[places.to(network.device)], rows.attention_mask.sum(1))
        return loss(scores, rows.word_mask.to(network.device), batch, network.crf, self._tags)

    # --- prediction -------------------------------------------------------------------------------------------------

    def _emissions(
        self, sentences: Sequence[Sentence], progress: Progress | None = None, *, dropout_passes: int = 0
    ) -> list[Tensor]:
        network, passes = self.network.eval(), dropout_passes or 1
        table = self._table(sentences)

        def score(windows: Sequence[Window], shape: PassShape) -> Tensor:
            batch = collate(windows, 0, **shape)
            places, lengths = batch.input_ids.repeat(passes, 1), batch.attention_mask.sum(1).repeat(passes)
            scores = self._scores(table, places, spelled[places.to(network.device)], lengths)
            refuse_nan(scores, ModelSource(name_of(self)))
            return scores.view(passes, -1, *scores.shape[1:])

        windows = [table.windows(sentence.words) for sentence in sentences]
        with autocast(network.device, self.precision):
            spelled = self._spelled(table)
            return emissions(windows, score, passes=passes, device=network.device, progress=progress)

    def _scores(self, table: WordTable, places: Tensor, spelled: Tensor, lengths: Tensor) -> Tensor:
        """The scores of each tag at each word. Shape: (rows, words, tags)."""
        device = spelled.device
        ids, vectors = table.ids[places], table.vectors[places]
        return self.network(ids.to(device), vectors.to(device), spelled, lengths.to(device))

    def _spelled(self, table: WordTable) -> Tensor:
        """The words of a table by their characters, in passes of fixed shapes. Shape: (places, size of a spelling)."""
        spelled = torch.empty(len(table.ids), self.network.spelling.size, device=self.network.device)
        padded = table.lengths + -table.lengths % LENGTH_MULTIPLE
        for length in sorted({*padded.tolist()}):
            for places in torch.split(torch.nonzero(padded == length).flatten(), SPELLED):
                rows = torch.cat([places, places[:1].expand(SPELLED - len(places))])
                spelled_rows = self._spell(table.spellings[rows, :length], table.lengths[rows])
                spelled[places.to(spelled.device)] = spelled_rows[: len(places)].float()
        return spelled

    def _spell(self, spellings: Tensor, lengths: Tensor) -> Tensor:
        device = self.network.device
        return self.network.spell(spellings.to(device), lengths.to(device))

    # --- on disk ----------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the weights, the words and characters, the user's vectors if any, and the description file."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / VECTORS_FILE).unlink(missing_ok=True)
        lexicon = {
            "tags": self._tags.names,
            "words": self._known_words.words,
            "characters": self._known_words.characters,
        }
        with os_errors(folder / WEIGHTS_FILE):
            save_file(self.network.state_dict(), folder / WEIGHTS_FILE)
            if self._user_vectors is not None:
                lexicon["vectors"] = tuple(self._user_vectors.rows)
                vectors = torch.from_numpy(self._user_vectors.matrix(lexicon["vectors"]))
                save_file({"vectors": vectors}, folder / VECTORS_FILE)
        (folder / LEXICON_FILE).write_text(json.dumps(lexicon) + "\n", "utf-8")
        write_description(folder, self, settings_of(self))

    @classmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Self:
        """Read a tagger that `save` wrote. It has no code, so ``trust_remote_code`` has no effect."""
        folder = Path(folder)
        with refusing_damage(folder, "{}. Expected what `nersery train` wrote"):
            saved = read_description(folder)
            tagger: Self = from_settings(cls, saved["settings"], device, folder / DESCRIPTION)
            lexicon = json.loads((folder / LEXICON_FILE).read_text("utf-8"))
            words, characters, tags = (tuple(lexicon[key]) for key in ("words", "characters", "tags"))
            user_vectors = None
            if "vectors" in lexicon:
                vectors = load_file(folder / VECTORS_FILE)["vectors"].numpy()
                user_vectors = WordVectors(vectors.shape[1], dict(zip(lexicon["vectors"], vectors, strict=True)))
            with seeded(0):  # keep the caller's random state: initial weights are drawn, then overwritten
                tagger._adopt(KnownWords(words, characters), TagSet(tags), user_vectors)
            tagger.network.load_state_dict(load_file(folder / WEIGHTS_FILE))
        tagger.history = saved.get("history", {})
        return tagger


def _existing(path: str) -> str:
    if not Path(path).is_file():
        raise MissingResourceError(
            f"there is no file of word vectors {path}: expected GloVe's or fastText's text format"
        )
    return path
