"""nersery grows training data for named entity recognition where there is little, and shows whether it helped."""

from nersery.data import Corpus, Entity, Origin, Sentence

__all__ = ["Corpus", "Entity", "Origin", "Sentence", "__version__"]
__version__ = "0.1.0"
