from typing import TypeVar

from kcore.wire.message import Message

M = TypeVar("M", bound=Message)

def encode(message: Message, version: int) -> bytes: ...
def decode(
    cls: type[M],
    version: int,
    data: bytes | bytearray | memoryview,
    *,
    allow_trailing: bool = False,
) -> M: ...
