"""The checksum comes without what its package would import."""

import subprocess
import sys

from kcore.records.checksum import crc32c


def test_known_answer() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"56789", crc32c(b"1234")) == 0xE3069283


def test_records_do_not_import_the_package() -> None:
    script = "import sys, kcore.records; print('crc32c' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
