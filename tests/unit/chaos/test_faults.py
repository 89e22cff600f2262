"""The faults of calls come from the seed alone, and end with the others."""

from itertools import islice

from tests.chaos.faults import Fate, Fault, Kind, Service, Window, purge_at_ms, struck_writes, windows

BEGIN_MS, QUIET_MS = 3_000, 51_000


def _fate(*found: Window, seed: int = 7) -> Fate:
    return Fate(seed=seed, service=Service.DYNAMODB, windows=found, quiet_ms=QUIET_MS)


def _writes(fate: Fate, member: str, count: int, *, at_ms: int = 10_000) -> list[Fault | None]:
    return [fate.meet(member, "UpdateItem", at_ms) for _ in range(count)]


def test_a_seed_means_the_same_faults_for_each_life_every_time() -> None:
    """So that a run can be made again; another life and another seed have others."""
    met = _writes(_fate(), "w1.1", 400)

    assert _writes(_fate(), "w1.1", 400) == met
    assert _writes(_fate(), "w1.2", 400) != met
    assert _writes(_fate(seed=8), "w1.1", 400) != met


def test_what_others_do_moves_no_fault_of_a_life() -> None:
    """Each life counts its own writes."""
    fate = _fate()
    met = []
    for _ in range(400):
        met.append(fate.meet("w1.1", "UpdateItem", 10_000))
        fate.meet("w2.1", "UpdateItem", 10_000)

    assert met == _writes(_fate(), "w1.1", 400)


def test_the_numbered_writes_are_struck_and_reads_between_them_do_not_count() -> None:
    """A plan names the n-th write: how often a process looks changes nothing."""
    fate = _fate()
    met: list[Fault | None] = []
    for _ in range(400):
        assert fate.meet("w1.1", "GetItem", 10_000) is None
        met += _writes(fate, "w1.1", 1)
    planned = list(islice(struck_writes(7, "w1.1", Service.DYNAMODB), 5))

    struck = [(number, fault) for number, fault in enumerate(met, start=1) if fault is not None]
    assert struck[:5] == planned


def test_the_writes_of_some_lives_meet_every_kind_of_fault() -> None:
    """Lost replies, late errors and writes that arrive after their time among them."""
    lives = [struck_writes(1, f"w{slot}.1", Service.DYNAMODB) for slot in range(6)]

    assert {fault.kind for life in lives for _, fault in islice(life, 20)} == set(Kind)


def test_a_window_strikes_every_call_of_its_service_while_it_lasts() -> None:
    """Reads too, with a share of one."""
    window = Window(service=Service.DYNAMODB, from_ms=9_000, until_ms=9_500, kind=Kind.THROTTLE, share=1.0)
    fate = _fate(window)

    met = [fate.meet("s0.1", "Query", at_ms) for at_ms in (8_999, 9_000, 9_499, 9_500)]

    assert met == [None, Fault(kind=Kind.THROTTLE), Fault(kind=Kind.THROTTLE), None]


def test_a_window_of_another_service_strikes_nobody_here() -> None:
    """The store may be well while the queue is not."""
    window = Window(service=Service.SQS, from_ms=9_000, until_ms=9_500, kind=Kind.CUT, share=1.0)

    assert _fate(window).meet("s0.1", "Query", 9_100) is None


def test_nothing_is_struck_once_the_faults_are_over() -> None:
    """The system must be seen to have come back."""
    assert set(_writes(_fate(), "w1.1", 400, at_ms=QUIET_MS)) == {None}


def test_windows_and_the_purge_lie_between_the_first_and_the_last_fault() -> None:
    """Of both services, in each of many seeds."""
    for seed in range(50):
        found = windows(seed, begin_ms=BEGIN_MS, quiet_ms=QUIET_MS)
        assert {one.service for one in found} == set(Service)
        assert all(BEGIN_MS < one.from_ms < one.until_ms <= QUIET_MS for one in found)
        assert BEGIN_MS < purge_at_ms(seed, begin_ms=BEGIN_MS, quiet_ms=QUIET_MS) < QUIET_MS
