"""nersery grows training data for named entity recognition where there is little, and shows whether it helped."""

from nersery.core.sentence import Corpus, Entity, Origin, Sentence
from nersery.core.version import __version__

__all__ = ["Corpus", "Entity", "Origin", "Sentence", "__version__"]
