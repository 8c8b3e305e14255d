"""`agents config init`: an experiment that runs as it is, with every option, its meaning and its range."""

from __future__ import annotations

from agents_core.config.additions import find_plugins
from agents_core.config.allowed import at_path, in_words
from agents_core.config.errors import ConfigError, Mistake
from agents_core.config.experiment import Experiment, Section
from agents_core.config.json_schema import compose
from agents_core.config.loading import load_experiment
from agents_core.config.writer import to_yaml
from agents_core.errors import UserError
from agents_core.plugin import EnvironmentSpec, Kind, TrainerSpec
from agents_core.registry import Component, Registry

SCHEMA_FILE = "agents.schema.json"
PREFERRED_TRAINER = "ppo"
_CHOICES: tuple[tuple[str, Kind], ...] = (
    ("environment", "environment"),
    ("trainer", "trainer"),
    ("reward_signals", "reward-signal"),
    ("stats", "stats-writer"),
)


def write_template(trainer: str | None, registry: Registry) -> str:
    """A commented experiment for a trainer: its quickstart if it ships one, every default written out.

    Args:
        trainer: Name of a trainer; None: the preferred one, or else the first that is installed.

    Raises:
        UserError: There is no such trainer, or no environment to write.
    """
    component = _find_trainer(trainer, registry)
    experiment = _example(component, registry)
    used = [section.component for section in _sections(experiment)]
    schema = compose(dict.fromkeys(used))

    def comment(path: tuple[str, ...], value: object) -> str:
        inside = at_path(schema, schema, path) or {}
        description = str(inside.get("description", "")).rstrip(".")
        if path[-1] == "type" or isinstance(value, dict):
            return description
        return f"{description} ({in_words(inside, schema)})"

    return "\n".join([*_head(component, registry), to_yaml(experiment.to_dict(), comment)])


def _find_trainer(name: str | None, registry: Registry) -> Component:
    if name is None:
        trainers = registry.components("trainer")
        if not trainers:
            raise UserError("no trainer is installed. Install one with: pip install agents-ppo")
        return next((trainer for trainer in trainers if trainer.name == PREFERRED_TRAINER), trainers[0])
    mistakes: list[Mistake] = []
    found = find_plugins([name], registry, mistakes)
    if mistakes:
        raise UserError("\n".join(mistake.message for mistake in mistakes))
    if found[name].kind != "trainer":
        raise UserError(f"'{name}' is the {found[name].title}; an experiment is made for a trainer")
    return found[name]


def _example(trainer: Component, registry: Registry) -> Experiment:
    if isinstance(trainer.spec, TrainerSpec) and trainer.spec.quickstart is not None:
        return load_experiment(None, registry, plugins=[trainer.qualified_name])
    behaviors = {"*": {"trainer": {"type": trainer.name}}}
    if isinstance(trainer.spec, TrainerSpec) and trainer.spec.offline:
        return load_experiment({"behaviors": behaviors}, registry)
    return load_experiment({"environment": _example_environment(registry), "behaviors": behaviors}, registry)


def _example_environment(registry: Registry) -> dict[str, object]:
    """The environment that some trainer's quickstart uses, else any with a placeholder for its id."""
    for other in registry.components("trainer"):
        if isinstance(other.spec, TrainerSpec) and other.spec.quickstart is not None:
            try:
                example = load_experiment(None, registry, plugins=[other.qualified_name])
            except ConfigError:
                continue
            environment: dict[str, object] = example.to_dict()["environment"]
            return environment
    for component in registry.components("environment"):
        spec = component.spec
        field = {spec.id_field: "ID"} if isinstance(spec, EnvironmentSpec) and spec.id_field else {}
        return {"type": component.name, **field}
    raise UserError("no environment is installed. Install one with: pip install agents-env-gymnasium")


def _sections(experiment: Experiment) -> list[Section]:
    sections: list[Section] = list(experiment.stats.values())
    if experiment.environment is not None:
        sections += [experiment.environment, experiment.environment.workers]
    for behavior in experiment.behaviors.values():
        sections += [behavior.trainer, *behavior.reward_signals.values(), *behavior.encoders.values()]
        if behavior.buffer is not None:
            sections.append(behavior.buffer)
    return sections


def _head(trainer: Component, registry: Registry) -> list[str]:
    return [
        f"# yaml-language-server: $schema={SCHEMA_FILE}",
        f"# An experiment for the {trainer.full_title}: every option and its range.",
        "# An option that is left out has its general default. Installed for each section:",
        *(f"#   {key}: {_installed(kind, registry)}" for key, kind in _CHOICES),
        f"# The schema that editors check this file with: agents config schema > {SCHEMA_FILE}",
    ]


def _installed(kind: Kind, registry: Registry) -> str:
    return ", ".join(sorted({component.name for component in registry.components(kind)}))
