"""With which seeds planted bugs are looked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

# Where the first seeds find nothing: one that did, tried before them. Any other would do as well.
KNOWN_TO_FIND = {
    "test_sim_canaries": {
        "commits_are_lost_and_confirmed": 3,
        "count_commits_of_who_is_gone": 6,
        "delete_one_more": 14,
        "forget_a_batch": 3,
        "forget_a_parked_join": 6,
        "give_what_others_still_have": 10,
        "hand_over_what_is_given_up": 5,
        "sessions_never_end": 6,
        "skip_the_generation_check": 6,
    },
    "test_sim_consumer_canaries": {
        "any_epoch_may_commit": 30,
        "lose_journal_entries": 5,
        "the_first_target_is_the_last": 5,
    },
    "test_sim_exact_canaries": {
        "drop_offsets_of_committed": 3,
        "give_out_what_is_pending": 3,
        "give_the_same_epoch": 4,
        "let_the_replaced_write": 8,
        "say_nothing_of_the_group": 4,
    },
    "test_sim_exact_remake_canaries": {
        "go_on_in_the_new_log": 9,
        "keep_the_old_offsets": 6,
    },
    "test_sim_operator_canaries": {
        "a_refusal_of_the_protocol_is_no_matter": 9,
    },
    "test_sim_peace_canaries": {
        "go_before_the_id_comes": 5,
        "stay_without_polling": 5,
    },
    "test_sim_remake_canaries": {
        "commit_in_the_new_one_what_was_read_of_the_old": 12,
        "keep_the_old_id": 12,
        "never_ask_who_it_is_now": 12,
    },
    "test_sim_reverse_canaries": {
        "commit_what_is_gone": 3,
        "syncs_are_waited_for_for_ever": 6,
    },
    "test_sim_share_remake_canaries": {
        "hand_over_what_is_gone": 10,
        "keep_the_old_id": 7,
        "read_what_is_spoken_of": 5,
        "say_it_of_the_new_one": 5,
    },
}


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> Iterator[int]:
    """Those below the module's SEEDS, for the bug of a test's parameter `bug`."""
    bug = request.node.callspec.params["bug"]
    known = KNOWN_TO_FIND.get(request.module.__name__, {}).get(bug.__name__)
    others = [seed for seed in range(1, request.module.SEEDS) if seed != known]
    return iter(others if known is None else [known, *others])
