"""What every suite shares; the parts are modules of tests/support/."""

pytest_plugins = ["real_kafka", "completeness", "chromium", "loopback", "threads"]
