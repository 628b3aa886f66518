"""Fields that boxes cover in parts, as h5py reads them."""

import caesura
import numpy as np

BOUND = 1e-3


def test_boxes_of_a_level_come_and_go_and_its_shape_changes(tmp_path):
    path = tmp_path / "run.h5"
    values = np.sin(0.05 * np.indices((64, 64, 64)).sum(axis=0)).astype(np.float32)
    boxes = [[(0, 0, 0), (32, 32, 0)], [(32, 0, 32)]]
    with caesura.Writer(path, absolute=BOUND) as writer:
        level = writer.define_field(
            "rho_lvl1", np.float32, (64, 64, 64), partial=True, fill_value=-1
        )
        for n, begins in enumerate(boxes):
            with writer.iteration(n) as iteration:
                dump = iteration.begin_dump(time=n)
                for begin in begins:
                    part = values[tuple(slice(at, at + 32) for at in begin)]
                    dump.put(level, part, offset=begin)
        level = writer.reshape(level, (96, 64, 64), grid_offset=(1, 2, 3))
        with writer.iteration(2) as iteration:
            iteration.begin_dump(time=2).put(level, values[:40], offset=(56, 0, 0))
    with caesura.open(path) as file:
        for n, begins in enumerate(boxes):
            stored = file[f"/data/{n}/meshes/rho_lvl1"]
            assert stored.fillvalue == -1 and stored.id.get_num_chunks() == len(begins)
            expected = np.full(stored.shape, -1, np.float32)
            for begin in begins:
                box = tuple(slice(at, at + 32) for at in begin)
                expected[box] = values[box]
                assert np.max(np.abs(stored[box] - values[box])) <= BOUND
            assert np.array_equal(stored[...] == -1, expected == -1)
        moved = file["/data/2/meshes/rho_lvl1"]
        assert moved.shape == (96, 64, 64)
        assert list(moved.attrs["gridGlobalOffset"]) == [1, 2, 3]
        assert np.all(moved[:56] == -1)
        assert np.max(np.abs(moved[56:] - values[:40])) <= BOUND
