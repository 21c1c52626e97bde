"""Archives from strangers are refused before anything is unpacked; ours are always the same."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from stroboscope.engine.files.bundle import Archive, ArchiveLimits, pack_archive, safe_member
from stroboscope.engine.files.errors import FileDamagedError, FileError, FileFormatError

PATH = "stranger.strobe"


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive made by Python's own writer, of whatever entries."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", method) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.filename = info.orig_filename = name
            info.compress_type = method
            archive.writestr(info, content)
    return output.getvalue()


def with_info(change: Callable[[zipfile.ZipInfo], None], content: bytes = b"content") -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        info = zipfile.ZipInfo("member")
        change(info)
        archive.writestr(info, content)
    return output.getvalue()


def link() -> bytes:
    def change(info: zipfile.ZipInfo) -> None:
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16

    return with_info(change, b"/etc/passwd")


def device() -> bytes:
    def change(info: zipfile.ZipInfo) -> None:
        info.create_system = 3
        info.external_attr = (stat.S_IFCHR | 0o666) << 16

    return with_info(change)


def encrypted() -> bytes:
    plain = bytearray(zipped(("member", b"secret"), method=zipfile.ZIP_STORED))
    for at in (plain.find(b"PK\x03\x04") + 6, plain.find(b"PK\x01\x02") + 8):
        plain[at] |= 1
    return bytes(plain)


def overlapping() -> bytes:
    """A quoted bomb: many entries of the directory share the bytes of one."""
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = b"\0" * (1 << 20)
    packed = body.compress(zeros) + body.flush()
    crc = zlib.crc32(zeros)
    local = struct.pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 8, 0, 33, crc, len(packed), len(zeros), 2, 0
    )
    start = local + b"aa" + packed
    directory = b""
    for number in range(20):
        directory += struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, crc, len(packed),
            len(zeros), 2, 0, 0, 0, 0, 0, 0,
        ) + f"{number:02}".encode()  # fmt: skip
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 20, 20, len(directory), len(start), 0)
    return start + directory + end


def declared_entries(count: int) -> bytes:
    plain = bytearray(zipped(("member", b"content")))
    at = plain.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", plain, at + 8, count, count)
    return bytes(plain)


def sixty_four_bits() -> bytes:
    plain = zipped(("member", b"content"))
    at = plain.rfind(b"PK\x05\x06")
    return plain[:at] + b"PK\x06\x07" + b"\0" * 16 + plain[at:]


def two_of_a_name() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped(("member", b"one"), ("member", b"two"))


def wrong_size() -> bytes:
    """The directory says less than there is to unpack."""
    plain = bytearray(zipped(("member", b"x" * 1000)))
    struct.pack_into("<I", plain, plain.find(b"PK\x01\x02") + 24, 10)
    return bytes(plain)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "slip upwards": (lambda: zipped(("../../evil", b"x")), "outside of the archive"),
    "slip inside": (lambda: zipped(("assets/../../evil", b"x")), "outside of the archive"),
    "absolute": (lambda: zipped(("/etc/evil", b"x")), "outside of the archive"),
    "backslashes": (lambda: zipped(("..\\evil", b"x")), "outside of the archive"),
    "drive": (lambda: zipped(("C:evil", b"x")), "outside of the archive"),
    "empty part": (lambda: zipped(("a//b", b"x")), "outside of the archive"),
    "line break": (lambda: zipped(("a\nb", b"x")), "characters that no name has"),
    "bomb": (lambda: zipped(("zeros", b"\0" * (64 << 20))), "unpacks"),
    "many bombs": (
        lambda: zipped(*((f"z{i}", b"\0" * (8 << 20)) for i in range(60))),
        "would unpack to",
    ),
    "overlapping": (overlapping, "shares bytes"),
    "link": (link, "is a link"),
    "device": (device, "no plain file"),
    "encrypted": (encrypted, "encrypted"),
    "duplicate": (two_of_a_name, "two 'member'"),
    "duplicate in other letters": (
        lambda: zipped(("Member", b"1"), ("member", b"2")),
        "two 'member'",
    ),
    "duplicate with a dot": (
        lambda: zipped(("./member", b"1"), ("member", b"2")),
        "two 'member'",
    ),
    "bzip2": (lambda: zipped(("member", b"x" * 99), method=zipfile.ZIP_BZIP2), "method 12"),
    "65,535 entries declared": (lambda: declared_entries(0xFFFF), "entries"),
    "100 entries": (lambda: zipped(*((f"m{i}", b"") for i in range(100))), "100 entries"),
    "zip64": (sixty_four_bits, "4 GiB"),
    "deep": (lambda: zipped(("a/" * 40 + "b", b"x")), "deeper"),
    "long name": (lambda: zipped(("n" * 5000, b"x")), "longer"),
    "cut off": (lambda: zipped(("member", b"x" * 5000))[:-10], "end is missing"),
    "prepended": (lambda: b"#!/bin/sh\n" + zipped(("member", b"x")), "before, behind"),
    "appended": (lambda: zipped(("member", b"x")) + b"more", "before, behind"),
    "no archive": (lambda: b"not a zip at all" * 10, "end is missing"),
    "empty": (lambda: b"", "end is missing"),
}

LIMITS = ArchiveLimits(total_bytes=256 << 20, entry_bytes=100 << 20)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_by_what_is_wrong_with_it(kind: str) -> None:
    make, words = HOSTILE[kind]
    with pytest.raises(FileError) as refused:
        Archive(make(), path=PATH, limits=LIMITS)
    assert words in str(refused.value)
    assert PATH in str(refused.value)


def test_an_archive_of_a_hundred_thousand_entries_is_refused_before_its_directory_is_read() -> None:
    count = 100_000
    entry = struct.pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0
    )
    directory = b"".join(entry + f"{number:06}".encode() for number in range(count))
    end = struct.pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), 0, 0
    )
    with pytest.raises(FileFormatError, match=r"entries|directory"):
        Archive(directory + end, path=PATH)


def test_a_member_that_unpacks_to_more_than_it_says_is_damaged() -> None:
    with (
        Archive(wrong_size(), path=PATH) as archive,
        pytest.raises(FileDamagedError, match="'member' in it is damaged"),
    ):
        archive.read("member")


def test_a_changed_byte_of_a_member_is_found() -> None:
    plain = bytearray(pack_archive({"member": bytes(range(256)) * 40}))
    plain[60] ^= 4
    with pytest.raises(FileDamagedError, match="damaged"), Archive(bytes(plain), path=PATH) as a:
        a.read("member")


def test_any_single_changed_byte_gives_the_content_or_a_file_error() -> None:
    content = {"manifest.json": b'{"format": 1}' * 20, "assets/a.obj": bytes(range(200))}
    packed = pack_archive(content)
    for at in range(len(packed)):
        changed = bytearray(packed)
        changed[at] ^= 0x55
        try:
            with Archive(bytes(changed), path=PATH) as archive:
                found = {name: archive.read(name) for name in archive.names}
        except FileError:
            continue
        # A time, an attribute or a name is not the content.
        assert set(found.values()) <= set(content.values())


def test_any_cut_of_an_archive_is_a_file_error() -> None:
    packed = pack_archive({"manifest.json": b"{}" * 200, "b": b"x" * 300})
    for length in range(len(packed)):
        with pytest.raises(FileError):
            Archive(packed[:length], path=PATH)


def test_our_own_archives_have_the_same_bytes_and_are_read_back(tmp_path: Path) -> None:
    members = {
        "manifest.json": b"{}",
        "model.mjb": b"\1\2" * 5000,
        "inner": pack_archive({"a": b""}),
    }
    packed = pack_archive(members)
    assert packed == pack_archive(dict(members))
    (tmp_path / "file").write_bytes(packed)
    with Archive(tmp_path / "file", path=tmp_path / "file") as archive:
        assert archive.names == tuple(members)
        assert {name: archive.read(name) for name in archive.names} == members
        assert "other" not in archive
        with pytest.raises(FileFormatError, match="no 'other' in it"):
            archive.read("other")
        with pytest.raises(FileFormatError, match="at most 100 are read"):
            archive.read("model.mjb", limit=100)
    with zipfile.ZipFile(tmp_path / "file") as python:
        assert {info.date_time for info in python.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["a", "a/b.obj", "./a", "a/./b", "äöü", "with space", ".hidden"])
def test_plain_names_are_safe(name: str) -> None:
    assert safe_member(name) == ""


@pytest.mark.parametrize("name", ["", " a", "a ", "/a", "a/", "a/.", "..", "a\0b", "a\\b", "x:y"])
def test_other_names_are_not(name: str) -> None:
    assert safe_member(name)
