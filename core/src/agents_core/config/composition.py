"""Puts the experiment together from the sections of its tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agents_core.config.additions import DEFAULT_SIGNAL
from agents_core.config.coercion import fields_by_key
from agents_core.config.document import Position, Table, empty_table, is_removed, nearest_position
from agents_core.config.errors import KeyPath, show_path
from agents_core.config.experiment import BehaviorSection, EnvironmentSection, Experiment, Section
from agents_core.config.merging import EVERY
from agents_core.config.messages import Place
from agents_core.config.models import GeneralConfig, InstancesConfig, ScopeConfig
from agents_core.config.sections import SectionReader
from agents_core.options import BehaviorOptions, Conflict, NetworkConfig, TrainerConfig
from agents_core.plugin import StatsWriterSpec, TrainerSpec
from agents_core.registry.names import describe
from agents_core.registry.records import way_out

COMPOSED = ("environment", "behaviors", "stats")
"""Keys of the experiment whose sections components fill."""
ENVIRONMENT_KEYS = ("type", "num_envs", "workers")
BEHAVIOR_KEYS = ("trainer", "reward_signals", "network.encoders")
BUFFER_KEY = "buffer"
"""Key of a trainer's section that names the buffer it samples from."""
ALWAYS_WRITTEN = "jsonl"
"""The stats writer that is on whatever `stats:` says."""


def read_experiment(root: Table, reader: SectionReader) -> Experiment | None:
    """The validated experiment; None where the reader collected mistakes."""
    general = reader.model(GeneralConfig, root.without(*COMPOSED), Place((), root.position, None, COMPOSED))
    behaviors = _read_behaviors(root, reader)
    environment = _read_environment(root, reader)
    stats = _read_stats(root, reader)
    if environment is None and not any(mistake.path[:1] == ("environment",) for mistake in reader.mistakes):
        _require_environment(root, behaviors, reader)
    if reader.mistakes or general is None:
        return None
    return Experiment(
        seed=general.seed,
        environment=environment,
        behaviors=behaviors,
        stats=stats,
        checkpoints=general.checkpoints,
        evaluation=general.evaluation,
        torch=general.torch,
        plugins=tuple(_locate(name, reader.directory) for name in general.plugins),
        requires=general.requires,
        directory=reader.directory,
        missing_files=tuple(reader.missing_files.values()),
    )


def _locate(plugin: str, directory: Path) -> str:
    """A local plugin so that it is found from anywhere: a file by its absolute path, also where only its name is
    given and it lies beside the experiment; else the name of a module."""
    beside = directory / f"{plugin}.py"
    if plugin.isidentifier() and beside.is_file():
        return str(beside.resolve())
    is_file = plugin.endswith(".py") or "/" in plugin or "\\" in plugin
    return str((directory / plugin).resolve()) if is_file else plugin


def _read_environment(root: Table, reader: SectionReader) -> EnvironmentSection | None:
    path = ("environment",)
    table = reader.table(root, "environment", (), "a section with `type`")
    if table is None:
        return None
    position = root.keys["environment"]
    core = table.only("num_envs")
    instances = reader.model(InstancesConfig, core, Place(path, position))
    inline = empty_table(position)
    workers_table = reader.table(table, "workers", path, "a section with `type`: inline or process")
    workers = reader.section(
        "worker-pool",
        workers_table or inline,
        Place((*path, "workers"), table.keys.get("workers", position)),
        None if workers_table is not None and workers_table.values else "inline",
    )
    place = Place(path, position, None, ENVIRONMENT_KEYS)
    named = reader.component("environment", table, place)
    if named is None:
        return None
    type_, component = named
    config = reader.options(component, table.without(*ENVIRONMENT_KEYS), place)
    if config is None or instances is None or workers is None:
        return None
    return EnvironmentSection(type_, component, config, instances.num_envs, workers)


def _read_behaviors(root: Table, reader: SectionReader) -> dict[str, BehaviorSection]:
    expected = 'a section with one entry a behavior, or "*" for all'
    behaviors = reader.table(root, "behaviors", (), expected)
    if behaviors is None or all(is_removed(node) for node in behaviors.values.values()):
        if not any(mistake.path == ("behaviors",) for mistake in reader.mistakes):
            position = root.keys.get("behaviors", root.position)
            reader.refuse(position, ("behaviors",), f"missing; expected {expected}")
        return {}
    sections = {}
    # "*" first: what it gets wrong is then reported under its own name.
    for name in sorted(behaviors.values, key=lambda name: name != EVERY):
        entry = reader.table(behaviors, name, ("behaviors",), "a section with `trainer`")
        if entry is None:
            continue
        others = any(not is_removed(node) for other, node in behaviors.values.items() if other != EVERY)
        is_fragment = name == EVERY and others and "trainer" not in entry.values
        section = _read_behavior(entry, ("behaviors", name), behaviors.keys[name], reader, is_fragment)
        if section is not None:
            sections[name] = section
    return {name: sections[name] for name in behaviors.values if name in sections}


def _read_behavior(
    entry: Table, path: KeyPath, position: Position, reader: SectionReader, is_fragment: bool
) -> BehaviorSection | None:
    """One behavior; None if it has mistakes or `is_fragment`: a `"*"` that has no trainer, as every named one has."""
    elsewhere = _paths_of_keys(entry, path, reader)
    place = Place(path, position, None, BEHAVIOR_KEYS, elsewhere)
    before = len(reader.mistakes)
    encoders = _read_encoders(entry, path, reader)
    scope = reader.model(ScopeConfig, _without(entry, BEHAVIOR_KEYS), place)
    trainer, buffer = (None, None) if is_fragment else _read_trainer(entry, place, reader)
    signals = _read_reward_signals(entry, path, position, reader)
    if scope is None or trainer is None:
        return None
    section = BehaviorSection(
        scope.max_steps,
        scope.time_horizon,
        scope.summary_freq,
        scope.network,
        trainer=trainer,
        reward_signals=signals,
        encoders=encoders,
        buffer=buffer,
    )
    if len(reader.mistakes) == before:
        _refuse_conflicts(section, entry, place, reader)
    return section


def _refuse_conflicts(section: BehaviorSection, entry: Table, place: Place, reader: SectionReader) -> None:
    """Note what the trainer's options do not go together with."""
    config, component = section.trainer.config, section.trainer.component
    if not isinstance(config, TrainerConfig):
        return
    signals = {name: signal.config for name, signal in section.reward_signals.items()}
    buffer = None if section.buffer is None else section.buffer.config
    try:
        conflicts = [Conflict(*each) for each in config.conflicts(BehaviorOptions(section.network, signals, buffer))]
    except Exception as error:
        reader.cause = reader.cause or error
        message = f"{component.full_title}: its `conflicts` failed: {describe(error)}. {way_out(component.origin)}"
        reader.refuse(place.position, (*place.path, "trainer"), message)
        return
    for keys, message in conflicts:
        position = nearest_position(entry, keys, place.position)
        reader.refuse(position, (*place.path, *keys), f"{message} ({component.full_title})")


def _without(table: Table, keys: Sequence[str]) -> Table:
    """The table without some keys; `a.b` is the key `b` of its section `a`."""
    for key in keys:
        outer, _, inner = key.rpartition(".")
        section = table.values.get(outer)
        if not outer:
            table = table.without(inner)
        elif isinstance(section, Table):
            table = table.with_value(outer, section.without(inner), table.keys[outer])
    return table


def _paths_of_keys(entry: Table, path: KeyPath, reader: SectionReader) -> dict[str, str]:
    """Where each key of a behavior belongs, for those that were written one level too high or too low."""
    trainer = entry.values.get("trainer")
    own = (*reader.known_keys("trainer", trainer), BUFFER_KEY) if isinstance(trainer, Table) else ()
    paths = {key: (*path, "trainer", key) for key in own}
    paths |= {key: (*path, "network", key) for key in (*fields_by_key(NetworkConfig), "encoders")}
    paths |= {key: (*path, key) for key in fields_by_key(ScopeConfig)}
    return {key: show_path(full) for key, full in paths.items()}


def _read_trainer(entry: Table, behavior: Place, reader: SectionReader) -> tuple[Section | None, Section | None]:
    """The trainer, and the buffer of one that samples from one."""
    example = "a section, such as {type: ppo}"
    table = reader.table(entry, "trainer", behavior.path, example)
    path = (*behavior.path, "trainer")
    if table is None:
        if "trainer" not in entry.values or is_removed(entry.values["trainer"]):
            reader.refuse(behavior.position, path, f"missing; expected {example} with {reader.choices('trainer')}")
        return None, None
    place = Place(path, entry.keys["trainer"], elsewhere=behavior.elsewhere)
    named = reader.component("trainer", table, place)
    if named is None:
        return None, None
    type_, component = named
    default = component.spec.buffer if isinstance(component.spec, TrainerSpec) else None
    core_keys = ("type",) if default is None else ("type", BUFFER_KEY)
    config = reader.options(component, table.without(*core_keys), replace(place, other_keys=core_keys))
    buffer = None if default is None else _read_buffer(table, place, reader, default)
    return None if config is None else Section(type_, component, config), buffer


def _read_buffer(trainer: Table, place: Place, reader: SectionReader, default: str) -> Section | None:
    """The buffer that a trainer's section names, else the trainer's own choice."""
    expected = "a section with `type`, such as {type: replay}"
    table = reader.table(trainer, BUFFER_KEY, place.path, expected)
    position = trainer.keys.get(BUFFER_KEY, place.position)
    inner = Place((*place.path, BUFFER_KEY), position)
    return reader.section("buffer", empty_table(position) if table is None else table, inner, default)


def _read_reward_signals(entry: Table, path: KeyPath, position: Position, reader: SectionReader) -> dict[str, Section]:
    """The signals that are given; a section that is there replaces the default, the environment's own reward."""
    path = (*path, "reward_signals")
    expected = "a section with one entry a reward signal"
    table = reader.table(entry, "reward_signals", path[:-1], expected)
    before = len(reader.mistakes)
    position = entry.keys.get("reward_signals", position)
    if table is None:
        table = empty_table(position).with_value(DEFAULT_SIGNAL, empty_table(position), position)
    signals = reader.named_sections("reward-signal", table, path)
    if not signals and len(reader.mistakes) == before:
        reader.refuse(position, path, f"found none, expected at least one; without this key it is `{DEFAULT_SIGNAL}`")
    return signals


def _read_encoders(entry: Table, path: KeyPath, reader: SectionReader) -> dict[str, Section]:
    """The encoders that are chosen, by the name of their observation."""
    network = entry.values.get("network")
    path = (*path, "network")
    if not isinstance(network, Table):
        return {}
    table = reader.table(network, "encoders", path, "a section with one entry an observation")
    if table is None:
        return {}
    sections = {}
    for name, node in table.values.items():
        chosen = reader.table(table, name, (*path, "encoders"), "a section, such as {type: nature_cnn}")
        if chosen is None or is_removed(node):
            continue
        section = reader.section("encoder", chosen, Place((*path, "encoders", name), table.keys[name]))
        if section is not None:
            sections[name] = section
    return sections


def _read_stats(root: Table, reader: SectionReader) -> dict[str, Section]:
    """The writers that are given, or those that are on by default; and the one that always is."""
    table = reader.table(root, "stats", (), "a section with one entry a writer")
    position = root.keys.get("stats", root.position)
    if table is None:
        table = empty_table(position)
        for component in reader.registry.components("stats-writer"):
            if isinstance(component.spec, StatsWriterSpec) and component.spec.default:
                table = table.with_value(component.name, empty_table(position), position)
    writers = reader.named_sections("stats-writer", table, ("stats",))
    if ALWAYS_WRITTEN not in writers and not any(mistake.path[:1] == ("stats",) for mistake in reader.mistakes):
        always = reader.section("stats-writer", empty_table(position), Place(("stats",), position), ALWAYS_WRITTEN)
        if always is not None:
            writers[ALWAYS_WRITTEN] = always
    return writers


def _require_environment(root: Table, behaviors: Mapping[str, BehaviorSection], reader: SectionReader) -> None:
    """Only offline trainers do without an environment."""
    for name, section in behaviors.items():
        spec = section.trainer.component.spec
        if isinstance(spec, TrainerSpec) and spec.offline:
            continue
        component = section.trainer.component
        reader.refuse(
            root.keys.get("environment", root.position),
            ("environment",),
            f"missing; the {component.full_title}, which behavior '{name}' uses, needs one: "
            f"a section with {reader.choices('environment')}; or use --env TYPE:ID",
        )
        return
