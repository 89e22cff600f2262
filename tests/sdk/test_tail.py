"""Is the end of what a run says kept, and every byte before it counted?"""

import threading

import pytest

from tests.sdk.pool import a_claim
from tickwright_sdk import limits
from tickwright_sdk.claims import Claim, report_of, without_text
from tickwright_sdk.results import Succeeded
from tickwright_sdk.tail import Kept, Tail

pytestmark = pytest.mark.sem("SEM-LOG-1")


def size(text: str) -> int:
    """In bytes."""
    return len(text.encode())


def written(lines: list[str], bytes_max: int) -> Kept:
    """What is kept of them."""
    tail = Tail(bytes_max)
    for line in lines:
        tail.write(line)
    return tail.kept()


def test_what_fits_is_kept_whole() -> None:
    """Nothing is cut."""
    assert written(["read 7 rows", "Größe"], 100) == Kept("read 7 rows\nGröße\n", 0)
    assert Tail().kept() == Kept("", 0)


@pytest.mark.parametrize("bytes_max", [6, 7, 8, 20, 21, 40])
def test_what_is_kept_and_what_is_cut_are_all_that_was_said(bytes_max: int) -> None:
    """Byte for byte, in whole lines: the count of what is missing takes no place of what is there."""
    lines = [f"line {number}" for number in range(7)]
    said = "".join(f"{line}\n" for line in lines)

    text, cut = written(lines, bytes_max)

    assert said.endswith(text)
    assert size(text) <= bytes_max
    assert size(text) + cut == size(said)
    assert not text or bytes_max < size("line 0\n") or text.startswith("line")


@pytest.mark.parametrize("line", ["x" * 30, "é" * 15, "a" + "é" * 15, "世" * 10])
def test_of_a_line_that_is_too_long_its_end_is_kept_in_whole_characters(line: str) -> None:
    """Its beginning counts as cut, with the lines before it."""
    text, cut = written(["before", line], 20)

    assert f"{line}\n".endswith(text)
    assert 17 <= size(text) <= 20
    assert size(text) + cut == size(f"before\n{line}\n")


def test_what_many_threads_say_is_counted_whole() -> None:
    """Handlers log from any thread."""
    tail = Tail(50)

    def talk() -> None:
        for _ in range(500):
            tail.write("said")

    threads = [threading.Thread(target=talk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert tail.kept() == Kept("said\n" * 10, 5 * 2_000 - 50)


def test_a_report_says_how_much_of_its_log_is_missing() -> None:
    """In `logCut`, and nowhere in the text; a run that has said nothing says nothing of it."""
    claim, tail = Claim.of(a_claim()), Tail()
    quiet = report_of(claim, Succeeded(), tail.kept())
    for _ in range(limits.LOG_BYTES_MAX // 4):
        tail.write("1234")
    said = report_of(claim, Succeeded(), tail.kept())

    assert quiet.body == {"leaseEpoch": 1}
    assert said.body["logCut"] == 5 * (limits.LOG_BYTES_MAX // 4) - size(said.body["log"])
    assert set(said.body["log"].splitlines()) == {"1234"}
    assert without_text(said).body == {"leaseEpoch": 1}
