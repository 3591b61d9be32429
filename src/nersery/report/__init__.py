"""The results of a run as typed objects, and as HTML, Markdown and pictures.

Imports from the methods and below. Reads no run folder.
"""
