"""Flair's side of ``flair_training.py``, run by the Python of an environment that has Flair.

    PYTHON benchmarks/flair_tagger.py train ENCODER FOLDER EPOCHS BATCH RATE SEED
    PYTHON benchmarks/flair_tagger.py predict FOLDER

FOLDER holds ``train.conll`` or ``test.conll``, with a word and its tag on each line. The first command writes a model
there, the second ``found.json``: the start, end (in words) and type of the entities of each sentence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flair import set_seed
from flair.datasets import ColumnCorpus
from flair.embeddings import TransformerWordEmbeddings
from flair.models import SequenceTagger
from flair.trainers import ModelTrainer


def corpus(folder: str, **files: str) -> ColumnCorpus:
    columns = {0: "text", 1: "ner"}
    return ColumnCorpus(
        folder, columns, sample_missing_splits=False, column_delimiter="\t", comment_symbol="# ", **files
    )


def train(encoder: str, folder: str, epochs: str, batch: str, rate: str, seed: str) -> None:
    """Fine-tune an encoder with a CRF, as in Flair's documentation."""
    set_seed(int(seed))
    gold = corpus(folder, train_file="train.conll")
    tagger = SequenceTagger(
        embeddings=TransformerWordEmbeddings(encoder, layers="-1", subtoken_pooling="first", fine_tune=True),
        tag_dictionary=gold.make_label_dictionary("ner", add_unk=False),
        tag_type="ner",
        use_crf=True,
        use_rnn=False,
        reproject_embeddings=False,
    )
    trainer = ModelTrainer(tagger, gold)
    trainer.fine_tune(folder, learning_rate=float(rate), mini_batch_size=int(batch), max_epochs=int(epochs))


def predict(folder: str) -> None:
    """Label the test sentences."""
    tagger = SequenceTagger.load(str(Path(folder) / "final-model.pt"))
    sentences = list(corpus(folder, test_file="test.conll", train_file="train.conll").test)
    tagger.predict(sentences, mini_batch_size=32, label_name="found")
    found = [
        [
            (span.tokens[0].idx - 1, span.tokens[-1].idx, span.get_label("found").value)
            for span in one.get_spans("found")
        ]
        for one in sentences
    ]
    (Path(folder) / "found.json").write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(*sys.argv[2:])
    else:
        predict(*sys.argv[2:])
