"""The tables of a report: for the page, Markdown, CSV and LaTeX."""
