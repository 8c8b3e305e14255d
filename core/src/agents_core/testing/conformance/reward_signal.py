"""The conformance class of reward signals."""

from __future__ import annotations

from agents_core.testing.conformance.reward_signals.manners import MannerChecks
from agents_core.testing.conformance.reward_signals.states import StateChecks
from agents_core.testing.conformance.reward_signals.values import ValueChecks


class RewardSignalConformance(MannerChecks, StateChecks, ValueChecks):
    """Subclass it in a test, and name the signal: `component = "novelty"`.

    A signal that is for some behaviors only refuses the others with a `UserError` when it is made. Where no behavior of
    the kit suits it, replace `behaviors`; where random experience does not, `transitions`.
    """
