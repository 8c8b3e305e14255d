"""What is checked of every buffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Batch, Columns
from agents_core.contracts.buffer import Buffer
from agents_core.options import ConfigModel
from agents_core.registry import Component
from agents_core.registry.names import describe
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, global_seed, read
from agents_core.testing.conformance.stream import Stream, fields_to_keep
from agents_core.testing.contexts import buffer_context
from agents_core.testing.states import difference, through_checkpoint
from agents_core.testing.transitions import BEHAVIORS
from agents_core.training.state_files import UnsavableStateError

Ints = npt.NDArray[np.int64]

_TESTED = ("several observations, hybrid actions", "a vector, discrete actions")
_CAPACITY = 48
_MANY = 4000
"""Rows drawn where each transition should come up."""


class BufferConformance(ComponentConformance):
    """Subclass it in a test, and name the buffer: `component = "replay"`.

    Attributes:
        capacity_option: The option that says how many transitions are kept.
    """

    kind = "buffer"
    capacity_option: ClassVar[str] = "buffer_size"

    def make(self, spec: BehaviorSpec, *, capacity: int = _CAPACITY) -> Buffer:
        """A buffer as a run would make it."""
        return make_buffer(self.found(), self.options(**{self.capacity_option: capacity}), spec)

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        options = self.options(**{self.capacity_option: _CAPACITY})
        return f"{__name__}:sampled_rows", (self.found(), options, BEHAVIORS[_TESTED[0]])

    def test_samples_are_what_was_added(self) -> None:
        """Every field of a sampled transition is what was added: the right next observation, ends, masks, in the same
        dtype; bytes stay bytes.

        Mend: store each field in the dtype it comes in; at the end of an episode `next_obs.<i>` is the final one.
        """
        # Among the first rows, episodes end in both ways.
        for title, stream, buffer in self._filled(_CAPACITY - 4):
            batch = buffer.sample(8 * _CAPACITY, np.random.default_rng(0))
            ids = _ids(batch)
            for name in fields_to_keep(stream.columns):
                rule = f"{title}: `{name}` of a sample is what was added"
                require(name in batch, rule, f"no `{name}`, only {', '.join(batch)}", f"the field `{name}`")
                wanted, found = torch.from_numpy(stream.columns[name][ids]), batch[name].cpu()
                require(found.dtype == wanted.dtype, f"{title}: `{name}` keeps its dtype", found.dtype, wanted.dtype)
                require(torch.equal(found, wanted), rule, _shown(found), _shown(wanted))

    def test_batches_have_the_size_asked_for(self) -> None:
        """`sample` gives exactly `batch_size` rows on the training device, more than there are transitions too.

        Mend: sample with replacement.
        """
        for title, _, buffer in self._filled(10):
            for size in (1, 7, 64):
                batch = buffer.sample(size, np.random.default_rng(0))
                sizes = {name: len(batch[name]) for name in batch}
                wrong = {name: count for name, count in sizes.items() if count != size} or len(batch) != size
                require(not wrong, f"{title}: a minibatch has {size} rows", wrong, size)
            found = str(batch["row"].dtype) if "row" in batch else "none"
            require(found == "torch.int64", f"{title}: minibatches have `row`", found, "int64[n]")
            if "weight" in batch:
                weight = batch["weight"]
                right = weight.dtype == torch.float32 and bool(((weight > 0) & (weight <= 1)).all())
                rule = f"{title}: `weight` is float32, above 0 and at most 1"
                require(right, rule, f"{weight.dtype}, {_shown(weight)}", "importance weights")

    def test_the_oldest_are_dropped(self) -> None:
        """No more than the capacity is kept, whatever the number of agents, and the newest of it.

        Mend: count transitions, not time steps; write over the oldest.
        """
        for title, stream, buffer in self._filled(3 * _CAPACITY + 5):
            require(len(buffer) <= _CAPACITY, f"{title}: the capacity is kept", len(buffer), f"at most {_CAPACITY}")
            drawn = _ids(buffer.sample(_MANY, np.random.default_rng(0)))
            oldest = stream.added - _CAPACITY
            rule = f"{title}: of {stream.added} transitions, only the newest {_CAPACITY} are left"
            require(int(drawn.min()) >= oldest, rule, f"number {drawn.min()} was drawn", f"{oldest} or later")

    def test_every_transition_can_be_drawn(self) -> None:
        """What `len` counts comes up in samples; all that was added is there, but for rows that wait for what follows.

        Mend: draw from all rows, the newest and the oldest too.
        """
        for count in (20, 3 * _CAPACITY + 5):
            for title, stream, buffer in self._filled(count):
                drawn = np.unique(_ids(buffer.sample(_MANY, np.random.default_rng(0))))
                rule = f"{title}, {count} added: `len` transitions can be drawn"
                require(len(drawn) == len(buffer), rule, f"{len(drawn)} different ones", len(buffer))
                least = min(count, _CAPACITY) - stream.agents
                require(len(buffer) >= least, f"{title}: what was added is kept", len(buffer), f"at least {least}")

    def test_sampling_is_even(self) -> None:
        """Without weights, each transition is as likely as any other.

        Mend: `generator.integers(0, len(self), batch_size)`; a buffer that prefers some says so by `weight`.
        """
        for title, _, buffer in self._filled(3 * _CAPACITY + 5):
            batch = buffer.sample(100 * _CAPACITY, np.random.default_rng(0))
            if "weight" in batch:
                skip("it gives weights")
            counts = np.unique(_ids(batch), return_counts=True)[1]
            expected = counts.sum() / len(buffer)
            # Chi-square: mean k, deviation √(2k).
            statistic = float(((counts - expected) ** 2 / expected).sum())
            limit = len(buffer) + 6 * np.sqrt(2 * len(buffer))
            rule = f"{title}: all transitions are equally likely"
            require(statistic < limit, rule, f"chi-square {statistic:.0f}", f"below {limit:.0f}")

    def test_sequences_keep_to_one_episode(self) -> None:
        """A sequence goes on with the same agent's next transition, and ends where the episode or the knowledge ends.

        Mend: `is_valid` is False from the first row on that is not the successor of the one before.
        """
        length = 5
        for added in (30, 3 * _CAPACITY + 5):
            for title, stream, buffer in self._filled(added):
                batch = buffer.sample_sequences(200, length, np.random.default_rng(0))
                require(len(batch) == 200 * length, f"{title}: count · length rows", len(batch), 200 * length)
                valid = batch["is_valid"].cpu().numpy().reshape(200, length)
                require(bool(valid[:, 0].all()), f"{title}: first rows are valid", "some are not", "all")
                numbers = _ids(batch).reshape(200, length)
                follows, goes_on = stream.follows(numbers), stream.has_successor(numbers)
                strays = int((valid[:, 1:] & ~follows).sum())
                rule = f"{title}: a valid row is the successor of the row before"
                require(strays == 0, rule, f"{strays} are of another episode or time", "none")
                holes = int((valid[:, 1:] & ~valid[:, :-1]).sum())
                require(holes == 0, f"{title}: nothing is valid after what is not", f"{holes} rows", "none")
                short = int((valid[:, :-1] & ~valid[:, 1:] & goes_on[:, :-1]).sum())
                rule = f"{title}: a sequence goes on while its episode does"
                require(short == 0, rule, f"{short} end before", "all of `length` rows, or to the end")

    def test_one_transition_is_enough(self) -> None:
        """A buffer with a single transition, or the capacity for one, can be sampled.

        Mend: no division by `len - 1`.
        """
        for title, spec in self._specs():
            for capacity in (1, _CAPACITY):
                stream, rule = Stream(spec), f"{title}, capacity {capacity}: one transition is sampled"
                buffer = self.make(spec, capacity=capacity)
                try:
                    for _ in range(3):
                        stream.add_to(buffer, 1)
                        if not len(buffer):  # It waits for what follows.
                            continue
                        buffer.sample(4, np.random.default_rng(0))
                        buffer.sample_sequences(2, 3, np.random.default_rng(0))
                except Exception as error:
                    require(False, rule, describe(error), "a minibatch")
                require(len(buffer) > 0, rule, "len 0 after three", "at least 1")

    def test_only_the_given_generator_is_used(self) -> None:
        """The generator that is given decides what is drawn: the same one draws the same, another one something else.

        Mend: use `generator` for everything random.
        """
        for title, _, buffer in self._filled(40):
            ids = [_ids(buffer.sample(32, np.random.default_rng(seed))).tolist() for seed in (0, 0, 1)]
            require(ids[0] == ids[1], f"{title}: a generator repeats", ids[1][:8], ids[0][:8])
            require(ids[0] != ids[2], f"{title}: another generator draws others", "the same rows", "other rows")

    def test_the_process_is_left_alone(self) -> None:
        """Nothing draws from global generators or changes settings of the process.

        Mend: as above; no `torch.set_num_threads`.
        """
        for title, spec in self._specs():
            with global_seed(0):
                before = {**read(GENERATORS), **read(SETTINGS)}
                buffer = self.make(spec)
                Stream(spec).add_to(buffer, 40)
                buffer.sample(8, np.random.default_rng(0))
                buffer.sample_sequences(2, 3, np.random.default_rng(0))
                after = {**read(GENERATORS), **read(SETTINGS)}
            changed = [name for name in before if before[name] != after[name]]
            require(not changed, f"{title}: the process is left alone", f"changed: {', '.join(changed)}", "nothing")

    def test_added_arrays_may_be_reused(self) -> None:
        """`add` copies what it keeps.

        Mend: assign into arrays of the buffer's own; no views of what was given.
        """
        for title, spec in self._specs():
            contents = []
            for spoils in (False, True):
                buffer, stream = self.make(spec), Stream(spec)
                for _ in range(4):
                    stream.add_to(buffer, 9, spoil=spoils)
                batch = buffer.sample(64, np.random.default_rng(0))
                contents.append({name: batch[name] for name in fields_to_keep(stream.columns)})
            found = difference(contents[0], contents[1])
            require(found is None, f"{title}: arrays may be reused after `add`", found, "the same contents")

    def test_added_arrays_stay_as_they_are(self) -> None:
        """`add` only reads what it is given.

        Mend: no in-place operation on columns.
        """
        for title, spec in self._specs():
            buffer, columns = self.make(spec), Stream(spec).take(20)
            before = {name: array.copy() for name, array in columns.fields.items()}
            buffer.add(columns)
            found = difference(before, dict(columns.fields))
            require(found is None, f"{title}: `add` leaves the columns alone", found, "the same columns")

    def test_samples_are_the_caller_s(self) -> None:
        """What was sampled does not change when more is added, and changing it does not change the buffer.

        Mend: gather into new tensors; a view of the store is none.
        """
        for title, stream, buffer in self._filled(20):
            batch = buffer.sample(16, np.random.default_rng(0))
            before = {name: batch[name].clone() for name in batch}
            stream.add_to(buffer, 3 * _CAPACITY)
            found = difference(before, {name: batch[name] for name in batch})
            require(found is None, f"{title}: a sample stays as it is", found, "the same rows")

    def test_the_state_can_be_saved(self) -> None:
        """`state_dict` is a tree that checkpoints can hold.

        Mend: use dict with text keys, list, str, int, float, bool, None, NumPy arrays and tensors, nothing else.
        """
        for title, _, buffer in self._filled(30):
            try:
                through_checkpoint(buffer.state_dict())
            except UnsavableStateError as error:
                require(False, f"{title}: the state can be saved", error, "a tree of plain values and arrays")

    def test_a_loaded_state_goes_on(self) -> None:
        """A buffer that took over a state samples and drops as the one it came from, whenever that was.

        Mend: contents, order, write position, open episodes and priorities belong to the state.
        """
        for added in (0, 20, _CAPACITY + 7):
            for title, stream, buffer in self._filled(added):
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
        for title, stream, buffer in self._filled(20):
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

    def test_errors_raise_priorities(self) -> None:
        """`update_priorities` takes rows of a sample; a buffer that gives weights prefers large errors from then on.

        Mend: keep `(|error| + ε)^α` by `row`, and sample in proportion.
        """
        for title, _, buffer in self._filled(40):
            batch = buffer.sample(_MANY, np.random.default_rng(0))
            ids = _ids(batch)
            chosen = int(ids[0])
            errors = torch.where(torch.from_numpy(ids == chosen), 50.0, 0.01)
            buffer.update_priorities(batch["row"], errors)
            again = buffer.sample(_MANY, np.random.default_rng(1))
            share, even = float((_ids(again) == chosen).mean()), 1 / len(buffer)
            if "weight" in batch:
                rule = f"{title}: a transition with a large error is drawn more often"
                require(share > 2 * even, rule, f"{share:.1%} of the draws", f"more than {2 * even:.1%}")
                place = _ids(again) == chosen
                lighter = float(again["weight"][torch.from_numpy(place)].max()) < float(
                    again["weight"][torch.from_numpy(~place)].max()
                )
                require(lighter, f"{title}: what is drawn more often weighs less", "as much or more", "less")

    def _specs(self) -> Iterator[tuple[str, BehaviorSpec]]:
        yield from ((title, BEHAVIORS[title]) for title in _TESTED)

    def _filled(self, count: int) -> Iterator[tuple[str, Stream, Buffer]]:
        """Buffers that so many transitions were added to, in portions of different sizes."""
        for title, spec in self._specs():
            stream, buffer = Stream(spec), self.make(spec)
            stream.add_to(buffer, count)
            yield title, stream, buffer

    def _go_on_alike(self, when: str, stream: Stream, buffer: Buffer, loaded: Buffer) -> None:
        for more in (0, 6, _CAPACITY):
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


def make_buffer(component: Component, config: ConfigModel, spec: BehaviorSpec) -> Buffer:
    """A buffer as a run would make it."""
    context = buffer_context(config, spec)
    buffer = component.load_factory()(context)
    require(isinstance(buffer, Buffer), "the factory returns a Buffer", type(buffer).__name__, "a Buffer")
    made: Buffer = buffer
    return made


def sampled_rows(component: Component, config: ConfigModel, spec: BehaviorSpec) -> list[int]:
    """Numbers of the transitions in a sample."""
    buffer = make_buffer(component, config, spec)
    Stream(spec).add_to(buffer, 3 * _CAPACITY)
    rows: list[int] = _ids(buffer.sample(32, np.random.default_rng(0))).tolist()
    return rows


def _ids(batch: Batch) -> Ints:
    """Number of each transition, which its reward tells."""
    return batch["reward"].cpu().numpy().astype(np.int64)


def _rate(buffer: Buffer) -> None:
    """Give some rows priorities of their own."""
    if len(buffer):
        batch = buffer.sample(16, np.random.default_rng(5))
        if "row" in batch:
            buffer.update_priorities(batch["row"], 1.0 + batch["reward"].float() % 5)


def _copies(piece: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.generic]]:
    return {name: array.copy() for name, array in piece.items()}


def _shown(tensor: torch.Tensor) -> str:
    return f"{tensor.flatten()[:6].tolist()}, …"
