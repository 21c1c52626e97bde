"""Which environments are meant: every form that people use, and what is refused."""

import numpy as np
import pytest

from stroboscope.engine.env_indices import env_indices, refuse_environments

try:
    import torch
except ModuleNotFoundError:
    torch = None  # type: ignore[assignment]


class Tensor:
    """A tensor on a device, as far as the engine looks at one."""

    def __init__(self, values: object) -> None:
        self._values = np.asarray(values)

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> np.ndarray:
        return self._values


FORMS = [
    (None, [0, 1, 2, 3, 4, 5, 6, 7]),
    (3, [3]),
    (-1, [7]),
    (np.int64(2), [2]),
    (np.uint8(2), [2]),
    (np.array(4), [4]),
    (slice(1, 7, 3), [1, 4]),
    (slice(None), [0, 1, 2, 3, 4, 5, 6, 7]),
    (slice(5, 100), [5, 6, 7]),
    ([], []),
    ([5, 0, -1], [5, 0, 7]),
    ((1, 2), [1, 2]),
    (range(2, 5), [2, 3, 4]),
    ({6}, [6]),
    (np.array([7, 1], dtype=np.int32), [7, 1]),
    (np.array([7, 1], dtype=np.uint64), [7, 1]),
    (np.array([False] * 6 + [True] * 2), [6, 7]),
    ([True] + [False] * 7, [0]),
    (Tensor([3, 4]), [3, 4]),
    (Tensor([True, False] * 4), [0, 2, 4, 6]),
    (Tensor(5), [5]),
]


@pytest.mark.parametrize(("given", "meant"), FORMS, ids=[repr(form)[:40] for form, _ in FORMS])
def test_every_form_names_its_environments(given: object, meant: list[int]) -> None:
    found = env_indices(given, n_envs=8)
    assert found.tolist() == meant
    assert found.dtype == np.intp


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (8, IndexError, "no environment 8: there are 8"),
        (-9, IndexError, "no environment -9"),
        ([0, 9], IndexError, "no environment 9"),
        ([1, 2, 1], ValueError, "environment 1 is named 2 times"),
        ([7, -1], ValueError, "environment 7 is named 2 times"),
        ([True] * 7, ValueError, "7 were given, there are 8"),
        (np.zeros(9, dtype=bool), ValueError, "9 were given"),
        ([[0, 1]], ValueError, r"shape \(1, 2\)"),
        (True, TypeError, "single True"),
        (np.bool_(False), TypeError, "single"),
        (1.0, TypeError, "float"),
        ([0.0, 1.0], TypeError, r"whole numbers, not \[0.0, 1.0\]"),
        (np.array([1.0]), TypeError, "whole numbers"),
        ("1", TypeError, "not .*str"),
        (b"1", TypeError, "not .*bytes"),
        (["a"], TypeError, "whole numbers"),
        ([True, 2], TypeError, "both truth values and numbers"),
        ((0, np.bool_(True)), TypeError, "both truth values and numbers"),
        ([[1], [1, 2]], TypeError, "no array"),
        (object(), TypeError, "object"),
        (slice("a", None), TypeError, "no slice of whole numbers"),
        (Tensor([0.5]), TypeError, "whole numbers"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(
    given: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        env_indices(given, n_envs=8)


def test_nothing_is_an_environment_where_there_are_none() -> None:
    assert env_indices(None, n_envs=0).tolist() == []
    with pytest.raises(IndexError, match="there are 0"):
        env_indices(0, n_envs=0)
    refuse_environments(None, scene_name="A")
    with pytest.raises(ValueError, match=r"'A' has no environments.*n_envs"):
        refuse_environments([], scene_name="A")


@pytest.mark.skipif(torch is None, reason="torch is not installed")
def test_real_tensors_of_torch_are_taken() -> None:
    assert env_indices(torch.tensor([3, 1]), n_envs=8).tolist() == [3, 1]
    assert env_indices(torch.tensor([True, False] * 4), n_envs=8).tolist() == [0, 2, 4, 6]
    assert env_indices(torch.where(torch.tensor([0, 1]) > 0)[0], n_envs=2).tolist() == [1]
