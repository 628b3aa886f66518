"""The best plan there is, found three ways: by trying everything, by S0's ILP, by CP-SAT.

Two kinds of compress lane: S0's, in which an obstacle excludes a task (all three ways), and the
resumable one, in which it suspends it (trying everything, CP-SAT). Writes are never suspended.

CP-SAT counts in whole ticks. Durations are rounded down to ticks and obstacles shrunk to whole
ones, which can only make the problem easier; and a problem in whole ticks has a best plan in whole
ticks. So its bound is a bound of the real problem. Its two orders are then placed in real time,
each task as early as possible: `end_s` is a plan's, not a model's. Where all times are multiples of
the tick, as in the published instances (2^-20 s), nothing is rounded; else the bound is low by at
most a tick for each task and obstacle.

Trying everything means all pairs of a compression order and a write order: with obstacles the two
lanes may want different ones. For a pair of orders, each task as early as possible is best, because
ending a task earlier never makes another's place later.
"""

from __future__ import annotations

import datetime
import itertools
import math
from dataclasses import dataclass

from caesura_lab.planning.instances import Instance

TICK_S = 2.0**-20
Order = tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """What is known of the best end of the last write."""

    bound_s: float  # no plan ends before
    end_s: float  # a plan ends then
    compress_order: Order = ()
    write_order: Order = ()
    compress_begin_s: tuple[float, ...] = ()  # [job]
    compress_end_s: tuple[float, ...] = ()
    write_begin_s: tuple[float, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Nothing can be better, but for rounding."""
        return self.end_s <= self.bound_s * (1 + 1e-9)


# ---------------------------------------------------------------------------- orders in real time


def clear_s(obstacles: tuple, at_s: float, duration_s: float) -> float:
    """The first moment from `at_s` on with `duration_s` before the next obstacle."""
    for begin_s, end_s in obstacles:
        if begin_s >= end_s or end_s <= at_s:
            continue
        if at_s + duration_s <= begin_s:
            break
        at_s = end_s
    return at_s


def resume_s(obstacles: tuple, at_s: float, duration_s: float) -> tuple[float, float]:
    """Begin and end of a task that obstacles suspend: it begins in the first gap it can use."""
    begin_s = None
    for low_s, high_s in obstacles:
        if low_s >= high_s or high_s <= at_s:
            continue
        if at_s + duration_s <= low_s:
            break
        if at_s < low_s:
            begin_s = at_s if begin_s is None else begin_s
            duration_s -= low_s - at_s
        at_s = high_s
    return (at_s if begin_s is None else begin_s), at_s + duration_s


def place_compressions(instance: Instance, order: Order) -> list[tuple[float, float]]:
    """Begin and end of each job's compression, one after the other in that order."""
    times = [(0.0, 0.0)] * len(instance.jobs)
    at_s = 0.0
    for job in order:
        duration_s = instance.jobs[job][0]
        if instance.resumable:
            times[job] = resume_s(instance.compress, at_s, duration_s)
        else:
            begin_s = clear_s(instance.compress, at_s, duration_s)
            times[job] = (begin_s, begin_s + duration_s)
        at_s = times[job][1]
    return times


def place_writes(instance: Instance, order: Order, ready_s: list[float]) -> list[float]:
    """The begin of each job's write, one after the other in that order."""
    begins = [0.0] * len(instance.jobs)
    at_s = 0.0
    for job in order:
        begins[job] = clear_s(instance.write, max(at_s, ready_s[job]), instance.jobs[job][1])
        at_s = begins[job] + instance.jobs[job][1]
    return begins


def answer_of(instance: Instance, compress: Order, write: Order, bound_s: float) -> Answer:
    """The plan that two orders give."""
    times = place_compressions(instance, compress)
    begins = place_writes(instance, write, [end_s for _, end_s in times])
    ends = [b + job[1] for b, job in zip(begins, instance.jobs, strict=True)]
    return Answer(
        bound_s, max(ends, default=0.0), compress, write, tuple(t[0] for t in times),
        tuple(t[1] for t in times), tuple(begins),
    )  # fmt: skip


# ------------------------------------------------------------------------------- trying everything


def brute_force(instance: Instance, same_order: bool = False) -> Answer:
    """The best of all pairs of orders, or of the same order in both lanes. For up to 6 jobs."""
    best = math.inf
    orders: tuple[Order, Order] = ((), ())
    jobs = range(len(instance.jobs))
    for compress in itertools.permutations(jobs):
        ready_s = [end_s for _, end_s in place_compressions(instance, compress)]
        for write in [compress] if same_order else itertools.permutations(jobs):
            at_s = 0.0
            for job in write:
                duration_s = instance.jobs[job][1]
                at_s = clear_s(instance.write, max(at_s, ready_s[job]), duration_s) + duration_s
                if at_s >= best:
                    break
            else:
                best, orders = at_s, (compress, write)
    if best == math.inf:
        return Answer(0.0, 0.0)
    return answer_of(instance, *orders, best)


# ------------------------------------------------------------------------------------- S0's ILP


def solve_ilp(instance: Instance, time_limit_s: float = 60.0) -> Answer:
    """S0 appendix A through HiGHS, for compressions that are not resumable.

    The paper's equations 7 to 10 index the obstacles by the task; meant is h, over which they sum.
    Its Z is the end of a naive plan and 1 % more: HiGHS fails where nothing is left free. The plan
    is HiGHS' own, to its tolerance.
    """
    from ortools.math_opt.python import mathopt

    if instance.resumable:
        raise ValueError("S0's ILP knows no resumable compressions")
    n = len(instance.jobs)
    if n == 0:
        return Answer(0.0, 0.0)
    z = 1.01 * answer_of(instance, tuple(range(n)), tuple(range(n)), 0.0).end_s
    model = mathopt.Model()
    overall = model.add_variable(lb=0.0, ub=z)
    starts = []
    for task, obstacles in enumerate((instance.compress, instance.write)):
        start = [model.add_variable(lb=0.0, ub=z) for _ in range(n)]
        end = [start[i] + instance.jobs[i][task] for i in range(n)]  # (3) (4)
        for i, j in itertools.combinations(range(n), 2):
            first = model.add_binary_variable()
            model.add_linear_constraint(start[j] >= end[i] - z * (1 - first))  # (5)
            model.add_linear_constraint(start[i] >= end[j] - z * first)  # (6)
        gaps = _gaps(obstacles, z)
        for i in range(n):
            delta = [model.add_binary_variable() for _ in gaps]
            low = sum(gap[0] * d for d, gap in zip(delta, gaps, strict=True))
            high = sum(gap[1] * d for d, gap in zip(delta, gaps, strict=True))
            model.add_linear_constraint(low <= start[i])  # (7) (8)
            model.add_linear_constraint(end[i] <= high)  # (9) (10)
            model.add_linear_constraint(sum(delta) == 1)  # (11) (12)
        starts.append(start)
    for i in range(n):
        model.add_linear_constraint(overall >= starts[1][i] + instance.jobs[i][1])  # (1)
        model.add_linear_constraint(starts[0][i] + instance.jobs[i][0] <= starts[1][i])  # (2)
    model.minimize(overall)
    limits = mathopt.SolveParameters(
        time_limit=datetime.timedelta(seconds=time_limit_s),
        relative_gap_tolerance=0.0,
        absolute_gap_tolerance=1e-9,
    )
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=limits)
    if not result.has_primal_feasible_solution():
        raise RuntimeError(f"HiGHS found no plan: {result.termination.detail}")
    begins = [tuple(result.variable_values(lane)) for lane in starts]
    return Answer(
        result.dual_bound(),
        result.objective_value(),
        compress_order=tuple(sorted(range(n), key=lambda i: begins[0][i])),
        write_order=tuple(sorted(range(n), key=lambda i: begins[1][i])),
        compress_begin_s=begins[0],
        compress_end_s=tuple(b + job[0] for b, job in zip(begins[0], instance.jobs, strict=True)),
        write_begin_s=begins[1],
    )


def _gaps(obstacles: tuple, end_s: float) -> list[tuple[float, float]]:
    """The idle intervals up to `end_s`; the last one goes on."""
    gaps, at_s = [], 0.0
    for low_s, high_s in obstacles:
        if high_s <= max(at_s, 0.0) or low_s >= high_s:
            continue
        if low_s >= at_s:
            gaps.append((at_s, low_s))
        at_s = high_s
    return [*gaps, (at_s, max(end_s, at_s) + 1.0)]


# --------------------------------------------------------------------------------------- CP-SAT


class CpModel:
    """The problem in whole ticks; see the head of this file for what rounding does.

    Tasks and obstacles in NoOverlap would be enough. Beside it each task has a literal for every
    gap it may lie in, and a gap holds no more than its length. That tells CP-SAT what packing into
    gaps costs: it proves in a second what it otherwise does not in minutes.
    """

    def __init__(self, instance: Instance, horizon_s: float, tick_s: float) -> None:
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.tick_s = tick_s
        self.jobs = [(math.floor(c / tick_s), math.floor(w / tick_s)) for c, w in instance.jobs]
        self.obstacles = [self._shrunk(lane) for lane in (instance.compress, instance.write)]
        self.horizon = math.ceil(horizon_s / tick_s) + 1
        n = len(self.jobs)
        if instance.resumable:
            self.compress = [self._in_lane_time(i) for i in range(n)]
            self.model.add_no_overlap([interval for _, _, interval in self.compress])
        else:
            self.compress = self._lane(0)
        self.write = self._lane(1)
        self.end = self.model.new_int_var(0, self.horizon, "end")
        for (_, ready, _), (start, end, _) in zip(self.compress, self.write, strict=True):
            self.model.add(start >= ready)
            self.model.add(self.end >= end)
        self.model.minimize(self.end)

    def _shrunk(self, obstacles: tuple) -> list[tuple[int, int]]:
        whole = [(math.ceil(b / self.tick_s), math.floor(e / self.tick_s)) for b, e in obstacles]
        return [(b, e) for b, e in whole if b < e and e > 0]

    def _lane(self, lane: int) -> list[tuple]:
        """Start, end and interval of each job's task in a lane where nothing suspends tasks."""
        gaps, at, fixed = [], 0, []
        for index, (begin, end) in enumerate(self.obstacles[lane]):
            fixed.append(
                self.model.new_fixed_size_interval_var(begin, end - begin, f"o_{lane}_{index}")
            )
            if begin >= at:
                gaps.append((at, begin))
            at = max(at, end)
        gaps.append((at, max(at, self.horizon)))
        inside: list[list] = [[] for _ in gaps]
        tasks = []
        for job in range(len(self.jobs)):
            size = self.jobs[job][lane]
            start = self.model.new_int_var(0, self.horizon, f"start_{lane}_{job}")
            tasks.append((
                start, start + size,
                self.model.new_fixed_size_interval_var(start, size, f"task_{lane}_{job}"),
            ))  # fmt: skip
            chosen = []
            for index, (low, high) in enumerate(gaps):
                if high - low < size:
                    continue
                here = self.model.new_bool_var(f"in_{lane}_{job}_{index}")
                self.model.add(start >= low).only_enforce_if(here)
                self.model.add(start <= high - size).only_enforce_if(here)
                inside[index].append((here, size))
                chosen.append((here, low, high))
            self.model.add_exactly_one(here for here, _, _ in chosen)
            self.model.add(start >= sum(low * here for here, low, _ in chosen))
            self.model.add(start + size <= sum(high * here for here, _, high in chosen))
        for (low, high), of_gap in zip(gaps, inside, strict=True):
            self.model.add(sum(size * here for here, size in of_gap) <= high - low)
        self.model.add_no_overlap([*fixed, *(interval for _, _, interval in tasks)])
        return tasks

    def _in_lane_time(self, job: int) -> tuple:
        """A task that obstacles suspend: placed in lane time, which runs only in the gaps.

        A task that ends at x in lane time ends at x + (the lengths of the obstacles whose place in
        lane time is before x): a step for each obstacle.
        """
        size = self.jobs[job][0]
        start = self.model.new_int_var(0, self.horizon, f"lane_start_{job}")
        interval = self.model.new_fixed_size_interval_var(start, size, f"task_0_{job}")
        end = start + size
        wall, passed = end, 0
        for index, (low, high) in enumerate(self.obstacles[0]):
            place = low - passed
            if low < 0:  # under way when the iteration begins: before everything
                wall, passed = wall + high, passed + high
                continue
            passed += high - low
            after = self.model.new_bool_var(f"after_{index}_{job}")
            self.model.add(end >= place + 1).only_enforce_if(after)
            self.model.add(end <= place).only_enforce_if(after.negated())
            wall = wall + (high - low) * after
        return start, wall, interval

    def hint(self, answer: Answer) -> None:
        """Begin the search at a known plan."""
        for lane, begins in ((self.compress, answer.compress_begin_s),
                             (self.write, answer.write_begin_s)):  # fmt: skip
            for (start, _, _), begin_s in zip(lane, begins, strict=True):
                self.model.add_hint(start, math.floor(begin_s / self.tick_s))


def solve_cp(
    instance: Instance,
    time_limit_s: float = 60.0,
    tick_s: float = TICK_S,
    hint: Answer | None = None,
    bound_s: float = 0.0,
    workers: int = 1,
) -> Answer:
    """CP-SAT's best plan and bound; `hint` is a plan to begin with, `bound_s` a bound to end at."""
    from ortools.sat.python import cp_model

    n = len(instance.jobs)
    if n == 0:
        return Answer(0.0, 0.0)
    known = answer_of(instance, tuple(range(n)), tuple(range(n)), 0.0)
    if hint is not None and hint.end_s <= known.end_s:
        known = hint
    model = CpModel(instance, known.end_s, tick_s)
    if hint is not None and not instance.resumable:
        model.hint(known)
    model.model.add(model.end >= math.floor(bound_s / tick_s))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 1
    status = solver.solve(model.model)
    bound_s = max(bound_s, solver.best_objective_bound * tick_s)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(
            bound_s, known.end_s, known.compress_order, known.write_order, known.compress_begin_s,
            known.compress_end_s, known.write_begin_s,
        )  # fmt: skip
    orders = (
        tuple(sorted(range(n), key=lambda i: (solver.value(lane[i][0]), model.jobs[i][k])))
        for k, lane in enumerate((model.compress, model.write))
    )
    found = answer_of(instance, *orders, bound_s)
    return (
        found
        if found.end_s <= known.end_s
        else answer_of(instance, known.compress_order, known.write_order, bound_s)
    )
