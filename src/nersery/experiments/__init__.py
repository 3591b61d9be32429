"""Recipes, the systems that they compare, sampling, and the run in its folder.

Imports from everything but `cli`.
"""
