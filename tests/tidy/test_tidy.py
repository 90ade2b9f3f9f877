"""The tree keeps its house rules (see tidy_rules.py for each)."""

import pytest
import tidy_rules


@pytest.mark.parametrize("rule", tidy_rules.RULES, ids=lambda rule: rule.__name__)
def test_tree(rule):
    said = rule(tidy_rules.ROOT)
    assert not said, "\n".join(said)
