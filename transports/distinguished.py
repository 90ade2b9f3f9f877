r"""Whose a certificate is, as Kafka writes it: `CN=alice,OU=ops,O=Example\, Inc.`

RFC 2253 as Java's X500Principal has it, which is what access control lists name: the last part
first, a few kinds of names by their short words and all others by number and in hexadecimal.
Python's ssl gives the names too, but in words of OpenSSL's, so they are read from the certificate:
DER (X.690), each value a tag, a length and its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
# What has a short word (RFC 2253 2.3): by the bytes of its object identifier.
_WORDS: Final = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x08": "ST",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
    b"\x55\x04\x09": "STREET",
    b"\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x19": "DC",
    b"\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01": "UID",
}
# Kinds of strings by their tags, and how they are encoded.
_STRINGS: Final = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1B: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
_ESCAPED: Final = ',=+<>#;"\\'


def subject(certificate: bytes) -> str:
    """Of a certificate in DER, which OpenSSL has read before. ValueError: it is none."""
    (_, body, _), *_ = _values(certificate)
    (_, signed, _), *_ = _values(body)
    fields = list(_values(signed))
    if fields and fields[0][0] == _VERSION:
        del fields[0]
    # Serial number, algorithm, issuer, validity, subject.
    if len(fields) < 5 or fields[4][0] != _SEQUENCE:
        raise ValueError("no certificate")
    parts = [
        "+".join(_attribute(attribute) for _, attribute, _ in _values(part))
        for _, part, _ in _values(fields[4][1])
    ]
    return ",".join(reversed(parts))


def _attribute(data: bytes) -> str:
    (_, kind, _), (tag, value, whole) = _values(data)
    word = _WORDS.get(kind)
    if word is None or tag not in _STRINGS:
        return f"{word or _number(kind)}=#{whole.hex()}"
    return f"{word}={_escaped(value.decode(_STRINGS[tag], 'replace'))}"


def _escaped(text: str) -> str:
    bare = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if bare else len(text)
    after = len(text) - before - len(bare)
    middle = "".join(
        f"\\{char}" if char in _ESCAPED else "\\00" if char == "\0" else char for char in bare
    )
    return "\\ " * before + middle + "\\ " * after


def _number(kind: bytes) -> str:
    """An object identifier in figures."""
    parts, part = [], 0
    for byte in kind:
        part = part << 7 | byte & 0x7F
        if not byte & 0x80:
            parts.append(part)
            part = 0
    if not parts:
        raise ValueError("no certificate")
    first = min(parts[0] // 40, 2)
    return ".".join(map(str, [first, parts[0] - 40 * first, *parts[1:]]))


def _values(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Tag, bytes, and all of it, of each value in a row."""
    at = 0
    while at < len(data):
        start, tag, size = at, data[at], data[at + 1] if at + 1 < len(data) else 0
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            size = int.from_bytes(data[at : at + digits], "big")
            at += digits
        if at + size > len(data):
            raise ValueError("no certificate")
        at += size
        yield tag, data[at - size : at], data[start:at]
