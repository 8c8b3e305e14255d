"""Behaviors that learn from what another behavior of the same environment does."""

from __future__ import annotations

from collections.abc import Mapping

from agents_core.columns import Columns
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import BehaviorSteps
from agents_core.contracts.trainer import Trainer
from agents_core.demonstrations.describing import describe_spec
from agents_core.errors import UserError
from agents_core.spec import BehaviorSpec
from agents_core.training.learner import Learner
from agents_core.training.offline import OfflineLearner
from agents_core.trajectory import Trajectories


class StudentLearner(Learner):
    """One behavior whose trainer is given the experience of its teacher; its own is only counted."""

    has_teacher = False
    """Whether it has been introduced."""

    def receive(self, steps: BehaviorSteps) -> None:
        super().receive(steps)
        self.collector.discard()

    def watch(self, experience: Trajectories | Columns) -> None:
        """Take in what the teacher did."""
        if not self.is_closed:
            self.trainer.process(experience, self.step)

    @property
    def has_experience(self) -> bool:
        """Whether there is something to learn from."""
        return not self.is_closed and self.trainer.is_ready()

    def learn(self) -> dict[str, float] | None:
        """Let the trainer update."""
        stats = self.trainer.update()
        self.summary.add_stats(stats)
        self.updated_at = self.step
        return stats


def learner_kind(trainer: Trainer, demonstration: Demonstration | None) -> type[Learner]:
    """What gives a trainer its experience: an environment, a demonstration, or a teacher."""
    if trainer.teacher is not None:
        return StudentLearner
    return Learner if demonstration is None else OfflineLearner


def introduce(learners: Mapping[str, Learner], specs: Mapping[str, BehaviorSpec]) -> None:
    """Let students watch their teachers, as far as both have shown up.

    Args:
        learners: By behavior.
        specs: Of the environment's behaviors.

    Raises:
        UserError: There is no such teacher, or it sees or does something else.
    """
    for name, student in learners.items():
        teacher = student.trainer.teacher
        if not isinstance(student, StudentLearner) or student.has_teacher or teacher is None:
            continue
        if teacher not in specs or teacher == name:
            others = ", ".join(other for other in specs if other != name)
            raise UserError(
                f"behavior {name!r}: its teacher {teacher!r} is no other behavior of this environment; "
                f"there {'are: ' + others if others else 'is none'}"
            )
        _check_same(name, teacher, specs)
        if teacher in learners:
            learners[teacher].watchers.append(student.watch)
            student.has_teacher = True


def _check_same(student: str, teacher: str, specs: Mapping[str, BehaviorSpec]) -> None:
    own, other = specs[student], specs[teacher]
    shapes = [[(part.shape, part.dtype) for part in spec.observations] for spec in (own, other)]
    if shapes[0] != shapes[1] or own.action != other.action:
        raise UserError(
            f"behavior {student!r} cannot learn from {teacher!r}, which sees or does something else\n"
            f"  student: {describe_spec(own)}\n"
            f"  teacher: {describe_spec(other)}"
        )
