"""sample: simulated draws as states of weight 1/N each; Alice's rule is learned on them and evaluated on new draws.

    V_N = max_u phi_N(u),   phi_N(u) = (1/N) sum_s min_i [ B(x_s,i) - u_i . E(x_s,.) ]
and V = max_u E phi(u) is the optimum over all mechanisms. Only the b*e numbers u are fitted. E V_N >= V, because the
maximum of phi_N is at least phi_N at the best u. So the in-sample value is too high on average, because Eve's replies
are fitted to the draws; it does not make Alice look better than she is. On new draws, with u fixed,
    mean of phi(u)              is an unbiased estimate of a lower bound on R_A of every mechanism, if B is exact;
    R_B - lam R_E of the rule   estimates R_A of a mechanism, which is at least V. R_B is a mean of Bob's losses when he
                                obeys the signal. R_E = sum_i min_j of means is too low on average, so R_A is too high.
B(x,i) = E[L_B(theta,i)|x] is `posterior_loss` if the model has it in closed form, or the mean of L_B over K draws of
theta from its posterior (`posterior_draws`), which is unbiased. Otherwise it is estimated from draws with the nearest
statistics (module `neighbours`), with a standard error; the lower bound is then an estimate.
`discretise.bracket` gives both bounds a stated level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import Agent, InputError, Problem, Risks, Solution
from bap_lp.support.arguments import whole_number
from bap_lp.support.display import Displayed
from bap_lp.support.rational import floats
from discretise.extensions import dual_choice, rule_of
from discretise.losses import EveTask, Loss, ZeroOne, decisions_of, eve_tasks, loss_of, loss_table, names, numbers_of
from discretise.neighbours import Neighbours, default_neighbours
from gaussian.real_arrays import Array

_PAIRS = 1 << 22  # numbers held at a time


class StoredDraws(Displayed):
    """Joint draws (theta, x) that exist already, handed out in order, each once, in place of a simulator.

    `sample` takes the first draws for the fit, and `bracket` takes the ones after them.

    Args:
        theta: what Bob wants to know, a number per draw.
        x: the data, a row per draw.

    Raises:
        InputError: theta is not a list of finite numbers, or x has another number of rows.

    >>> from discretise import StoredDraws
    >>> StoredDraws([0.1, 0.4], [1.0, 2.0])
    <StoredDraws: 2 joint draws>
    """

    def __init__(self, theta: ArrayLike, x: ArrayLike) -> None:
        self.theta, self.x = numbers_of(theta, "theta"), np.asarray(x)
        if self.x.shape[:1] != self.theta.shape:
            raise InputError("x", None, f"has shape {self.x.shape}, must have {len(self.theta)} rows, one per theta")

    def _lines(self) -> Iterator[str]:
        yield f"{len(self.theta)} joint draws"

    def draws(self, start: int, size: int) -> tuple[Array, Array]:
        """Draws start, start + 1, ..."""
        if start + size > len(self.theta):
            rule = f"are too few: {start + size} are needed, for the fit and for fresh draws together"
            raise InputError("stored draws", len(self.theta), rule)
        return self.theta[start : start + size], self.x[start : start + size]


Simulator = Callable[[np.random.Generator, int], tuple[Any, ...]] | StoredDraws


@dataclass(frozen=True)
class Draws:
    """Simulated data sets: theta, the Eves' targets, the statistic and the data, with one row per data set."""

    theta: Array
    target: Array
    statistic: Array
    x: Array

    def __repr__(self) -> str:
        return f"<Draws: {len(self.theta)} data sets, statistic of dimension {self.statistic.shape[1]}>"


@dataclass(frozen=True)
class OutOfSample:
    """The rule on new draws. All errors are standard errors; those of R_B and R_E are in `risks`.

    Attributes:
        size: the number of new draws.
        risks: R_B and R_E of the rule.
        lam: the price of privacy.
        upper: R_A of the rule.
        upper_error: of upper.
        lower: the dual bound at the learned u.
        lower_error: of lower.
        in_sample: the value on the draws on which the rule was learned. `optimism` = in_sample - lower estimates its
            bias, which is not negative.
        optimism_error: of the optimism.

    >>> import numpy as np
    >>> from bap_lp import solve
    >>> from discretise import sample, zero_one
    >>> def simulator(rng, size):
    ...     theta = rng.normal(size=size)
    ...     return theta, theta + rng.normal(size=size)
    >>> drawn = sample(simulator, 500, zero_one(0), zero_one(1),
    ...                bob_decisions=[0, 1], eve_decisions=[0, 1])
    >>> drawn.out_of_sample(solve(drawn, 0.5), 1000, seed=1).size
    1000
    """

    size: int
    risks: Risks
    lam: float
    upper: float
    upper_error: float
    lower: float
    lower_error: float
    in_sample: float
    optimism_error: float

    @property
    def optimism(self) -> float:
        """in_sample - lower."""
        return self.in_sample - self.lower


class SampledProblem(Problem):
    """A Problem whose states are draws. `sample` makes it.

    `bob_error` is the mean standard error of the estimated B(x,i), 0 if exact.

    Args:
        simulator: draws (theta, x), or holds them.
        draws: the draws of the fit.
        bob: Bob's loss and his decisions.
        eves: the Eves, with their losses and decisions.
        eve_target: what each Eve wants to know, from the data.
        posterior: how B is found: from a function, from posterior draws, or from neighbours.
        bounds: on Bob's and Eve's losses, None where unknown.
        seed: of the draws.
        title: a title for people.

    >>> from discretise import sample, zero_one
    >>> def simulator(rng, size):
    ...     theta = rng.normal(size=size)
    ...     return theta, theta + rng.normal(size=size)
    >>> drawn = sample(simulator, 200, zero_one(0), zero_one(1),
    ...                bob_decisions=[0, 1], eve_decisions=[0, 1])
    >>> drawn.shape, drawn.bob_error > 0
    ((200, 2, 2), True)
    """

    def __init__(
        self,
        simulator: Simulator,
        draws: Draws,
        bob: tuple[Loss, Array],
        eves: tuple[EveTask, ...],
        eve_target: Any,
        posterior: tuple[Any, Any, int, int],
        bounds: tuple[float | None, float | None],
        seed: int,
        title: str,
    ) -> None:
        self.simulator, self.draws, self.bob_task, self.eve_tasks, self.seed = simulator, draws, bob, eves, seed
        self.eve_target, self.bounds = eve_target, bounds
        self.posterior_loss, self.posterior_draws, self.posterior_size, self.neighbours = posterior
        self.fits: dict[float, Array] = {}
        lost = self.bob_losses(draws.theta)
        known = self.posterior_loss is not None or self.posterior_draws is not None
        self._near = None if known else Neighbours(draws.statistic, lost, self.neighbours)
        # posterior draws of the fit come from a stream of their own
        rng = np.random.default_rng([seed, 1])
        B, error = self.posterior(draws.statistic, draws.x, rng) if self._near is None else self._near.own()
        size = len(draws.theta)
        super().__init__(
            np.full(size, 1 / size),
            B,
            bob_decisions=names(bob[1]),
            eves=[
                Agent(
                    loss_table(e.loss, draws.target[:, k], e.decisions, "eve_loss"),
                    names(e.decisions),
                    e.name,
                    e.weight,
                )
                for k, e in enumerate(eves)
            ],
            title=title,
        )
        self.bob_error = float(error.mean())

    @property
    def decision_grids(self) -> tuple[Array, ...]:
        """Bob's decisions and those of each Eve."""
        return self.bob_task[1], *(eve.decisions for eve in self.eve_tasks)

    def bob_losses(self, theta: Array) -> Array:
        """L_B(theta, i), a row per draw."""
        lost = loss_table(self.bob_task[0], theta, self.bob_task[1], "bob_loss")
        _below(lost, self.bounds[0], "bob_bound")
        return lost

    def eve_losses(self, target: Array) -> Array:
        """The weighted losses of all Eves side by side, a row per draw."""
        parts = [loss_table(e.loss, target[:, k], e.decisions, "eve_loss") for k, e in enumerate(self.eve_tasks)]
        for part in parts:
            _below(part, self.bounds[1], "eve_bound")
        return np.hstack([e.weight * part for e, part in zip(self.eve_tasks, parts, strict=True)])

    def loss_span(self, lam: float) -> float | None:
        """The length of an interval that holds L_B - lam times the weighted losses of the Eves; None if unknown."""
        bob = 1.0 if isinstance(self.bob_task[0], ZeroOne) else self.bounds[0]
        eves = [1.0 if e.bounded else self.bounds[1] for e in self.eve_tasks]
        if bob is None or any(bound is None for bound in eves):
            return None
        return bob + lam * sum(e.weight * (bound or 0.0) for e, bound in zip(self.eve_tasks, eves, strict=True))

    def posterior(self, statistic: Array, x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """B at each data set, and the standard error of its estimate."""
        if self._near is not None:
            return self._near.at(statistic)
        if self.posterior_loss is None:
            return self._drawn(x, rng)
        shape = (len(statistic), len(self.bob_task[1]))
        B = np.asarray(self.posterior_loss(statistic[:, 0] if statistic.shape[1] == 1 else statistic), dtype=float)
        if B.shape != shape:
            raise InputError("posterior_loss", None, f"gave shape {B.shape}, must give {shape}")
        if not (np.isfinite(B) & (B >= -1e-12)).all():
            raise InputError(
                "posterior_loss", float(B[~(np.isfinite(B) & (B >= -1e-12))][0]), "must be finite and not negative"
            )
        bound = 1.0 if isinstance(self.bob_task[0], ZeroOne) else self.bounds[0]
        _below(B, None if bound is None else bound + 1e-9, "posterior_loss")
        return np.maximum(B, 0.0), np.zeros(shape)

    def _drawn(self, x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Means of Bob's losses over K posterior draws for each data set."""
        K = self.posterior_size
        if "_batched" not in vars(self):
            self._batched = self._takes_many(x, rng)
        step = max(1, _PAIRS // (K * len(self.bob_task[1])))
        means, errors = [], []
        for k in range(0, len(x), step):
            part = x[k : k + step]
            theta = (
                self.posterior_draws(part, rng, K) if self._batched else [self.posterior_draws(r, rng, K) for r in part]
            )
            theta = np.asarray(theta, dtype=float)
            if theta.shape != (len(part), K) or not np.isfinite(theta).all():
                rule = f"gave shape {theta.shape} for {len(part)} data sets, must give {K} finite draws for each"
                raise InputError("posterior_draws", None, rule)
            lost = self.bob_losses(theta.ravel()).reshape(len(part), K, -1)
            means.append(lost.mean(axis=1))
            errors.append(lost.std(axis=1) / math.sqrt(max(K - 1, 1)))
        return np.concatenate(means), np.concatenate(errors)

    def _takes_many(self, x: Array, rng: np.random.Generator) -> bool:
        """Whether posterior_draws takes rows of data sets; otherwise it is called with one data set at a time."""
        rows = 3 if self.posterior_size != 3 else 2
        try:
            return np.shape(self.posterior_draws(x[:rows], rng, self.posterior_size)) == (rows, self.posterior_size)
        except Exception:
            return False

    def losses(self, x: ArrayLike, statistic: ArrayLike | None = None) -> tuple[Array, Array]:
        """B(x, .) and E(x, .) of new data sets, a row each."""
        data = np.asarray(x, dtype=float)
        target = _targets(data, self.eve_target, len(self.eve_tasks))
        B, _ = self.posterior(_rows(data if statistic is None else statistic), data, np.random.default_rng())
        return B, self.eve_losses(target)

    def choose(self, u: Array, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[np.intp]:
        """The position of the decision that the rule of u releases at each data set: argmin_i B(x,i) - u_i . E(x,.)."""
        return dual_choice(u, *self.losses(x, statistic))[0]

    def rule(self, solution: Solution, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[np.intp]:
        """The position of the decision that Alice releases at each data set: argmin_i B(x,i) - u_i . E(x,.)."""
        return self.choose(floats(solution.certificate.u), x, statistic)

    def out_of_sample(self, solution: Solution, size: int, seed: int = 1) -> OutOfSample:
        """The risks of the rule and the bound of its u, on `size` new draws."""
        size = whole_number("size", size, 2)
        rng = np.random.default_rng(seed)
        fresh = draw_block(self, rng, size, len(self.p))
        B, _ = self.posterior(fresh.statistic, fresh.x, rng)
        E = self.eve_losses(fresh.target)
        u, lam = floats(solution.certificate.u), float(solution.lam)
        value, chosen = rule_of(u, B, E)
        bound = value.min(axis=1)
        # an exact B is the mean of Bob's loss over theta and has a smaller variance than the loss
        exact = self.posterior_loss is not None
        bob = (B if exact else self.bob_losses(fresh.theta))[np.arange(size), chosen]
        sums = np.zeros((B.shape[1], E.shape[1]))
        np.add.at(sums, chosen, E)
        best = [g.start + sums[:, g].argmin(axis=1) for g in self.eve_groups]
        eve = np.sum([E[np.arange(size), reply[chosen]] for reply in best], axis=0)
        root = math.sqrt(size)
        risks = Risks(float(bob.mean()), float(eve.mean()), float(bob.std()) / root, float(eve.std()) / root)
        alice = bob - lam * eve
        return OutOfSample(
            size,
            risks,
            lam,
            float(alice.mean()),
            float(alice.std()) / root,
            float(bound.mean()),
            float(bound.std()) / root,
            float(solution.value),
            float(bound.std()) * math.sqrt(1 / size + 1 / len(self.p)),
        )


def sample(
    simulator: Simulator,
    size: int,
    bob_loss: Any,
    eve_loss: Any,
    *,
    bob_decisions: ArrayLike,
    eve_decisions: Any,
    eve_weights: Sequence[float] | None = None,
    eve_target: Any = None,
    posterior_loss: Callable[[Array], Array] | None = None,
    posterior_draws: Callable[[Any, np.random.Generator, int], Any] | None = None,
    posterior_size: int = 100,
    neighbours: int | None = None,
    bob_bound: float | None = None,
    eve_bound: float | None = None,
    seed: int = 0,
    title: str = "",
) -> SampledProblem:
    """A finite problem whose states are simulated draws.

    Args:
        simulator: a function (rng, size) -> (theta, x) or (theta, x, statistic), with one row per draw. B is a function
            of the statistic, which is x if it is not given. `StoredDraws(theta, x)` takes its place if draws are given.
        size: number of draws.
        bob_loss: a function of (theta, decision), or "0-1", "squared" or "absolute".
        eve_loss: the same for (Eve's target, decision); a list of them for several Eves.
        bob_decisions: the grid of Bob's decisions.
        eve_decisions: the grid of Eve's decisions; a list of grids for several Eves.
        eve_weights: the weights of several Eves in R_E; 1 each by default.
        eve_target: a function from the rows of x to one number each; x itself if it is not given. For several Eves a
            list of functions.
        posterior_loss: a function from statistics to rows of B, if it is known.
        posterior_draws: a function (x, rng, K) that draws theta K times from its posterior, for one data set x (K
            numbers) or for rows of data sets (a row of K numbers each). Without either, B is estimated from neighbours.
        posterior_size: the number K of posterior draws.
        neighbours: number of nearest draws from which B is estimated.
        bob_bound: a bound on Bob's loss, if it is known; 0-1 loss needs none. It is checked at every draw.
        eve_bound: the same for the loss of every Eve, before weights.
        seed: seed of the random numbers.
        title: title of the problem.

    Returns:
        The problem, with a rule for new data and its evaluation on new draws.

    Raises:
        InputError: an argument or what a function returns breaks one of these rules.

    >>> from discretise import zero_one
    >>> def simulator(rng, size):
    ...     theta = rng.normal(size=size)
    ...     return theta, theta + rng.normal(size=size)
    >>> sample(simulator, 200, zero_one(0), zero_one(1),
    ...        bob_decisions=[0, 1], eve_decisions=[0, 1], title="drawn")
    <SampledProblem: 'drawn', float, (N, b, e) = (200, 2, 2)>
    """
    size = whole_number("size", size, 3)
    bob = loss_of(bob_loss, "bob_loss"), decisions_of(bob_decisions, "bob_decisions")
    eves = eve_tasks(eve_loss, eve_decisions, eve_weights)
    posterior_size, seed = whole_number("posterior_size", posterior_size, 1), whole_number("seed", seed, 0)
    rule = "must be finite and not negative"
    for field, bound in (("bob_bound", bob_bound), ("eve_bound", eve_bound)):
        if bound is not None and (isinstance(bound, str) or numbers_of([bound], field, rule)[0] < 0):
            raise InputError(field, bound, rule)
    if posterior_loss is not None and posterior_draws is not None:
        raise InputError("posterior_draws", None, "must not be given with posterior_loss")
    draws = _draw(simulator, np.random.default_rng(seed), size, eve_target, len(eves), 0)
    dimension = draws.statistic.shape[1]
    k = default_neighbours(size, dimension) if neighbours is None else whole_number("neighbours", neighbours, 1)
    if k >= size:
        raise InputError("neighbours", k, f"must be less than size = {size}")
    posterior = posterior_loss, posterior_draws, posterior_size, k
    return SampledProblem(simulator, draws, bob, eves, eve_target, posterior, (bob_bound, eve_bound), seed, title)


def draw_block(problem: SampledProblem, rng: np.random.Generator, size: int, start: int) -> Draws:
    """New draws of the problem's simulator; `start` counts the draws that were taken before."""
    return _draw(problem.simulator, rng, size, problem.eve_target, len(problem.eve_tasks), start)


def _draw(simulator: Simulator, rng: np.random.Generator, size: int, eve_target: Any, eves: int, start: int) -> Draws:
    found = simulator.draws(start, size) if isinstance(simulator, StoredDraws) else simulator(rng, size)
    if not isinstance(found, tuple) or len(found) not in (2, 3):
        raise InputError("simulator", None, "must return (theta, x) or (theta, x, statistic)")
    try:
        parts = [np.asarray(part, dtype=float) for part in found]
    except (TypeError, ValueError):
        raise InputError("simulator", None, "must return arrays of numbers") from None
    for part, field in zip(parts, ("theta", "x", "statistic"), strict=False):
        if not part.ndim or len(part) != size or not np.isfinite(part).all():
            raise InputError(f"simulator's {field}", None, f"has shape {part.shape}, must be {size} finite rows")
    if parts[0].ndim != 1:
        raise InputError("simulator's theta", None, f"has shape {parts[0].shape}, must be one number per draw")
    return Draws(parts[0], _targets(parts[1], eve_target, eves), _rows(parts[-1]), parts[1])


def _targets(x: Array, eve_target: Any, eves: int) -> Array:
    """What each Eve wants to know, a column per Eve."""
    given = eve_target if isinstance(eve_target, (list, tuple)) else [eve_target] * eves
    if len(given) != eves:
        raise InputError("eve_target", None, f"has {len(given)} entries, must have {eves}, one per Eve")
    columns = [np.asarray(x if one is None else one(x), dtype=float) for one in given]
    for column in columns:
        if column.shape != x.shape[:1]:
            raise InputError("eve_target", None, f"gives shape {column.shape}, must give one number per data set")
    return np.stack(columns, axis=1)


def _below(losses: Array, bound: float | None, field: str) -> None:
    if bound is not None and losses.size and losses.max() > bound:
        raise InputError(field, bound, f"must bound every loss, and one is {losses.max():.6g}")


def _rows(values: ArrayLike) -> Array:
    rows = np.asarray(values, dtype=float)
    return rows.reshape(len(rows), -1)
