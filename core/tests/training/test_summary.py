"""BehaviorSummary: what happened between two summaries, as the numbers that are written."""

from __future__ import annotations

import json
import logging
import math

import numpy as np
import pytest
from agents_core.timers import Timers
from agents_core.training.summary import BehaviorSummary, record_gauges


def make(started_at: float = 0.0) -> BehaviorSummary:
    return BehaviorSummary("Walker", 20, started_at)


def episodes(summary: BehaviorSummary, *returns: float, length: int = 10) -> None:
    summary.add_episodes(np.array(returns, dtype=np.float32), np.full(len(returns), length))


def test_returns_and_lengths_are_means_over_the_episodes_since_the_last_summary() -> None:
    summary = make()
    summary.add_episodes(np.array([1.0, 2.0], np.float32), np.array([10, 30]))
    summary.add_episodes(np.array([6.0], np.float32), np.array([50]))
    first = summary.take(100, 1.0)
    assert (first["rollout/mean_return"], first["rollout/mean_length"]) == (3.0, 30.0)
    episodes(summary, 8.0)
    assert summary.take(200, 2.0)["rollout/mean_return"] == 8.0


def test_with_no_finished_episode_nothing_is_written() -> None:
    summary = make()
    episodes(summary)
    assert not {"rollout/mean_return", "rollout/mean_length"} & summary.take(100, 1.0).keys()
    episodes(summary, 5.0)
    summary.take(200, 2.0)
    assert "rollout/mean_return" not in summary.take(300, 3.0), "an old episode is not told twice"


def test_update_statistics_are_means_and_scheduled_ones_the_latest() -> None:
    summary = make()
    summary.add_stats({"train/policy_loss": 1.0, "train/learning_rate": 3e-4, "reward/curiosity/raw": 0.5})
    summary.add_stats({"train/policy_loss": 2.0, "train/learning_rate": 2e-4, "reward/curiosity/raw": 0.25})
    stats = summary.take(100, 1.0)
    assert stats["train/policy_loss"] == 1.5
    assert stats["train/learning_rate"] == 2e-4
    assert stats["reward/curiosity/raw"] == 0.375
    assert "train/policy_loss" not in summary.take(200, 2.0)


def test_a_statistic_that_comes_only_sometimes_is_averaged_over_those_times() -> None:
    summary = make()
    summary.add_stats({"train/value_loss": 4.0})
    summary.add_stats({"train/value_loss": 2.0, "train/explained_variance": 0.5})
    stats = summary.take(100, 1.0)
    assert (stats["train/value_loss"], stats["train/explained_variance"]) == (3.0, 0.5)


def test_an_evaluation_stands_in_the_next_summary_once() -> None:
    summary = make()
    summary.add_stats({"eval/mean_return": 1.0})
    summary.add_stats({"eval/mean_return": 9.0})
    assert summary.take(100, 1.0)["eval/mean_return"] == 9.0
    assert "eval/mean_return" not in summary.take(200, 2.0)


def test_environment_statistics_are_means_over_all_numbers_given() -> None:
    summary = make()
    summary.add_environment({"height": [1.0, 2.0]})
    summary.add_environment({"height": [6.0], "fell": []})
    stats = summary.take(100, 1.0)
    assert stats["env/height"] == 3.0
    assert "env/fell" not in stats


def test_numbers_that_are_not_finite_are_left_out_with_one_warning_a_name(caplog: pytest.LogCaptureFixture) -> None:
    summary = make()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            summary.add_stats({"train/entropy": math.nan, "train/policy_loss": 1.0, "train/learning_rate": math.inf})
            summary.add_environment({"speed": [math.inf, 2.0]})
    stats = summary.take(100, 1.0)
    assert {name: stats[name] for name in stats if not name.startswith("time/")} == {
        "train/policy_loss": 1.0,
        "env/speed": 2.0,
    }
    names = [record.args[1] for record in caplog.records if isinstance(record.args, tuple)]
    assert names == ["train/entropy", "train/learning_rate", "env/speed"]


def test_a_mean_that_overflows_is_left_out() -> None:
    summary = make()
    for _ in range(2):
        summary.add_stats({"train/value_loss": 1.5e308})
    assert "train/value_loss" not in summary.take(100, 1.0)


def test_speed_is_steps_over_working_seconds_since_the_last_summary() -> None:
    summary = make()
    assert summary.take(100, 2.0)["time/steps_per_second"] == 50
    assert summary.take(400, 3.0)["time/steps_per_second"] == 300
    assert "time/steps_per_second" not in summary.take(400, 3.0), "no steps, no speed"


def test_a_behavior_that_shows_up_late_is_not_blamed_for_the_time_before() -> None:
    summary = make(started_at=10.0)
    assert summary.progress(0, 10.0) == {}
    assert summary.progress(30, 11.0)["time/steps_per_second"] == 30
    assert summary.take(100, 12.0)["time/steps_per_second"] == 50
    assert summary.totals(200, 15.0)["steps_per_second"] == 40


def test_names_come_sorted_so_that_equal_runs_write_equal_lines() -> None:
    summary = make()
    summary.add_stats({"train/b": 1.0, "train/a": 1.0})
    episodes(summary, 1.0)
    names = list(summary.take(100, 1.0))
    assert names == sorted(names)


def test_summaries_are_due_at_multiples_of_the_frequency_however_far_a_tick_goes() -> None:
    summary = make()
    due = []
    for step in range(0, 100, 8):
        if step >= summary.next_step:
            due.append(step)
            summary.take(step, step / 10)
    assert due == [24, 40, 64, 80]
    summary.take(96, 20.0)  # a last one at a stop
    assert summary.next_step == 100, "it does not move the multiples"


def test_a_stop_has_news_unless_the_summary_before_said_it_all() -> None:
    summary = make()
    assert not summary.has_news(0)
    summary.take(100, 1.0)
    assert not summary.has_news(100)
    assert summary.has_news(101)
    summary.add_stats({"eval/mean_return": 1.0})
    assert summary.has_news(100)


def test_progress_shows_recent_episodes_and_the_speed_of_the_last_two_intervals() -> None:
    summary = make()
    assert summary.progress(0, 0.0) == {}
    episodes(summary, 4.0)
    summary.take(100, 1.0)
    summary.take(200, 3.0)
    episodes(summary, 6.0)
    assert summary.progress(210, 3.5) == {"time/steps_per_second": 110 / 2.5, "rollout/mean_return": 5.0}


def test_totals_look_back_on_the_last_hundred_episodes_and_count_all() -> None:
    summary = make()
    assert summary.totals(0, 0.0) == {"steps": 0, "episodes": 0, "mean_return": None, "steps_per_second": None}
    episodes(summary, *range(1000, 1150))
    episodes(summary, *range(50))
    summary.take(5000, 4.0)
    totals = summary.totals(6000, 5.0)
    expected = (sum(range(1100, 1150)) + sum(range(50))) / 100
    assert totals == {"steps": 6000, "episodes": 200, "mean_return": expected, "steps_per_second": 1200.0}


def test_a_behavior_that_is_done_keeps_its_speed_while_others_go_on() -> None:
    summary = make()
    summary.take(1000, 10.0)
    assert summary.totals(1000, 500.0)["steps_per_second"] == 100


def test_a_resumed_summary_goes_on_as_if_never_stopped() -> None:
    whole, first, second = make(2.0), make(2.0), make()

    def early(summary: BehaviorSummary) -> None:
        episodes(summary, 1.0, 2.5)
        summary.take(100, 3.0)
        episodes(summary, 0.1)
        summary.add_stats({"train/policy_loss": 0.3, "train/learning_rate": 1e-4})
        summary.add_environment({"height": [0.7]})

    def late(summary: BehaviorSummary) -> list[object]:
        episodes(summary, 3.0)
        summary.add_stats({"train/policy_loss": 0.7})
        return [summary.progress(190, 4.5), summary.take(200, 5.0), summary.totals(200, 5.0), summary.next_step]

    early(whole)
    early(first)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert late(second) == late(whole)


def test_a_saved_state_does_not_change_with_what_comes_after() -> None:
    summary = make()
    episodes(summary, 1.0)
    state = summary.state_dict()
    before = json.dumps(state)
    episodes(summary, 2.0)
    summary.take(10, 1.0)
    assert json.dumps(state) == before


def test_summaries_become_gauges() -> None:
    timers = Timers()
    for value in (1.0, 3.0):
        record_gauges(timers, "Walker", {"train/policy_loss": value})
    gauges = timers.to_dict()["gauges"]
    assert gauges == {"Walker.train.policy_loss.mean": {"value": 3.0, "min": 1.0, "max": 3.0, "count": 2, "mean": 2.0}}
