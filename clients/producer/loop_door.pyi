import asyncio
from typing import final

from kcore.clients.producer.metadata import RecordMetadata
from kcore.produce.batch import Batch, Outcome
from kcore.produce.intake import Intake, Receiver
from kcore.stint import Stint
from kcore.structs import TopicPartition
from kcore.transports.loops import Loop

def metadata_of(tp: TopicPartition, outcome: Outcome, timestamp_ms: int) -> RecordMetadata: ...
def is_users_own(error: BaseException) -> bool: ...

@final
class Followers:
    def __init__(self, batch: Batch, courier: Receiver) -> None: ...
    def settle(self, batch: Batch) -> tuple[()]: ...
    def hurry(self) -> None: ...

@final
class LoopDoor:
    open: bool
    in_line: int
    def __init__(self, intake: Intake, courier: Receiver, stint: Stint) -> None: ...
    def bind(self, loop: Loop) -> None: ...
    def send(
        self,
        topic: object,
        value: object,
        key: object,
        partition: object,
        timestamp_ms: object,
        headers: object,
    ) -> asyncio.Future[RecordMetadata] | None: ...
    def follow(
        self, batch: Batch, number: int, timestamp_ms: int
    ) -> asyncio.Future[RecordMetadata]: ...
