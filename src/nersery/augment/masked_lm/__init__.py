"""What methods on a masked language model share: setup, masking mentions, replacing words."""
