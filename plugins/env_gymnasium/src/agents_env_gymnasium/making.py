"""Makes the environments that the config names; whatever goes wrong here is told in terms of the config."""

from __future__ import annotations

import copy
import difflib
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
from agents_core.errors import AgentsError, EnvironmentFailedError, UserError
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import VectorEnv

from agents_env_gymnasium.config import GymnasiumConfig, WrapperConfig
from agents_env_gymnasium.targets import import_module, load

Env = gymnasium.Env[Any, Any]
Vector = VectorEnv[Any, Any, Any]

FEWEST_IN_OWN_VECTOR = 16
"""From here on CartPole's own vectorised version beats single environments, in which no agent ever misses a step."""

_EXTRAS = {
    "box2d": "box2d",
    "classic_control": "classic-control",
    "mujoco": "mujoco",
    "phys2d": "jax",
    "tabular": "toy-text",
    "toy_text": "toy-text",
}
"""Extra of gymnasium that brings what the environments of a package `gymnasium.envs.<key>` need."""


class Maker:
    """Makes environments of one config.

    Attributes:
        step_limit: Steps after which the caller truncates an episode; None = the environments do it themselves.
    """

    step_limit: int | None = None

    def __init__(self, config: GymnasiumConfig, directory: Path) -> None:
        self._config = config
        self._directory = directory
        for target in config.imports:
            self._run_import(target)
        self._spec = None if config.id is None else self._find_spec(config.id)
        self._entry_point = None if config.entry_point is None else self._callable(config.entry_point)
        self._wrappers = [self._wrapper(wrapper) for wrapper in config.wrappers]

    def prefers_vector(self, count: int) -> bool:
        """Whether `vectorization: auto` takes the environment's own vectorised version."""
        if self._spec is not None and self._spec.entry_point is None:
            return True
        return self._has_own_vector() and count >= FEWEST_IN_OWN_VECTOR and not self._wrappers

    def _has_own_vector(self) -> bool:
        if self._spec is not None:
            return self._spec.vector_entry_point is not None and not self._spec.additional_wrappers
        return inspect.isclass(self._entry_point) and issubclass(self._entry_point, VectorEnv)

    def make(self, count: int) -> list[Env]:
        """`count` single environments, with their wrappers."""
        create = self._single_creator()
        return [self._create(create, quiet=number > 0) for number in range(count)]

    def make_vector(self, count: int) -> Vector:
        """The environment's own vectorised version with `count` instances."""
        config = self._config
        kwargs = dict(config.kwargs)
        if config.max_episode_steps is not None:
            kwargs["max_episode_steps"] = config.max_episode_steps
        if self._spec is not None:
            if not self._has_own_vector():
                raise UserError(
                    f"environment.vectorization: '{config.name}' has no vector entry point of its own; "
                    "`own` is for environments that bring one, `sync` works for all"
                )
            spec = self._spec
            made = self._guard(
                lambda: gymnasium.make_vec(spec, count, vectorization_mode="vector_entry_point", **kwargs)
            )
        else:
            made = self._guard(lambda: self._call_entry_point(num_envs=count, **kwargs))
        if not isinstance(made, VectorEnv):
            raise UserError(
                f"environment.entry_point: '{config.name}' returned a {type(made).__name__}, but `vectorization: own` "
                "needs a gymnasium.vector.VectorEnv; set `vectorization: sync` for single environments"
            )
        return made

    def _single_creator(self) -> Callable[[], Env]:
        """What makes one environment before the config's wrappers."""
        limit = self._config.max_episode_steps
        kwargs = self._config.kwargs
        if self._spec is None:
            if not self._wrappers:
                self.step_limit = limit
                return lambda: self._call_entry_point(**kwargs)
            return lambda: _limited(self._call_entry_point(**kwargs), limit)
        spec = copy.deepcopy(self._spec)
        spec.order_enforce = False
        if limit is not None:
            spec.max_episode_steps = limit
        if not self._wrappers and not spec.additional_wrappers:
            # No wrapper looks at the end of the episode, so that the caller may count steps in its columns instead.
            self.step_limit, spec.max_episode_steps = spec.max_episode_steps, None

        def make() -> Env:
            if isinstance(spec.entry_point, str):
                load_env_creator(spec.entry_point)
            _show_mujoco_warnings_once()
            return gymnasium.make(spec, disable_env_checker=True, **kwargs)

        return make

    def _create(self, create: Callable[[], Env], quiet: bool) -> Env:
        """One environment with its wrappers; `quiet` hides warnings that the first one has shown already."""
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore")
            env = self._guard(create)
            if isinstance(env, VectorEnv):
                raise UserError(
                    f"environment.entry_point: '{self._config.name}' returned a vector environment; "
                    "set `environment.vectorization: own`"
                )
            if not isinstance(env, gymnasium.Env):
                raise UserError(
                    f"environment.entry_point: '{self._config.name}' returned a {type(env).__name__}, "
                    "but a gymnasium.Env is needed"
                )
            for name, wrap, kwargs in self._wrappers:
                try:
                    env = wrap(env, **kwargs)
                except Exception as error:
                    raise UserError(
                        f"environment.wrappers: {name} could not be put around the environment with arguments "
                        f"{kwargs}: {type(error).__name__}: {error}"
                    ) from error
        return env

    def _call_entry_point(self, **kwargs: Any) -> Any:
        assert self._entry_point is not None
        return self._entry_point(**kwargs)

    def _guard(self, create: Callable[[], Any]) -> Any:
        """Call the constructor and say what a failure means."""
        name = self._config.name
        try:
            return create()
        except AgentsError:
            raise
        except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
            raise UserError(
                f"environment: '{name}' needs a package that is not there: {error}{self._install(error)}"
            ) from error
        except TypeError as error:
            raise UserError(
                f"environment.kwargs: '{name}' could not be made with {self._config.kwargs}: {error}"
            ) from error
        except gymnasium.error.Error as error:
            raise UserError(f"environment: '{name}' could not be made: {error}") from error
        except Exception as error:
            raise EnvironmentFailedError(
                f"environment '{name}' failed while it was made: {type(error).__name__}: {error}"
            ) from error

    def _install(self, error: Exception) -> str:
        """The install line, where the message has none and it is known."""
        if "pip install" in str(error):
            return ""
        entry_point = None if self._spec is None else self._spec.entry_point
        if isinstance(entry_point, str) and entry_point.startswith("gymnasium.envs."):
            extra = _EXTRAS.get(entry_point.split(".")[2])
            if extra is not None:
                return f'; install it with: pip install "gymnasium[{extra}]"'
        return "; install the package that holds it"

    def _run_import(self, target: str) -> None:
        module, _, function = target.partition(":")
        if not function:
            import_module(module, self._directory, "environment.imports")
            return
        call = load(target, self._directory, "environment.imports")
        if not callable(call):
            raise UserError(f"environment.imports: '{target}' is no function but a {type(call).__name__}")
        try:
            call()
        except Exception as error:
            raise UserError(f"environment.imports: '{target}' raised {type(error).__name__}: {error}") from error

    def _callable(self, target: str) -> Callable[..., Any]:
        found = load(target, self._directory, "environment.entry_point")
        if not callable(found):
            raise UserError(f"environment.entry_point: '{target}' cannot be called; it is a {type(found).__name__}")
        return found

    def _wrapper(self, wrapper: str | WrapperConfig) -> tuple[str, Callable[..., Env], dict[str, Any]]:
        """(name, class, keyword arguments) of one entry of `wrappers`."""
        name, kwargs = (wrapper, {}) if isinstance(wrapper, str) else (wrapper.type, wrapper.kwargs)
        if ":" in name:
            found = load(name, self._directory, "environment.wrappers")
        elif name not in gymnasium.wrappers.__all__:
            nearest = difflib.get_close_matches(name, gymnasium.wrappers.__all__, n=3)
            hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
            raise UserError(
                f"environment.wrappers: gymnasium.wrappers has no '{name}'{hint}; "
                "a wrapper from elsewhere is named `module:Class`"
            )
        else:
            found = getattr(gymnasium.wrappers, name)
        if not callable(found):
            raise UserError(f"environment.wrappers: '{name}' cannot be called; it is a {type(found).__name__}")
        return name, found, kwargs

    def _find_spec(self, identifier: str) -> EnvSpec:
        module, _, name = identifier.rpartition(":")
        if module:
            import_module(module, self._directory, "environment.id")
        try:
            return gymnasium.spec(name)
        except gymnasium.error.Error as error:
            raise UserError(_unknown_id(name)) from error


def _limited(env: Any, limit: int | None) -> Any:
    if limit is None or not isinstance(env, gymnasium.Env):
        return env
    return gymnasium.wrappers.TimeLimit(env, limit)


def _show_mujoco_warnings_once() -> None:
    """Turn what MuJoCo prints for every model, and writes to MUJOCO_LOG.TXT where one stands, into Python warnings."""
    mujoco: Any = sys.modules.get("mujoco")
    if mujoco is not None and hasattr(mujoco, "set_mju_user_warning"):
        mujoco.set_mju_user_warning(warnings.warn)


def _unknown_id(name: str) -> str:
    """What to say of an id that nobody registered."""
    known = {registered.lower(): registered for registered in gymnasium.registry}
    nearest = [known[match] for match in difflib.get_close_matches(name.lower(), known, n=3)]
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    return (
        f"environment.id: no environment '{name}' is registered{hint}. If another package registers it, install that "
        "package and name its module: `id: module:Id-v0`, or `imports: [module]`"
    )
