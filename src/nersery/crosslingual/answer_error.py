"""The error of an external program's output."""

from __future__ import annotations


class AnswerError(Exception):
    """A problem in the output of a program.

    Args:
        line: Its line, from 1.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line
