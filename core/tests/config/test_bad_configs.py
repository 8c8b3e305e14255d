"""Every mistake in a file is named with its line and column, what is allowed and the nearest known name."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.config import ConfigError, load_experiment
from agents_core.registry import Registry

LEARNER = "trainer 'learner' of agents-fake 0.3"
LEARNER_KEYS = (
    "batch_size, beta, buffer_size, clip, epsilon, layers, learning_rate, limits, memory, mode, target_kl, type"
)
TOP_KEYS = "behaviors, checkpoints, directory, environment, evaluation, plugins, requires, seed, stats, torch"
BEHAVIOR_KEYS = "max_steps, network, reward_signals, summary_freq, time_horizon, trainer"
SCHEDULE = "a section with schedule, initial, final, floor"

HEAD = "environment: {type: world, id: home}\n"
BEHAVIOR = 'behaviors: {"*": {trainer: {type: learner}}}\n'
TRAINER = HEAD + 'behaviors:\n  "*":\n    trainer:\n      type: learner\n      '

BAD: dict[str, tuple[str, list[str]]] = {
    "misspelt top-level key": (
        HEAD + BEHAVIOR + "sed: 1\n",
        [f"3:1: sed: unknown key; allowed keys: {TOP_KEYS}; did you mean 'seed'?"],
    ),
    "misspelt key of a core section": (
        HEAD + BEHAVIOR + "checkpoints:\n  intervall: 5\n",
        ["4:3: checkpoints.intervall: unknown key; allowed keys: exact, interval, keep; did you mean 'interval'?"],
    ),
    "misspelt key of a behavior": (
        HEAD + 'behaviors:\n  "*":\n    max_step: 5\n    trainer: {type: learner}\n',
        [f"4:5: behaviors.*.max_step: unknown key; allowed keys: {BEHAVIOR_KEYS}; did you mean 'max_steps'?"],
    ),
    "misspelt key of the network": (
        HEAD + 'behaviors:\n  "*":\n    network: {hidden_unit: 5}\n    trainer: {type: learner}\n',
        [
            "4:15: behaviors.*.network.hidden_unit: unknown key; allowed keys: activation, conditioning, encoders, "
            "hidden_units, initialization, memory, normalize, num_layers, shared, squash, std; "
            "did you mean 'hidden_units'?"
        ],
    ),
    "misspelt key of the encoders": (
        HEAD + 'behaviors:\n  "*":\n    network: {encoder: {}}\n    trainer: {type: learner}\n',
        [
            "4:15: behaviors.*.network.encoder: unknown key; allowed keys: activation, conditioning, encoders, "
            "hidden_units, initialization, memory, normalize, num_layers, shared, squash, std; did you mean 'encoders'?"
        ],
    ),
    "encoder without type": (
        HEAD + 'behaviors:\n  "*":\n    network: {encoders: {camera: {}}}\n    trainer: {type: learner}\n',
        [
            "4:26: behaviors.*.network.encoders.camera.type: missing; expected the name of an encoder; installed: "
            "entities, fully_connected, match3, nature_cnn, resnet, simple, symbolic, vector"
        ],
    ),
    "unknown encoder": (
        HEAD + 'behaviors:\n  "*":\n    network: {encoders: {camera: {type: resnt}}}\n    trainer: {type: learner}\n',
        ["4:41: behaviors.*.network.encoders.camera.type: …"],
    ),
    "misspelt key of an encoder": (
        HEAD + 'behaviors:\n  "*":\n    network: {encoders: {e: {type: entities, head: 2}}}\n'
        "    trainer: {type: learner}\n",
        ["4:46: behaviors.*.network.encoders.e.head: …"],
    ),
    "misspelt key of a trainer": (
        TRAINER + "learning_rat: 3e-4\n",
        [
            f"6:7: behaviors.*.trainer.learning_rat: unknown key; allowed keys of {LEARNER}: {LEARNER_KEYS}; "
            "did you mean 'learning_rate'?"
        ],
    ),
    "key of the trainer one level too high": (
        HEAD + 'behaviors:\n  "*":\n    batch_size: 5\n    trainer: {type: learner}\n',
        [
            f"4:5: behaviors.*.batch_size: unknown key; allowed keys: {BEHAVIOR_KEYS}; "
            "did you mean 'behaviors.*.trainer.batch_size'?"
        ],
    ),
    "key of the network in the trainer": (
        TRAINER + "hidden_units: 64\n",
        [
            f"6:7: behaviors.*.trainer.hidden_units: unknown key; allowed keys of {LEARNER}: {LEARNER_KEYS}; "
            "did you mean 'behaviors.*.network.hidden_units'?"
        ],
    ),
    "misspelt key inside a trainer's own section": (
        TRAINER + "memory: {sise: 4}\n",
        [f"6:16: behaviors.*.trainer.memory.sise: unknown key; allowed keys of {LEARNER}: size; did you mean 'size'?"],
    ),
    "misspelt key of a reward signal": (
        TRAINER + "clip: no\n    reward_signals: {novelty: {strenght: 1}}\n",
        [
            "7:32: behaviors.*.reward_signals.novelty.strenght: unknown key; allowed keys of reward signal 'novelty' "
            "of agents-fake 0.3: encoding_size, gamma, strength, type; did you mean 'strength'?"
        ],
    ),
    "misspelt core key of the environment": (
        "environment: {type: world, id: home, num_env: 2}\n" + BEHAVIOR,
        [
            "1:38: environment.num_env: unknown key; allowed keys of environment 'world' of agents-fake 0.3: id, "
            "imports, kwargs, level, num_envs, title, type, workers; did you mean 'num_envs'?"
        ],
    ),
    "misspelt key of a schedule": (
        TRAINER + "beta: {initial: 1, flor: 0}\n",
        [
            f"6:26: behaviors.*.trainer.beta.flor: unknown key; allowed keys of {LEARNER}: final, floor, initial, "
            "schedule; did you mean 'floor'?"
        ],
    ),
    "word for a number": (
        TRAINER + "batch_size: big\n",
        [f"6:19: behaviors.*.trainer.batch_size: found 'big', expected a whole number of at least 1 ({LEARNER})"],
    ),
    "number with a unit": (
        HEAD + BEHAVIOR.replace("{trainer", "{max_steps: 2000000F, trainer"),
        ["2:30: behaviors.*.max_steps: found '2000000F', expected a whole number of at least 1"],
    ),
    "fraction for a whole number": (
        TRAINER + "batch_size: 1.5\n",
        [f"6:19: behaviors.*.trainer.batch_size: found 1.5, expected a whole number of at least 1 ({LEARNER})"],
    ),
    "number that readers take differently": (
        HEAD + BEHAVIOR + "seed: 010\n",
        ["3:7: seed: found '010', expected a whole number from 0 to 9_223_372_036_854_775_807"],
    ),
    "truth value for a number": (
        HEAD + BEHAVIOR + "checkpoints: {keep: true}\n",
        ["3:21: checkpoints.keep: found true, expected a whole number of at least 1"],
    ),
    "number for a truth value": (
        TRAINER + "clip: 1\n",
        [f"6:13: behaviors.*.trainer.clip: found 1, expected true or false ({LEARNER})"],
    ),
    "nothing for a number": (
        TRAINER + "batch_size:\n",
        [f"6:18: behaviors.*.trainer.batch_size: found nothing, expected a whole number of at least 1 ({LEARNER})"],
    ),
    "a list for a number": (
        TRAINER + "batch_size: [1, 2]\n",
        [f"6:19: behaviors.*.trainer.batch_size: found a list, expected a whole number of at least 1 ({LEARNER})"],
    ),
    "a number for a section": (
        HEAD + BEHAVIOR + "evaluation: 5\n",
        ["3:13: evaluation: found 5, expected a section with interval, episodes"],
    ),
    "a wrong element of a list": (
        TRAINER + "layers: [64, wide]\n",
        [f"6:20: behaviors.*.trainer.layers.1: found 'wide', expected a whole number ({LEARNER})"],
    ),
    "below its bound": (
        TRAINER + "batch_size: 0\n",
        [f"6:19: behaviors.*.trainer.batch_size: found 0, expected a whole number of at least 1 ({LEARNER})"],
    ),
    "above its bound": (
        HEAD + 'behaviors:\n  "*":\n    trainer: {type: other, tau: 1.5}\n',
        [
            "4:33: behaviors.*.trainer.tau: found 1.5, expected a number greater than 0 and at most 1 "
            "(trainer 'other' of agents-fake 0.3)"
        ],
    ),
    "no multiple": (
        TRAINER + "memory: {size: 5}\n",
        [
            f"6:22: behaviors.*.trainer.memory.size: found 5, expected a whole number of at least 2 and a multiple "
            f"of 2 ({LEARNER})"
        ],
    ),
    "schedule that starts below its bound": (
        TRAINER + "learning_rate: {initial: 0}\n",
        [f"6:32: behaviors.*.trainer.learning_rate.initial: `initial` must be greater than 0, found 0 ({LEARNER})"],
    ),
    "infinity": (
        TRAINER + "target_kl: .inf\n",
        [f"6:18: behaviors.*.trainer.target_kl: found .inf, expected a number greater than 0 or null ({LEARNER})"],
    ),
    "word for a schedule": (
        TRAINER + "beta: low\n",
        [f"6:13: behaviors.*.trainer.beta: found 'low', expected a number of at least 0 or {SCHEDULE} ({LEARNER})"],
    ),
    "unknown choice": (
        TRAINER + "mode: fats\n",
        [
            f"6:13: behaviors.*.trainer.mode: found 'fats', expected one of 'fast', 'slow'; did you mean 'fast'? "
            f"({LEARNER})"
        ],
    ),
    "batch larger than the buffer": (
        TRAINER + "buffer_size: 64\n      batch_size: 256\n",
        [
            "7:19: behaviors.*.trainer.batch_size: batch_size (256) must not be larger than buffer_size (64) "
            f"({LEARNER})"
        ],
    ),
    "unknown trainer": (
        HEAD + 'behaviors: {"*": {trainer: {type: lerner}}}\n',
        [
            "2:35: behaviors.*.trainer.type: no installed plugin provides trainer 'lerner'. Did you mean 'learner' "
            "(agents-fake)? Installed trainers: clone, learner, other, sampler…"
        ],
    ),
    "a trainer that is not named": (
        HEAD + 'behaviors: {"*": {trainer: {tau: 1}}}\n',
        [
            "2:19: behaviors.*.trainer.type: missing; expected the name of a trainer; "
            "installed: clone, learner, other, sampler"
        ],
    ),
    "unknown reward signal": (
        TRAINER + "clip: no\n    reward_signals: {noveltie: {}}\n",
        [
            "7:22: behaviors.*.reward_signals.noveltie: no installed plugin provides reward signal 'noveltie'. Did you "
            "mean 'novelty' (agents-fake)? Installed reward signals: extrinsic, imitation, novelty…"
        ],
    ),
    "a known reward signal that is not installed": (
        TRAINER + "clip: no\n    reward_signals: {rdn: {}}\n",
        [
            "7:22: behaviors.*.reward_signals.rdn: no installed plugin provides reward signal 'rdn'. Did you mean "
            "'rnd'? Install it with: pip install agents-reward-rnd. Installed reward signals: extrinsic, imitation, "
            "novelty…"
        ],
    ),
    "reward signal without its section": (
        TRAINER + "clip: no\n    reward_signals:\n      novelty:\n",
        ["8:7: behaviors.*.reward_signals.novelty: found nothing, expected a section; {} stands for its defaults"],
    ),
    "reward signal without what it needs": (
        TRAINER + "clip: no\n    reward_signals:\n      imitation: {}\n",
        [
            "8:7: behaviors.*.reward_signals.imitation.demo_path: missing; expected a path or a list, each a path "
            "(reward signal 'imitation' of agents-fake 0.3)"
        ],
    ),
    "a mistake inside the alternative that was meant": (
        TRAINER + "clip: no\n    reward_signals: {imitation: {demo_path: [a.demo, [b.demo]]}}\n",
        [
            "7:54: behaviors.*.reward_signals.imitation.demo_path.1: found a list, expected a path "
            "(reward signal 'imitation' of agents-fake 0.3)"
        ],
    ),
    "no reward signal": (
        TRAINER + "clip: no\n    reward_signals: {}\n",
        ["7:5: behaviors.*.reward_signals: found none, expected at least one; without this key it is `extrinsic`"],
    ),
    "unknown device": (
        HEAD + BEHAVIOR + "torch: {device: gpu}\n",
        ["3:17: torch.device: found 'gpu'; expected auto, cpu, cuda, cuda:N or mps"],
    ),
    "no behaviors": (
        HEAD,
        ['1:1: behaviors: missing; expected a section with one entry a behavior, or "*" for all'],
    ),
    "no environment": (
        BEHAVIOR,
        [
            f"1:1: environment: missing; the {LEARNER}, which behavior '*' uses, needs one: a section with the name "
            "of an environment; installed: grid, world; or use --env TYPE:ID"
        ],
    ),
    "environment without what it needs": (
        "environment: {type: world}\n" + BEHAVIOR,
        [
            "1:1: environment.id: missing; expected text of at least 1 character (environment 'world' of "
            "agents-fake 0.3)"
        ],
    ),
    "requirement that is not met": (
        "requires: [agents-fake>=9]\n" + HEAD + BEHAVIOR,
        [
            "1:12: requires: agents-fake>=9 is needed, but 0.3 is installed. Change it with: "
            "pip install -U 'agents-fake>=9'"
        ],
    ),
    "keys that are there twice": (
        HEAD + BEHAVIOR + "seed: 1\nseed: 2\ntorch: {threads: 1, threads: 2}\n",
        [
            "4:1: seed: this key is there twice; it stands in line 3 already",
            "5:21: torch.threads: this key is there twice; it stands in line 5 already",
        ],
    ),
    "a tab": (
        "environment:\n\ttype: world\n",
        ["2:1: a tab stands in the indentation; YAML allows only blanks there"],
    ),
    "a bracket that is not closed": (
        "environment: {type: world\n" + BEHAVIOR,
        ["2:10: not YAML: while parsing a flow mapping: expected ',' or '}', but got ':'"],
    ),
    "an empty file": (
        "# nothing\n",
        ["1:1: the file is empty; an experiment has at least `environment` and `behaviors`"],
    ),
    "a list at the top": (
        "- environment: {type: world}\n",
        ["1:1: found a list at the top; an experiment is a mapping with `environment` and `behaviors`"],
    ),
    "a tag that would run code": (
        HEAD + BEHAVIOR + "seed: !!python/object/apply:os.system [echo]\n",
        [
            "3:7: seed: found the tag !!python/object/apply:os.system; tags are not allowed, an experiment holds plain "
            "values only"
        ],
    ),
    "an alias without an anchor": (
        HEAD + "behaviors: *all\n",
        ["2:12: behaviors: the alias *all has no anchor before it"],
    ),
    "two documents": (
        HEAD + BEHAVIOR + "---\nseed: 1\n",
        ["3:1: a second document starts here; one file holds one experiment"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_config_is_refused_with_exactly_its_mistakes(name: str, registry: Registry, tmp_path: Path) -> None:
    text, expected = BAD[name]
    file = tmp_path / "experiment.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_experiment(file, registry)
    found = str(caught.value).splitlines()
    assert len(found) == len(expected)
    for line, mistake in zip(found, expected, strict=True):
        if mistake.endswith("…"):  # the registry goes on with what is not loaded on this machine
            assert line.startswith(f"{file}:{mistake[:-1]}")
        else:
            assert line == f"{file}:{mistake}"
    assert caught.value.exit_code == 2


def refuse(file: Path, registry: Registry) -> str:
    with pytest.raises(ConfigError) as caught:
        load_experiment(file, registry)
    return str(caught.value)


def test_a_byte_that_is_not_utf8_is_named_with_its_place(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"seed: 1\n# caf\xe9\n")
    assert refuse(file, registry) == f"{file}:2:6: the byte 0xE9 is not UTF-8; save the file as UTF-8"


def test_utf16_is_recognised(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "wide.yaml"
    file.write_bytes("seed: 1\n".encode("utf-16"))
    assert refuse(file, registry).endswith("is not UTF-8; it looks like UTF-16; save the file as UTF-8")


def test_a_file_that_is_not_there_is_named_absolutely_with_the_nearest_one(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyramids.yaml").write_text("", encoding="utf-8")
    message = refuse(Path("pyramid.yaml"), registry)
    assert message == f"pyramid.yaml: no such file: {tmp_path / 'pyramid.yaml'}; did you mean 'pyramids.yaml'?"


def test_a_folder_is_no_experiment(registry: Registry, tmp_path: Path) -> None:
    assert refuse(tmp_path, registry) == f"{tmp_path}: this is a folder, not an experiment file"


def test_a_broken_plugin_is_blamed_where_it_is_used(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(HEAD + 'behaviors: {"*": {trainer: {type: broken}}}\n', encoding="utf-8")
    message = refuse(file, registry)
    assert message.startswith(f"{file}:2:35: behaviors.*.trainer.type: trainer 'broken' cannot be used: plugin")
    assert "agents-broken 1.0" in message
    assert "ModuleNotFoundError: No module named 'no_such_module'" in message


def test_all_mistakes_come_at_once_in_the_order_of_the_file(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(
        """\
sed: 1
environment: {type: wrld}
behaviors:
  "*":
    max_steps: 0
    trainer: {type: learner, batch_size: x}
    reward_signals: {novelty: {gamma: 2}}
torch: {threads: 0}
""",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        load_experiment(file, registry)
    places = [(mistake.position.line, ".".join(mistake.path)) for mistake in caught.value.mistakes]
    assert places == [
        (1, "sed"),
        (2, "environment.type"),
        (5, "behaviors.*.max_steps"),
        (6, "behaviors.*.trainer.batch_size"),
        (7, "behaviors.*.reward_signals.novelty.gamma"),
        (8, "torch.threads"),
    ]


def test_messages_hold_no_address_and_no_traceback(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(BAD["infinity"][0], encoding="utf-8")
    message = refuse(file, registry)
    assert "http" not in message
    assert "pydantic" not in message.lower()
    assert "Traceback" not in message


def test_a_mistake_that_named_behaviors_take_over_is_reported_once(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(
        HEAD + 'behaviors:\n  Striker: {max_steps: 5}\n  "*": {time_horizon: 0, trainer: {type: learner, clip: 3}}\n',
        encoding="utf-8",
    )
    assert refuse(file, registry).splitlines() == [
        f"{file}:4:23: behaviors.*.time_horizon: found 0, expected a whole number of at least 1",
        f"{file}:4:57: behaviors.*.trainer.clip: found 3, expected true or false ({LEARNER})",
    ]


def test_the_mistakes_of_a_mapping_have_its_keys(registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"^experiment: behaviors\.\*\.trainer\.clip: found 3, expected true or"):
        load_experiment(
            {"environment": {"type": "grid"}, "behaviors": {"*": {"trainer": {"type": "learner", "clip": 3}}}}, registry
        )
