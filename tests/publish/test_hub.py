"""A dataset on the hub: what is uploaded, and what is refused before any work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nersery import io
from nersery.core.errors import NerseryError
from nersery.publish.hub import push
from tests.cli.calls import call
from tests.standins import sentences


class Hub:
    """A stand-in for `huggingface_hub.HfApi`."""

    calls: list[tuple[str, Any]] = []  # noqa: RUF012
    fails = ""
    public: tuple[str, ...] = ()

    def _note(self, name: str, *values: Any) -> None:
        self.calls.append((name, values))
        if self.fails == name:
            raise OSError(f"{name} said no\nand more")

    def whoami(self) -> dict[str, str]:
        self._note("whoami")
        return {"name": "me"}

    def repo_exists(self, repository: str, *, repo_type: str) -> bool:
        assert repo_type == "dataset"
        return repository in self.public

    def dataset_info(self, repository: str) -> Any:
        return SimpleNamespace(private=repository not in self.public)

    def create_repo(self, repository: str, *, repo_type: str, private: bool, exist_ok: bool) -> str:
        self._note("create_repo", repository, repo_type, private, exist_ok)
        return f"https://hub/{repository}"

    def upload_folder(self, *, folder_path: str, repo_id: str, delete_patterns: list[str], **more: str) -> None:
        names = sorted(path.name for path in Path(folder_path).iterdir())
        self._note("upload_folder", names, repo_id, more["repo_type"], delete_patterns)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    io.write(sentences(40), tmp_path / "all.conll")
    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    monkeypatch.setattr(Hub, "calls", [])
    return lambda *more: call(
        "dataset", "publish", str(tmp_path / "all.conll"), str(tmp_path / "data"), "--no-parquet", *more
    )


def test_the_folder_is_uploaded(published: Any) -> None:
    done = published("--push", "me/data", "--private")
    assert done.code == 0, done.err
    assert "https://hub/me/data" in done.out
    assert [name for name, _ in Hub.calls] == ["whoami", "create_repo", "upload_folder"]
    assert Hub.calls[1][1] == ("me/data", "dataset", True, True)
    assert "README.md" in Hub.calls[2][1][0]
    assert {"spans/*", "tags/*"} < {*Hub.calls[2][1][3]}, "a split of an earlier upload would stay"


def test_a_public_repository_is_not_taken_for_a_private_one(
    published: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Hub, "public", ("me/data",))
    refused = published("--push", "me/data", "--private")
    assert refused.code == 2
    assert "me/data is public on the hub; make it private there" in refused.err
    assert not (tmp_path / "data").exists()
    assert published("--push", "me/data").code == 0


@pytest.mark.parametrize(
    ("fails", "repository", "code", "message"),
    [
        ("whoami", "me/data", 4, "whoami said no. Log in with"),
        ("", "../me/data", 2, "expected OWNER/NAME"),
        ("", "data", 2, "expected OWNER/NAME"),
        ("upload_folder", "me/data", 1, "is written, but the hub refused it: upload_folder said no"),
    ],
)
def test_reports_what_fails(
    published: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fails: str,
    repository: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr(Hub, "fails", fails)
    done = published("--push", repository)
    assert (done.code, message in done.err) == (code, True), done.err
    assert (tmp_path / "data").exists() == (fails == "upload_folder")


def test_the_command_that_repeats_the_upload_quotes_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Hub, "fails", "create_repo")
    with pytest.raises(NerseryError) as refused:
        push(Hub(), tmp_path / "my data", "me/data", private=False)
    assert f"hf upload me/data '{tmp_path / 'my data'}' --repo-type dataset" in str(refused.value)


def test_does_not_contact_the_hub_without_push(published: Any) -> None:
    assert published().code == 0
    assert Hub.calls == []
