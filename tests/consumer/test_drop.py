"""A core dropped with records in hand, without close: nothing crashes, nothing stays."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import gc
from scripted import World
from test_core_world import T0, T1, world_of

for round_ in range(5):
    world, cluster, total = world_of(batches=50)
    client = world.client(auto_offset_reset="earliest", max_poll_records=3)
    client.core.assign([T0, T1], world.now)
    client.drain()
    while not client.core.has_records:
        world.run(20)
    taken = client.take()
    world.clients.append(world)  # a cycle that only the collector ends
    del world, cluster, client
    gc.collect()
print("alive", len(taken))
"""


def test_a_core_in_a_cycle_is_collected_with_records_in_hand():
    here = Path(__file__).parent
    paths = [str(here), str(here.parent / "support"), str(here.parents[1])]
    code = f"import sys; sys.path[:0] = {paths!r}\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "alive 1"), done.stderr
