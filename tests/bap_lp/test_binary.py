"""Binary files: the same problems and mechanisms as in JSON, no pickle, and nothing larger than the file itself."""

import io
import json
import struct
import zipfile
import zlib
from contextlib import suppress
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from bap_lp import InputError, Mechanism, Problem, load_mechanism, load_problem, save_mechanism, save_problem, solve

fresh = settings(max_examples=30)


@fresh
@given(problems())
def test_an_exact_problem_and_its_optimum_come_back_as_they_were(tmp_path: Path, problem: Problem) -> None:
    save_problem(tmp_path / "p.npz", problem, "1/2")
    loaded = load_problem(tmp_path / "p.npz")
    assert (loaded.problem, loaded.lam) == (problem, F(1, 2))
    mechanism = solve(problem, "1/2").mechanism
    save_mechanism(tmp_path / "m.npz", mechanism)
    assert load_mechanism(tmp_path / "m.npz", problem.states) == mechanism


def test_floats_long_fractions_and_labels_come_back(tmp_path: Path) -> None:
    tiny = F(1, 7**60)
    exact = Problem([1 - tiny, tiny], [[0, tiny], [1, 0]], [[0, 1], [10, 0]], states=["ä \n", '"b"'], title="long")
    floating = Problem([0.25, 0.75], [[0.1, 1e-300], [1.0, 0.0]], [[0.0, 1 / 3], [1e299, 0.0]])
    for problem in (exact, floating):
        save_problem(tmp_path / "p.npz", problem)
        again = load_problem(tmp_path / "p.npz").problem
        assert again == problem
        assert again.title == problem.title


def test_many_states_keep_their_numbers_as_labels(tmp_path: Path) -> None:
    many = Problem(np.full(20_000, 1 / 20_000), np.ones((20_000, 2)), np.eye(2)[np.arange(20_000) % 2])
    save_problem(tmp_path / "p.npz", many)
    assert (tmp_path / "p.npz").stat().st_size < 20_000 * 5 * 8 + 10_000
    assert load_problem(tmp_path / "p.npz").problem.states == many.states


def test_a_reader_needs_numpy_alone(tmp_path: Path) -> None:
    save_mechanism(tmp_path / "m.npz", Mechanism([[1, 0], ["3/10", "7/10"]]))
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        name = json.loads(file["document"].tobytes())["channel"]["array"]
        assert (file[f"{name}.p"] / file[f"{name}.q"]).tolist() == [[1.0, 0.0], [0.3, 0.7]]


def archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, data in members.items():
            out.writestr(f"{name}.npy", data)
    return path


def member(values: np.ndarray, pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, values, allow_pickle=pickle)
    return out.getvalue()


def text(document: object) -> bytes:
    return member(np.frombuffer(json.dumps(document).encode(), dtype=np.uint8))


CHANNEL = {"channel": {"array": "0"}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"0": member(np.eye(2))}, 'no "document"'),
        ({"document": member(np.eye(2))}, 'no "document"'),
        ({"document": text(CHANNEL)}, "array '0' is missing"),
        ({"document": text(CHANNEL), "0": member(np.array([[1], ["x"]], dtype=object), True)}, r"of type \|O"),
        ({"document": text(CHANNEL), "0": member(np.eye(2, dtype="<f4"))}, "of type <f4"),
        ({"document": text(CHANNEL), "0": member(np.asfortranarray(np.ones((2, 3))))}, "of type"),
        ({"document": text(CHANNEL), "0": member(np.eye(2)).replace(b"(2, 2)", b"(9999999999, 2)")}, "cannot be read"),
        ({"document": text(CHANNEL), "0": member(np.eye(2))[:-8]}, "cannot be read"),
        ({"document": text(CHANNEL), "0": b"not numpy at all"}, "cannot be read"),
        (
            {"document": text(CHANNEL), "0": member(np.array([[1.0, np.nan]]))},
            r"channel\[0\]\[1\] = nan must be finite",
        ),
        ({"document": text(CHANNEL), "0": member(np.array([[1.0, -1.0]]))}, "must not be negative"),
        (
            {"document": text(CHANNEL), "0.p": member(np.eye(2, dtype="<i8")), "0.q": member(np.zeros((2, 2), "<i8"))},
            "0",
        ),
        (
            {
                "document": text(CHANNEL),
                "0.text": member(np.frombuffer(b"1/1\n1e9/1", np.uint8)),
                "0.shape": member(np.array([2, 1])),
            },
            "is not a fraction",
        ),
        ({"document": text({"channel": {"array": ["0"]}})}, "is missing"),
        ({"document": text(CHANNEL), "0": member(np.array(5.0))}, "is a single number and no table"),
        (
            {
                "document": text(CHANNEL),
                "0.text": member(np.frombuffer(b"1/" + b"3" * 30_000, np.uint8)),
                "0.shape": member(np.array([1, 1])),
            },
            "must have at most 20000 digits",
        ),
        (
            {
                "document": text(CHANNEL),
                "0.text": member(np.frombuffer(b"\n".join(b"1/%d" % (10**2000 + k) for k in range(900)), np.uint8)),
                "0.shape": member(np.array([900, 1])),
            },
            "takes more than 20000000 steps",
        ),
        ({"document": member(np.frombuffer(b"\xff\xfe", np.uint8))}, "is not UTF-8 text"),
    ],
)
def test_a_hostile_file_is_one_clear_error(tmp_path: Path, members: dict[str, bytes], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        load_mechanism(archive(tmp_path / "m.npz", members))


def test_compressed_members_are_refused_before_they_are_read(tmp_path: Path) -> None:
    bomb = {"document": text(CHANNEL), "0": member(np.zeros((1000, 1000)))}
    with pytest.raises(InputError, match="not a stored"):
        load_mechanism(archive(tmp_path / "m.npz", bomb, zipfile.ZIP_DEFLATED))


def test_members_that_overlap_are_refused_before_they_are_read(tmp_path: Path) -> None:
    # a member's bytes hold the members after it, so that a small file would unfold to a very large one
    inner = b"\0" * 50_000
    entries: list[tuple[bytes, int, int, int]] = []
    for k in range(20):
        name = f"{k}.npy".encode()
        body = member(np.frombuffer(inner, np.uint8))
        check = zlib.crc32(body)
        head = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 33, check, len(body), len(body), len(name), 0)
        inner = head + name + body
        entries.append((name, check, len(body), len(inner)))
    listing = b""
    for name, check, size, length in entries:
        numbers = (check, size, size, len(name), 0, 0, 0, 0, 0, len(inner) - length)
        listing += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 0, 0, 33, *numbers) + name
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(entries), len(entries), len(listing), len(inner), 0)
    (tmp_path / "m.npz").write_bytes(inner + listing + end)
    with pytest.raises(InputError, match="its members overlap"):
        load_mechanism(tmp_path / "m.npz")


@settings(max_examples=150)
@given(st.integers(0, 5000), st.integers(0, 255), st.booleans())
def test_a_changed_byte_is_read_or_refused(tmp_path: Path, place: int, byte: int, cut: bool) -> None:
    save_mechanism(tmp_path / "m.npz", Mechanism(np.array([[0.5, 0.5], [0.25, 0.75]]), signals=["a", "b"]))
    data = bytearray((tmp_path / "m.npz").read_bytes())
    data[place % len(data)] = byte
    (tmp_path / "m.npz").write_bytes(data[: place % len(data)] if cut else data)
    with suppress(InputError):
        load_mechanism(tmp_path / "m.npz")


def test_an_encrypted_member_is_one_clear_error(tmp_path: Path) -> None:
    save_mechanism(tmp_path / "m.npz", Mechanism([[1, 0], [0, 1]]))
    raw = bytearray((tmp_path / "m.npz").read_bytes())
    raw[raw.find(b"PK\x03\x04") + 6] |= 1  # the flag of a password, in the member and in the list of members
    raw[raw.find(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "m.npz").write_bytes(raw)
    with pytest.raises(InputError, match=r"m\.npz cannot be read as \.npz: .* is encrypted"):
        load_mechanism(tmp_path / "m.npz")
