"""Lines of a file with their bytes: whatever is not edited stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError
from apm_hooks.mixtures import spans
from apm_hooks.rawlines import Edit, RawText, join_raw, rewrite, split_raw
from tests.test_linear import executed_lines

LE, BE = "utf-16-le", "utf-16-be"
WORDS = st.sampled_from(["one", "", "日本語", "é", "🎉 x", "- item", "# t", "| a | b |", "<!-- c -->", "---"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines with one line end each, or with several kinds, the last one with or without."""
    ends = draw(st.one_of(st.sampled_from(["\n", "\r\n", "\r"]).map(st.just), st.just(ENDS)))
    lines = "".join(draw(WORDS) + draw(ends) for _ in range(draw(st.integers(0, 5))))
    return lines + draw(WORDS)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Bytes of files: plain, with a mark, wide, one encoding behind the other, with stray bytes, with zeros behind."""
    text = draw(texts())
    kind = draw(st.integers(0, 6))
    if kind == 0:
        data = text.encode()
    elif kind == 1:
        data = b"\xef\xbb\xbf" + text.encode()
    elif kind == 2:
        data = b"\xff\xfe" + text.encode(LE)
    elif kind == 3:
        data = b"\xfe\xff" + text.encode(BE)
    elif kind == 4:
        data = text.encode() + draw(texts()).encode(draw(st.sampled_from([LE, BE]))) + draw(texts()).encode()
    elif kind == 5:
        data = text.encode(LE)
    else:
        data = text.encode() + draw(st.binary(max_size=3)) + draw(texts()).encode()
    return data + bytes(draw(st.sampled_from([0, 0, 0, 8, 20])))


def split(data: bytes) -> RawText:
    try:
        return split_raw(data)
    except MemoryFileError:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(files())
@example(b"")
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf")
@example(b"a\r" + "\n".encode(LE) + b"b")
@example(b"caf\xe9\nx\n")
@example("a\n".encode(LE) + bytes(9))
def test_a_file_is_put_together_again_byte_for_byte_and_shows_what_decode_shows(data: bytes) -> None:
    raw = split(data)
    assert join_raw(raw) == data
    assert "\n".join([*raw.texts, ""] if raw.closed and raw.lines else raw.texts) == decode(data)[0]


@settings(max_examples=300, deadline=None)
@given(files())
@example(b"")
def test_stretches_of_one_encoding_leave_no_byte_out(data: bytes) -> None:
    found = spans(data)
    assert b"".join(data[start:stop] for start, stop, _ in found) == data
    assert [start for start, _, _ in found] == [0, *(stop for _, stop, _ in found[:-1])]
    assert {codec for _, _, codec in found} <= {"utf-8", LE, BE}


@pytest.mark.parametrize("codec", [LE, BE])
def test_a_stretch_is_told_with_its_codec(codec: str) -> None:
    lines = [b"plain\n", "wide line\r\n".encode(codec) * 2, b"plain again\n"]
    assert [(lines[number], each) for number, (_, _, each) in enumerate(spans(b"".join(lines)))] == [
        (lines[0], "utf-8"),
        (lines[1], codec),
        (lines[2], "utf-8"),
    ]
    ends = [len(lines[0]), len(lines[0] + lines[1]), len(b"".join(lines))]
    assert [stop for _, stop, _ in spans(b"".join(lines))] == ends


@settings(max_examples=300, deadline=None)
@given(files(), st.integers(0, 9), st.lists(WORDS, max_size=3), st.sampled_from(["z", "日本"]))
def test_new_lines_leave_every_byte_of_the_others(data: bytes, at: int, added: list[str], last: str) -> None:
    raw = split(data)
    at = min(at, len(raw.lines))
    # An open last line without text is none once something stands behind it.
    assume(raw.closed or raw.lines[-1].text)
    new = (*added, last)
    try:
        after = rewrite(raw, [Edit(at, new)])
    except MemoryFileError:
        # Only where the encoding is a guess.
        assert data.removeprefix(b"\xef\xbb\xbf").count(b"\0")
        return
    again = split_raw(after)
    assert again.texts == [*raw.texts[:at], *new, *raw.texts[at:]]
    assert again.closed is raw.closed
    kept = [line.body for line in (*again.lines[:at], *again.lines[at + len(new) :])]
    assert b"".join(kept) == b"".join(line.body for line in raw.lines)
    assert (after[: len(raw.mark)], after[len(after) - len(raw.tail) :]) == (raw.mark, raw.tail)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\n", b"a\nnew\nb\n"),
        (b"a\r\nb\r\n", b"a\r\nnew\r\nb\r\n"),
        (b"a\rb\r", b"a\rnew\rb\r"),
        (b"a\r\nb\n", b"a\r\nnew\r\nb\n"),
        (b"a", b"a\nnew"),
        (b"\xef\xbb\xbfa\r\nb", b"\xef\xbb\xbfa\r\nnew\r\nb"),
        ("\ufeffa\r\nb".encode(LE), "\ufeffa\r\nnew\r\nb".encode(LE)),
        ("\ufeffa\nb\n".encode(BE), "\ufeffa\nnew\nb\n".encode(BE)),
        (b"caf\xe9\nb\n", b"caf\xe9\nnew\nb\n"),
        (b"plain\n" + "wide\r\nmore\r\n".encode(LE), b"plain\nnew\n" + "wide\r\nmore\r\n".encode(LE)),
        (b"a\n" + bytes(8), b"a\nnew\n" + bytes(8)),
    ],
)
def test_a_line_is_written_like_the_one_above_it(before: bytes, after: bytes) -> None:
    assert rewrite(split_raw(before), [Edit(1, ("new",))]) == after


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (b"", Edit(0, ("new",)), b"new\n"),
        (b"\xef\xbb\xbf", Edit(0, ("new",)), b"\xef\xbb\xbfnew\n"),
        (b"\xff\xfe", Edit(0, ("n",)), "\ufeffn\n".encode(LE)),
        (b"a\r\n", Edit(0, ("new",)), b"new\r\na\r\n"),
        ("\ufeffa\n".encode(LE), Edit(0, ("new",)), "\ufeffnew\na\n".encode(LE)),
        (b"a\nb\nc", Edit(1, ("new",), drop=2), b"a\nnew"),
        (b"a\nb\nc\n", Edit(0, (), drop=2), b"c\n"),
        (b"a\r\nb\r\n", Edit(0, ("A",), drop=1), b"A\r\nb\r\n"),
    ],
)
def test_a_file_keeps_its_mark_and_whether_it_ends_in_a_line_end(before: bytes, edit: Edit, after: bytes) -> None:
    assert rewrite(split_raw(before), [edit]) == after


def test_several_edits_are_places_of_the_file_as_it_was() -> None:
    raw = split_raw(b"a\nb\nc\n")
    assert rewrite(raw, [Edit(3, ("z",)), Edit(0, ("x", "y")), Edit(1, ("B",), drop=1)]) == b"x\ny\na\nB\nc\nz\n"


def test_what_is_put_into_a_line_leaves_its_stray_bytes() -> None:
    raw = split_raw(b"| caf\xe9 \xff | a |\n")
    marked = raw.texts[0].replace("| ", "| [DEPRECATED] ", 1)
    assert rewrite(raw, [Edit(0, (marked,), drop=1)]) == b"| [DEPRECATED] caf\xe9 \xff | a |\n"


def test_another_wording_of_a_line_with_stray_bytes_is_refused() -> None:
    with pytest.raises(MemoryFileError, match=r"x\.md: has an encoding"):
        rewrite(split_raw(b"caf\xe9 a\n"), [Edit(0, ("coffee",), drop=1)], "x.md")


def test_what_could_not_be_read_back_is_refused() -> None:
    data = "日本語の文\r\n".encode(LE)
    raw = split_raw(data + "ok\r\n".encode(LE))
    raw = RawText(raw.mark, raw.lines, b"\0\xd8", raw.closed, raw.codec)
    with pytest.raises(MemoryFileError, match="Save it as UTF-8"):
        rewrite(raw, [Edit(1, ("new",))])


@pytest.mark.parametrize("data", [bytes(64), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(9)) * 9])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(MemoryFileError, match=r"a\.md: is no text"):
        split_raw(data, "a.md")


@pytest.mark.parametrize("piece", [b"a line of words\n", b"caf\xe9 and more of them\n", "wide\n".encode(LE), b"\r"])
def test_twice_the_file_takes_about_twice_the_steps(piece: bytes) -> None:
    def steps(times: int) -> int:
        raw = split_raw(piece * times)
        return executed_lines(lambda: rewrite(split_raw(piece * times), [Edit(len(raw.lines) // 2, ("new",))]))

    assert steps(800) < 2.3 * steps(400)
