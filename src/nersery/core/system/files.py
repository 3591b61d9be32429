"""File hashes, and atomic writes that a killed process cannot leave incomplete."""

from __future__ import annotations

import contextlib
import difflib
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

from nersery.core.errors import SettingsError, shown
from nersery.core.system.locks import is_at, try_lock

BRAT_TEXT, BRAT_LABELS = ".txt", ".ann"
"""The extensions of the two files of a brat document."""
DESCRIPTION = "nersery.json"
"""The file that identifies a folder with a tagger or a published dataset."""
DEVICES = Path("/dev")
"""The folder of devices. A file moved there would even replace its links to files, such as /dev/stdout."""
PACKED = ".packed"
"""The extension of what is made from a finished temporary file, beside it; see `written_beside`."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error codes for a full disk, an exhausted quota, and a file above the largest size (``ulimit -f``)."""
BROKEN_DISK = (errno.EIO, errno.ESTALE)
"""The error codes for a disk that fails, and a network disk that is connected again or whose server lost the file."""

_ESCAPED = re.compile(r"[\x07-\x0d]")
"""Matches what TOML and Python read for a backslash before a letter, as in "C:\\temp"."""
_NO_FOLDER = "A file or a broken link has the name of an expected folder. Choose another place"
_NO_ACCESS = "Allow access to it, or choose another place"
_MORE_FILES = "Allow more (ulimit -n), and repeat the command"
_CHECK_DISK = "Check the disk and its connection, and repeat the command: a long job resumes"
_FREE_SPACE = "Free some space and repeat the command: a long job resumes"
_ADVICE = {
    errno.EEXIST: _NO_FOLDER,
    errno.ENOTDIR: _NO_FOLDER,
    errno.ENOENT: "If it or its folder was removed, repeat the command",
    errno.EISDIR: "A folder has the name of an expected file. Move it, and repeat the command",
    errno.ELOOP: "Remove the link, and repeat the command",
    errno.EMFILE: _MORE_FILES,
    errno.ENFILE: _MORE_FILES,
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.EACCES: _NO_ACCESS,
    errno.EPERM: _NO_ACCESS,
    errno.EROFS: _NO_ACCESS,
    **dict.fromkeys(BROKEN_DISK, _CHECK_DISK),
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: "Allow larger files (ulimit -f) and repeat the command: a long job resumes",
}
"""How to fix an error of the system, by its code."""


def as_path(value: object, name: str) -> Path:
    """Return a path that a user of the library gave, or raise `SettingsError` if it is not a usable path."""
    if not isinstance(value, str | Path):
        raise SettingsError(f"{name} is {shown(value)}, expected the name of a file or folder, as text or as a Path")
    if value == "":  # as a path it would be the current folder
        raise SettingsError(f"{name} is an empty string, perhaps because a variable is not set. Name a file or folder")
    if "\0" in str(value):
        raise SettingsError(f"{name} is {shown(str(value))}, expected a name without null characters")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise SettingsError(
            f"{name} is {shown(str(value))}, which has a lone surrogate, which file names cannot contain"
        ) from None
    return Path(value)


def files_of(path: Path) -> list[Path]:
    """The files that a name refers to: the file alone, or both files of a brat document, text and labels.

    >>> files_of(Path("notes.ann"))
    [PosixPath('notes.txt'), PosixPath('notes.ann')]
    """
    labels = path.with_suffix(BRAT_LABELS) if path.suffix else path
    if path.suffix == BRAT_LABELS or (path.suffix == BRAT_TEXT and labels.is_file()):
        return [path.with_suffix(BRAT_TEXT), labels]
    return [path]


def content_hash(path: str | Path) -> str:
    """The SHA-256 of all `files_of` a file, or of the names and contents of all files in a folder."""
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
def naming_the_file(path: Path) -> Iterator[None]:
    """Name the file in errors about a full or broken disk; the system names it only if opening the file fails."""
    try:
        yield
    except OSError as error:
        if error.errno in (*NO_SPACE, *BROKEN_DISK) and error.filename is None:
            error.filename = str(path)
        raise


def os_message(error: OSError) -> str:
    """The message for an error of the system with a file, and how to fix it."""
    path = error.filename2 or error.filename  # of a temporary file and the one that it replaces, the latter
    name = f" {path}" if path else ""
    advice = advice_for(error)
    return f"cannot read or write{name}: {error.strerror or error}" + (f". {advice}" if advice else "")


def advice_for(error: OSError) -> str:
    """How to fix an error of the system; empty if that is unknown."""
    return _ADVICE.get(error.errno or 0, "")


@contextlib.contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Convert the system errors of safetensors and tokenizers to an `OSError` that names the output path."""
    with naming_the_file(path):
        try:
            yield
        except Exception as error:
            match = re.search(r"\(os error (\d+)\)", str(error))
            if match is None or isinstance(error, OSError):
                raise
            raise OSError(int(match[1]), os.strerror(int(match[1])), str(path)) from error


def open_new(path: Path) -> BinaryIO:
    """Open a new file for writing in place of one that a killed process left; never write through a link."""
    path.unlink(missing_ok=True)
    return path.open("xb")  # "wb" would follow a link that was created in the meantime


@contextlib.contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Yield the path ``NAME.tmp`` to write, and replace ``path`` by it, so that others see the old or the new file.

    Use this only in nersery's own folders; elsewhere, use `written_beside`.
    """
    temporary = path.with_name(path.name + ".tmp")
    with os_errors(path):
        yield temporary
    os.replace(temporary, path)  # not reached after an error: the old file stays


def write_atomic(path: Path, text: str | Iterable[str]) -> None:
    """Write a file from a text or its parts; see `written_atomically`."""
    with written_atomically(path) as temporary, open_new(temporary) as stream:
        stream.writelines(part.encode() for part in ([text] if isinstance(text, str) else text))


def write_output(path: Path, text: str) -> None:
    """Write a file like `write_atomic`, but in a folder of the user, who may have a file named ``NAME.tmp``."""
    with naming_the_file(path), written_beside(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")
        os.replace(temporary, path)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON atomically, and create the folder. After a loss of power, the file is the old or the new one.

    Without `os.fsync`, it might be empty then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    with written_atomically(path) as temporary, open_new(temporary) as stream:
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())


def cache_folder() -> Path:
    """The folder for files that can be made again. As XDG specifies, a relative XDG_CACHE_HOME is ignored.

    Raises:
        SettingsError: If the user has no home folder, like some users in containers.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (named if named.is_absolute() else Path.home() / ".cache") / "nersery"
    except RuntimeError:
        message = "the user has no home folder for the cache. Set the environment variable XDG_CACHE_HOME"
        raise SettingsError(f"{message} to the full path of a writable folder") from None


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def review_folder(output: Path) -> Path:
    """The folder of the decisions of a review that writes this file."""
    return output.with_name(f"{output.name}.review")


def unfinished_path(path: Path) -> Path:
    """The path of a file or folder while it is being made."""
    return path.with_name(path.name + ".part")


def is_missing(path: Path) -> bool:
    """Return whether a file or folder has yet to be made; if it exists, remove an unfinished one left by a kill."""
    if path.exists():
        shutil.rmtree(unfinished_path(path), ignore_errors=True)
        return False
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder so that a kill never leaves an incomplete folder under its name."""
    unfinished = unfinished_path(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    if folder.exists():
        os.replace(folder, unfinished)
        shutil.rmtree(unfinished)


def address_in(path: Path) -> str:
    """The address, such as ``s3://bucket/x.jsonl``, that somebody gave as a path; empty for paths of files.

    >>> address_in(Path("s3://bucket/x.jsonl")), address_in(Path("file:///tmp/x.jsonl")), address_in(Path("C:/x.jsonl"))
    ('s3://bucket/x.jsonl', 'file:///tmp/x.jsonl', '')
    """
    first, *others = path.parts or ("",)
    is_address = bool(others and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+:", first)) and not os.path.lexists(first)
    slashes = "///" if first.lower() == "file:" else "//"
    return f"{first}{slashes}{'/'.join(others)}" if is_address else ""


def advice_for_address(address: str, copy: str) -> str:
    """What to do with an address in place of a path.

    Args:
        copy: What to do if it is not that of a file here.
    """
    return "leave out file://" if address.lower().startswith("file:") else copy


def unexpanded_home(path: Path) -> str:
    """The advice for a path that begins with ``~``, which shells leave alone in ``--out=~/runs``; empty for others."""
    first = next(iter(path.parts), "")
    is_home = first.startswith("~") and os.path.expanduser(first) != first and not os.path.lexists(first)
    return f"{first} does not stand for a home folder here: write that folder's whole name" if is_home else ""


def advice_for_missing(path: Path) -> str:
    """How to correct the name of a missing file: a similar one in its folder, or what is wrong with it, or nothing."""
    if _ESCAPED.search(str(path)):
        return "its name has a control character, because \\t in double quotes is a tab: write / in place of \\"
    siblings = list(path.parent.iterdir()) if path.parent.is_dir() else []
    stems = difflib.get_close_matches(path.stem, {sibling.stem for sibling in siblings}, n=len(siblings) or 1)
    alike = [sibling.name for sibling in siblings if sibling.stem in stems and sibling.suffix != ".part"]
    close = difflib.get_close_matches(path.name, alike, n=1)
    return f"did you mean {close[0]}?" if close else unexpanded_home(path)


def refuse_unwritable(path: Path) -> None:
    """Raise `SettingsError` for an output path at which no file or folder can be written.

    Such paths are standard output, an address, one in a home folder that is named ``~``, a link that leads back to
    itself, and a device or pipe, which a finished file would replace.
    """
    if address := address_in(path):
        fix = advice_for_address(address, "choose a file, and upload it later")
        raise SettingsError(f"{address} is an address, but results go into a file: {fix}")
    if home := unexpanded_home(path):
        raise SettingsError(f"{path} would be a folder in the current one: {home}")
    if str(path) == "-":
        raise SettingsError("results are not written to standard output, because the job could not resume: name a file")
    refuse_removed_folder()
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SettingsError(
                f"{path} cannot be written: {error.strerror}. Remove the link, or choose another output"
            ) from None
    is_special = path.absolute().parent == DEVICES or (path.exists() and not path.is_file())
    if is_special and not path.is_dir():
        raise SettingsError(f"{path} is a device or a pipe, but results need a file. Choose another output")


def refuse_removed_folder() -> None:
    """Raise `SettingsError` if the current folder was removed: there, PyTorch would end the process."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise SettingsError("the current folder was removed. Change to another one (cd)") from None


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder after links are resolved. A link that leads back to itself is not followed."""
    inner, outer = (Path(os.path.realpath(one)) for one in (path, folder))  # `Path.resolve` raises for such a link
    return outer in inner.parents


def refuse_within(path: Path, source: str | Path) -> None:
    """Raise `SettingsError` for an output in a folder of inputs: the folder could not be read again."""
    if is_inside(path, Path(source)):
        raise SettingsError(f'{path} is in the folder "{source}", which is read as input. Choose an output outside it')


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a new, locked file to write before it replaces ``path``; remove it at the end.

    Files that killed processes left are removed too: they are no longer locked. So is what was packed from them.
    """
    with contextlib.ExitStack() as stack:
        while True:  # another process may have removed the file, as a leftover, before it was locked
            temporary = path.with_name(f"nersery-{secrets.token_hex(8)}.tmp")
            try:
                stream = stack.enter_context(temporary.open("xb"))
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from error
            stack.callback(temporary.unlink, missing_ok=True)
            if not try_lock(stream) or is_at(stream, temporary):
                break
        for leftover in path.parent.glob(f"nersery-{'[0-9a-f]' * 16}.tmp"):
            if leftover == temporary or leftover.is_symlink() or not leftover.is_file():  # opening a pipe would hang
                continue
            with contextlib.suppress(OSError), leftover.open("rb") as other:
                if try_lock(other):
                    remove(leftover.with_suffix(PACKED))
                    leftover.unlink()
        yield temporary


def check_writable(path: Path) -> None:
    """Raise `OSError`, before costly work, if no file can be written there; leave no file and create no folder."""
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    try:
        with written_beside(folder / path.name):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def copy_atomic(file: Path, target: Path) -> None:
    """Copy a file, if it exists, so that the copy is complete or does not exist under its new name."""
    if file.exists():
        with file.open("rb") as source, written_atomically(target) as temporary, open_new(temporary) as stream:
            shutil.copyfileobj(source, stream)
