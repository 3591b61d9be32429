"""Large language models behind an OpenAI-compatible endpoint: requests, answers, their cache and their cost."""
