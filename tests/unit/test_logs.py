"""Does the tail of a log hold the last of what was said, whole and counted, whoever says it?"""

import threading

from hypothesis import given
from hypothesis import strategies as st

from tickwright.domain import limits
from tickwright.domain.logs import LogTail, Tail

MAX = limits.LOG_BYTES_MAX


def test_a_short_log_is_kept_whole() -> None:
    """As it was said, nothing cut."""
    log = LogTail()
    log.write("one\n")
    log.write("Grüße, 世界\n")

    assert log.tail() == Tail("one\nGrüße, 世界\n", 0)
    assert LogTail().tail() == Tail("", 0)


def test_of_a_long_log_the_end_is_kept() -> None:
    """A hundred thousand lines take no more than sixteen kilobytes, and the rest is counted."""
    log, said = LogTail(), ""
    for number in range(100_000):
        log.write(f"line {number}\n")
        said += f"line {number}\n"

    assert log.tail() == Tail(said[-MAX:], len(said) - MAX)


def test_one_long_text_is_cut_at_a_character() -> None:
    """A character of four bytes that does not fit whole is left out."""
    log = LogTail()
    log.write("🎉" * MAX + "x")

    text, cut = log.tail()

    assert text == "🎉" * (MAX // 4 - 1) + "x"
    assert cut + len(text.encode()) == 4 * MAX + 1


def test_what_is_no_unicode_is_replaced() -> None:
    """A file's name with a lone surrogate breaks neither the run nor the store."""
    log = LogTail()
    log.write("no such file: a\udcff")

    assert log.tail() == Tail("no such file: a?", 0)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "ü", "世", "🎉", "\n"]), st.integers(0, MAX))))
def test_kept_and_cut_add_up_to_what_was_said(bits: list[tuple[str, int]]) -> None:
    """Whatever the pieces: the tail is an end of the whole, as long as it may be."""
    log = LogTail()
    for character, count in bits:
        log.write(character * count)
    whole = "".join(character * count for character, count in bits)

    text, cut = log.tail()

    assert whole.endswith(text)
    assert cut + len(text.encode()) == len(whole.encode())
    assert MAX - 4 < len(text.encode()) <= MAX or text == whole


def test_threads_lose_none_of_each_others_words() -> None:
    """Eight at once: every byte is either kept or counted, and each one's lines stand in their order."""
    log, start = LogTail(), threading.Barrier(8)

    def says(name: int) -> None:
        start.wait()
        for number in range(5_000):
            log.write(f"{name} {number:05}\n")

    speakers = [threading.Thread(target=says, args=(name,)) for name in range(8)]
    for speaker in speakers:
        speaker.start()
    for speaker in speakers:
        speaker.join()

    text, cut = log.tail()
    assert cut + len(text) == 8 * 5_000 * len("0 00000\n")
    lines = [line.split() for line in text.splitlines()[1:]]
    for name in map(str, range(8)):
        mine = [number for speaker, number in lines if speaker == name]
        assert mine == sorted(mine)
