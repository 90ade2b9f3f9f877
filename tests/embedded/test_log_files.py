"""One log as files: what is told is there again, whatever the files were cut to."""

import os

import pytest

from kcore.broker import LogConfig, PartitionLog
from kcore.broker.batches import read_header
from kcore.embedded.disk import ALWAYS, NEVER, Disk, StorageError
from kcore.embedded.log_files import LogFiles
from kcore.errors import UsageError
from kcore.records import encode_batch

START = b"start-offset"


def batch(offset, count=1, size=20, epoch=0):
    records = [(1_000 + offset, b"k", b"v" * size) for _ in range(count)]
    return encode_batch(records, base_offset=offset, leader_epoch=epoch)


def offsets(batches):
    return [read_header(data).base_offset for data in batches]


@pytest.fixture
def disk():
    made = Disk()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "t-0"
    made.mkdir()
    return made


def recovered(folder, disk):
    return LogFiles(folder, disk).recover()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_appended_is_there_again(folder, disk):
    files = LogFiles(folder, disk)
    batches = [batch(offset) for offset in range(5)]
    for data in batches:
        files.appended(data)
    assert recovered(folder, disk) == (batches, 0)
    assert names(folder) == ["00000000000000000000.log"]


def test_files_are_named_after_what_they_begin_with(folder, disk):
    files = LogFiles(folder, disk, file_bytes=200)
    batches = [batch(offset) for offset in range(6)]
    for data in batches:
        files.appended(data)
    assert names(folder) == [f"{offset:020d}.log" for offset in (0, 2, 4)]
    assert recovered(folder, disk) == (batches, 0)
    again = LogFiles(folder, disk, file_bytes=200)
    again.recover()
    again.appended(batch(6))
    assert offsets(recovered(folder, disk)[0]) == list(range(7))


def test_cut_at_every_byte_a_prefix_is_left(tmp_path, disk):
    batches = [batch(0, 2), batch(2), batch(3, 3)]
    whole = b"".join(batches)
    ends = [sum(map(len, batches[:count])) for count in range(4)]
    for cut in range(len(whole) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        path = folder / f"{0:020d}.log"
        path.write_bytes(whole[:cut])
        files = LogFiles(folder, disk)
        count = sum(end <= cut for end in ends) - 1
        assert files.recover() == (batches[:count], 0)
        assert path.stat().st_size == ends[count]
        files.appended(batch(offsets([*batches, batch(6)])[count]))
        assert len(recovered(folder, disk)[0]) == count + 1


def test_a_changed_byte_cuts_off_what_follows(tmp_path, disk):
    batches = [batch(0), batch(1), batch(2)]
    whole = b"".join(batches)
    first = len(batches[0])
    for at in range(first, first + len(batches[1])):
        folder = tmp_path / str(at)
        folder.mkdir()
        damaged = bytearray(whole)
        damaged[at] ^= 0x40
        (folder / f"{0:020d}.log").write_bytes(damaged)
        found, _ = recovered(folder, disk)
        # Base offset and leader epoch are outside of the checksum; an offset can only grow.
        assert found[:1] == batches[:1]
        assert len(found) == 1 or found[1][16:] == batches[1][16:]


def test_files_behind_a_torn_one_go(folder, disk):
    files = LogFiles(folder, disk, file_bytes=1)
    for offset in range(4):
        files.appended(batch(offset))
    torn = folder / f"{1:020d}.log"
    torn.write_bytes(torn.read_bytes()[:-1])
    assert offsets(recovered(folder, disk)[0]) == [0]
    assert names(folder) == [f"{0:020d}.log", f"{1:020d}.log"]


def test_a_truncated_log_goes_on_where_it_was_cut(folder, disk):
    files = LogFiles(folder, disk, file_bytes=200)
    for offset in range(6):
        files.appended(batch(offset))
    files.truncated(3)
    assert offsets(recovered(folder, disk)[0]) == [0, 1, 2]
    files.appended(batch(3, epoch=1))
    assert offsets(recovered(folder, disk)[0]) == [0, 1, 2, 3]
    files.truncated(0)
    assert recovered(folder, disk) == ([], 0)
    files.appended(batch(0))
    assert offsets(recovered(folder, disk)[0]) == [0]


@pytest.mark.parametrize("left", [b"", b"\0\0", b"\xff\xfe", b"4x"])
def test_where_a_log_starts_is_its_first_file_where_nothing_says_it(folder, disk, left):
    """It ended the start of the broker in a ValueError."""
    files = LogFiles(folder, disk, file_bytes=1)
    batches = [batch(offset) for offset in range(6)]
    for data in batches:
        files.appended(data)
    files.started(4)
    (folder / "start-offset").write_bytes(left)
    assert recovered(folder, disk) == (batches[4:], 4)
    for path in folder.glob("*.log"):
        path.unlink()
    assert recovered(folder, disk) == ([], 0)


def test_a_log_that_starts_later_loses_the_files_before(folder, disk):
    files = LogFiles(folder, disk, file_bytes=200)
    for offset in range(6):
        files.appended(batch(offset))
    files.started(3)
    assert recovered(folder, disk) == ([batch(3), batch(4), batch(5)], 3)
    assert f"{0:020d}.log" not in names(folder)
    files.started(6)
    assert recovered(folder, disk) == ([], 6)
    assert names(folder) == ["start-offset"]
    files.appended(batch(6))
    assert recovered(folder, disk) == ([batch(6)], 6)


def test_a_compacted_part_takes_the_place_of_what_it_was(folder, disk):
    files = LogFiles(folder, disk, file_bytes=200)
    batches = [batch(offset) for offset in range(8)]
    for data in batches:
        files.appended(data)
    files.replaced(1, 6, [batches[3], batches[5]])
    assert offsets(recovered(folder, disk)[0]) == [0, 3, 5, 6, 7]
    files.appended(batch(8))
    assert offsets(recovered(folder, disk)[0]) == [0, 3, 5, 6, 7, 8]
    files.replaced(0, 9, [])
    files.replaced(0, 9, [])
    assert recovered(folder, disk)[0] == []


def test_a_part_in_the_middle_of_a_file_is_compacted(folder, disk):
    files = LogFiles(folder, disk)
    for offset in range(6):
        files.appended(batch(offset))
    files.replaced(1, 4, [batch(3)])
    assert offsets(recovered(folder, disk)[0]) == [0, 3, 4, 5]


def test_files_go_on_from_what_they_had(folder, disk):
    before = LogFiles(folder, disk, file_bytes=200)
    for offset in range(8):
        before.appended(batch(offset))
    begun = names(folder)
    files = LogFiles(folder, disk, file_bytes=200)
    files.recover()
    files.started(1)
    assert names(folder) == sorted([*begun, START.decode()])
    files.truncated(7)
    files.appended(batch(7))
    assert names(folder) == sorted([*begun, START.decode()])
    files.replaced(0, 3, [batch(2)])
    assert offsets(recovered(folder, disk)[0]) == [2, 3, 4, 5, 6, 7]
    files.started(8)
    assert names(folder) == [START.decode()]
    files.appended(batch(8))
    files.started(9)
    assert names(folder) == [START.decode()]
    files.clear()
    assert names(folder) == []
    files.appended(batch(0))
    assert offsets(recovered(folder, disk)[0]) == [0]


def test_what_a_crash_left_of_a_rewrite_goes(folder, disk):
    files = LogFiles(folder, disk, file_bytes=200)
    for offset in range(4):
        files.appended(batch(offset))
    (folder / f"{0:020d}.log").write_bytes(batch(0) + batch(3))  # renamed; the other is still there
    (folder / f"{2:020d}.log.new").write_bytes(b"half")
    assert offsets(recovered(folder, disk)[0]) == [0, 3]
    assert names(folder) == [f"{0:020d}.log"]


def test_a_partition_log_comes_back_with_its_producers_and_epochs(folder, disk):
    log = PartitionLog("t", 0, LogConfig())
    log.store = LogFiles(folder, disk)
    sent = [
        encode_batch([(1, None, b"v")], producer_id=7, producer_epoch=1, base_sequence=number)
        for number in range(3)
    ]
    for epoch, data in enumerate(sent):
        log.append(memoryview(data), epoch, 0)
    log.advance_start(1)
    batches, start = recovered(folder, disk)
    again = PartitionLog("t", 0, LogConfig())
    again.load(batches, start, 0)
    assert (again.start_offset, again.end_offset) == (1, 3)
    assert again.append(memoryview(sent[2]), 2, 0).base_offset == 2  # known already
    assert again.end_of_epoch(1) == log.end_of_epoch(1)


def test_after_an_error_nothing_is_taken_in(folder, disk, monkeypatch):
    files = LogFiles(folder, disk)
    files.appended(batch(0))

    def full(_fd, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(StorageError, match="No space"):
            files.appended(batch(1))
    with pytest.raises(StorageError):
        files.appended(batch(1))
    assert offsets(recovered(folder, Disk())[0]) == [0]


def test_what_the_system_takes_in_pieces_is_whole(folder, disk, monkeypatch):
    write = os.write
    monkeypatch.setattr("os.write", lambda fd, data: write(fd, data[:7]))
    LogFiles(folder, disk).appended(batch(0))
    monkeypatch.undo()
    assert recovered(folder, disk)[0] == [batch(0)]


@pytest.mark.parametrize(
    ("call", "fail"),
    [
        ("os.ftruncate", lambda disk, folder: disk.truncate(folder / "x", 0)),
        ("pathlib.Path.mkdir", lambda disk, folder: disk.make_folder(folder / "y")),
        ("pathlib.Path.unlink", lambda disk, folder: disk.remove(folder / "x")),
        ("pathlib.Path.open", lambda disk, folder: disk.replace(folder / "x", b"y")),
        ("os.fdatasync", lambda disk, folder: disk.sync()),
    ],
)
def test_whatever_fails_is_the_last(folder, monkeypatch, call, fail):
    disk = Disk(ALWAYS)
    disk.append(folder / "x", b"x")

    def broken(*_given, **_named):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(call, broken)
        with pytest.raises(StorageError, match="Input/output"):
            fail(disk, folder)
    assert disk.failed
    with pytest.raises(StorageError, match="Input/output"):
        disk.append(folder / "x", b"x")
    disk.close()


def test_what_is_replaced_is_synced_whole_before_it_takes_its_place(folder, monkeypatch):
    seen = []
    monkeypatch.setattr("os.fsync", lambda fd: seen.append(os.fstat(fd).st_size))
    disk = Disk(ALWAYS)
    disk.replace(folder / "x", b"12345")
    assert seen == [5]
    disk.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda disk, folder: disk.remove(folder / "x"),
        lambda disk, folder: disk.replace(folder / "x", b"y"),
        lambda disk, folder: disk.make_folder(folder / "y"),
        lambda disk, folder: disk.truncate(folder / "x", 0),
    ],
)
def test_what_changes_in_a_folder_is_synced(folder, change):
    disk = Disk(ALWAYS)
    disk.append(folder / "x", b"x")
    disk.sync()
    assert not disk.dirty
    change(disk, folder)
    assert disk.dirty
    disk.close()


@pytest.mark.parametrize(("flush", "count"), [(NEVER, 0), (ALWAYS, 1), (50, 1)])
def test_what_waits_is_synced_when_a_store_is_closed(folder, monkeypatch, flush, count):
    seen = []
    monkeypatch.setattr("os.fdatasync", seen.append)
    disk = Disk(flush)
    disk.append(folder / "x", b"x")
    disk.close()
    assert len(seen) == count


@pytest.mark.parametrize("flush", [NEVER, ALWAYS, 50])
def test_what_is_to_be_synced(folder, flush):
    disk = Disk(flush)
    LogFiles(folder, disk).appended(batch(0))
    assert disk.dirty == (flush != NEVER)
    disk.sync()
    assert not disk.dirty
    disk.close()
    disk.close()


def test_a_store_is_dirty_until_all_is_synced(folder, monkeypatch):
    disk = Disk(ALWAYS)
    LogFiles(folder, disk).appended(batch(0))
    seen = []
    for name in ("fsync", "fdatasync"):
        sync = getattr(os, name)
        monkeypatch.setattr(f"os.{name}", lambda fd, sync=sync: (seen.append(disk.dirty), sync(fd)))
    disk.sync()
    assert len(seen) >= 2
    assert all(seen)
    assert not disk.dirty
    disk.close()


def test_all_is_synced_where_there_is_no_call_for_the_data_alone(folder, monkeypatch):
    """macOS has none."""
    monkeypatch.delattr(os, "fdatasync")
    disk = Disk(ALWAYS)
    LogFiles(folder, disk).appended(batch(0))
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    disk.sync()
    assert any(name.endswith(".log") for name in synced)
    disk.close()


@pytest.mark.parametrize("wrong", ["sometimes", 0, -1, None, True])
def test_other_words_for_flush_are_refused(wrong):
    with pytest.raises(UsageError):
        Disk(wrong)


def test_many_files_need_few_descriptors(tmp_path, monkeypatch):
    monkeypatch.setattr("kcore.embedded.disk.OPEN_MAX", 3)
    disk = Disk()
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        LogFiles(folder, disk).appended(batch(0))
        assert len(disk._open) <= 3
    disk.close()
