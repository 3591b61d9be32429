"""Write the hashes that nersery uses to recognise text that the question-answering heads were trained on.

    python models/qa_head/fingerprints.py --data ../shared/data

All sentences of the three labelled corpora are hashed, even if the training did not draw them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from examples import labelled

from nersery.models.bundled_models.question_text import FILE, fingerprint

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing


def main() -> None:
    """Hash the corpora."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=existing("ner_en"), required=True)
    folder = parser.parse_args().data / "ner_en"
    columns: dict[str, Any] = {"format": "conll", "word_column": 1, "tag_column": 4}
    files = [folder / "wikigold/wikigold.conll.txt", *sorted((folder / "btc_twitter").glob("*.conll"))]
    sentences = [text.words for path in files for text in labelled(path, ())]
    sentences += [
        text.words for name in ("AnEM.train", "AnEM.test") for text in labelled(folder / "anem" / name, (), **columns)
    ]
    hashes = sorted({fingerprint(words) for words in sentences} - {b""})
    FILE.write_bytes(b"".join(hashes))
    print(f"{len(sentences)} sentences, {len(hashes)} hashes, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
