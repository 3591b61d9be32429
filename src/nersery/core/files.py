"""Files that a killed process leaves whole: hashes, atomic writes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from nersery.core.errors import SettingsError
from nersery.core.locks import is_at, try_lock

TEXT, LABELS = ".txt", ".ann"
"""The extensions of a document of brat."""
DESCRIPTION = "nersery.json"
"""The file by which a folder with a tagger or a published dataset is known."""
DEVICES = Path("/dev")
"""Also its links to files, such as /dev/stdout, would be replaced by a file that is moved there."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system calls a full disk, a used-up quota, and a file too large for the disk."""


def as_path(value: object, name: str) -> Path:
    """A path as users of the library give it; a `SettingsError` if it is none."""
    if not isinstance(value, str | Path):
        raise SettingsError(f"{name} is {value!r:.60}, expected the name of a file or folder, as text or as a Path")
    if "\0" in str(value):
        raise SettingsError(f"{name} is {str(value)!r:.60}, expected a name without null characters")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise SettingsError(
            f"{name} is {str(value)!r:.60}, which has a lone surrogate that no name of a file can have"
        ) from None
    return Path(value)


def files_of(path: Path) -> list[Path]:
    """The files that a name stands for: the file alone, or the text and the labels beside it that brat parts.

    >>> files_of(Path("notes.ann"))
    [PosixPath('notes.txt'), PosixPath('notes.ann')]
    """
    labels = path.with_suffix(LABELS) if path.suffix else path
    if path.suffix == LABELS or (path.suffix == TEXT and labels.is_file()):
        return [path.with_suffix(TEXT), labels]
    return [path]


def content_hash(path: str | Path) -> str:
    """The SHA-256 of a file's content, with that of `files_of` it; or of all files in a folder with their names."""
    path = Path(path)
    if path.is_file():
        hashes = [_hash(file) for file in files_of(path) if file.is_file()]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0{content_hash(file)}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def naming_the_full_disk(path: Path) -> Iterator[None]:
    """Say which file there is no space for, as the system does only where a file is opened."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE and error.filename is None:
            error.filename = str(path)
        raise


def os_message(error: OSError) -> str:
    """What the system could not do with a file, and how to mend it."""
    name = f" {error.filename}" if error.filename else ""
    if error.errno in NO_SPACE:
        return f"no space left to write{name}. Free some and repeat the command: a long job resumes"
    reason = f"cannot read or write{name}: {error.strerror or error}"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{reason}. Where a folder is expected, a file or a broken link has its name. Choose another place"
    if error.errno == errno.ENOENT:
        return f"{reason}. If it or its folder was removed, repeat the command"
    if error.errno == errno.ENAMETOOLONG:
        return f"{reason}. Choose a shorter name"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{reason}. Choose another place, or allow to write there"
    return reason


@contextlib.contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn the errors of safetensors and tokenizers into an `OSError` that names the file or folder written."""
    with naming_the_full_disk(path):
        try:
            yield
        except Exception as error:
            match = re.search(r"\(os error (\d+)\)", str(error))
            if match is None or isinstance(error, OSError):
                raise
            raise OSError(int(match[1]), os.strerror(int(match[1])), str(path)) from error


def open_new(path: Path) -> BinaryIO:
    """Open a file for writing in place of what a kill has left there; nothing is written through a link."""
    path.unlink(missing_ok=True)
    return path.open("xb")  # "wb" would follow a link that somebody has put there in the meantime


@contextlib.contextmanager
def _appearing_whole(path: Path) -> Iterator[BinaryIO]:
    temporary = path.with_name(path.name + ".tmp")
    with naming_the_full_disk(path), open_new(temporary) as stream:
        yield stream
    os.replace(temporary, path)  # not reached after an error: the old file stays


def write_atomic(path: Path, text: str | Iterable[str]) -> None:
    """Write a file, whole or part by part, so that a reader or a later run sees the old one or the new one.

    It is written as ``NAME.tmp`` first, so only folders that are nersery's own are safe; see `write_output`.
    """
    with _appearing_whole(path) as stream:
        stream.writelines(part.encode() for part in ([text] if isinstance(text, str) else text))


def write_output(path: Path, text: str) -> None:
    """As `write_atomic`, beside files of the user, one of which may be called ``NAME.tmp``."""
    with naming_the_full_disk(path), written_beside(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")
        os.replace(temporary, path)


def write_json(path: Path, content: Any) -> None:
    """Write JSON for people and programs, whole or not at all; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def cache_folder() -> Path:
    """Where nersery keeps what it can make again; as its specification says, a relative XDG_CACHE_HOME is ignored.

    Raises:
        SettingsError: If the user has no home folder, as some users of containers.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (named if named.is_absolute() else Path.home() / ".cache") / "nersery"
    except RuntimeError:
        message = "the user has no home folder to keep a cache in. Set the environment variable XDG_CACHE_HOME"
        raise SettingsError(f"{message} to the full name of a folder that can be written") from None


def unfinished_path(path: Path) -> Path:
    """Where a file or folder lies while it is made."""
    return path.with_name(path.name + ".part")


def is_missing(path: Path) -> bool:
    """Whether a file has yet to be made; what a kill has left behind a finished one is cleared away."""
    if path.exists():
        shutil.rmtree(unfinished_path(path), ignore_errors=True)
        return False
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder so that a kill never leaves a part of it under its name."""
    unfinished = unfinished_path(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    if folder.exists():
        os.replace(folder, unfinished)
        shutil.rmtree(unfinished)


def refuse_unwritable(path: Path) -> None:
    """Raise `SettingsError` for an output whose place no file or folder can take.

    That is standard output, a link which leads back to itself, or a device or pipe, which a finished file would
    replace.
    """
    if str(path) == "-":
        raise SettingsError("results are not written to standard output, which could not be resumed: name a file")
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SettingsError(
                f"{path} cannot be written: {error.strerror}. Remove the link, or choose another output"
            ) from None
    is_special = path.absolute().parent == DEVICES or (path.exists() and not path.is_file())
    if is_special and not path.is_dir():
        raise SettingsError(f"{path} is a device or a pipe, and results go into a file. Choose another output")


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, through links or not; a link that leads back to itself leads nowhere."""
    inner, outer = (Path(os.path.realpath(one)) for one in (path, folder))  # `Path.resolve` raises for such a link
    return outer in inner.parents


def refuse_within(path: Path, source: str | Path) -> None:
    """Raise `SettingsError` for an output in a folder of inputs, which could then be read no more."""
    if lies_in(path, Path(source)):
        raise SettingsError(
            f'{path} lies in the folder "{source}", which is read as input. Choose an output outside it'
        )


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """A name for a file that takes the place of another when it is whole; it is locked, and removed at the end.

    Such files of killed processes, which hold no lock any more, are removed.
    """
    with contextlib.ExitStack() as stack:
        while True:  # until it was locked before another process could take it for one that is left over
            temporary = path.with_name(f"nersery-{secrets.token_hex(8)}.tmp")
            stream = stack.enter_context(temporary.open("xb"))
            stack.callback(temporary.unlink, missing_ok=True)
            if not try_lock(stream) or is_at(stream, temporary):
                break
        for leftover in path.parent.glob(f"nersery-{'[0-9a-f]' * 16}.tmp"):
            if leftover == temporary or leftover.is_symlink() or not leftover.is_file():  # opening a pipe would hang
                continue
            with contextlib.suppress(OSError), leftover.open("rb") as other:
                if try_lock(other):
                    leftover.unlink()
        yield temporary


def check_writable(path: Path) -> None:
    """Raise `OSError`, before costly work, if no file can be written there; nothing is left or made."""
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    try:
        with written_beside(folder / path.name):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def copy_atomic(file: Path, target: Path) -> None:
    """Copy a file, if there is one, so that under its new name it is whole or not there."""
    if file.exists():
        with file.open("rb") as source, _appearing_whole(target) as stream:
            shutil.copyfileobj(source, stream)
