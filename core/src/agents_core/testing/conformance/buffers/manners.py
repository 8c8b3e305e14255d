"""What a buffer does with the arrays and the process of others: nothing."""

from __future__ import annotations

import numpy as np

from agents_core.testing.conformance.buffers.harness import CAPACITY, BufferChecks
from agents_core.testing.conformance.buffers.stream import Stream, fields_to_keep
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, global_seed, read
from agents_core.testing.states import difference


class MannerChecks(BufferChecks):
    """Checks that a buffer leaves everything else as it is."""

    def test_the_process_is_left_alone(self) -> None:
        """Nothing draws from global generators or changes settings of the process.

        Mend: use the `generator` of `sample` for everything random; no `torch.set_num_threads`.
        """
        for title, spec in self.specs():
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
        for title, spec in self.specs():
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
        for title, spec in self.specs():
            buffer, columns = self.make(spec), Stream(spec).take(20)
            before = {name: array.copy() for name, array in columns.fields.items()}
            buffer.add(columns)
            found = difference(before, dict(columns.fields))
            require(found is None, f"{title}: `add` leaves the columns alone", found, "the same columns")

    def test_samples_are_the_caller_s(self) -> None:
        """What was sampled does not change when more is added, and changing it does not change the buffer.

        Mend: gather into new tensors; a view of the store is none.
        """
        for title, stream, buffer in self.filled(20):
            batch = buffer.sample(16, np.random.default_rng(0))
            before = {name: batch[name].clone() for name in batch}
            stream.add_to(buffer, 3 * CAPACITY)
            found = difference(before, {name: batch[name] for name in batch})
            require(found is None, f"{title}: a sample stays as it is", found, "the same rows")
