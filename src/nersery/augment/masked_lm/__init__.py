"""What methods on a masked language model share: opening and fine-tuning it, masking mentions, replacing words."""
