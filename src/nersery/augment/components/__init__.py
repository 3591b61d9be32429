"""What methods of several families share: settings, and learning from gold."""
