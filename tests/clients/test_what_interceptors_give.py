"""What a consumer's interceptors may give in place of records, and what becomes of it."""

from types import SimpleNamespace

import pytest
from scripted_consumer import T0, assigned, records


def raising(found):
    yield from found
    raise ValueError("in the middle")


@pytest.mark.parametrize(
    "nothing",
    [None, 7, [], {T0: 5}, {T0: None}, {T0: raising([])}],
    ids=["None", "7", "list", "number", "nothing", "raising"],
)
def test_what_gives_no_records_changes_nothing(nothing, caplog):
    reader = assigned(interceptor_classes=[SimpleNamespace(on_consume=lambda _: nothing)])
    reader.core.batches.append(records(T0, 1))
    assert len(reader.poll()[T0]) == 1
    assert "it is ignored" in caplog.text


def test_records_may_come_of_generators():
    def pick(taken):
        return {tp: (one for one in found if one.offset) for tp, found in taken.items()}

    reader = assigned(interceptor_classes=[SimpleNamespace(on_consume=pick)])
    reader.core.batches += [records(T0, 0), records(T0, 1)]
    assert reader.poll(max_records=1) == {}
    assert [record.offset for record in reader.poll(max_records=1)[T0]] == [1]


def test_all_left_out_is_an_empty_poll_and_a_loop_that_goes_on():
    reader = assigned(interceptor_classes=[SimpleNamespace(on_consume=lambda _: {})])
    reader.core.batches.append(records(T0, 1))
    assert reader.poll() == {}
    last = SimpleNamespace(
        on_consume=lambda taken: {tp: r for tp, r in taken.items() if r[0].offset}
    )
    reader = assigned(interceptor_classes=[last])
    reader.core.batches += [records(T0, 0), records(T0, 1)]
    assert next(reader).offset == 1


def test_a_strike_hands_the_records_over_again():
    strikes = [KeyboardInterrupt]

    def strike(taken):
        if strikes:
            raise strikes.pop()
        return taken

    reader = assigned(interceptor_classes=[SimpleNamespace(on_consume=strike)])
    reader.core.batches.append(records(T0, 1))
    with pytest.raises(KeyboardInterrupt):
        reader.poll()
    assert reader.core.verbs("take_back")
