"""The record in the folder of an unfinished job. The same job resumes from it; another job is refused."""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nersery.core.errors import NerseryError, SettingsError
from nersery.core.system import files
from nersery.core.system.job_records import other_settings_message
from nersery.core.system.locks import locked


@dataclass(slots=True)
class JobRecord(ABC):
    """The progress of an unfinished job.

    Args:
        path: The file, in the folder of the unfinished job.
        fingerprint: All values that the result depends on, as JSON values.
        finished: Whether everything is done except moving the output.
    """

    path: Path
    fingerprint: dict[str, Any]
    finished: bool = False

    @abstractmethod
    def load(self, text: str, fingerprint: Mapping[str, Any]) -> str:
        """Take over the state in the file, or return a description of its differences from this job.

        A state in which nothing is done yet counts as having no differences: it is overwritten.

        Args:
            fingerprint: This job's fingerprint as JSON would store it: with lists instead of tuples.
        """

    @abstractmethod
    def text(self) -> str:
        """The content of the file."""

    def write(self) -> None:
        """Replace the file atomically, so that it is never half written."""
        files.write_atomic(self.path, self.text())

    @contextlib.contextmanager
    def taken_over(self, *, overwrite: bool) -> Iterator[None]:
        """Lock the folder, and take over the work of an earlier call. With ``overwrite``, start over if that fails.

        Raises:
            NerseryError: If the file is broken.
            SettingsError: If the file belongs to another job, or another process is working on it.
        """
        folder, difference = self.path.parent, ""
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            try:
                if self.path.exists():
                    difference = self.load(self.path.read_text("utf-8"), json.loads(json.dumps(self.fingerprint)))
            except (ValueError, LookupError, TypeError):
                if not overwrite:
                    raise NerseryError(
                        f"{self.path} is broken, perhaps after a power failure. Delete the folder {folder} to start "
                        "the job again, or use --force"
                    ) from None
            if difference and not overwrite:
                fix = "Repeat the command with those settings to resume, choose another output, or start over (--force)"
                raise SettingsError(other_settings_message(folder, "an unfinished job", difference, fix))
            yield
