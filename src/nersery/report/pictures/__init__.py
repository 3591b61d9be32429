"""Charts and maps as SVG.

Imports from `nersery.report` and below.
"""
