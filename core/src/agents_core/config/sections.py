"""Validates sections: core's own keys with core's models, the rest with the model of the component that they name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agents_core.config.coercion import fields_by_key, read_model
from agents_core.config.document import Position, Scalar, Table, is_removed, nearest_position
from agents_core.config.errors import KeyPath, Mistake
from agents_core.config.experiment import Section
from agents_core.config.messages import Place, found, translate
from agents_core.errors import UserError
from agents_core.options import ConfigModel
from agents_core.plugin import Kind
from agents_core.registry import Component, Registry
from agents_core.registry.names import words

ModelT = TypeVar("ModelT", bound=ConfigModel)


class SectionReader:
    """Turns parts of a tree into validated sections and collects every mistake on the way."""

    def __init__(self, registry: Registry, directory: Path, mistakes: list[Mistake]) -> None:
        self.registry = registry
        self.directory = directory
        self.mistakes = mistakes
        self.missing_files: dict[Path, Mistake] = {}
        self.cause: BaseException | None = None
        """The exception that broke the first plugin which the experiment needs and cannot have."""

    def refuse(self, position: Position, path: KeyPath, message: str) -> None:
        """Note a mistake."""
        self.mistakes.append(Mistake(position, path, message))

    def table(self, parent: Table, key: str, path: KeyPath, expected: str) -> Table | None:
        """The section under a key; None if it is absent or, which is a mistake, something else than a section."""
        node = parent.values.get(key)
        if node is None or is_removed(node) or isinstance(node, Table):
            return node if isinstance(node, Table) else None
        self.refuse(node.position, (*path, key), f"found {found(node)}, expected {expected}")
        return None

    def model(self, model: type[ModelT], table: Table, place: Place) -> ModelT | None:
        """The validated values of a section, or None if it has mistakes."""
        try:
            return model.model_validate(read_model(table, model), context={"directory": self.directory})
        except ValidationError as error:
            self.mistakes += translate(error, model, table, place)
            return None

    def component(
        self, kind: Kind, table: Table, place: Place, name: str | None = None
    ) -> tuple[str, Component] | None:
        """The component that a section names by `type`, or by its own key `name`; None, with a mistake, for none."""
        node = table.values.get("type")
        path = (*place.path, "type")
        if node is None or is_removed(node):
            if name is not None:
                return self.find(kind, name, place.position, place.path)
            self.refuse(place.position, path, f"missing; expected {self.choices(kind)}")
            return None
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self.refuse(node.position, path, f"found {found(node)}, expected {self.choices(kind)}")
            return None
        return self.find(kind, node.value, node.position, path)

    def find(self, kind: Kind, name: str, position: Position, path: KeyPath) -> tuple[str, Component] | None:
        """The component of this name; None, with a mistake, if there is none that works."""
        try:
            return name, self.registry.find(kind, name)
        except UserError as error:
            self.refuse(position, path, str(error))
            self.cause = self.cause or error.__cause__
            return None

    def choices(self, kind: Kind) -> str:
        """The names that a `type` may have, in words."""
        names = sorted({component.name for component in self.registry.components(kind)})
        article = "an" if kind[0] in "aeiou" else "a"
        return f"the name of {article} {words(kind)}; installed: {', '.join(names) or 'none'}"

    def known_keys(self, kind: Kind, table: Table) -> tuple[str, ...]:
        """The options of the component that a section names; none if there is no such."""
        node = table.values.get("type")
        try:
            component = self.registry.find(kind, str(node.value)) if isinstance(node, Scalar) else None
            return () if component is None else tuple(fields_by_key(component.load_config()))
        except UserError:
            return ()

    def options(self, component: Component, table: Table, place: Place) -> ConfigModel | None:
        """A component's options, validated with its own model and nothing else's."""
        try:
            model = component.load_config()
        except UserError as error:
            self.refuse(place.position, place.path, str(error))
            self.cause = self.cause or error.__cause__
            return None
        owned = replace(place, owner=component.full_title)
        config = self.model(model, table, owned)
        if config is not None:
            self._note_missing_files(config, table, owned)
        return config

    def section(self, kind: Kind, table: Table, place: Place, name: str | None = None) -> Section | None:
        """A section that holds nothing but `type` and the options of its component."""
        named = self.component(kind, table, place, name)
        if named is None:
            return None
        type_, component = named
        config = self.options(component, table.without("type"), replace(place, other_keys=("type",)))
        return None if config is None else Section(type_, component, config)

    def named_sections(self, kind: Kind, table: Table, path: KeyPath) -> dict[str, Section]:
        """Sections under their own names: `{curiosity: {strength: 0.02}}`; a name may be qualified."""
        sections: dict[str, Section] = {}
        for key, node in table.values.items():
            if is_removed(node):
                continue
            here = (*path, key)
            if not isinstance(node, Table):
                hint = "; {} stands for its defaults" if isinstance(node, Scalar) and node.value is None else ""
                self.refuse(table.keys[key], here, f"found {found(node)}, expected a section{hint}")
                continue
            section = self.section(kind, node, Place(here, table.keys[key]), key)
            name = key.rpartition(":")[2]
            if name in sections:
                self.refuse(table.keys[key], here, f"there are two sections for '{name}'")
            elif section is not None:
                sections[name] = section
        return sections

    def _note_missing_files(self, config: ConfigModel, table: Table, place: Place) -> None:
        from agents_core.config.data_files import data_files

        for keys, file in data_files(config):
            if not file.exists():
                position = nearest_position(table, keys, place.position)
                message = f"no such file or folder: {file} ({place.owner})"
                self.missing_files.setdefault(file, Mistake(position, (*place.path, *keys), message))
