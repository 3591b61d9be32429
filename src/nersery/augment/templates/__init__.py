"""Templates of ACLM, and the language models that write sentences from them."""
