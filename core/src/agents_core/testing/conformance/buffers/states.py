"""A buffer that is saved and goes on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from agents_core.columns import Columns
from agents_core.contracts.buffer import Buffer
from agents_core.testing.conformance.buffers.harness import CAPACITY, BufferChecks
from agents_core.testing.conformance.buffers.stream import Stream
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.states import difference, through_checkpoint
from agents_core.training.state_files import UnsavableStateError


class StateChecks(BufferChecks):
    """Checks of states, and of the pieces that checkpoints write."""

    def test_the_state_can_be_saved(self) -> None:
        """`state_dict` is a tree that checkpoints can hold.

        Mend: use dict with text keys, list, str, int, float, bool, None, NumPy arrays and tensors, nothing else.
        """
        for title, _, buffer in self.filled(30):
            try:
                through_checkpoint(buffer.state_dict())
            except UnsavableStateError as error:
                require(False, f"{title}: the state can be saved", error, "a tree of plain values and arrays")

    def test_a_loaded_state_goes_on(self) -> None:
        """A buffer that took over a state samples and drops as the one it came from, whenever that was.

        Mend: contents, order, write position, open episodes and priorities belong to the state.
        """
        for added in (0, 20, CAPACITY + 7):
            for title, stream, buffer in self.filled(added):
                _rate(buffer)
                loaded = self.make(stream.spec)
                try:
                    state = through_checkpoint(buffer.state_dict())
                except UnsavableStateError:  # another check's business
                    state = buffer.state_dict()
                loaded.load_state_dict(state)
                self._go_on_alike(f"{title}, {added} added: after `load_state_dict`", stream, buffer, loaded)

    def test_pieces_that_were_exported_go_on(self) -> None:
        """What checkpoints write piece by piece gives, taken together, the buffer.

        Mend: what `export` says of a transition must hold when more have come; everything else is `export_rest`'s.
        """
        for title, stream, buffer in self.filled(20):
            if not buffer.stored:
                skip("it is saved as a whole")
            pieces = [(buffer.stored, _copies(buffer.export(buffer.stored)))]
            stream.add_to(buffer, 25)
            new = range(pieces[0][0].stop, buffer.stored.stop)
            pieces.append((new, _copies(buffer.export(new))))
            _rate(buffer)
            loaded = self.make(stream.spec)
            loaded.restore(iter(pieces), through_checkpoint(buffer.export_rest()))
            self._go_on_alike(f"{title}: after `restore`", stream, buffer, loaded)

    def _go_on_alike(self, when: str, stream: Stream, buffer: Buffer, loaded: Buffer) -> None:
        for more in (0, 6, CAPACITY):
            columns = stream.take(more)
            for each in (buffer, loaded):
                if more:
                    each.add(Columns({name: array.copy() for name, array in columns.fields.items()}))
            require(len(loaded) == len(buffer), f"{when}, {more} more: as long", len(loaded), len(buffer))
            if not len(buffer):
                continue
            first, second = (each.sample(64, np.random.default_rng(3)) for each in (buffer, loaded))
            names = [name for name in first if name != "row"]
            found = difference({name: first[name] for name in names}, {name: second[name] for name in names})
            require(found is None, f"{when}, {more} more: the same samples", found, "no difference")


def _rate(buffer: Buffer) -> None:
    """Give some rows priorities of their own."""
    if len(buffer):
        batch = buffer.sample(16, np.random.default_rng(5))
        if "row" in batch:
            buffer.update_priorities(batch["row"], 1.0 + batch["reward"].float() % 5)


def _copies(piece: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.generic]]:
    return {name: array.copy() for name, array in piece.items()}
