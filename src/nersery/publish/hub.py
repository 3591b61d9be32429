"""Uploads a published dataset to the Hugging Face hub."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from nersery.core.errors import MissingResourceError, NerseryError, SettingsError
from nersery.publish.dataset import FILES


def hub_client(repository: str, *, private: bool) -> Any:
    """A client of the hub with permission to write, which is checked before any work.

    Args:
        repository: ``OWNER/NAME``.
        private: Whether nobody else may read the dataset.

    Raises:
        SettingsError: If this is not the name of a repository, or the repository is public but should be private.
        MissingResourceError: If there is no token, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise SettingsError(f"--push is {repository!r}, expected OWNER/NAME: {error}") from None
    if "/" not in repository:
        raise SettingsError(f"--push is {repository!r}, expected OWNER/NAME")
    client = HfApi()
    try:
        client.whoami()
        exists = private and client.repo_exists(repository, repo_type="dataset")
        is_public = exists and not client.dataset_info(repository).private
    except Exception as error:
        reason = str(error).split("\n", 1)[0]
        raise MissingResourceError(
            f"the Hugging Face hub does not let you write: {reason}. Log in with: hf auth login, or set HF_TOKEN; "
            "unset HF_HUB_OFFLINE"
        ) from None
    if private and is_public:  # the hub leaves an existing repository public
        raise SettingsError(f"{repository} is public on the hub; make it private there, or push to another name")
    return client


def push(client: Any, folder: Path, repository: str, *, private: bool) -> str:
    """Upload a dataset's folder, and return its address. Files that only an earlier upload had are removed.

    Raises:
        NerseryError: If the hub refuses it. The folder stays, so the call can be repeated.
    """
    try:
        address = client.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
        client.upload_folder(
            folder_path=str(folder),
            repo_id=repository,
            repo_type="dataset",
            commit_message="Published by nersery",
            delete_patterns=[f"{name}/*" for name in FILES],  # those of an earlier upload that are no longer part of it
        )
    except Exception as error:
        reason = str(error).split("\n", 1)[0]
        raise NerseryError(
            f"{folder} is written, but the hub refused it: {reason}. Repeat with --force, or: hf upload {repository} "
            f"{shlex.quote(str(folder))} --repo-type dataset"
        ) from error
    return str(address)
