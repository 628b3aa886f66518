# What the page's `...` stands for is a dump of iteration 10; then the path that it says is there.
import caesura
import numpy


class Dumping(caesura.Writer):
    """Dumps before it closes."""

    def __exit__(self, *what):
        if what[0] is None:
            with self.iteration(10) as iteration:
                iteration.begin_dump(time=1).put(rho, numpy.ones((64, 64, 64), "f4"))
        return super().__exit__(*what)


caesura.Writer = Dumping
# block python 1
with caesura.open("run.h5") as file:
    assert abs(file["step_000010/density"][...] - 1).max() <= 0.2
