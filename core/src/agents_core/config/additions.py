"""`--plugin NAME` and `--env TYPE[:ID]`: components that the command line adds to an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from agents_core.config.document import Node, Position, Scalar, Table, empty_table, is_removed
from agents_core.config.errors import ConfigError, Mistake
from agents_core.config.merging import EVERY, merge
from agents_core.errors import UserError
from agents_core.plugin import EnvironmentSpec, TrainerSpec
from agents_core.registry import Component, Registry

DEFAULT_SIGNAL = "extrinsic"


def find_plugins(names: Sequence[str], registry: Registry, mistakes: list[Mistake]) -> dict[str, Component]:
    """The trainer or reward signal that each `--plugin NAME` means; names that mean nothing are mistakes."""
    found: dict[str, Component] = {}
    for name in names:
        try:
            found[name] = _find_plugin(name, registry)
        except UserError as error:
            mistakes.append(Mistake(Position(f"--plugin {name}"), (), str(error)))
    trainers = [name for name, component in found.items() if component.kind == "trainer"]
    if len({found[name].qualified_name for name in trainers}) > 1:
        message = f"names a second trainer beside '{trainers[0]}'; a behavior has one"
        mistakes.append(Mistake(Position(f"--plugin {trainers[-1]}"), (), message))
        return {name: component for name, component in found.items() if name not in trainers[1:]}
    return found


def _find_plugin(name: str, registry: Registry) -> Component:
    others = [component for component in registry.components() if component.name == name]
    kinds = {component.kind for component in others}
    if kinds and kinds.isdisjoint(("trainer", "reward-signal")):
        way = f"; write --env {name}:ID" if kinds == {"environment"} else ""
        raise UserError(f"'{name}' is {others[0].title}, and --plugin takes trainers and reward signals{way}")
    components = registry.find_any(name, ("trainer", "reward-signal"))
    if len(components) > 1:
        titles = " and ".join(f"the {component.title}" for component in components)
        raise UserError(f"'{name}' offers {titles}; name one of them")
    return components[0]


def read_quickstart(plugins: dict[str, Component]) -> tuple[str, Path, str]:
    """The experiment that the trainer among `--plugin` ships: its text, the folder it lies in and its name.

    Raises:
        ConfigError: No trainer is named, or it ships none.
    """
    trainers = [component for component in plugins.values() if component.kind == "trainer"]
    if not trainers:
        raise _nothing_to_run(plugins)
    component = trainers[0]
    spec = component.spec
    if not isinstance(spec, TrainerSpec) or spec.quickstart is None:
        message = f"{component.full_title} ships no quickstart; give a CONFIG or --env TYPE:ID"
        raise ConfigError([Mistake(Position(f"--plugin {component.name}"), (), message)])
    package, _, name = spec.quickstart.partition(":")
    try:
        file = resources.files(package).joinpath(name)
        text = file.read_text(encoding="utf-8")
    except (ImportError, OSError, UnicodeDecodeError) as error:
        message = f"the quickstart {spec.quickstart} of {component.origin.label} cannot be read: {error}"
        raise ConfigError([Mistake(Position(f"--plugin {component.name}"), (), message)]) from error
    return text, Path(str(file)).parent, str(file)


def _nothing_to_run(plugins: dict[str, Component]) -> ConfigError:
    if plugins:
        name, component = next(iter(plugins.items()))
        message = f"the {component.title} alone trains nothing; give a CONFIG, or add --plugin with a trainer"
        return ConfigError([Mistake(Position(f"--plugin {name}"), (), message)])
    message = "there is nothing to run; give a CONFIG, --plugin with a trainer, or both --plugin and --env TYPE:ID"
    return ConfigError([Mistake(Position("agents"), (), message)])


def add_plugins(root: Table, plugins: dict[str, Component], registry: Registry, mistakes: list[Mistake]) -> Table:
    """Every behavior with these components at their defaults; what it has already stays as it is.

    A trainer other than the one that a behavior names is a mistake.
    """
    for name, component in plugins.items():
        position = Position(f"--plugin {name}")
        behaviors = root.values.get("behaviors", empty_table(position))
        if not isinstance(behaviors, Table):
            return root
        entries = behaviors.values or {EVERY: empty_table(position)}
        add = _with_trainer if component.kind == "trainer" else _with_signal
        for behavior, entry in entries.items():
            if isinstance(entry, Table):
                added = add(entry, component, registry, position, behavior, mistakes)
                behaviors = behaviors.with_value(behavior, added, behaviors.keys.get(behavior, position))
        root = root.with_value("behaviors", behaviors, root.keys.get("behaviors", position))
    return root


def _present(table: Table, key: str) -> Node | None:
    node = table.values.get(key)
    return None if node is None or is_removed(node) else node


def _with_trainer(
    entry: Table, component: Component, registry: Registry, position: Position, behavior: str, mistakes: list[Mistake]
) -> Table:
    trainer = _present(entry, "trainer") or empty_table(position)
    if not isinstance(trainer, Table):
        return entry
    type_ = _present(trainer, "type")
    if type_ is None:
        trainer = trainer.with_value("type", _text(_name(component, registry), position), position)
        return entry.with_value("trainer", trainer, entry.keys.get("trainer", position))
    if isinstance(type_, Scalar) and not _means(str(type_.value), component, registry):
        message = (
            f"the trainer of this behavior is '{type_.value}' ({type_.position}); --plugin only adds to a config: "
            f"leave it away, or use --set behaviors.*.trainer.type={component.name}"
        )
        mistakes.append(Mistake(position, ("behaviors", behavior, "trainer", "type"), message))
    return entry


def _with_signal(
    entry: Table, component: Component, registry: Registry, position: Position, _behavior: str, _: list[Mistake]
) -> Table:
    signals = _present(entry, "reward_signals")
    if signals is None:
        signals = empty_table(position).with_value(DEFAULT_SIGNAL, empty_table(position), position)
    if not isinstance(signals, Table) or _present(signals, component.name) is not None:
        return entry
    name = _name(component, registry)
    section = empty_table(position)
    if name != component.name:
        section = section.with_value("type", _text(name, position), position)
    signals = signals.with_value(component.name, section, position)
    return entry.with_value("reward_signals", signals, entry.keys.get("reward_signals", position))


def _text(text: str, position: Position) -> Scalar:
    return Scalar(position, text, text)


def _name(component: Component, registry: Registry) -> str:
    """What to call a component in an experiment: its plain name, unless that means another or several."""
    return component.name if _means(component.name, component, registry) else component.qualified_name


def _means(name: str, component: Component, registry: Registry) -> bool:
    try:
        return registry.find(component.kind, name) == component
    except UserError:
        return False


def add_environment(root: Table, text: str, registry: Registry, mistakes: list[Mistake]) -> Table:
    """The experiment with the environment of `--env TYPE[:ID]`; the rest of a section of the same type stays.

    A type that is not there, or takes no ID, is a mistake.
    """
    position = Position(f"--env {text}")
    type_, id_ = _split(text, registry)
    section = empty_table(position).with_value("type", _text(type_, position), position)
    try:
        component = registry.find("environment", type_)
    except UserError as error:
        mistakes.append(Mistake(position, ("environment", "type"), str(error) + _example(text, registry)))
        return root
    if id_:
        field = component.spec.id_field if isinstance(component.spec, EnvironmentSpec) else None
        if field is None:
            message = f"the {component.full_title} takes no ID; use --set environment.KEY=VALUE"
            mistakes.append(Mistake(position, ("environment",), message))
        else:
            section = section.with_value(field, _text(id_, position), position)
    merged = merge(root, empty_table(position).with_value("environment", section, position))
    assert isinstance(merged, Table)
    return merged


def _split(text: str, registry: Registry) -> tuple[str, str]:
    """TYPE and ID; TYPE may be a qualified name, and ID may hold colons."""
    first, _, rest = text.partition(":")
    second, _, id_ = rest.partition(":")
    for component in registry.components("environment"):
        if component.name == first:
            return first, rest
    for component in registry.components("environment"):
        if component.name == second and component.origin.is_called(first):
            return f"{first}:{second}", id_
    return first, rest


def _example(text: str, registry: Registry) -> str:
    types = [component.name for component in registry.components("environment")]
    return f" Write --env TYPE:ID, such as {types[0]}:{text}" if types and ":" not in text else ""
