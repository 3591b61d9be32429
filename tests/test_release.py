"""The changes of the release workflow to the files that the package index shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
pytestmark = pytest.mark.skipif(not WORKFLOWS.exists(), reason="workflows are in the repository, not in the package")


def test_links_of_the_published_readme_are_absolute(tmp_path: Path) -> None:
    steps = yaml.safe_load((WORKFLOWS / "release.yml").read_text("utf-8"))["jobs"]["build"]["steps"]
    (step,) = (step["run"] for step in steps if step.get("name", "").startswith("Links"))
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    given = {"GITHUB_REPOSITORY": "owner/nersery", "GITHUB_REF_NAME": "v9", "PATH": os.environ["PATH"]}
    subprocess.run(["bash", "-ec", step], cwd=tmp_path, env=given, check=True)
    links = re.findall(r"\]\(([^)]*)\)", (tmp_path / "README.md").read_text("utf-8"))
    assert all(link.startswith(("https://", "#")) for link in links)
    assert "https://github.com/owner/nersery/raw/v9/docs/images/report.png" in links
    assert "https://github.com/owner/nersery/blob/v9/docs/tutorial.md" in links
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Source"] == "https://github.com/owner/nersery"
