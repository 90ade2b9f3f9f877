"""`kcore sim`: what it prints, and what it ends with."""

import pytest
from click.testing import CliRunner

from kcore.cli.commands import kcore
from kcore.coordinator.membership import Membership


def sim(*arguments):
    return CliRunner().invoke(kcore, ["sim", *arguments])


def test_one_run_is_told_in_full_and_is_the_same_again():
    first = sim("--seed", "3", "--members", "2", "--faults", "cut,crash", "--duration", "5")
    assert first.exit_code == 0, first.output
    assert "members=2" in first.output
    assert "duration_ms=5000" in first.output
    assert "trace hash" in first.output
    again = sim("--seed", "3", "--members", "2", "--faults", "cut,crash", "--duration", "5")
    hashes = [run.output.split("trace hash ")[1] for run in (first, again)]
    assert hashes[0] == hashes[1]


def test_many_runs_are_summed_up():
    done = sim("--seed", "10", "--runs", "3", "--faults", "none", "--duration", "2")
    assert done.exit_code == 0, done.output
    assert "seeds 10 to 12: 0 of 3 runs found something" in done.output


def test_what_is_found_is_told_with_its_seed_and_what_led_to_it(monkeypatch):
    monkeypatch.setattr(Membership, "heartbeat", lambda *_: None)  # never answered
    done = sim("--seed", "3", "--faults", "none", "--trace", "5")
    assert done.exit_code == 1
    assert "ANSWERED_ONCE" in done.output
    assert "seed 3, turn" in done.output
    many = sim("--seed", "3", "--runs", "2", "--faults", "none")
    assert many.exit_code == 1
    assert "seed 3: ANSWERED_ONCE" in many.output


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_durations_that_are_none(seconds):
    done = sim("--duration", seconds)
    assert done.exit_code == 2
    assert "--duration" in done.output


def test_a_fault_that_there_is_not():
    done = sim("--faults", "earthquake")
    assert done.exit_code == 2
    assert "'earthquake' is none of all, " in done.output


@pytest.mark.parametrize(
    ("protocol", "more", "said"),
    [
        ("exactly-once", ("--groups", "2"), "--protocol exactly-once is of one group"),
        ("exactly-once", ("--faults", "cut,trim,hold"), "is without --faults trim,hold\n"),
        ("share", ("--faults", "throttle"), "--protocol share is without --faults throttle\n"),
    ],
)
def test_what_cannot_be_judged_is_refused(protocol, more, said):
    """It was simulated, and rules were said to be broken that do not hold there."""
    done = sim("--protocol", protocol, *more)
    assert done.exit_code == 2
    assert said in done.output


def test_what_goes_with_a_protocol_is_simulated():
    calm = ("--duration", "1", "--faults", "cut")
    for more in (("exactly-once", "--groups", "1"), ("share", "--groups", "2")):
        done = sim("--protocol", *more, *calm)
        assert done.exit_code == 0, done.output
    assert sim("--faults", "trim,throttle", "--duration", "1").exit_code == 0


def test_a_run_is_drawn_with_what_gives_it_again(tmp_path):
    path = tmp_path / "run.html"
    drawn = sim(
        *("--seed", "3", "--members", "2", "--faults", "cut,crash", "--duration", "2.5"),
        *("--html", str(path)),
    )
    assert drawn.exit_code == 0, drawn.output
    assert f"seed 3 is drawn in {path}" in drawn.output
    text = path.read_text("utf-8")
    command = "kcore sim --seed 3 --members 2 --duration 2.5 --faults cut,crash"
    assert f"<code>{command}</code>" in text
    assert drawn.output.split("trace hash ")[1].split()[0] in text


def test_of_many_runs_the_first_that_found_something_is_drawn(monkeypatch, tmp_path):
    path = tmp_path / "run.html"
    quiet = sim("--seed", "3", "--runs", "2", "--faults", "none", "--html", str(path))
    assert "nothing was found" in quiet.output
    assert not path.exists()
    monkeypatch.setattr(Membership, "heartbeat", lambda *_: None)  # never answered
    found = sim("--seed", "3", "--runs", "2", "--faults", "none", "--html", str(path))
    assert found.exit_code == 1
    assert "ANSWERED_ONCE is broken" in path.read_text("utf-8")


def test_a_page_that_cannot_be_written(tmp_path):
    path = tmp_path / "nowhere" / "run.html"
    for runs in ("1", "2"):
        done = sim("--faults", "none", "--duration", "1", "--runs", runs, "--html", str(path))
        assert done.exit_code == 1
        said = done.output + done.stderr
        assert f"the page cannot be written: there is no folder {path.parent}" in said
        assert "seed" not in said, "that is known before anything is run"


def test_the_protocol_of_members_is_part_of_the_command(tmp_path):
    path = tmp_path / "run.html"
    arguments = ("--seed", "2", "--faults", "none", "--duration", "4", "--protocol", "consumer")
    done = sim(*arguments, "--html", str(path))
    assert done.exit_code == 0, done.output
    assert "consumer_share=1.0" in done.output
    text = path.read_text("utf-8")
    assert "kcore sim --seed 2 --duration 4 --protocol consumer --faults none" in text
    assert "100 % speak the consumer protocol" in text
    assert "consumer_share=0.0" in sim(*arguments[:-1], "classic").output


def test_share_groups_are_a_protocol_of_their_own(tmp_path):
    page = tmp_path / "run.html"
    arguments = ("--seed", "2", "--faults", "none", "--duration", "4", "--protocol", "share")
    done = sim(*arguments, "--html", str(page))
    assert done.exit_code == 0, done.output
    assert " acquired, " in done.output
    text = page.read_text("utf-8")
    assert "kcore sim --seed 2 --duration 4 --protocol share --faults none" in text
    assert "<span>acquired</span>" in text
    assert "a record is acquired for one member at a time" in text
    assert "no partition is owned twice in a generation" not in text


def test_brokers_are_as_new_as_the_protocol_needs():
    old = next(seed for seed in range(1, 50) if "release=(2, 1)" in sim_quietly(seed))
    assert "release=(4, 0)" in sim_quietly(old, "--protocol", "both")


def sim_quietly(seed, *more):
    return sim("--seed", str(seed), "--faults", "none", "--duration", "1", *more).output
