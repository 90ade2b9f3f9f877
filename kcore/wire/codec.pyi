from typing import TypeVar

from kcore.wire.message import Message

_M = TypeVar("_M", bound=Message)

def encode(message: Message, version: int) -> bytes: ...
def decode(
    cls: type[_M],
    version: int,
    data: bytes | bytearray | memoryview,
    *,
    allow_trailing: bool = False,
) -> _M: ...
