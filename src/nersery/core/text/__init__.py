"""What nersery knows about text: languages, scripts, spacing, inflection, forms to compare, and what types mean."""
