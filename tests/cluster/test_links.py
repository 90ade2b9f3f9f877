"""All links: backoff, the addresses of one name, whom to ask, outages (rules K1, M7, KIP-302,
KIP-601, KIP-899).
"""

from dataclasses import replace

import pytest
from links_world import CONFIG, World, nodes

from kcore.actions import Connect, Disconnect
from kcore.connection.calls import COORDINATOR_KEY_BASE, Reach
from kcore.errors import DisconnectedError
from kcore.events import ClusterReachable, ClusterUnreachable, LinkClosed, LinkOpened
from kcore.structs import Node


def test_send_opens_a_link_and_answers_never_come_inside_send():
    world = World()
    answers = world.ask(-1)
    assert world.connects() == [Connect(1, "boot", 1, 0)]
    assert answers == []
    unknown = world.ask(5)
    assert unknown == []
    world.settle()
    assert isinstance(unknown[0].error, DisconnectedError)


def test_a_node_that_failed_is_left_alone_until_its_backoff_ends():
    world = World()
    world.fail(-1)
    retry = world.links.retry_at(-1)
    assert 40 <= retry <= 60  # 50 ms, jitter 20 %
    assert world.links.reach(-1, retry - 1) is Reach.BACKOFF
    early = world.ask(-1, retry - 1)
    assert world.connects() == []
    world.settle()
    assert "backoff" in str(early[0].error)
    assert world.links.reach(-1, retry) is Reach.IDLE
    world.ask(-1, retry)
    assert len(world.connects()) == 1


def test_backoff_grows_to_its_maximum_and_a_greeting_forgets_it():
    world = World()
    now, waits = 0, []
    for _ in range(12):
        world.fail(-1, now)
        waits.append(world.links.retry_at(-1) - now)
        now = world.links.retry_at(-1)
    assert waits[-1] >= 800
    assert max(waits) <= 1_000
    assert waits[0] <= 60
    link = world.open(-1, now)
    world.links.handle_closed(link, "reset", now, more_addresses=False)
    assert world.links.retry_at(-1) - now <= 60


def test_every_address_of_a_name_is_tried_at_once_and_waiting_calls_go_along():
    world = World()
    answers = world.ask(-1)
    (first,) = world.connects()
    world.links.handle_closed(first.link, "refused", 5, more_addresses=True)
    (second,) = world.connects()
    assert (second.address_index, second.host) == (1, "boot")
    assert second.link != first.link
    world.settle()
    assert answers == []
    world.links.handle_closed(second.link, "refused", 6, more_addresses=False)
    world.settle()
    assert isinstance(answers[0].error, DisconnectedError)
    world.ask(-1, 10_000)
    assert world.connects()[0].address_index == 0


def over(links):
    """When the set-up that is under way is over, since nothing came."""
    while links._by_number:
        now = links.deadline()
        links.handle_deadline(now)
    return now


def test_a_set_up_that_hangs_moves_to_the_next_address_and_waits_longer():
    world = World()
    world.ask(-1, timeout=100_000)
    world.connects()
    first = over(world.links)
    assert 8_000 <= first <= 12_000
    assert [x for x in world.actions() if isinstance(x, Disconnect)]
    later = first + 2_000
    world.ask(-1, later, timeout=100_000)
    (second,) = world.connects()
    assert second.address_index == 1
    assert over(world.links) - later >= 14_000


@pytest.mark.parametrize("how", ["closed", "garbled", "hung", "untrusted"])
def test_an_address_whose_broker_does_not_greet_is_followed_by_the_next(how):
    """Else the others of the name are never tried, though that one will never be of use."""
    world = World()
    now = 0
    for index in (0, 1, 2):
        answers = world.ask(-1, now, timeout=100_000)
        (connect,) = world.connects()
        assert connect.address_index == index
        if how != "untrusted":
            world.links.handle_connected(connect.link, now)
        if how == "hung":
            now = over(world.links)
        elif how == "garbled":
            world.links.handle_data(connect.link, b"\xff" * 8, now)
        else:
            untrusted = how == "untrusted"
            world.links.handle_closed(
                connect.link, "gone", now, more_addresses=untrusted, untrusted=untrusted
            )
        world.settle()
        assert answers[0].error is not None
        world.actions()
        now += 10_000
    world.open(-1, now)  # by the fourth
    link = max(world.links._by_number)
    world.links.handle_closed(link, "gone", now, more_addresses=False)
    world.ask(-1, now + 10_000)
    assert world.connects()[0].address_index == 0  # its name is looked up


def test_m7_least_loaded():
    world = World()
    assert world.links.least_loaded(0) == -1
    world.links.set_nodes(nodes(1, 2, 3), 0)
    assert world.links.least_loaded(0) in {1, 2, 3}
    world.open(1)
    assert world.links.least_loaded(0) == 1  # connected beats connectable
    world.open(2)
    world.ask(1)
    assert world.links.least_loaded(0) == 2  # idle beats busy
    world.ask(2)
    world.ask(2)
    assert world.links.least_loaded(0) == 1


def test_kip899_the_bootstrap_is_asked_when_every_known_node_failed():
    world = World(bootstrap=(("boot", 1), ("boot", 2)))
    world.links.set_nodes(nodes(1, 2), 0)
    world.fail(1)
    world.fail(2)
    assert world.links.least_loaded(1) in {-1, -2}


def test_kip899_nodes_that_failed_and_the_bootstrap_are_tried_in_turns():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    tried = []
    for now in range(0, 8_000, 2_000):  # all backoffs are over
        tried.append(world.links.least_loaded(now))
        world.fail(tried[-1], now)
    assert tried == [1, -1, 1, -1]


def test_without_a_recovery_strategy_the_bootstrap_is_only_for_the_beginning():
    world = World(config=replace(CONFIG, rebootstrap=False))
    assert world.links.least_loaded(0) == -1
    world.links.set_nodes(nodes(1), 0)
    world.fail(1)
    assert world.links.least_loaded(1) is None


def test_a_coordinator_has_a_link_of_its_own_and_is_never_asked_as_a_node():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    key = world.links.add_coordinator(1, "h1", 9092)
    assert key == COORDINATOR_KEY_BASE - 1
    world.open(1)
    world.open(key)
    world.ask(1)
    assert world.links.least_loaded(0) == 1
    assert world.links.in_flight(key) == 0
    assert [event.node_id for event in world.kinds(LinkOpened)] == [1, 1]


def test_a_node_that_is_on_its_way_or_greeted_is_asked_before_the_bootstrap():
    world = World()
    world.fail(-1, 0)
    world.links.set_nodes(nodes(1), 0)
    now = 1_000
    world.ask(1, now)
    (connect,) = world.connects()
    assert world.links.least_loaded(now) == 1  # nothing is known against it
    world.links.handle_closed(connect.link, "refused", now, more_addresses=False)
    world.settle(now)
    assert world.links.least_loaded(now) == -1
    now = 5_000
    world.ask(1, now)
    (connect,) = world.connects()
    assert world.links.least_loaded(now) == -1
    world.greet(connect.link, now)
    assert world.links.least_loaded(now) == 1  # though it has not answered anything yet


@pytest.mark.parametrize("fault", [None, DisconnectedError("of another cluster")])
def test_what_was_asked_of_a_node_that_is_dropped_is_answered(fault):
    world = World()
    world.links.set_nodes(nodes(1), 0)
    link = world.open(1)
    asked = world.ask(1)
    world.actions()
    world.links.drop(1, 0, fault, away_ms=500)
    assert world.actions() == [Disconnect(link, unanswered=1)]
    world.settle()
    (answer,) = asked
    assert isinstance(answer.error, DisconnectedError)
    assert str(fault or "given up") in str(answer.error)
    assert world.links.in_flight(1) == 0
    assert world.links.reach(1, 499) is Reach.BACKOFF
    assert world.links.reach(1, 500) is Reach.IDLE


@pytest.mark.parametrize("node_id", [2**30 - 1, 2**30, 2_000_000_000, 2**31 - 1])
def test_a_node_whose_id_is_high_is_asked_like_any_other_and_so_is_its_coordinator(node_id):
    world = World()
    world.links.set_nodes(nodes(node_id), 0)
    key = world.links.add_coordinator(node_id, f"h{node_id}", 9092)
    world.open(node_id)
    world.open(key)
    world.links.set_nodes(nodes(node_id), 0)
    assert world.links.reach(node_id, 0) is world.links.reach(key, 0) is Reach.READY
    assert world.links.least_loaded(0) == node_id
    assert [event.node_id for event in world.kinds(LinkOpened)] == [node_id, node_id]


def test_moved_and_gone_nodes_lose_their_links():
    world = World()
    world.links.set_nodes(nodes(1, 2), 0)
    key = world.links.add_coordinator(2, "h2", 9092)
    world.open(1)
    world.open(key)
    pending = world.ask(1)
    world.links.set_nodes([Node(1, "elsewhere", 9092)], 0)
    world.settle()
    assert isinstance(pending[0].error, DisconnectedError)
    assert world.links.reach(1, 0) is Reach.IDLE
    assert world.links.reach(2, 0) is Reach.UNKNOWN
    assert world.links.reach(key, 0) is Reach.UNKNOWN
    world.actions()
    world.ask(1)
    assert world.connects()[0].host == "elsewhere"


def test_the_node_with_number_0_leaves_like_any_other():
    world = World()
    world.links.set_nodes(nodes(0, 1), 0)
    world.open(0)
    pending = world.ask(0)
    world.links.set_nodes(nodes(1), 0)
    world.settle()
    assert "node 0 left the cluster" in str(pending[0].error)
    assert world.links.reach(0, 0) is Reach.UNKNOWN


def test_it_is_no_outage_before_all_have_failed():
    world = World(bootstrap=(("boot", 1), ("boot", 2)))
    world.fail(-1)
    assert world.kinds(ClusterUnreachable) == []
    world.fail(-2)
    assert len(world.kinds(ClusterUnreachable)) == 1


def test_a_coordinator_that_is_connected_is_a_cluster_that_can_be_reached():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    world.open(world.links.add_coordinator(1, "h1", 9092))
    world.fail(1)
    assert world.links.connected
    assert world.kinds(ClusterUnreachable) == []


def test_a_coordinator_moves_along_with_its_node():
    world = World()
    world.links.set_nodes(nodes(1), 0)
    key = world.links.add_coordinator(1, "h1", 9092)
    pending = world.ask(key)
    world.connects()
    world.links.set_nodes([Node(1, "elsewhere", 9092)], 0)
    world.settle()
    assert isinstance(pending[0].error, DisconnectedError)
    world.ask(key)
    assert [(x.host, x.port) for x in world.connects()] == [("elsewhere", 9092)]


@pytest.mark.parametrize("where", [("elsewhere", 9092), ("h1", 9093)])
def test_who_looked_the_coordinator_up_knows_its_address_best(where):
    world = World()
    world.links.set_nodes(nodes(1), 0)
    key = world.links.add_coordinator(1, "h1", 9092)
    pending = world.ask(key)
    world.connects()
    assert world.links.add_coordinator(1, *where) == key
    world.settle()
    assert isinstance(pending[0].error, DisconnectedError)
    world.ask(key)
    assert [(x.host, x.port) for x in world.connects()] == [where]


def test_an_outage_is_said_once_and_so_is_its_end():
    world = World()
    world.links.set_nodes(nodes(1, 2), 0)
    one, two = world.open(1), world.open(2)
    world.links.handle_closed(one, "reset", 100, more_addresses=False)
    assert world.kinds(ClusterUnreachable) == []  # node 2 is still there
    world.links.handle_closed(two, "reset", 200, more_addresses=False)
    assert len(world.kinds(ClusterUnreachable)) == 1
    world.fail(1, 1_000)
    world.fail(2, 1_000)
    assert len(world.kinds(ClusterUnreachable)) == 1
    world.open(1, 5_000)
    (back,) = world.kinds(ClusterReachable)
    assert back.outage_ms == 4_800
    assert back.attempts >= 3
    world.fail(2, 9_000)
    assert len(world.kinds(ClusterUnreachable)) == 1


def test_a_broker_that_greets_and_then_talks_nonsense_stays_in_backoff_and_in_the_outage():
    world = World()
    now, waits = 0, []
    for _ in range(10):
        world.ask(-1, now)
        (connect,) = world.connects()
        world.greet(connect.link, now)
        world.actions()
        world.links.handle_data(connect.link, b"\x00\x00\x00\x05nope!", now)
        world.settle(now)
        waits.append(world.links.retry_at(-1) - now)
        now = world.links.retry_at(-1)
        world.actions()
    assert waits[-1] >= 800
    assert len(world.kinds(ClusterUnreachable)) == 1
    assert world.kinds(ClusterReachable) == []
    world.open(-1, now)
    assert len(world.kinds(ClusterReachable)) == 1


def test_idle_links_are_closed():
    world = World(config=replace(CONFIG, connections_max_idle_ms=1_000))
    world.open(-1)
    assert world.links.deadline() == 1_000
    world.links.handle_deadline(1_000)
    assert isinstance(world.actions()[-1], Disconnect)
    assert world.links.reach(-1, 1_000) is Reach.IDLE  # not a failure: no backoff
    assert len(world.kinds(LinkClosed)) == 1


def test_a_link_with_a_request_under_way_is_not_idle_nor_is_one_used_lately():
    world = World(config=replace(CONFIG, connections_max_idle_ms=1_000))
    world.links.set_nodes(nodes(1, 2), 0)
    world.open(1, now=300)
    world.open(2, now=600)
    assert world.links.deadline() == 1_300  # of the first
    world.links.handle_deadline(1_299)
    assert world.kinds(LinkClosed) == []
    world.ask(1, now=700)
    assert world.links.deadline() == 1_600
    world.links.handle_deadline(2_000)
    assert [event.node_id for event in world.kinds(LinkClosed)] == [2]


def test_bootstrap_links_are_closed_when_a_node_is_connected_and_nobody_waits_on_them():
    world = World(bootstrap=(("boot", 1), ("boot", 2)))
    for key in (-1, -2):
        world.open(key)
    waiting = world.ask(-2)
    world.links.set_nodes(nodes(1), 0)
    world.links.release_bootstrap(0)
    assert world.kinds(LinkClosed) == []  # the node may be out of reach
    world.actions()
    world.open(1)
    world.links.release_bootstrap(0)
    world.settle()
    assert [event.node_id for event in world.kinds(LinkClosed)] == [-1]
    assert waiting == []


def test_close_answers_everything_and_refuses_what_comes_later():
    world = World()
    world.open(-1)
    pending = world.ask(-1)
    world.links.close(0)
    late = world.ask(-1)
    world.settle()
    assert pending[0].error is not None
    assert "closed" in str(late[0].error)
    assert any(isinstance(x, Disconnect) for x in world.actions())


def test_an_interruption_ends_every_link_and_answers_everybody_without_a_backoff():
    world = World(bootstrap=(("boot", 1), ("boot2", 1)))
    link, other = world.open(-1), world.open(-2)
    answered, pending, connecting = world.ask(-1), world.ask(-2), world.ask(-1)
    world.links.handle_closed(link, "gone", 0, more_addresses=False)
    world.links.current = world.links.completed.popleft()  # and then Ctrl-C struck
    world.actions()
    world.links.interrupt(0)
    world.settle()
    assert [str(one.error) for (one,) in (answered, pending)] == ["interrupted"] * 2
    assert connecting[0].error is not None
    assert world.actions() == [Disconnect(other, unanswered=1)]
    assert not world.links.connected
    assert world.links.reach(-2, 0) is Reach.IDLE


def test_inputs_for_links_that_are_gone_are_harmless():
    world = World()
    link = world.open(-1)
    world.links.close(0)
    world.links.handle_connected(link, 1)
    world.links.handle_data(link, b"x", 1)
    world.links.handle_closed(link, "late", 1, more_addresses=False)
    world.links.receive_advance(link, 1, 1)
    with pytest.raises(LookupError):
        world.links.receive_buffer(link)


@pytest.mark.parametrize("rebootstrap", [True, False])
def test_when_a_node_can_be_tried_again_is_when_one_is_found(rebootstrap):
    """Else whoever waits for that moment would turn in circles until it has come."""
    world = World(config=replace(CONFIG, rebootstrap=rebootstrap))
    world.links.set_nodes([Node(1, "n1", 9092, None)], 0)
    world.fail(1)
    moment = world.links.next_retry_at()
    assert world.links.least_loaded(moment) is not None
    assert (moment > 0) is not rebootstrap  # the bootstrap address was not tried yet
    if moment > 0:
        assert world.links.least_loaded(moment - 1) is None
