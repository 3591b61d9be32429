"""io/annotation_tools."""
