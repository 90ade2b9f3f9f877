from typing import Self, final

@final
class Loan:
    def __new__(cls, data: bytes | bytearray | memoryview) -> Self: ...
