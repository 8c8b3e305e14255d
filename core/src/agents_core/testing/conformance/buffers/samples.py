"""What a buffer gives."""

from __future__ import annotations

import numpy as np
import torch

from agents_core.registry.names import describe
from agents_core.testing.conformance.buffers.harness import CAPACITY, BufferChecks, numbers_of, shown
from agents_core.testing.conformance.buffers.stream import Stream, fields_to_keep
from agents_core.testing.conformance.checks import require, skip

_MANY = 4000
"""Rows drawn where each transition should come up."""


class SampleChecks(BufferChecks):
    """Checks of minibatches and of what they are drawn from."""

    def test_samples_are_what_was_added(self) -> None:
        """Every field of a sampled transition is what was added: the right next observation, ends, masks, in the same
        dtype; bytes stay bytes.

        Mend: store each field in the dtype it comes in; at the end of an episode `next_obs.<i>` is the final one.
        """
        # Among the first rows, episodes end in both ways.
        for title, stream, buffer in self.filled(CAPACITY - 4):
            batch = buffer.sample(8 * CAPACITY, np.random.default_rng(0))
            ids = numbers_of(batch)
            for name in fields_to_keep(stream.columns):
                rule = f"{title}: `{name}` of a sample is what was added"
                require(name in batch, rule, f"no `{name}`, only {', '.join(batch)}", f"the field `{name}`")
                wanted, found = torch.from_numpy(stream.columns[name][ids]), batch[name].cpu()
                require(found.dtype == wanted.dtype, f"{title}: `{name}` keeps its dtype", found.dtype, wanted.dtype)
                require(torch.equal(found, wanted), rule, shown(found), shown(wanted))

    def test_batches_have_the_size_asked_for(self) -> None:
        """`sample` gives exactly `batch_size` rows on the training device, more than there are transitions too.

        Mend: sample with replacement.
        """
        for title, _, buffer in self.filled(10):
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
                require(right, rule, f"{weight.dtype}, {shown(weight)}", "importance weights")

    def test_the_oldest_are_dropped(self) -> None:
        """No more than the capacity is kept, whatever the number of agents, and the newest of it.

        Mend: count transitions, not time steps; write over the oldest.
        """
        for title, stream, buffer in self.filled(3 * CAPACITY + 5):
            require(len(buffer) <= CAPACITY, f"{title}: the capacity is kept", len(buffer), f"at most {CAPACITY}")
            drawn = numbers_of(buffer.sample(_MANY, np.random.default_rng(0)))
            oldest = stream.added - CAPACITY
            rule = f"{title}: of {stream.added} transitions, only the newest {CAPACITY} are left"
            require(int(drawn.min()) >= oldest, rule, f"number {drawn.min()} was drawn", f"{oldest} or later")

    def test_every_transition_can_be_drawn(self) -> None:
        """What `len` counts comes up in samples; all that was added is there, but for rows that wait for what follows.

        Mend: draw from all rows, the newest and the oldest too.
        """
        for count in (20, 3 * CAPACITY + 5):
            for title, stream, buffer in self.filled(count):
                drawn = np.unique(numbers_of(buffer.sample(_MANY, np.random.default_rng(0))))
                rule = f"{title}, {count} added: `len` transitions can be drawn"
                require(len(drawn) == len(buffer), rule, f"{len(drawn)} different ones", len(buffer))
                least = min(count, CAPACITY) - stream.agents
                require(len(buffer) >= least, f"{title}: what was added is kept", len(buffer), f"at least {least}")

    def test_sampling_is_even(self) -> None:
        """Without weights, each transition is as likely as any other.

        Mend: `generator.integers(0, len(self), batch_size)`; a buffer that prefers some says so by `weight`.
        """
        for title, _, buffer in self.filled(3 * CAPACITY + 5):
            batch = buffer.sample(100 * CAPACITY, np.random.default_rng(0))
            if "weight" in batch:
                skip("it gives weights")
            counts = np.unique(numbers_of(batch), return_counts=True)[1]
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
        for added in (30, 3 * CAPACITY + 5):
            for title, stream, buffer in self.filled(added):
                batch = buffer.sample_sequences(200, length, np.random.default_rng(0))
                require(len(batch) == 200 * length, f"{title}: count · length rows", len(batch), 200 * length)
                valid = batch["is_valid"].cpu().numpy().reshape(200, length)
                require(bool(valid[:, 0].all()), f"{title}: first rows are valid", "some are not", "all")
                numbers = numbers_of(batch).reshape(200, length)
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
        for title, spec in self.specs():
            for capacity in (1, CAPACITY):
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
        for title, _, buffer in self.filled(40):
            ids = [numbers_of(buffer.sample(32, np.random.default_rng(seed))).tolist() for seed in (0, 0, 1)]
            require(ids[0] == ids[1], f"{title}: a generator repeats", ids[1][:8], ids[0][:8])
            require(ids[0] != ids[2], f"{title}: another generator draws others", "the same rows", "other rows")

    def test_errors_raise_priorities(self) -> None:
        """`update_priorities` takes rows of a sample; a buffer that gives weights prefers large errors from then on.

        Mend: keep `(|error| + ε)^α` by `row`, and sample in proportion.
        """
        for title, _, buffer in self.filled(40):
            batch = buffer.sample(_MANY, np.random.default_rng(0))
            ids = numbers_of(batch)
            chosen = int(ids[0])
            errors = torch.where(torch.from_numpy(ids == chosen), 50.0, 0.01)
            buffer.update_priorities(batch["row"], errors)
            again = buffer.sample(_MANY, np.random.default_rng(1))
            share, even = float((numbers_of(again) == chosen).mean()), 1 / len(buffer)
            if "weight" in batch:
                rule = f"{title}: a transition with a large error is drawn more often"
                require(share > 2 * even, rule, f"{share:.1%} of the draws", f"more than {2 * even:.1%}")
                place = numbers_of(again) == chosen
                lighter = float(again["weight"][torch.from_numpy(place)].max()) < float(
                    again["weight"][torch.from_numpy(~place)].max()
                )
                require(lighter, f"{title}: what is drawn more often weighs less", "as much or more", "less")
