"""What the kit asks of every reward signal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from agents_core.contracts.reward_signal import RewardSignal
from agents_core.demonstrations import store_demonstration
from agents_core.spec import BehaviorSpec
from agents_core.testing import RewardSignalConformance
from agents_core.testing.demonstrations import random_demonstration

FOLDER = Path(tempfile.mkdtemp(prefix="gail-conformance-"))


def demonstration_of(spec: BehaviorSpec) -> str:
    """A file with demonstrations of the spec."""
    path = FOLDER / f"{abs(hash(repr(spec)))}.h5"
    if not path.exists():
        store_demonstration(path, random_demonstration(spec, (6, 5, 9)))
    return str(path)


class TestGAIL(RewardSignalConformance):
    component = "gail"
    config = {"demo_path": "unused.h5"}  # noqa: RUF012

    def make(self, spec: BehaviorSpec, *, seed: int = 0, device: str = "cpu", **options: Any) -> RewardSignal:
        return super().make(spec, seed=seed, device=device, **{"demo_path": demonstration_of(spec), **options})

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        spec = next(iter(self.accepted().values()))
        target, (component, _, *rest) = super().spawned()
        return target, (component, self.options(demo_path=demonstration_of(spec)), *rest)


class TestGAILWithActions(TestGAIL):
    config = {"demo_path": "unused.h5", "use_actions": True, "use_vail": True, "reward": "centered"}  # noqa: RUF012
