"""The pages that the site makes from the code say everything that authors need, and the hints know every plugin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import directory
import hooks
import pytest
import source
from agents_core.registry import hookspecs
from agents_core.registry.names import FIRST_PARTY
from agents_core.registry.table import ALL_KINDS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return hooks.generated_pages()


def test_every_hook_has_its_place(pages: Mapping[str, str]) -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("agents_")]
    assert len(hooks) >= 15
    reference = "\n".join(text for name, text in pages.items() if name.startswith("reference/"))
    assert [name for name in hooks if f"## {name}\n" not in reference] == []
    assert {f"reference/{kind}.md" for kind in ALL_KINDS} <= set(pages)


def test_contract_is_shown_with_signatures_shapes_and_checks(pages: Mapping[str, str]) -> None:
    page = pages["reference/reward-signal.md"]
    assert "def evaluate(self, batch: Batch) -> torch.Tensor" in page
    assert "Reward of each transition, float32[n]" in page
    assert "| `device` | `torch.device` | Where batches are and networks go. |" in page
    assert "| rewards are float32 one a row on the device |" in page
    assert "- `novelty` of agents-reward-novelty (`examples/third_party_reward`):" in page
    assert "continuous: npt.NDArray" not in page, "that is another contract's"


def test_kinds_with_a_conformance_class_show_its_checks(pages: Mapping[str, str]) -> None:
    for kind in ("trainer", "reward-signal", "buffer", "stats-writer", "environment", "encoder"):
        assert "## What the kit checks" in pages[f"reference/{kind}.md"]


def test_options_of_core_have_bounds_and_meaning(pages: Mapping[str, str]) -> None:
    row = "| `num_layers` | integer | 2 | >= 1, <= 16 | Hidden layers. |"
    assert row in pages["reference/options.md"]


def test_every_plugin_of_the_repository_is_listed_with_its_readme(pages: Mapping[str, str]) -> None:
    for folder in directory.projects(ROOT):
        page = directory.page_name(folder.relative_to(ROOT).as_posix())
        assert f"]({page})" in pages["plugins/index.md"] or not list(directory.offers_of(folder, ROOT))
        assert pages[f"plugins/{page}"].startswith("# agents-")


def test_hints_know_every_component_of_the_repository() -> None:
    """A run that misses one says which distribution to install."""
    own = [offer for offer in directory.offers(ROOT) if offer.folder.startswith("plugins/")]
    assert own
    unknown = [offer for offer in own if FIRST_PARTY.get((offer.kind, offer.component)) != offer.distribution]
    assert unknown == []


def test_source_becomes_markdown(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '''
class Thing(Base):
    """A thing.

    Attributes:
        size: How | large,
            in rows.
    """

    size: int | None = None
    limit: float = 1.0
    """Never more."""

    @abstractmethod
    def act(self, rows: list[int], *, name: str = "x") -> int:
        """Do it.

        Args:
            rows: Which.

        Returns:
            How many.
        """

    def _hidden(self) -> None: ...
''',
        encoding="utf-8",
    )
    text = source.Module(file).document("Thing")
    assert "class Thing(Base)" in text
    assert "| `size` | `int | None = None` | How \\| large, in rows. |" in text
    assert "### limit\n\n`limit: float = 1.0`\n\nNever more." in text
    assert "def act(self, rows: list[int], *, name: str = 'x') -> int" in text
    assert "*To be implemented.*" in text
    assert "| `rows` | Which. |" in text
    assert "**Returns:** How many." in text
    assert "_hidden" not in text
