"""Every general bound, with its reason. Bounds of one room's own data stay in that room.

What a peer can make us hold, wait for or repeat is bounded here; options a user may turn are in
`kcore.consumer.config`, which takes its defaults and ranges from here where they meet.
"""

from __future__ import annotations

from kcore.hints import Final

# Bytes -------------------------------------------------------------------------------------------

# A frame that claims more is refused before anything is allocated. 100 MB is the broker's own bound
# for requests (socket.request.max.bytes) and kafka-python's for answers; a consumer whose
# fetch_max_bytes is larger raises it (see ConsumerConfig.receive_message_max_bytes).
MAX_FRAME_BYTES: Final = 104_857_600

MAX_INT16: Final = 32_767

# No frame can be longer: its length is an int32.
MAX_INT32: Final = 2_147_483_647

# Record bytes one consumer keeps undecoded. One full fetch answer (fetch_max_bytes) from each of
# two brokers is in hand or on its way before the application asks for more.
MAX_BUFFERED_BYTES: Final = 134_217_728

# A batch may not decompress to more. Brokers take batches of 1 MiB (message.max.bytes) as sent, and
# text packs about ten to one; lz4 could make 255 MiB of one, gzip a gigabyte.
MAX_BATCH_BYTES: Final = 67_108_864

# Rows of one set of columns. The column of topic names has offsets of 32 bits, and names have up to
# 249 characters.
MAX_COLUMN_ROWS: Final = MAX_INT32 // 249

# What one set of columns holds unless the application says otherwise: an answer of four partitions
# with records of 100 B, so that the price of a call no longer counts. Larger sets are fresh memory,
# in a process of twice that (one set is filled while the application holds another), and leave the
# caches on the way.
COLUMN_ROWS: Final = 40_960
COLUMN_BYTES: Final = 5_242_880

# What an offset and a time can be.
MAX_INT64: Final = (1 << 63) - 1

# Names -------------------------------------------------------------------------------------------

# Kafka's own bound for topic names and group instance ids, and what they are made of (Java:
# common.internals.Topic).
MAX_NAME_CHARS: Final = 249
NAME_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

# Strings on the wire carry an int16 length.
MAX_STRING_BYTES: Final = 32_767

# Time --------------------------------------------------------------------------------------------

# A throttle_time_ms above this is not believed: quotas are computed over windows of seconds
# (quota.window.size.seconds 1, 11 samples), and a broker must not be able to mute a link for good.
MAX_THROTTLE_MS: Final = 60_000

# Timeouts above it are taken as "for ever": a year, far below what int64 arithmetic can hold.
MAX_TIMEOUT_MS: Final = 31_536_000_000

# A program that comes so much later than it was to, or meant to, has been away. (Event loops that
# are called slow are so by as much.)
AWAY_MS: Final = 100

# What is left to peers when a program was away while their time ended: a connection within a
# continent is made, greeted and asked something in less.
MOMENT_MS: Final = 1_000

# Who was away when a wait was to end waits so long yet: what has arrived is seen, and what was left
# a moment is over.
OVERSLEPT_MS: Final = 2 * MOMENT_MS

# Queues ------------------------------------------------------------------------------------------

# Events nobody has taken. Answers to verbs are never dropped; news is, oldest first.
MAX_UNREAD_EVENTS: Final = 10_000
