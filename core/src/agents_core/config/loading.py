"""From a file, a mapping or the command line to a validated experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents_core.config.additions import add_environment, add_plugins, find_plugins, read_quickstart
from agents_core.config.composition import read_experiment
from agents_core.config.document import Items, Node, Position, Scalar, Table, empty_table, from_python
from agents_core.config.errors import ConfigError, Mistake
from agents_core.config.experiment import Experiment
from agents_core.config.merging import expand, shorten_names
from agents_core.config.messages import found
from agents_core.config.overrides import apply, parse_all
from agents_core.config.reader import read_file, read_text
from agents_core.config.sections import SectionReader
from agents_core.errors import UserError
from agents_core.registry import Registry


@dataclass(frozen=True, slots=True)
class Resolved:
    """An experiment with the tree that it was read from, which knows where each value was written."""

    experiment: Experiment
    tree: Table


def load_experiment(
    source: Path | Mapping[str, object] | None,
    registry: Registry,
    *,
    plugins: Sequence[str] = (),
    environment: str | None = None,
    overrides: Sequence[str] = (),
    directory: Path | None = None,
) -> Experiment:
    """Load and check an experiment.

    Args:
        source: A file, its content, or None: the quickstart of the trainer among `plugins`, or with `environment`
            nothing but defaults.
        plugins: Names as of `--plugin`: trainers and reward signals to add with their defaults.
        environment: As of `--env`: `TYPE` or `TYPE:ID`.
        overrides: As of `--set`: `a.b.c=VALUE`.
        directory: Where relative paths start; by default the folder of the file, or the working directory.

    Raises:
        ConfigError: With every mistake, each at its line and column.
    """
    return resolve(
        source, registry, plugins=plugins, environment=environment, overrides=overrides, directory=directory
    ).experiment


def resolve(
    source: Path | Mapping[str, object] | None,
    registry: Registry,
    *,
    plugins: Sequence[str] = (),
    environment: str | None = None,
    overrides: Sequence[str] = (),
    directory: Path | None = None,
) -> Resolved:
    """As `load_experiment`, together with where each value was written."""
    mistakes: list[Mistake] = []
    changes = parse_all(overrides, mistakes)
    if source is None and environment is None:
        root, folder = _read_quickstart(plugins, registry)
    else:
        root, folder = _read_source(source)
    early = [change for change in changes if change.path[0] in ("directory", "plugins", "requires")]
    for change in early:
        root = apply(root, change)
    folder = (directory or _stated_directory(root, folder)).absolute()
    _load_local_plugins(root, registry, folder)
    root = expand(shorten_names(root))
    root = add_plugins(root, find_plugins(plugins, registry, mistakes), registry, mistakes)
    if environment is not None:
        root = add_environment(root, environment, registry, mistakes)
    for change in changes:
        if change not in early:
            root = apply(root, change)
    reader = SectionReader(registry, folder, mistakes)
    experiment = read_experiment(root, reader)
    if mistakes or experiment is None:
        raise ConfigError(mistakes) from reader.cause
    return Resolved(experiment, root)


def _read_quickstart(plugins: Sequence[str], registry: Registry) -> tuple[Table, Path]:
    mistakes: list[Mistake] = []
    found_plugins = find_plugins(plugins, registry, mistakes)
    if mistakes:
        raise ConfigError(mistakes)
    text, folder, name = read_quickstart(found_plugins)
    return _top(read_text(text, name)), folder


def _read_source(source: Path | Mapping[str, object] | None) -> tuple[Table, Path]:
    """The tree of a file, a mapping or nothing, and the folder that its relative paths start from."""
    if source is None:
        return empty_table(Position("command line")), Path.cwd()
    if isinstance(source, Mapping):
        position = Position("experiment")
        try:
            return _top(from_python(source, position)), Path.cwd()
        except TypeError as error:
            raise ConfigError([Mistake(position, (), str(error))]) from None
    return _top(read_file(source)), source.parent


def _top(node: Node) -> Table:
    if isinstance(node, Table):
        return node
    if isinstance(node, Scalar) and node.value is None:
        message = "the file is empty; an experiment has at least `environment` and `behaviors`"
    else:
        message = f"found {found(node)} at the top; an experiment is a mapping with `environment` and `behaviors`"
    raise ConfigError([Mistake(node.position, (), message)])


def _stated_directory(root: Table, folder: Path) -> Path:
    """`directory:` of the file where it has one, else its folder."""
    node = root.values.get("directory")
    return folder / str(node.value) if isinstance(node, Scalar) and node.value is not None else folder


def _load_local_plugins(root: Table, registry: Registry, folder: Path) -> None:
    """Check `requires:`, then load `plugins:`, since everything else may name what they bring.

    Raises:
        ConfigError: One of them cannot be had; what follows from that is not reported.
    """
    _for_each(_texts(root, "requires"), lambda line: registry.check_requirements([line]))
    _for_each(_texts(root, "plugins"), lambda target: registry.add_local(target, folder))


def _for_each(texts: Sequence[Scalar], action: Callable[[str], None]) -> None:
    mistakes = []
    cause: BaseException | None = None
    for scalar in texts:
        try:
            action(str(scalar.value))
        except UserError as error:
            mistakes.append(Mistake(scalar.position, (), str(error)))
            cause = cause or error.__cause__
    if mistakes:
        raise ConfigError(mistakes) from cause


def _texts(root: Table, key: str) -> list[Scalar]:
    """The texts in a list; anything else is refused later, with the rest of the file."""
    node = root.values.get(key)
    nodes = node.nodes if isinstance(node, Items) else ()
    return [item for item in nodes if isinstance(item, Scalar) and isinstance(item.value, str)]
