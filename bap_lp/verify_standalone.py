"""Check a bundle of bap-lp with the standard library alone:  python verify_standalone.py DIR [--allow-float]

Exit code 0: certificate.json proves that mechanism.json is feasible for problem.json and no mechanism is better by more
than the gap that is told. Exit code 1: it is not proved; stderr says why. Exit code 2: the question could not be
answered. This file imports nothing of bap-lp and may be copied. Every number is a fraction; there are no tolerances.

The problem: data x with probability p(x), Bob's loss B(x,i), losses E(x,j) of Eves g, weighted and added. A mechanism
sends signal s, which tells Bob to decide i_s, with probability q(s|x). Alice wants the least R_A = R_B - lam R_E. It is
one program, like all problems here. Unknown is rho[x,s] >= 0 with sum_s rho[x,s] = mass(x); an observer o (Eve is one,
and so is max_x q(s|x)) sees view sees(s) of the signal and takes the least of several sums:
    t_o[v,g] = min_{j in g} sum_x rho[x,v] losses_o[x,j],     rho[x,v] = sum of rho[x,s] over sees(s) = v.
    minimise  cost.rho - sum_o price_o sum t_o  (+ the largest row of `worst`),   other rows:  a.rho - c.t <= rhs, c >= 0.
For weights w >= 0 of the rows (with sum one over the worst ones) and replies u_o >= 0 with
    sum_{j in g} u_o[v,j] = price_o + sum_r w_r c_r[v,g]     for every view v and group g,
no feasible rho has a value below
    sum_x mass(x) min_s (cost[x,s] - sum_o u_o[sees(s)].losses_o[x] + (w.a)[x,s]) - w.rhs              (weak duality).
If signals are few or the mechanism deterministic, the bound may go case by case, or all maps are tried.

A certificate about "floats" reads every number of the problem as the nearest float, each float being the fraction it is,
with distributions scaled to sum to one. A limit of a condition that is written as a float is loosened by 2^-48 of it.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import sys
from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import pairwise, product
from types import SimpleNamespace as Record

LIMITS = {"bytes": 2**28, "digits": 20_000, "keys": 10_000, "depth": 64, "columns": 100_000, "cells": 20_000_000,
          "memory": 2**30, "bits": 100_000, "parts": 5_000_000, "maps": 100_000, "work": 20_000_000}
NUMBER = re.compile(r"[-+]?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?)")
FORMAT, MOST, LOOSE = "bap-lp bundle 2", 10**300, F(1, 2**48)
LOWEST = {"min_eve_risk": 0, "max_bob_risk": 0, "margin": 0, "max_leakage": 1, "delta": 0, "epsilon": 0,
          "exp_epsilon": 1}
CONES = ["posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish"]
ENTRY = 200  # bytes of a fraction in a table


class Refused(Exception):
    """Why a bundle is not proved."""


def need(good, why):
    if not good:
        raise Refused(why)


def shown(v):
    return f"{float(v):.9g}" if abs(v) < 2**1000 else "a number too large for floats"


# ---- reading: strict JSON, strict numbers


def parsed(raw, name):
    def table(pairs):
        need(len(pairs) <= LIMITS["keys"] and len(dict(pairs)) == len(pairs), f"{name}: keys repeat or are too many")
        return dict(pairs)

    def integer(digits):
        need(len(digits) <= LIMITS["digits"], f"{name}: too many digits")
        return int(digits)

    document = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=table, parse_int=integer)
    json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair is not text
    need(type(document) is dict, f"{name} is not a table")
    return document


def keyed(table, required, optional=()):
    need(type(table) is dict and {*required} <= {*table} <= {*required, *optional}, f"keys must be {sorted(required)}")
    return table


def listed(values, why, count=None):
    need(type(values) is list and (len(values) == count if count is not None else values), why)
    return values


def number(v, low=None, high=None, long=False):
    if type(v) is str:
        v = v.strip(" \t\r\n")
        need(len(v) <= 2 * LIMITS["digits"] + 8 and NUMBER.fullmatch(v), f"{v[:40]!r} is not a number")
        parts, power = v.split("/"), re.search("[eE](.*)", v)
        most = LIMITS["digits"] if (len(parts) == 2 or long) and not re.search("[.eE]", v) else 300
        need(all(len(part.lstrip("+-")) <= most for part in parts), "too many digits")
        need((not power or abs(int(power[1])) <= 300) and parts[-1].strip("0") + "0" * (len(parts) == 1), "no number")
    need(type(v) in (str, int) or (type(v) is float and math.isfinite(v)), "not a finite number")
    v = F(v)
    need((low is None or v >= low) and (high is None or v <= high), "a number is out of range")
    return v


def proof_number(v):
    need(type(v) is not float, "a proof has exact numbers")
    return number(v, long=True)


def table_of(rows, read, count=None, width=None):
    width = len(listed(listed(rows, "no table", count)[0], "no table", width))
    return [[read(v) for v in listed(row, "a table has rows of several lengths", width)] for row in rows]


def proof_table(value, dimensions):
    """A table of a proof without its zeros: its shape, and {place: number}."""
    if type(value) is dict and "at" in value:
        shape, at = keyed(value, ["shape", "at"])["shape"], {}
        need(type(shape) is list and all(type(n) is int and n >= 0 for n in shape), "a table has no shape")
        need(len(shape) == dimensions and math.prod(shape) <= LIMITS["cells"], "a table has another shape")
        need(type(value["at"]) is list, "a table has no entries")
        for *place, v in (listed(entry, "no entry of a table", dimensions + 1) for entry in value["at"]):
            inside = all(type(n) is int and 0 <= n < most for n, most in zip(place, shape))
            need(inside and tuple(place) not in at, "an entry of a table is outside of it, or there twice")
            at[tuple(place)] = proof_number(v)
        return tuple(shape), {place: v for place, v in at.items() if v}
    over = proof_number(keyed(value, ["over", "rows"])["over"]) if type(value) is dict else F(1)
    need(over > 0 and dimensions == 2, "a table has another shape")
    rows = table_of(value["rows"] if type(value) is dict else value, proof_number)
    return (len(rows), len(rows[0])), {(i, j): v / over for i, row in enumerate(rows) for j, v in enumerate(row) if v}


def distribution(row, count=None, long=False):
    values = [number(v, 0, MOST, long) for v in listed(row, "a distribution has the wrong length", count)]
    need(abs(sum(map(float, values)) - 1) <= 1e-12 if floating(row) else sum(values) == 1, "no distribution")
    return values


def labels(names, count):
    need(all(type(n) is str and n for n in listed(names, "labels", count)) and len({*names}) == count, "no labels")
    return names


def joints(groups, by):
    """A label per choice of one part per group; a part whose end could be mistaken is in quotes."""
    quoted = lambda n: json.dumps(n, ensure_ascii=False) if n[0] == '"' or (n + by).index(by) < len(n) else n
    return [by.join(map(quoted, names) if len(names) > 1 else names) for names in product(*groups)]


def floating(*values):
    """Whether there is a float; epsilon does not count, which is exact if it is 0, however that is written."""
    inside = lambda v: [w for k, w in v.items() if k != "epsilon"] if type(v) is dict else v
    return any(type(v) is float or (type(v) in (list, dict) and floating(*inside(v))) for v in values)


# ---- the problem


class Game:
    """A problem in fractions. `read` takes a number as it is, or as the nearest float; the proof has `signals`."""

    def __init__(self, document, read, signals):
        keyed(document, ["title", "data", "bob", "eve", "alice"], ["conditions"])
        data, roles = keyed(document["data"], ["labels", "prior"]), ("bob", "eve")
        need(type(document["title"]) is str, "title must be a text")
        self.read, self.p = read, scaled(distribution(data["prior"]), read)
        self.N, self.states = len(self.p), labels(data["labels"], len(self.p))
        self.place = {label: x for x, label in enumerate(self.states)}
        self.given_lam = keyed(document["alice"], ["lambda"])["lambda"]
        self.lam, self.conditions = number(self.given_lam, 0, MOST), document.get("conditions", {})
        self.exact = not floating(*(document[key] for key in ("data", *roles)))
        bobs, eves = ([self.agent(one, role) for one in listed(document[role], "no agent")] for role in roles)
        for group in (bobs, eves):
            labels([a.name for a in group], len(group))
        self.sizes, self.eves = [len(a.decisions) for a in bobs], eves
        columns = math.prod(self.sizes)
        need(columns <= signals and (len(bobs) == 1 or columns <= LIMITS["columns"]), "the proof has too few signals")
        cells = self.N * columns + sum(len(a.decisions) * sum(map(bool, row)) for a in eves for row in a.shares)
        need(cells * ENTRY <= LIMITS["memory"], "too large a problem (BAP_LIMITS=memory=N raises this)")
        self.B, self.E, self.views = [[F(0)] for _ in self.p], [[] for _ in self.p], []
        for a in bobs:
            self.B = [[v + a.weight * w for v in row for w in more] for row, more in zip(self.B, a.harm)]
        for a in eves:  # E[x] has the losses k(z|x) E(x,j) that are not zero, by their column
            for share in zip(*a.shares):
                start = self.views[-1].columns.stop if self.views else 0
                self.views.append(Record(eve=a, share=share, columns=range(start, start + len(a.decisions))))
                for own, k, row in zip(self.E, share, a.harm):
                    own += [(j, k * a.weight * v) for j, v in enumerate(row, start) if k and v]
        self.groups = [view.columns for view in self.views]
        self.acting = [Record(mass=a.prior, weight=a.weight, loss=a.loss) for a in bobs]
        for a, share in ((view.eve, view.share) for view in self.views):
            mass = [m * k for m, k in zip(a.prior, share)]
            self.acting.append(Record(mass=mass, weight=a.weight, loss=a.loss))
        self.decisions = joints([a.decisions for a in bobs], ", ")
        self.aligned = all(a.harm == a.loss and a.prior == self.p for a in bobs + eves)

    def agent(self, table, role):
        """A Bob or an Eve: losses, what Alice counts as harm, beliefs, and k(z|x) for each z that an Eve may know."""
        keyed(table, ["name", "weight", "decisions", "loss"], ["harm", "prior"] + ["knows", "knowledge"] * (role == "eve"))
        own, loss = Record(name=table["name"], weight=self.read(number(table["weight"]))), self.loss
        own.loss = table_of(table["loss"], loss, self.N)
        own.decisions = labels(table["decisions"], len(own.loss[0]))
        own.harm = table_of(table["harm"], loss, self.N, len(own.loss[0])) if "harm" in table else own.loss
        own.prior = scaled(distribution(table["prior"], self.N), self.read) if "prior" in table else self.p
        need(own.weight > 0 and not {"knows", "knowledge"} <= {*table}, "a weight, or what an Eve knows")
        need(own.weight <= 1 or own.weight * max(map(max, own.harm)) <= MOST, "a weight makes a loss larger than 1e300")
        own.shares = [[F(1)] for _ in self.p]
        if "knows" in table:
            known = listed(table["knows"], "knows", self.N)
            need(all(type(z) is int or (type(z) is str and z) for z in known), "knows must be labels")
            values = {z: [F(0)] for z in map(str, known)}
            need(len(values) * self.N <= LIMITS["cells"], "knows too much")
            places = {z: k for k, z in enumerate(values)}
            own.shares = [[F(0)] * k + [F(1)] + [F(0)] * (len(places) - 1 - k) for k in (places[str(z)] for z in known)]
        if "knowledge" in table:
            width = len(listed(listed(table["knowledge"], "knowledge", self.N)[0], "knowledge"))
            own.shares = [scaled(distribution(row, width), self.read) for row in table["knowledge"]]
        return own

    def loss(self, v):
        v = self.read(number(v, 0, MOST))
        need(v <= MOST, "a loss is larger than 1e300")
        return v

    def tuples(self):
        """One signal per tuple of everybody's decisions: names, Bob's decisions, Eves' columns of E."""
        count = len(self.decisions) * math.prod(map(len, self.groups))
        need(count <= LIMITS["columns"] and count * self.N <= LIMITS["cells"], "too many tuples of decisions")
        each = list(product(range(len(self.decisions)), *self.groups))
        words = joints([view.eve.decisions for view in self.views], ", ")
        return joints([self.decisions, words], " / "), [t[0] for t in each], [t[1:] for t in each]

    def eve_losses(self):
        return [[(j, p * v) for j, v in row] for p, row in zip(self.p, self.E)]

    def risks(self, q, told, eve=None):
        """R_B and R_E of a channel whose signal s tells Bob to decide told[s], and perhaps the Eves eve[s]."""
        sums = [[F(0)] * self.groups[-1].stop for _ in told]
        for p, row, losses in zip(self.p, q, self.E):
            for s, v in enumerate(row):
                for j, e in losses if p * v else ():
                    sums[s][j] += p * v * e
        bob = sum(p * v * row[i] for p, sent, row in zip(self.p, q, self.B) for v, i in zip(sent, told) if v)
        return bob, sum(sum(row[j] for j in eve[s]) if eve else sum(min(row[g.start : g.stop]) for g in self.groups)
                        for s, row in enumerate(sums))


def scaled(values, read):
    values = [read(v) for v in values]
    total = sum(values)
    return [v / total for v in values]


# ---- the program


class Program:
    """Observers and rows have names; rows are (entries (x, s, a), terms (observer, view, group, c), rhs).

    `laws` are the conditions by their definitions, apart from the rows: functions of the channel.
    """

    def __init__(self, mass, cost, worst=None):
        self.mass, self.cost, self.worst, self.signals = mass, cost, worst, len(cost[0])
        self.observers, self.rows, self.laws = {}, {}, {}

    def observe(self, name, losses, groups, price=F(0), sees=None):
        """losses[x] = [(column, loss), ...] where it is not zero; groups are ranges of columns; sees[s] is a view."""
        sees = range(self.signals) if sees is None else sees
        self.observers[name] = Record(losses=losses, groups=groups, price=price, sees=sees)

    def value(self, q):
        """What is minimised; refuses a channel that breaks a row or a law."""
        rho, t = [[m * v for v in row] for m, row in zip(self.mass, q)], {}
        for name, o in self.observers.items():
            sums = [[F(0)] * o.groups[-1].stop for _ in range(max(o.sees) + 1)]
            for row, losses in zip(rho, o.losses):
                for view, m in zip(o.sees, row):
                    for j, v in losses if m else ():
                        sums[view][j] += m * v
            t[name] = [[min(row[g.start : g.stop]) for g in o.groups] for row in sums]
        worst = []
        for name, rows in self.rows.items():
            for entries, terms, rhs in rows:
                side = sum(a * rho[x][s] for x, s, a in entries if rho[x][s]) - rhs
                side -= sum(c * t[o][view][g] for o, view, g, c in terms)
                need(side <= 0 or name == self.worst, f"the mechanism breaks {name}")
                worst += [side] if name == self.worst else []
        for name, law in self.laws.items():
            need(law(q), f"the mechanism breaks {name}")
        cost = sum(c * v for costs, row in zip(self.cost, rho) for c, v in zip(costs, row) if v)
        return cost - sum(o.price * sum(map(sum, t[name])) for name, o in self.observers.items()) + max(worst, default=0)

    def bound(self, dual, keep=None, allowed=None, void=False):
        """What multipliers prove of channels that send only `keep`, and at x only those positions of it in allowed[x].

        void: with cost and prices zero. A positive bound then proves that there is no such channel.
        """
        (replies, weights), whole = dual, keep is None
        place = {s: k for k, s in enumerate(range(self.signals) if whole else keep)}
        keep = range(self.signals) if whole else keep
        need({*weights} <= {*self.rows}, "there is a weight for what is not a row")
        need({*replies} == {*self.observers}, f"there must be replies of {', '.join(self.observers) or 'nobody'}")
        sees = {name: o.sees if whole else range(len(keep)) for name, o in self.observers.items()}
        price = {name: [[o.price * (not void)] * len(o.groups) for _ in range(max(sees[name]) + 1)]
                 for name, o in self.observers.items()}
        cost, paid = [[row[s] * (not void) for s in keep] for row in self.cost], F(0)
        for name, (shape, own) in weights.items():
            need(shape == (len(self.rows[name]),), f"the weights of {name} must be one per row")
            need(all(w > 0 for w in own.values()), f"the weights of {name} must not be negative")
            for (r,), w in own.items():
                entries, terms, rhs = self.rows[name][r]
                for x, s, a in entries:
                    if s in place:
                        cost[x][place[s]] += w * a
                for o, view, g, c in terms:
                    if view in place:
                        price[o][place[view]][g] += w * c
                paid += w * rhs
        share = sum(weights[self.worst][1].values()) if self.worst in weights else 0
        need(self.worst is None or share == 1, "the weights of the worst cases must sum to one")
        for name, o in self.observers.items():
            (shape, table), u = replies[name], [{} for _ in price[name]]
            need(shape == (len(u), o.groups[-1].stop), f"the replies of {name} have another shape")
            need(all(v > 0 for v in table.values()), f"the replies of {name} must not be negative")
            for (view, j), v in table.items():
                u[view][j] = v
            for own, goal in zip(u, price[name]):
                sums = [sum(own[j] for j in g if j in own) for g in o.groups]
                need(sums == goal, f"the replies of {name} do not sum to their price")
            for row, losses in zip(cost, o.losses):
                answer = [sum(own[j] * v for j, v in losses if j in own) for own in u]
                for s, view in enumerate(sees[name]):
                    row[s] -= answer[view]
        least = (min(row if allowed is None else [row[s] for s in allowed[x]]) for x, row in enumerate(cost))
        return sum(m * v for m, v in zip(self.mass, least)) - paid


# ---- conditions


class Demands:
    """Conditions of a game as they are written, and the program that they make."""

    def __init__(self, game, table):
        keyed(table, [], [*LOWEST, *CONES, "neighbours", "metric", "deterministic", "max_signals"])
        need(None not in table.values(), "a condition is null")
        need(type(table.get("deterministic", False)) is bool, "deterministic must be true or false")
        self.given = given = {k: v for k, v in table.items() if k != "deterministic" or v}
        self.game, self.most, self.deterministic = game, given.get("max_signals"), "deterministic" in given
        need(self.most is None or (type(self.most) is int and self.most >= 1), "max_signals must be a positive integer")
        numbers = {k: number(given[k], low, MOST) for k, low in LOWEST.items() if k in given}
        self.exact = not floating({k: v for k, v in given.items() if k != "metric"}) and not numbers.get("epsilon")
        rounded = {(k, "rounded"): floating(v) for k, v in given.items() if k not in ("metric", "epsilon")}
        self.meaning, self.pairs, self.K = given | numbers | rounded, None, None
        two = [len({*names} & {*given}) for names in (("neighbours", "metric"), ("epsilon", "exp_epsilon"))]
        need(max(two) < 2 and (two[1] or not {"neighbours", "metric", "delta"} & {*given}), "privacy needs one epsilon")
        if two[1]:
            self.K, self.log = ratio_of(numbers)
        if "neighbours" in given:
            need(type(given["neighbours"]) is list, "neighbours must be a list")
            found = [[self.state(x) for x in listed(pair, "no pair of states", 2)] for pair in given["neighbours"]]
            self.pairs = {(x, y): F(1) for pair in found for x, y in (pair, pair[::-1]) if x != y}
            self.meaning["neighbours"] = {*self.pairs}
        if "metric" in given:
            far = lambda v: None if v in (None, "inf", math.inf) else number(v, 0)
            found = table_of(given["metric"], far, game.N, game.N)
            self.pairs = {(x, y): d for x, row in enumerate(found) for y, d in enumerate(row) if d is not None and x != y}
            self.meaning["metric"] = self.pairs
            whole = all(d is None or d.denominator == 1 for row in found for d in row)
            finite = [[v for v in row if v != math.inf] for row in given["metric"]]
            self.exact = self.exact and whole and not floating(finite)
        self.cones = {name: list(self.cone(name, given[name])) for name in CONES if name in given}
        self.tuples = "margin" in given or not game.aligned
        every = game.decisions, list(range(len(game.decisions))), None
        self.names, self.told, self.eve = game.tuples() if self.tuples else every
        delta = numbers.get("delta")
        self.private = "" if self.K is None or (delta and delta >= 1) else "approximate_privacy" if delta else "privacy"
        self.asked = {*given} - {"delta", "epsilon", "exp_epsilon", "neighbours", "metric"}
        self.free = not self.asked and not self.private and game.aligned

    def limit(self, name, looser):
        return limit(self.given[name], looser)

    def state(self, x):
        x = self.game.place.get(x, x) if type(x) is str else x
        need(type(x) is int and 0 <= x < self.game.N, "no state")
        return x

    def event(self, states):
        need(all(type(x) in (int, str) for x in listed(states, "an event lists states")), "an event lists states")
        inside = {self.state(x) for x in states}
        return [x in inside for x in range(self.game.N)]

    def cone(self, name, value):
        """Conditions on one signal at a time, sum_x g(x) q(s|x) <= 0: every g, and Eve's column that it is about.

        A row with a column is about the signals that prescribe it, where signals prescribe something.
        """
        game, p = self.game, self.game.p
        if name == "signal_floor":
            every = [(a.name, value) for a in game.eves]
            pairs = list(value.items()) if type(value) is dict else value if type(value) is list else every
            need(pairs and all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs), "signal_floor")
            floors = {str(eve): limit(v, -1, 0) for eve, v in pairs}
            need({*floors} <= {a.name for a in game.eves}, "signal_floor names no Eve")
            self.meaning[name] = [(str(eve), number(v)) for eve, v in pairs] if pairs is not every else number(value)
            for view in game.views:
                here = [m * k for m, k in zip(p, view.share)]
                for column, losses in zip(view.columns, zip(*view.eve.harm)) if view.eve.name in floors else ():
                    yield [m * (floors[view.eve.name] - v) if m else m for m, v in zip(here, losses)], column
            return
        rows = [value] if name == "pufferfish" and type(value) is dict else value
        need(type(rows) is list, f"{name} must be a list")
        self.meaning[name] = meaning(rows, name)
        for row in rows:
            yield from ((vector, None) for vector in getattr(self, name)(row))

    def posterior_caps(self, row):
        """P(A|s) <= at_most, P(A|s) >= at_least."""
        keyed(row, ["event"], ["at_most", "at_least"])
        inside, ends = self.event(row["event"]), [k for k in ("at_most", "at_least") if row.get(k) is not None]
        values = [number(row[k], 0, 1) for k in ends]
        need(ends and (len(ends) < 2 or values[1] <= values[0]), "posterior_caps")
        for end in ends:
            sign = 1 if end == "at_most" else -1
            yield [sign * m * (i - limit(row[end], sign)) for m, i in zip(self.game.p, inside)]

    def posterior_ratio(self, row):
        """P(A) / K <= P(A|s) <= K P(A)."""
        keyed(row, ["event"], ["exp_epsilon", "epsilon"])
        inside, p, K = self.event(row["event"]), self.game.p, self.factor(row)
        share = sum(m for m, i in zip(p, inside) if i)
        yield [m * (i - K * share) for m, i in zip(p, inside)]
        yield [m * (share - K * i) for m, i in zip(p, inside)]

    def independent_of(self, row):
        """P(A|s) = P(A)."""
        inside, p = self.event(row), self.game.p
        share = sum(m for m, i in zip(p, inside) if i)
        for sign in (1, -1):
            yield [sign * m * (i - share) for m, i in zip(p, inside)]

    def pufferfish(self, row):
        """P(s|A) <= K P(s|B) and back, under every prior."""
        keyed(row, ["pairs"], ["priors", "exp_epsilon", "epsilon"])
        need(type(row["pairs"]) is list, "pairs of events")
        pairs = [[self.event(event) for event in listed(pair, "a pair of events", 2)] for pair in row["pairs"]]
        K, priors = self.factor(row), [self.game.p]
        if row.get("priors") is not None:
            priors = [distribution(r, self.game.N) for r in listed(row["priors"], "priors")]
            priors = [scaled(r, (lambda v: F(float(v))) if floating(given) else F) for r, given in zip(priors, row["priors"])]
        for r, pair in product(priors, pairs):
            a, b = ([m * i for m, i in zip(r, inside)] for inside in pair)
            if sum(a) and sum(b):
                a, b = scaled(a, F), scaled(b, F)
                yield from ([u - K * v for u, v in zip(*both)] for both in ((a, b), (b, a)))

    def factor(self, row):
        """K of a demand with exp_epsilon or epsilon."""
        given = {k: number(row[k], LOWEST[k], MOST) for k in ("exp_epsilon", "epsilon") if row.get(k) is not None}
        need(len(given) == 1, "exp_epsilon or epsilon, one of the two")
        self.exact = self.exact and not given.get("epsilon")
        return ratio_of(given)[0]

    # the program

    def program(self, lam):
        """All conditions lowered to rows and observers, in the channel's own variables."""
        g, told, S, N = self.game, self.told, range(len(self.told)), range(self.game.N)
        cost = [[p * row[i] for i in told] for p, row in zip(g.p, g.B)]
        program, losses = Program([F(1)] * g.N, cost), g.eve_losses()
        if self.eve:
            told_eve = [[sum(map(dict(row).get, t, [0] * len(t))) for t in self.eve] for row in losses]
            program.cost = [[c - lam * v for c, v in zip(*rows)] for rows in zip(cost, told_eve)]
        else:
            program.observe("eve", losses, g.groups, lam)
        if "min_eve_risk" in self.given:
            f = self.limit("min_eve_risk", -1)
            entries = [(x, s, -told_eve[x][s]) for x in N for s in S] if self.eve else []
            terms = [] if self.eve else [("eve", s, k, 1) for s in S for k in range(len(g.groups))]
            program.rows["min_eve_risk"] = [(entries, terms, -f)]
            program.laws["min_eve_risk"] = lambda q: g.risks(q, told, self.eve)[1] >= f
        if "max_bob_risk" in self.given:
            cap = self.limit("max_bob_risk", 1)
            program.rows["max_bob_risk"] = [([(x, s, cost[x][s]) for x in N for s in S], [], cap)]
            program.laws["max_bob_risk"] = lambda q: g.risks(q, told, self.eve)[0] <= cap
        if self.private:
            self.keep_private(program)
        for name, vectors in self.cones.items():
            about = lambda s, column: column is None or self.eve is None or g.aligned or column in self.eve[s]
            program.rows[name] = [([(x, s, v) for x, v in enumerate(vector) if v], [], F(0))
                                  for s in S for vector, column in vectors if about(s, column)]
        if "max_leakage" in self.given:
            leak, each = self.limit("max_leakage", 1), [[(x, F(-1))] for x in N]
            program.observe("leak", each, [range(g.N)])
            program.rows["max_leakage"] = [([], [("leak", s, 0, 1) for s in S], leak)]
            program.laws["max_leakage"] = lambda q: sum(map(max, zip(*q))) <= leak
        if self.tuples:
            program.rows["margin" if g.aligned else "beliefs"] = list(self.obedience())
        if self.deterministic:
            program.laws["deterministic"] = lambda q: all(v in (0, 1) for row in q for v in row)
        if self.most is not None:
            program.laws["max_signals"] = lambda q: sum(map(any, zip(*q))) <= self.most
        return program

    def keep_private(self, program):
        """q(s|x) <= K^d(x,y) q(s|y), or sum_s max(0, q(s|x) - K^d(x,y) q(s|y)) <= delta."""
        N, S, K = self.game.N, range(program.signals), self.K
        every = [(x, y) for x in range(N) for y in range(N) if x != y] if self.pairs is None else sorted(self.pairs)
        ratio = {pair: K if self.pairs is None else self.power(self.pairs[pair]) for pair in every}
        if self.private == "approximate_privacy":
            delta, beyond = self.limit("delta", 1), [[] for _ in range(N)]
            need(len(every) * (len(S) + 1) <= 500_000 and None not in ratio.values(), "delta: too many pairs")
            for k, (x, y) in enumerate(every):  # columns 0 and K^d q(s|y) - q(s|x)
                beyond[x].append((2 * k + 1, F(-1)))
                beyond[y].append((2 * k + 1, ratio[x, y]))
            if every:
                program.observe("beyond", beyond, [range(2 * k, 2 * k + 2) for k in range(len(every))])
                rows = [([], [("beyond", s, k, 1) for s in S], delta) for k in range(len(every))]
                program.rows[self.private] = rows
            over = lambda q, x, y: sum(max(0, u - ratio[x, y] * v) for u, v in zip(q[x], q[y]))
            program.laws[self.private] = lambda q: all(over(q, x, y) <= delta for x, y in every)
        elif self.pairs is None:
            for name, sign in (("top", -1), ("low", 1)):
                program.observe(name, [[(x, F(sign))] for x in range(N)], [range(N)])
            program.rows[self.private] = [([], [("top", s, 0, 1), ("low", s, 0, K)], F(0)) for s in S]
            program.laws[self.private] = lambda q: all(max(column) <= K * min(column) for column in zip(*q))
        else:
            pairs = self.needed()
            need(all(ratio[pair] is not None for pair in pairs), "exp(eps d) is too large")
            program.rows[self.private] = [([(x, s, F(1)), (y, s, -ratio[x, y])], [], F(0)) for x, y in pairs for s in S]
            if all(d.denominator == 1 for d in self.pairs.values()):  # rounded powers do not imply each other
                pairs = [pair for pair in every if ratio[pair] is not None]
            program.laws[self.private] = lambda q: all(u <= ratio[x, y] * v for x, y in pairs for u, v in zip(q[x], q[y]))

    def power(self, d):
        """K^d, None if it is too large to be written down."""
        bits = max(self.K.numerator.bit_length(), self.K.denominator.bit_length())
        if self.K == 1 or d * F(self.log) > 600 or (d.denominator == 1 and d * bits > LIMITS["bits"]):
            return self.K if self.K == 1 else None
        return self.K ** int(d) if d.denominator == 1 else exponential(d, self.K)

    def needed(self):
        """The pairs that no others imply: those without d(x,y) + d(y,z) <= d(x,z), both positive."""
        common = math.lcm(*(d.denominator for d in self.pairs.values()))
        d, out = {pair: int(v * common) for pair, v in self.pairs.items()}, []
        ways = {x: [] for x, _ in d}
        for (x, y), v in d.items():
            ways[x] += [(y, v)] * (v > 0)
        for (x, z), most in sorted(d.items()):
            if not any(v < most and 0 < d.get((y, z), 0) <= most - v for y, v in ways[x]):
                out.append((x, z))
        return out

    def obedience(self):
        """Every agent prefers what he is told by a margin; rows by signal, agent and other decision."""
        g, m = self.game, self.limit("margin", -1) if "margin" in self.given else F(0)
        agents = g.acting
        if g.aligned:  # all Bobs are one agent
            agents = [Record(mass=g.p, weight=1, loss=g.B)] + agents[len(g.sizes) :]
        acts = [[[a.weight * m * v for v in row] for m, row in zip(a.mass, a.loss)] for a in agents]
        for s, (i, columns) in enumerate(zip(self.told, self.eve)):
            told = [i] if g.aligned else [i // math.prod(g.sizes[k + 1 :]) % n for k, n in enumerate(g.sizes)]
            told += [j - group.start for j, group in zip(columns, g.groups)]
            for a, act, own in zip(agents, acts, told):
                for d in (d for d in range(len(act[0])) if d != own):
                    gains = ((x, row[own] - row[d] + m * a.mass[x]) for x, row in enumerate(act))
                    yield [(x, s, v) for x, v in gains if v], [], F(0)


def limit(v, looser, low=None):
    """The number of a condition; one that is written as a float may be an attainable extreme, rounded."""
    found = number(v, low, MOST)
    return found + looser * LOOSE * found if type(v) is float else found


def meaning(v, key):
    """A demand with its numbers as fractions; events stay as they are written."""
    if type(v) is dict:
        return {k: meaning(w, k) for k, w in v.items() if w is not None}
    if key in ("event", "pairs", "independent_of"):
        return v
    return [meaning(w, key) for w in v] if type(v) is list else number(v)


def ratio_of(given):
    """K = exp_epsilon or exp(epsilon), and its logarithm."""
    eps, K = given.get("epsilon"), given.get("exp_epsilon")
    log = eps if K is None else math.log1p(K - 1) if K < 2 else math.log(K.numerator) - math.log(K.denominator)
    need(log <= 600, "epsilon is too large")
    return exponential(eps) if K is None else K, float(log)


def exponential(power, base=None):
    """The largest float that is at most e^power, or base^power; decimals of sixty digits decide which one that is."""
    if power == 0:
        return F(1)
    with localcontext() as context:
        context.prec = 60
        decimal = lambda v: Decimal(v.numerator) / Decimal(v.denominator)
        value = F((decimal(power) * (1 if base is None else decimal(base).ln())).exp())
    near = float(value)
    return F(near if F(near) <= value else math.nextafter(near, -math.inf))


# ---- the proof where the mechanisms are not a convex set


def dual_of(document):
    """Replies and weights, by name."""
    parts = [(document[key], dimensions) for key, dimensions in (("replies", 2), ("weights", 1))]
    need(all(type(part) is dict for part, _ in parts), "replies and weights must be tables")
    return [{name: proof_table(v, dimensions) for name, v in part.items()} for part, dimensions in parts]


def case_of(part, N, S):
    """A part of the mechanisms: signals, allowed signals by state, multipliers; void: no mechanism is in it."""
    keyed(part, ["signals", "replies", "weights"], ["states", "void"])
    positions = lambda values, count: type(values) is list and all(type(v) is int and 0 <= v < count for v in values)
    keep, few = part["signals"], {}
    need(positions(keep, S) and type(part.get("states", [])) is list, "a case is about no signals")
    need(type(part.get("void", False)) is bool, "void must be true or false")
    for x, own in (listed(row, "a case is about no states", 2) for row in part.get("states", [])):
        need(positions([x], N) and positions(own, len(keep)), "a case is about no states or signals")
        few[x] = sorted({*own})
    allowed = [few.get(x, range(len(keep))) for x in range(N)]
    return Record(keep=keep, few=few, allowed=allowed, void=part.get("void", False), dual=dual_of(part))


def by_cases(program, demands, cases, value):
    """The least bound over cases that together contain every mechanism."""
    N, S, boxes = len(program.mass), program.signals, []
    for case in cases:
        need(case.keep and all(case.allowed), "a case is about no signals")
        if demands.deterministic:  # a set of signals, as bits, for every state
            boxes.append([sum({1 << case.keep[s] for s in row}) for row in case.allowed])
        else:  # for every signal: 1 it is sent, 2 it is not
            need(demands.most <= S and not case.few, "there are cases without a limit on the signals")
            boxes.append([3 if s in case.keep else 2 for s in range(S)])
    covered([(1 << S) - 1] * N if demands.deterministic else [3] * S, boxes, demands)
    for case in cases:
        bound = program.bound(case.dual, case.keep, case.allowed, case.void)
        need(not case.void or bound > 0, "a void case is not proved to be empty")
        value = value if case.void else min(value, bound)
    return value


def covered(whole, boxes, demands):
    """Every choice of an element per place lies in a box, or uses too many signals: split regions along the boxes."""
    todo, steps = [(whole, boxes)], LIMITS["parts"]
    while todo:
        region, near = todo.pop()
        region, steps = feasible(region, demands), steps - len(whole) * (1 + len(near))
        need(steps >= 0, "the cases are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region))]
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(region) or not all(lacks):
            continue  # it is empty, or a box contains it
        k = max(range(len(whole)), key=lambda k: (sum(k in lack for lack in lacks), region[k].bit_count() > 1))
        inside = next((box[k] for box, lack in zip(near, lacks) if k in lack), region[k] & -region[k])
        # a region without a box may have no choice with so few signals: look closer
        need(near or (demands.most is not None and region[k].bit_count() > 1), "some mechanisms are in no case")
        todo += [([*region[:k], part, *region[k + 1 :]], near) for part in (region[k] & inside, region[k] & ~inside)]


def feasible(region, demands):
    """The region without what uses more than the allowed signals; a place is 0 if nothing is left."""
    if demands.most is None:
        return region
    if demands.deterministic:
        used = sum({part for part in region if part.bit_count() == 1})
        return region if used.bit_count() < demands.most else [part & used for part in region]
    return region if region.count(1) < demands.most else [part if part == 1 else part & 2 for part in region]


def best_map(program, demands, lam, value):
    """The least R_A of a deterministic mechanism that meets the conditions, if it is below `value`."""
    g, b = demands.game, program.signals
    every = demands.pairs is not None and demands.private
    every = every or any(v for vectors in demands.cones.values() for row, _ in vectors for p, v in zip(g.p, row) if not p)
    free = [x for x, p in enumerate(g.p) if p or every]  # other states follow the first one
    need(b ** min(len(free), 64) <= LIMITS["maps"] and not demands.tuples, f"the proof only shows less than {shown(value)}")
    eve = g.eve_losses()
    scale = math.lcm(*(v.denominator for row in program.cost for v in row), *(v.denominator for row in eve for _, v in row))
    bob = [[int(v * scale) for v in row] for row in program.cost]
    eve = [[(j, int(v * scale)) for j, v in row] for row in eve]
    for choice in product(range(b), repeat=len(free)):
        cells = [[0] * g.groups[-1].stop for _ in range(b)]
        for x, i in zip(free, choice):
            for j, v in eve[x]:
                cells[i][j] += v
        heard = sum(min(cell[group.start : group.stop]) for cell in cells for group in g.groups)
        score = (sum(bob[x][i] for x, i in zip(free, choice)) - lam * heard) / scale
        if score < value:
            sent = dict.fromkeys(range(g.N), choice[0]) | dict(zip(free, choice))
            with contextlib.suppress(Refused):
                value = min(value, program.value([[F(sent[x] == i) for i in range(b)] for x in range(g.N)]))
    return value


# ---- bundles


def kind_of(problem):
    """What problem.json is about: "scenarios", "tiers", or one "release"."""
    kinds = {("scenarios",): "scenarios", ("tiers", "weights"): "tiers"}
    return kinds.get(tuple(sorted(problem)), "release")


def proof_steps(problem, certificate):
    """Steps of a check: N S per column of an observer and vector of a condition, once more for every case."""
    size = lambda table, key: len(items(table, key))
    replies, asked = (certificate.get(key) for key in ("replies", "conditions"))
    sizes = [shape_of(u) for u in replies.values()] if type(replies) is dict else []
    asked, data, (N, S) = asked if type(asked) is dict else {}, problem.get("data"), shape_of(certificate.get("channel"))
    prior = items(data, "prior")
    N, S = max(N, len(prior), 1), max(S, 1, *(views for views, _ in sizes), 1)
    columns = sum(width if width < 2 * N else width // N for _, width in sizes)  # other observers than Eve are sparse
    vectors = 2 * sum(size(asked, name) for name in CONES[:3]) + columns * ("signal_floor" in asked)
    vectors += sum(2 * size(one, "pairs") * max(1, size(one, "priors")) for one in items(asked, "pufferfish"))
    pairs = 2 * size(asked, "neighbours") if "neighbours" in asked else N * N * bool({"metric", "delta"} & {*asked})
    vectors += sum(size(agent, "decisions") for role in ("bob", "eve") for agent in items(problem, role))
    cases = size(certificate, "cases")
    steps = (N * S * (2 + columns + vectors) + pairs * (S + N * ("metric" in asked))) * (1 + cases)
    if asked.get("deterministic") is True and not cases:
        bobs = math.prod(min(size(bob, "decisions"), 2**20) for bob in items(problem, "bob"))
        maps = bobs ** min(sum(mass not in (0, "0") for mass in prior), 64)
        steps += maps * N * min(S, 64) if maps <= LIMITS["maps"] else 0
    return steps


def items(table, key):
    """A list in a table; a table alone counts as a list of one."""
    value = table.get(key) if type(table) is dict else None
    return value if type(value) is list else [value] if type(value) is dict else []


def shape_of(value):
    """Rows and columns of a table of a proof, as far as they are written."""
    value = value.get("rows", value.get("shape")) if type(value) is dict else value
    if type(value) is list and len(value) == 2 and all(type(n) is int for n in value):
        return max(value[0], 0), max(value[1], 0)
    width = max((len(row) for row in value if type(row) is list), default=0) if type(value) is list else 0
    return len(value) if type(value) is list else 0, width


def affordable(*documents):
    """Refuse a check that takes more than LIMITS["work"] steps.

    The unit is an operation with short fractions; to add a fraction of m digits to a sum of d digits takes d m / 32000
    more. d is at most what all denominators have in common, and m the mean length of the numbers in the table where it
    is largest.
    """
    problem, _, certificate = documents
    steps = proof_steps(problem if kind_of(problem) == "release" else {}, certificate)
    todo, sizes, denominators, common = [("", document, 1) for document in documents], {}, set(), 1
    while todo:  # numbers in lists, by key; those outside of lists are used once
        key, node, depth = todo.pop()
        need(depth <= LIMITS["depth"] or type(node) not in (dict, list), "nested too deeply")
        if type(node) is dict:
            todo += [(name, item, depth + 1) for name, item in node.items() if type(item) in (dict, list)]
        elif type(node) is list:
            todo += [(key, item, depth + 1) for item in node]
        else:
            found = re.fullmatch(r"[ \t\r\n]*[-+]?[0-9]+(?:/([0-9]+))?[ \t\r\n]*", node) if type(node) is str else None
            below = found and found[1]
            sizes.setdefault(key, []).append(len(node) // (2 if below else 1) if found else 0)
            denominators |= {below} if below else set()
    digits = max((sum(own) // len(own) for own in sizes.values()), default=0)
    fits = lambda long: steps * (1 + long * digits // 32_000) <= LIMITS["work"]
    for q in denominators if fits(0) and not fits(sum(map(len, denominators))) else ():
        common = math.lcm(common, int(q)) if q.strip("0") else common
        if not fits(common.bit_length() * 3 // 10):
            break
    need(fits(common.bit_length() * 3 // 10), f"it takes more than {LIMITS['work']} steps (BAP_LIMITS=work=N raises this)")


def several(kind, games, lams, weights):
    """The program of scenarios or tiers, and the names of its signals."""
    need(not any(g.conditions for g in games) and all(g.aligned for g in games), "no conditions or beliefs here")
    need(all(g.states == games[0].states for g in games), "the problems have different states")
    if kind == "tiers":  # tier k sees the first k decisions of a signal; costs add up
        sizes = [len(g.decisions) for g in games]
        need(math.prod(sizes) <= 100_000, "too many tuples of decisions")
        tuples = list(product(*map(range, sizes)))
        cost = [[sum(w * g.B[x][i] for w, g, i in zip(weights, games, t)) for t in tuples] for x in range(games[0].N)]
        program = Program(games[0].p, cost)
        for k, (g, lam, w) in enumerate(zip(games, lams, weights)):
            sees = [s // math.prod(sizes[k + 1 :]) for s in range(len(tuples))]
            program.observe(f"eve {k}", g.E, g.groups, w * lam, sees)
        return program, joints([g.decisions for g in games], " > ")
    heads = [next(h for h in games if (h.p, h.B) == (g.p, g.B)) for g in games]  # same prior and losses: same Bob
    bobs = [g for g, head in zip(games, heads) if g is head]
    need(math.prod(len(h.decisions) for h in bobs) <= 4096, "too many profiles of decisions")
    profiles = list(product(*(range(len(h.decisions)) for h in bobs)))
    program = Program([F(1)] * games[0].N, [[F(0)] * len(profiles) for _ in games[0].p], "scenarios")
    program.rows["scenarios"] = []
    for k, (g, head, lam) in enumerate(zip(games, heads, lams)):
        place = next(n for n, h in enumerate(bobs) if h is head)
        program.observe(f"eve {k}", g.eve_losses(), g.groups)
        entries = [(x, s, p * row[t[place]]) for x, (p, row) in enumerate(zip(g.p, g.B)) for s, t in enumerate(profiles)]
        terms = [(f"eve {k}", s, v, lam) for s in range(len(profiles)) for v in range(len(g.groups))]
        program.rows["scenarios"].append((entries, terms, F(0)))
    return program, joints([h.decisions for h in bobs], " | ")


def mechanism_of(document, game):
    """Signals of the mechanism, and its channel."""
    keyed(document, ["states", "signals", "channel"], ["name"])
    need(type(document.get("name", "")) is str and document["states"] == game.states, "other states")
    names = labels(document["signals"], len(listed(listed(document["channel"], "channel", game.N)[0], "channel")))
    read = (lambda v: F(float(v))) if floating(document["channel"]) else F
    return names, [[read(v) for v in distribution(row, len(names), True)] for row in document["channel"]]


def proved(problem, mechanism, document, allow):
    """What the certificate proves of the mechanism, in words."""
    required = ["kind", "numbers", "lambda", "value", "gap", "channel", "replies", "weights"]
    keyed(document, required, ["conditions", "cases", "weights_of_tiers", "conflict", "attainable"])
    kind = kind_of(problem)
    need(document["kind"] == kind and document["numbers"] in ("exact", "floats"), f"it is not about a {kind}")
    floats = document["numbers"] == "floats"
    shape, sent = proof_table(document["channel"], 2)
    parts = [problem] if kind == "release" else listed(problem[kind], "there are no problems")
    read = (lambda v: F(float(v))) if floats else F
    games = [Game(one, read, max(shape[1], 1)) for one in parts]

    def same(asked, given, what):
        """Numbers of the certificate, which must be those that problem.json asks for."""
        found = [stated(v) for v in listed(given, what, len(asked))]
        need(found == [read(v) for v in asked], f"it is about another {what}")
        return found

    def stated(v):
        v = proof_number(v)
        need(not floats or F(float(v)) == v, "a number of the certificate is no float")
        return v

    value, gap = stated(document["value"]), stated(document["gap"])
    given = document["lambda"] if kind != "release" else [document["lambda"]]
    lams, asked = same([g.lam for g in games], given, "lambda"), [g.given_lam for g in games]
    need(("weights_of_tiers" in document) == (kind == "tiers"), "only tiers have weights")
    weights = []
    if kind == "tiers":
        asked += listed(problem["weights"], "weights", len(games))
        shares = [number(w, None, MOST, True) for w in problem["weights"]]
        weights = same(shares, document["weights_of_tiers"], "weights")
        need(min(shares + weights) > 0, "weights must be positive")
        need(all(one["data"] == parts[0]["data"] for one in parts), "the tiers have different data")
    exact = all(g.exact for g in games)
    if kind == "release":
        [game], [lam] = games, lams
        wanted, demands = (Demands(game, one) for one in (game.conditions, document.get("conditions", {})))
        need(wanted.meaning == demands.meaning, "it supposes other conditions")
        program, names, exact = demands.program(lam), demands.names, exact and demands.exact
    else:
        need(not document.get("conditions"), "no conditions here")
        program, names = several(kind, games, lams, weights)
    need(floats or exact, "the certificate is exact and the problem is not")
    need(not floats or allow or not exact or floating(asked), "the certificate is in floats and the problem is exact")
    cases = [case_of(part, len(program.mass), program.signals) for part in document.get("cases", [])] if "cases" in document \
        else []
    need("cases" not in document or cases, "there are no cases")
    own, q = mechanism_of(mechanism, games[0])
    finer = kind == "release" and demands.free and not {*own} <= {*names}
    told = {}
    for name, place in zip(*game.tuples()[:2]) if finer else zip(names, range(len(names))):
        told.setdefault(name, place)
    need({*own} <= {*told}, "the proof has no such signal")
    pooled = {}
    for x, row in enumerate(q):
        for name, v in zip(own, row):
            pooled[x, told[name]] = pooled.get((x, told[name]), 0) + v
    need(shape == (len(program.mass), program.signals), "the channel of the certificate has another shape")
    need({place: v for place, v in pooled.items() if v} == sent, "the mechanism is not the one that is proved")
    need(all(sum(row) == 1 for row in q), "a row of the channel is not a distribution")
    found = program.value([[sent.get((x, s), F(0)) for s in range(shape[1])] for x in range(shape[0])])
    need(read(found) == value, f"R_A is {shown(found)}, not {shown(value)}")
    dual = dual_of(document)
    bound = program.bound(dual)
    if kind == "release" and bound < found and (demands.deterministic or demands.most is not None):
        if cases:
            bound = max(bound, by_cases(program, demands, cases, found))
        elif demands.deterministic:
            bound = max(bound, best_map(program, demands, lam, found))
    need(found - bound <= gap, f"R_A is {shown(found)}, the proof only shows {shown(bound)}")
    if finer:
        bob, eve = game.risks(q, [told[name] for name in own])
        need(bob - lam * eve - bound <= gap, "the mechanism tells Eve more than the one that is proved")
    what = {"release": "R_A =", "scenarios": "the worst case", "tiers": "the sum over the tiers"}[kind]
    within = f" within {shown(found - bound)}" if found > bound else ""
    return f"{what} {shown(found) if floats else found} is optimal{within}"


def check(folder, allow_float=False):
    """Why the bundle in `folder` is proved; raises Refused if it is not."""
    names = ["manifest.json", "problem.json", "mechanism.json", "certificate.json"]
    raw, digits = {}, sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)
        for name in names:
            need(os.path.isfile(os.path.join(folder, name)), f"{name} is not a file")
            with open(os.path.join(folder, name), "rb") as file:
                raw[name] = file.read(LIMITS["bytes"] + 1)
            need(len(raw[name]) <= LIMITS["bytes"], f"{name} is too large")
        manifest = parsed(raw[names[0]], names[0])
        form = f"it is of the form {str(manifest.get('format'))[:40]!r}, not {FORMAT!r}: solve the problem again"
        need(manifest.get("format") == FORMAT, form)
        texts = ["format", "version", "made", "how", "method"]
        keyed(manifest, [*texts, "lambda", "conditions", "source", "files"])
        source = {} if manifest["source"] is None else keyed(manifest["source"], ["name", "sha256"])
        need(all(type(v) is str for v in (*source.values(), *(manifest[k] for k in texts))), "manifest.json")
        for name, digest in keyed(manifest["files"], names[1:]).items():
            need(hashlib.sha256(raw[name]).hexdigest() == digest, f"{name} is not the file of the manifest")
        problem, mechanism, certificate = (parsed(raw[name], name) for name in names[1:])
        affordable(problem, mechanism, certificate)
        result, kind = proved(problem, mechanism, certificate, allow_float), kind_of(problem)
        lams = [one["alice"]["lambda"] for one in problem.get(kind, [problem])]
        asked = lams[0] if kind == "release" else lams, problem.get("conditions", {})
        same = json.dumps((manifest["lambda"], manifest["conditions"]), sort_keys=True)
        need(same == json.dumps(asked, sort_keys=True), "the manifest has other demands")
        return result
    except (ValueError, OSError, RecursionError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise Refused(f"cannot be read: {error}"[:300]) from None
    finally:
        sys.set_int_max_str_digits(digits)


def main(arguments):
    folders = [a for a in arguments if a != "--allow-float"]
    if len(folders) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        for setting in filter(None, os.environ.get("BAP_LIMITS", "").split(",")):
            name, _, value = setting.strip().partition("=")
            if not re.fullmatch("[0-9]{1,18}", value) or name not in LIMITS:
                print(f"BAP_LIMITS: {setting[:60]!r} must be NAME=NUMBER, of {', '.join(LIMITS)}", file=sys.stderr)
                return 2
            LIMITS[name] = int(value)
        print(f"verified: {check(folders[0], '--allow-float' in arguments)}", flush=True)
        return 0
    except Refused as why:
        print(f"not proved: {why}", file=sys.stderr)
        return 1
    except OSError as error:  # the verdict could not be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with contextlib.suppress(OSError):
            print(f"verify_standalone: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
