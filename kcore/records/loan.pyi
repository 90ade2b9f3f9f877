from typing import final

@final
class Loan:
    def __init__(self, data: bytes | bytearray | memoryview) -> None: ...
