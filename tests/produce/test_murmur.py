"""The hash of keys, beside kafka-python's, which is beside Java's."""

import random

import pytest
from kafka.partitioner.default import murmur2 as theirs

from kcore.produce.murmur import murmur2, partition_of

# Java: UtilsTest.testMurmur2, as unsigned numbers.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "signed"), KNOWN.items())
def test_known_hashes(key, signed):
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_every_length_and_every_kind_of_bytes():
    rng = random.Random(1)
    for size in range(40):
        key = rng.randbytes(size)
        assert murmur2(key) == theirs(key) & 0xFFFFFFFF
        assert murmur2(bytearray(key)) == murmur2(memoryview(key)) == murmur2(key)


def test_partition_is_the_positive_hash_modulo_the_count():
    for count in (1, 3, 1000):
        assert partition_of(b"foobar", count) == ((-790332482) & 0x7FFFFFFF) % count


def test_no_partitions():
    with pytest.raises(ValueError, match="0 partitions"):
        partition_of(b"k", 0)
