"""Opens files that the user names, and explains failures in the user's terms."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from weakref import WeakSet

from nersery.core.errors import DataError, Issue, SettingsError
from nersery.core.system.files import address_in, advice_for, advice_for_address, advice_for_missing, naming_the_file
from nersery.core.wording import either
from nersery.io.input_files import binary
from nersery.io.input_files.mojibake import note_of_mojibake

STANDARD_INPUT = "-"
DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
"""Prefixes of the names of pipes. The numbers after them are arbitrary."""
_NAMES_OF_STANDARD_INPUT = [Path("/dev/stdin"), *(Path(descriptor, "0") for descriptor in DESCRIPTORS)]
CHECK_NAME = "check the name and the folder"
READABLE = "allow to read it, or name another one"
BYTE_ORDER_MARK = "\ufeff"
MARK_HINT = r"delete it: sed 's/^\xEF\xBB\xBF//' old > new"
BLANKS = " \t\r\n"
"""The characters that a blank line may hold, and with which no word begins or ends. Other white space can be a word."""
MAX_LINE_LENGTH = 10_000_000
"""The maximum length of a line, in characters. Files without an end or line breaks must not fill the memory."""
MAX_IN_MEMORY = 500_000_000
"""The maximum length, in characters, of a text that has to be read as a whole, such as a JSON array."""
MAX_TOGETHER = 100_000
"""The maximum number of lines that are changed at once. An endless sentence must not fill the memory."""
MAX_LINES = 10_000_000
"""The maximum number of lines that are searched for bytes of another encoding."""
MAX_BAD_LINES = 10_000
"""The maximum number of lines with such bytes that are reported one by one. Others are counted."""
MAX_BYTES = 1_000_000
"""The number of bytes that show whether a file is UTF-8."""
LEAST_UTF_8 = 0.1
"""The minimum share of UTF-8 in lines with characters beyond ASCII."""
_CONSUMED = WeakSet[TextIO]()
"""The standard inputs that were read. The second time, they would be empty."""
_CUT = ("unexpected end of data", "truncated data", "incomplete multibyte sequence")
"""Python's messages for a file whose last character lacks bytes."""
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_BYTE_OF_WINDOWS = re.compile("[\udc80\udc82-\udc8c\udc8e\udc91-\udc9c\udc9e\udc9f]")
"""A quote, dash or letter in Windows-1252 where Latin-1 has a control character."""


_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark begins like this one
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks. Text in other encodings does not begin with them."""
MIN_NULL_SHARE = 0.08
"""The minimum share of nulls in the even or odd bytes of UTF-16: spaces have one in any script. Other text has none."""
MAX_CHANCE_NULLS = 3
"""The maximum number of null bytes in the first lines of a damaged file."""
MAX_SEARCHED = 100_000
"""The number of bytes that are searched for line ends in UTF-16."""
MIN_LINE_ENDS = 4
"""The minimum number of line ends that show UTF-16 without spaces."""


class TextFile:
    """A text file that can be read repeatedly; standard input and pipes are copied first.

    Lines end at line feeds only; other characters such as U+2028 belong to words.

    Args:
        path: The file, or ``-`` for standard input.
        encoding: A byte order mark at the start of the file overrides it, and is skipped.

    Raises:
        SettingsError: If standard input was read before.
    """

    in_memory = False
    """Whether the text is not from a file, so that there is no file to correct."""
    mapped: Callable[[Iterator[str]], Iterator[str]] | None = None
    """Replaces the lines of the file by other lines, one for each."""

    def __init__(self, path: str | Path, encoding: str = "utf-8") -> None:
        self.path, self.name, self.stem = Path(path), str(path), Path(path).stem
        if self.name == STANDARD_INPUT:
            self.name, self.stem = "<stdin>", "stdin"
            _consume_standard_input()
            self._spool(sys.stdin.buffer)
        elif self.path.is_fifo():
            if self.name.startswith(DESCRIPTORS):
                self.stem = "stdin"
            if self.path in _NAMES_OF_STANDARD_INPUT:
                _consume_standard_input()
            with self.path.open("rb") as stream:
                self._spool(stream)
        # Ids begin with it: the same in each locale, and different for different names.
        self.stem = os.fsencode(self.stem).decode("utf-8", "backslashreplace")
        name = codecs.lookup(encoding).name
        beginning = self._beginning(4)
        self._marked = next((name for mark, name in _MARKS.items() if beginning.startswith(mark)), "")
        self.encoding = self._marked or ("utf-8-sig" if name.startswith("utf-8") else encoding)

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to read the file, as long as this process keeps it."""
        return {name: value for name, value in self.__dict__.items() if name != "_folder"}

    def _spool(self, stream: BinaryIO) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="nersery-")
        self.path = Path(self._folder.name) / "spool"
        with naming_the_file(self.path), self.path.open("wb") as copy:
            shutil.copyfileobj(stream, copy)

    def lines(self) -> Iterator[str]:
        """The lines with their line breaks.

        Raises:
            DataError: If the file does not exist, cannot be read, has another encoding, or has a line of more than
                `MAX_LINE_LENGTH` characters.
        """
        return self.mapped(self._lines()) if self.mapped else self._lines()

    def _lines(self) -> Iterator[str]:
        with self._opened() as stream:
            # Not by `beginnings`, which takes twice the time; and not `for line in stream`, see there.
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_LENGTH + 1), ""), start=1):
                if len(line) > MAX_LINE_LENGTH:
                    raise self._too_long(number)
                yield line

    def beginnings(self, longest: int) -> Iterator[str]:
        """The lines, each cut after ``longest`` + 1 characters.

        Raises:
            DataError: Like `lines`.
        """
        with self._opened() as stream:
            number, begins, left_out = 1, True, 0
            # Not `for line in stream`, which would first read a line without an end into memory.
            while part := stream.readline(longest + 1):
                if begins:
                    yield part
                elif (left_out := left_out + len(part)) > MAX_LINE_LENGTH:  # /dev/zero has no end
                    raise self._too_long(number)
                if begins := part.endswith("\n"):
                    number, left_out = number + 1, 0

    def read(self) -> str:
        """The whole text.

        Raises:
            DataError: Like `lines`, or if the text has more than `MAX_IN_MEMORY` characters.
        """
        with self._opened() as stream:
            text = stream.read(MAX_IN_MEMORY + 1)
        if len(text) > MAX_IN_MEMORY:
            message = f"the text has more than {MAX_IN_MEMORY:,} characters, but must be read as a whole"
            raise self.error(message, "split it into several files, or export one object per line")
        return text

    def _too_long(self, line: int) -> DataError:
        fix = "check that this is a file of text; put each sentence on a line of its own"
        return self.error(f"the line has more than {MAX_LINE_LENGTH:,} characters", fix, line)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[TextIO]:
        try:
            if self.path.is_file():
                self._refuse_wide()
            with self.path.open(encoding=self.encoding, newline="\n") as stream:
                yield stream
        except UnicodeError as error:
            raise self._wrong_bytes(getattr(error, "reason", "")) from None
        except OSError as error:
            raise self.unreadable(error) from None

    def has_mark(self) -> bool:
        """Whether the file begins with the byte order mark of UTF-8, which is skipped when the file is read."""
        return self._marked == "utf-8-sig"

    @cached_property
    def seems_utf_8(self) -> bool:
        """Whether enough of the first lines are UTF-8 with characters beyond ASCII. Few other lines are by chance."""
        non_ascii = [line for line in self._beginning(MAX_BYTES).splitlines() if not line.isascii()]
        return sum(map(is_utf_8, non_ascii)) > LEAST_UTF_8 * len(non_ascii)

    def note_of_mojibake(self) -> str:
        """A note on a file in UTF-8 whose beginning is garbled; empty for other files."""
        if not self.encoding.startswith("utf-8"):
            return ""
        return note_of_mojibake(self._beginning(MAX_SEARCHED).decode("utf-8", "ignore"))

    def error(self, message: str, fix: str, line: int | None = None) -> DataError:
        """An error with a single issue of the file."""
        return DataError(Issue(message, self.name, line), fix=fix)

    def unreadable(self, error: OSError) -> DataError:
        """The error that says why the file cannot be read."""
        if isinstance(error, FileNotFoundError):
            if address := address_in(self.path):
                fix = advice_for_address(address, "download it, and name that file")
                return self.error("this is an address, expected a file", fix)
            if self.path.is_symlink():
                return self.error(f"this is a link to {self.path.readlink()}, which is missing", "correct the link")
            fix = advice_for_missing(self.path) or CHECK_NAME
            if fix == CHECK_NAME and " " in self.name:
                fix = either(fix, f"{fix}; to use text in memory, give Corpus.from_texts([text])")
            return self.error("there is no such file", fix)
        if self.path.is_dir():
            return self.error("this is a folder, expected a file", "name a file in it")
        fix = READABLE if isinstance(error, PermissionError) else advice_for(error)
        return self.error(f"cannot be read: {error.strerror}", fix)

    def refuse_binary(self) -> None:
        """Raise `DataError` if the file is compressed, Parquet, or otherwise not text in any encoding."""
        binary.refuse_binary(self._bytes(binary.MAX_BYTES), self.path, self.name)

    def refuse_pointer(self) -> None:
        """Raise `DataError` if the file is a pointer that Git LFS has left in place of another one."""
        binary.refuse_pointer(self._beginning(binary.MAX_BYTES), self.name)

    def _refuse_wide(self) -> None:
        """Raise `DataError` if a file without a mark seems to be UTF-16 or UTF-32, but is read in another encoding."""
        name, likely = codecs.lookup(self.encoding).name, self._wide()
        if not self._marked and likely not in ("", name, f"{name}-le"):  # which is how Python reads utf-16
            self.refuse_binary()
            raise self.error(f"this seems to be {likely}", _naming(likely))

    def _wide(self, min_line_ends: int = MIN_LINE_ENDS) -> str:
        """The kind of UTF-16 or UTF-32 that a file without a mark seems to have; empty for another encoding.

        Args:
            min_line_ends: The number of line ends that show UTF-16 if spaces do not, as in Chinese.
        """
        beginning = self._bytes(MAX_SEARCHED)
        if 0 not in beginning:
            return ""
        nulls = [
            part.count(0) > max(MIN_NULL_SHARE * len(part), MAX_CHANCE_NULLS)
            for part in (beginning[:1000:2], beginning[1:1000:2])
        ]
        if any(nulls):
            return _utf_32(beginning[:1000]) if all(nulls) else "utf-16-be" if nulls[0] else "utf-16-le"
        units = Counter(zip(beginning[::2], beginning[1::2], strict=False))
        ends = {"utf-16-le": b"\n\0", "utf-16-be": b"\0\n"}
        found = [name for name, end in ends.items() if units[*end] >= min_line_ends]
        # In other files, such bytes are at odd positions, too.
        is_whole = len(found) == 1 and beginning.count(ends[found[0]]) == units[*ends[found[0]]]
        wrong = beginning.decode("utf-8", "replace").count("\ufffd")  # a character may be cut at the end
        return found[0] if is_whole and wrong > MAX_CHANCE_NULLS else ""

    def _begins_in_utf_8(self) -> bool:
        """Whether the file seems to be UTF-8, but is read in another encoding."""
        beginning = self._bytes(MAX_BYTES)
        if len(beginning) == MAX_BYTES:
            beginning = beginning[: beginning.rfind(b"\n") + 1]
        return not self.encoding.startswith("utf-8") and is_utf_8(beginning)

    def _beginning(self, size: int) -> bytes:
        """The first bytes of a regular file; none if it cannot be read, which is reported when it is read."""
        if self.path.is_file():
            with contextlib.suppress(OSError):
                return self._bytes(size)
        return b""

    def _bytes(self, size: int) -> bytes:
        with self.path.open("rb") as stream:
            return stream.read(size)

    def _wrong_bytes(self, reason: str) -> DataError:
        encoding = self.encoding.removesuffix("-sig")
        try:
            self.refuse_binary()
        except DataError as error:
            return error
        bad, bad_count, is_windows = list[tuple[int, str]](), 0, False
        try:
            # This reads a byte 0xNN without a meaning as U+DCNN, and continues.
            with self.path.open(encoding=self.encoding, newline="\n", errors="surrogateescape") as stream:
                lines = enumerate(map(_bad_byte, iter(partial(stream.readline, MAX_LINE_LENGTH), "")), 1)
                for number, match in islice(lines, MAX_LINES):
                    if match and len(bad) < MAX_BAD_LINES:
                        bad.append((number, match[0]))
                    bad_count += match is not None
                    is_windows = is_windows or (match is not None and bool(_BYTE_OF_WINDOWS.match(match[0])))
        except UnicodeError:  # an encoding with several bytes per character cannot be read past its first issue
            bad = []
        likely = self._wide(min_line_ends=1) or ("cp1252" if bad and is_windows else "latin-1")
        is_right = bool(self._marked or self._wide()) or (encoding == "utf-8" and self.seems_utf_8)
        fix = "copy the file again" if is_right else _naming("utf-8" if self._begins_in_utf_8() else likely)
        if is_right and bad:
            fix = f"write these lines in {encoding} like the others; --encoding {likely} would garble the others"
        if reason in _CUT:
            fix = "copy the file again" if is_right else f"copy the file again if it is cut off, or {fix}"
            return self.error("the file ends within a character", fix, bad[-1][0] if bad else None)
        issues = [
            Issue(f"the byte 0x{ord(byte) - 0xDC00:02x} is not {encoding}", self.name, number) for number, byte in bad
        ]
        if bad_count > len(bad) > 0:
            issues.append(Issue(f"{bad_count - len(bad):,} more lines have such bytes", self.name))
        return DataError(issues or Issue(f"the bytes are not {encoding}", self.name), fix=fix)


def _naming(encoding: str) -> str:
    """How to read a file in another encoding. An option for both sides of parallel text may suit only one of them.

    >>> _naming("utf-16-le").partition(", or ")[2]
    'convert the file: iconv -f utf-16le -t utf-8 OLD > NEW'
    """
    scope = either(" (for all files)", "")
    fix = f"name the encoding that the file was written in, e.g. --encoding {encoding}{scope}"
    name = re.sub(r"(?<=utf-\d\d)-", "", codecs.lookup(encoding).name)
    return fix if name == "utf-8" else f"{fix}, or convert the file: iconv -f {name} -t utf-8 OLD > NEW"


def _utf_32(beginning: bytes) -> str:
    """The kind of UTF-32 of a beginning with many nulls; empty for other files.

    >>> _utf_32("Zoë 北京".encode("utf-32-le")), _utf_32("Zoë 北京".encode("utf-32-be")), _utf_32(bytes(8))
    ('utf-32-le', 'utf-32-be', '')
    """
    first, last = any(beginning[::4]), any(beginning[3::4])  # one of the two is null in all characters
    return "" if first == last else "utf-32-le" if first else "utf-32-be"


def _consume_standard_input() -> None:
    if sys.stdin in _CONSUMED:
        raise SettingsError(
            "standard input (-) is named twice, but can be read only once: save it to a file, and name that file"
        )
    _CONSUMED.add(sys.stdin)


def as_beginning(text: str) -> str:
    """The text as the beginning of a file. If a byte order mark begins it, another is added, which reading skips.

    >>> as_beginning("Ada"), as_beginning("\\ufeffAda") == "\\ufeff\\ufeffAda"
    ('Ada', True)
    """
    return BYTE_ORDER_MARK + text if text.startswith(BYTE_ORDER_MARK) else text


def byte_order_mark_issue(text: str, line: int, fix: str = MARK_HINT) -> Issue | None:
    """An issue for a line that begins with a byte order mark, after that of the file; otherwise None."""
    if not text.startswith(BYTE_ORDER_MARK):
        return None
    message = "there is a byte order mark (U+FEFF) inside the file, expected none: were files joined here?"
    return Issue(message, line=line, kind="byte order mark", fixes=(fix,))


def is_utf_8(line: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bad_byte(line: str) -> re.Match[str] | None:
    """A byte without a meaning; one of Windows-1252 if there is one, because it shows the encoding."""
    return _BYTE_OF_WINDOWS.search(line) or _BAD_BYTE.search(line)


def with_changed_words(
    is_word: Callable[[str], bool], change: Callable[[list[str]], Iterable[str]], lines: Iterable[str]
) -> Iterator[str]:
    """The lines for `TextFile.mapped`. Each run of lines with words is changed as a whole.

    >>> [*with_changed_words(str.isalpha, reversed, ["a", "b", "#", "c"])]
    ['b', 'a', '#', 'c']
    """
    for are_words, run in groupby(lines, is_word):
        while part := [*islice(run, MAX_TOGETHER)]:
            yield from change(part) if are_words else part
