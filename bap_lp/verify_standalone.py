"""Check a bundle of bap-lp with the standard library alone:  python verify_standalone.py DIR [--allow-float]

A folder of records (`bap microdata solve --out DIR`) is checked too; see "records" below. Read on from here: numbers,
the program and its bound, the problem, what a certificate proves (`proved`), and then what problems may have besides.

Exit code 0: certificate.json proves that mechanism.json meets the conditions of problem.json and that no mechanism is
better by more than the gap that is told. Exit code 1: it is not proved; stderr says why. Exit code 2: there was no
answer. This file imports nothing of bap-lp and may be copied. Every number is a fraction, and there are no tolerances.

The problem: data x with probability p(x), Bob's loss B(x,i), losses E(x,j) of Eves. A mechanism sends signal s, which
tells Bob to decide i_s, with probability q(s|x). Alice wants the least R_A = R_B - lam R_E. Every problem is a program:
Unknown is rho[x,s] >= 0 with sum_s rho[x,s] = mass(x). An observer o (Eve is one, and so is max_x q(s|x)) sees the view
sees(s) of the signal and takes the least of several sums,
    t_o[v,g] = min_{j in g} sum_x rho[x,v] losses_o[x,j],     rho[x,v] = sum of rho[x,s] over sees(s) = v.
    minimise  cost.rho - sum_o price_o sum t_o  (+ the largest row of `worst`)  with  a.rho - c.t <= rhs in other rows.
For weights w >= 0 of the rows (with sum one over the worst ones) and replies u_o >= 0 with
    sum_{j in g} u_o[v,j] = price_o + sum_r w_r c_r[v,g]     for every view v and group g,
no feasible rho has a value below
    sum_x mass(x) min_s (cost[x,s] - sum_o u_o[sees(s)].losses_o[x] + (w.a)[x,s]) - w.rhs              (weak duality).
Where mechanisms are deterministic or signals few, the bound may go case by case.
An Eve may report a distribution r over the values a(x) of a secret and lose -log r(a) ("log", in nats) or
sum_k (1{a = k} - r_k)^2 ("brier"). Her columns are the reports that the certificate lists: a minimum over all reports
is not above that over the list, so that the bound holds. The value counts her least loss over all reports, at masses m:
sum_a m_a log(M / m_a) or M - sum_a m_a^2 / M with M = sum_a m_a. Logarithms are rounded down to multiples of 2^-128.

Over a set of priors the worst R_A counts; Bob does what the signal says and Eve knows the prior. Listed priors of the
set are rows of `worst`, so the bound holds for the whole set. The largest R_A of the mechanism over the set is found by
a search over Eve's replies: see `most_over`.

A certificate about "floats" takes every number of the problem as the nearest float, and each float as the fraction it
is, with distributions scaled to sum to one. The limits of conditions are then looser by 2^-48 of their size. Its value
is the least float that is not below R_A, its bound the largest one that is proved, its gap what lies between the two.
"""

import contextlib
import copy
import hashlib
import json
import math
import os
import re
import sys
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import reduce
from itertools import combinations, pairwise, product
from types import SimpleNamespace as Record

LIMITS = {"bytes": 2**28, "digits": 20_000, "keys": 10_000, "depth": 64, "columns": 100_000, "cells": 20_000_000,
          "bits": 100_000, "parts": 5_000_000, "work": 20_000_000}
NUMBER = re.compile(r"[-+]?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?)")
FORMAT, RECORDS, MOST, LOOSE = "bap-lp bundle 2", "bap microdata 4", 10**300, F(1, 2**48)
FOLDER = ["study.json", "mechanism.json", "result.json", "prior.json", "certificate.json"]  # of records


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


def many(values, why="a condition must be a list", count=None):
    need(type(values) is list and count in (None, len(values)), why)
    return values


def listed(values, why, count=None):
    need(many(values, why, count) or count == 0, why)
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


def positions(values, most, why, count=None):
    """A list of whole numbers from 0 to most - 1."""
    need(all(type(v) is int and 0 <= v < most for v in many(values, why, count)), why)
    return values


def texts(value):
    """A document as text: 1, 1.0 and true are different there."""
    return json.dumps(value, sort_keys=True)


def labels(names, count=None):
    need(all(type(n) is str and n for n in listed(names, "labels", count)) and len({*names}) == len(names), "no labels")
    return names


def worded(values, count):
    """Labels or whole numbers, as texts; they may repeat."""
    good = all(type(v) is int or (type(v) is str and v) for v in listed(values, "labels", count))
    need(good, "a label must be a text or a whole number")
    return [*map(str, values)]


def floating(*values):
    """Whether there is a float; epsilon does not count, which is exact if it is 0, however that is written."""
    inside = lambda v: [w for k, w in v.items() if k != "epsilon"] if type(v) is dict else v
    return any(type(v) is float or (type(v) in (list, dict) and floating(*inside(v))) for v in values)


def has_epsilon(value):
    """Whether some epsilon in conditions is not 0: its ratio exp(epsilon) is a float."""
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return (type(value) is dict and number(value.get("epsilon") or 0) != 0) or any(map(has_epsilon, inner))


def table_of(rows, read, count=None, width=None):
    width = len(listed(listed(rows, "no table", count)[0], "no table", width))
    return [[read(v) for v in listed(row, "a table has rows of several lengths", width)] for row in rows]


def proof_table(value, dimensions=2):
    """A table of a proof without its zeros: its shape, and {place: number}."""
    if type(value) is dict and "at" in value:
        shape, at = keyed(value, ["shape", "at"])["shape"], {}
        need(all(type(n) is int and n >= 0 for n in many(shape, "no shape", dimensions)), "a table has no shape")
        need(math.prod(shape) <= LIMITS["cells"], "a table has another shape")
        for *place, v in (many(entry, "no entry of a table", dimensions + 1) for entry in many(value["at"])):
            inside = all(type(n) is int and 0 <= n < most for n, most in zip(place, shape))
            need(inside and tuple(place) not in at, "an entry of a table is outside of it, or there twice")
            at[tuple(place)] = proof_number(v)
        return tuple(shape), {place: v for place, v in at.items() if v}
    over = proof_number(keyed(value, ["over", "rows"])["over"]) if type(value) is dict else F(1)
    need(over > 0 and dimensions == 2, "a table has another shape")
    rows = table_of(value["rows"] if type(value) is dict else value, proof_number)
    return (len(rows), len(rows[0])), {(i, j): v / over for i, row in enumerate(rows) for j, v in enumerate(row) if v}


def by_row(shape, at):
    """A table of a proof by rows, {column: number} each."""
    rows = [{} for _ in range(shape[0])]
    for (i, j), v in at.items():
        rows[i][j] = v
    return shape, rows


def dense(shape, at):
    return [[at.get((i, j), F(0)) for j in range(shape[1])] for i in range(shape[0])]


def distribution(row, count=None, long=False):
    values = [number(v, 0, MOST, long) for v in listed(row, "a distribution has the wrong length", count)]
    need(abs(sum(map(float, values)) - 1) <= 1e-12 if floating(row) else sum(values) == 1, "no distribution")
    return values


def scaled(values, read=F):
    """Numbers over their sum."""
    values = [read(v) for v in values]
    total = sum(values)
    return [v / total for v in values]


def rounded(v):
    return F(float(v))


def rounded_up(v):
    """The least float that is at least v; v itself where floats do not reach."""
    near = float(v) if abs(v) < 10**308 else v
    return F(near if F(near) >= v else math.nextafter(near, math.inf))


def outwards(value, bound):
    """A value and a bound as floats state them, from above and from below, and their difference."""
    value, bound = rounded_up(value), -rounded_up(-bound)
    return value, bound, rounded_up(value - bound)


def total(values):
    """A sum in a balanced tree: few additions are of long fractions."""
    values = list(values) or [F(0)]
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2])] + values[len(values) // 2 * 2 :]
    return values[0]


def integers(values, unit=None):
    """A common denominator, and the numbers times it."""
    unit = unit or math.lcm(*{v.denominator for v in values})
    return unit, [v.numerator * (unit // v.denominator) for v in values]


def joints(groups, by):
    """A label per choice of one part per group; a part whose end could be mistaken is in quotes."""
    quoted = lambda n: json.dumps(n, ensure_ascii=False) if n[0] == '"' or (n + by).index(by) < len(n) else n
    return [by.join(map(quoted, names) if len(names) > 1 else names) for names in product(*groups)]


# ---- the program: its value at a channel, and the bound that multipliers prove


class LoweredGame:
    """Observers and rows have names; rows are (entries (x, s, a), terms (observer, view, group, c), rhs)."""

    def __init__(self, mass, cost, worst=None):
        self.mass, self.cost, self.worst, self.signals = mass, cost, worst, len(cost[0])
        self.observers, self.rows = {}, {worst: []} if worst else {}
        self.pure = False  # whether only deterministic mechanisms will do

    def observe(self, name, losses, groups, price=F(0), sees=None, scores=()):
        """losses[x] = [(column, loss), ...] where it is not zero; groups are ranges of columns; sees[s] is a view.

        scores: groups whose columns are only some of all reports, with who reports; they see the signal itself.
        """
        sees = range(self.signals) if sees is None else sees
        losses = losses if type(losses) is dict else dict(enumerate(losses))
        self.observers[name] = Record(losses=losses, groups=groups, price=price, sees=sees, scores=scores,
                                      columns=groups[-1].stop, views=max(sees) + 1)

    def value(self, q):
        """What is minimised; refuses a channel that breaks a condition."""
        rho, t, worst = [[m * v for v in row] for m, row in zip(self.mass, q)], {}, []
        spend(sum(len(entries) + len(terms) for rows in self.rows.values() for entries, terms, _ in rows))
        need(not self.pure or all(v in (0, 1) for row in q for v in row), "the mechanism breaks deterministic")
        for name, o in self.observers.items():
            spend(self.signals * (o.columns + sum(map(len, o.losses.values()))))
            sums = [[F(0)] * o.columns for _ in range(o.views)]
            for x, losses in o.losses.items():
                for view, m in zip(o.sees, rho[x]):
                    for j, v in losses if m else ():
                        sums[view][j] += m * v
            t[name] = [[min(row[g.start : g.stop]) for g in o.groups] for row in sums]
            for g, reporter in o.scores:
                for row, column in zip(t[name], zip(*rho)):
                    row[g] = reporter.risk(column)
        for name, rows in self.rows.items():
            for entries, terms, rhs in rows:
                side = sum(a * rho[x][s] for x, s, a in entries if rho[x][s]) - rhs
                side -= sum(c * t[o][view][g] for o, view, g, c in terms)
                need(side <= 0 or name == self.worst, f"the mechanism breaks {name}")
                worst += [side] if name == self.worst else []
        cost = sum(c * v for costs, row in zip(self.cost, rho) for c, v in zip(costs, row) if v)
        heard = sum(o.price * sum(map(sum, t[name])) for name, o in self.observers.items())
        return cost - heard + max(worst, default=0)

    def bound(self, dual, allowed=None, void=False):
        """What multipliers prove of channels that send at x only the signals in allowed[x].

        void: with cost and prices zero. A positive bound then proves that there is no such channel.
        """
        (replies, weights), goals, paid = dual, defaultdict(Counter), F(0)
        charges, heard = [Counter() for _ in self.mass], [[] for _ in self.mass]
        need({*weights} <= {*self.rows}, "there is a weight for what is not a row")
        need({*replies} == {*self.observers}, f"there must be replies of {', '.join(self.observers) or 'nobody'}")
        for name, (shape, own) in weights.items():
            need(shape == (len(self.rows[name]),), f"the weights of {name} must be one per row")
            need(all(w > 0 for w in own.values()), f"the weights of {name} must not be negative")
            for (r,), w in own.items():
                entries, terms, rhs = self.rows[name][r]
                spend(len(entries) + len(terms))
                for x, s, a in entries:
                    charges[x][s] += w * a
                for o, view, g, c in terms:
                    goals[o, view][g] += w * c
                paid += w * rhs
        share = sum(weights[self.worst][1].values()) if self.worst in weights else 0
        need(self.worst is None or share == 1, "the weights of the worst cases must sum to one")
        for name, o in self.observers.items():
            (shape, u), good = replies[name], set()
            need(shape == (o.views, o.columns), f"the replies of {name} have another shape")
            for view, own in enumerate(u):
                more = goals.get((name, view), {})
                if more or id(own) not in good:  # several rows may be one object
                    good |= set() if more else {id(own)}
                    spend(o.columns)
                    need(all(v > 0 for v in own.values()), f"the replies of {name} must not be negative")
                    for g, group in enumerate(o.groups):
                        goal = o.price * (not void) + more.get(g, 0)
                        need(sum(own[j] for j in group if j in own) == goal, f"the replies of {name} miss their price")
            rows = [u[view] for view in o.sees]
            which = {at: k for k, at in enumerate(dict.fromkeys(map(id, rows)))}
            told, different = [which[id(row)] for row in rows], [*{id(row): row for row in rows}.values()]
            below, _ = integers([v for row in different for v in row.values()])
            different = [dict(zip(row, integers(row.values(), below)[1])) for row in different]
            for x, losses in o.losses.items():
                heard[x] += [(losses, different, told, below)] if losses else []
        least = []
        for x, charged in enumerate(charges):  # min_s (cost[x,s] - sum of u[sees(s)].losses[x] + charges[s])
            spend(1 + self.signals * (1 + len(heard[x])) // 20 + sum(len(own) * len(u) for own, u, *_ in heard[x]) // 4)
            unit, row = (1, [0] * self.signals) if void else self.costs(x)
            for losses, replies, told, below in heard[x]:
                lost, own = integers([v for _, v in losses])
                common = math.lcm(unit, below * lost)
                own = [(j, v * (common // (below * lost))) for (j, _), v in zip(losses, own)]
                each = [sum(u[j] * v for j, v in own if j in u) for u in replies]
                row, unit = [v * (common // unit) - each[k] for v, k in zip(row, told)], common
            common, own = integers([F(1, unit), *charged.values()])
            row = [v * (common // unit) for v in row]
            for s, v in zip(charged, own[1:]):
                row[s] += v
            least.append(F(min(row if allowed is None else [row[s] for s in allowed[x]]), common))
        return total(map(F.__mul__, self.mass, least)) - paid

    def costs(self, x):
        """What signals cost at a state, as integers over a unit."""
        return integers(self.cost[x])


# ---- the problem



class Game:
    """A problem in fractions. `read` takes a number as it is, or as the nearest float; the proof has `signals`."""

    def __init__(self, document, read, signals, reports=()):
        keyed(document, ["title", "data", "bob", "eve", "alice"], ["conditions", "priors"])
        data, roles = keyed(document["data"], ["labels", "prior"]), ("bob", "eve")
        need(type(document["title"]) is str, "title must be a text")
        self.read, self.p = read, scaled(distribution(data["prior"]), read)
        self.N, self.states = len(self.p), labels(data["labels"], len(self.p))
        self.place = {label: x for x, label in enumerate(self.states)}
        self.given_lam = keyed(document["alice"], ["lambda"])["lambda"]
        self.lam, self.exact = number(self.given_lam, 0, MOST), not floating(*map(document.get, ("data", *roles)))
        bobs, eves = ([self.agent(one, role) for one in listed(document[role], "no agent")] for role in roles)
        for group in (bobs, eves):
            labels([a.name for a in group])
        self.bobs, self.eves = bobs, eves
        self.sizes = [len(a.decisions) for a in bobs]
        columns, count = math.prod(self.sizes), sum(len(a.shares[0]) for a in eves if a.kind)
        need(columns <= signals and (len(bobs) == 1 or columns <= LIMITS["columns"]), "the proof has too few signals")
        need(len(reports) >= count, "every Eve who reports needs her reports")
        lists, self.more = iter(reports), reports[count:]  # more: of secrets about which information is limited
        cells = self.N * (columns + sum(len(a.decisions) * a.known for a in eves) + sum(v[0][0] for v in reports))
        need(cells <= LIMITS["cells"], "the tables are too large (BAP_LIMITS=cells=N raises this)")
        spend(cells)
        self.B, self.E, self.views, self.scores = [[F(0)] for _ in self.p], [[] for _ in self.p], [], []
        for a in bobs:
            self.B = [[v + a.weight * w for v in row for w in more] for row, more in zip(self.B, a.harm)]
        for a in eves:  # a view is an Eve with the z that she knows; E[x] has her losses k(z|x) E(x,j), without zeros
            for share in zip(*a.shares):
                mass, wide, losses = [m * k if k else k for m, k in zip(a.mass, share)], len(a.decisions), a.harm
                if a.kind:
                    own, table = Informant(a.kind, a.secret, mass, [k * a.weight for k in share]), next(lists)
                    wide, losses = table[0][0], own.by_state(table)
                    self.scores.append((len(self.views), own))
                start = self.views[-1].columns.stop if self.views else 0
                columns = range(start, start + wide)
                self.views.append(Record(eve=a, share=share, mass=mass, weight=a.weight, loss=a.loss, columns=columns))
                for own, k, row in zip(self.E, share, losses):
                    own += [(j, k * a.weight * v) for j, v in zip(columns, row) if v] if k else []
        self.groups, self.decisions = [v.columns for v in self.views], joints([a.decisions for a in bobs], ", ")
        self.eve = [[(j, p * v) for j, v in row] for p, row in zip(self.p, self.E)]
        self.aligned = all(a.harm == a.loss and a.mass == self.p for a in bobs + eves)
        bob = [Record(mass=self.p, weight=1, loss=self.B)]  # who share Alice's prior and harm act as one
        self.agents = (bob if self.aligned else bobs) + self.views

    def agent(self, table, role):
        """A Bob or an Eve: losses, what Alice counts as harm, beliefs, and k(z|x) for each z that an Eve may know."""
        kind = table.get("loss") if type(table) is dict and type(table.get("loss")) is str else ""
        eve, own = role == "eve", ["secret"] if kind else ["harm", "prior"]
        need(kind in (("", "log", "brier") if eve else ("",)), "a loss must be a table, or log or brier for an Eve")
        keyed(table, ["name", "weight", "loss"] + ["decisions"] * (not kind), own + ["knows", "knowledge"] * eve)
        a = Record(name=table["name"], weight=self.read(number(table["weight"])), kind=kind, known=1)
        a.loss, a.decisions = None, []
        if kind:
            a.secret = worded(table.get("secret", self.states), self.N)
        else:
            a.loss = table_of(table["loss"], self.loss, self.N)
            a.decisions = labels(table["decisions"], len(a.loss[0]))
        a.harm = table_of(table["harm"], self.loss, self.N, len(a.loss[0])) if "harm" in table else a.loss
        a.mass = scaled(distribution(table["prior"], self.N), self.read) if "prior" in table else self.p
        need(a.weight > 0 and not {"knows", "knowledge"} <= {*table}, "a weight, or what an Eve knows")
        small = a.weight <= 1 or a.weight * (10**5 if kind else max(map(max, a.harm))) <= MOST
        need(small, "a weight makes a loss larger than 1e300")
        known = worded(table.get("knows", [0] * self.N), self.N)
        places = {z: k for k, z in enumerate(dict.fromkeys(known))}
        need(len(places) * self.N <= LIMITS["cells"], "she knows too much")
        a.shares = [[F(k == places[z]) for k in range(len(places))] for z in known]
        if "knowledge" in table:
            a.known = len(listed(listed(table["knowledge"], "knowledge", self.N)[0], "knowledge"))
            a.shares = [scaled(distribution(row, a.known), self.read) for row in table["knowledge"]]
        return a

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

    def free_program(self, told, lam, prior=None):
        """Without conditions: signal s tells Bob to decide told[s], and the Eves decide for themselves."""
        spend(self.N * len(told))
        p = self.p if prior is None else prior
        program = LoweredGame([F(1)] * self.N, [[m * row[i] for i in told] for m, row in zip(p, self.B)])
        losses = [[(j, m * v) for j, v in row] if m else [] for m, row in zip(p, self.E)]
        program.observe("eve", losses, self.groups, lam, scores=[(g, own.times(p)) for g, own in self.scores])
        return program


# ---- bundles: what a certificate proves of a mechanism

PRIORS = ["priors", "listed", "witness"]
OPTIONAL = ["conditions", "cases", "weights_of_tiers", "reports", "rows", *PRIORS]


def kind_of(problem):
    """What problem.json is about: "scenarios", "tiers", "priors", or one "release"; and its problems."""
    kinds = {("scenarios",): "scenarios", ("tiers", "weights"): "tiers"}
    kind = kinds.get(tuple(sorted(problem)), "priors" if "priors" in problem else "release")
    return kind, listed(problem[kind], "there are no problems") if kind in kinds.values() else [problem]


def dual_of(document):
    """Replies and weights, by name."""
    replies, weights = document["replies"], document["weights"]
    need(type(replies) is dict and type(weights) is dict, "replies and weights must be tables")
    rows = {name: by_row(*proof_table(v)) for name, v in replies.items()}
    return rows, {name: proof_table(v, 1) for name, v in weights.items()}


def published(mechanism, states, meant):
    """The channel of mechanism.json, the signal of the proof that each of its signals means, and the pooled channel."""
    keyed(mechanism, ["states", "signals", "channel"], ["name"])
    need(type(mechanism.get("name", "")) is str and mechanism["states"] == states, "other states")
    table, pooled = listed(mechanism["channel"], "channel", len(states)), defaultdict(F)
    own = labels(mechanism["signals"], len(listed(table[0], "channel")))
    need({*own} <= {*meant}, "the proof has no such signal")
    like, told = rounded if floating(table) else F, [meant[name] for name in own]
    q = [[like(v) for v in distribution(row, len(own), True)] for row in table]
    need(all(sum(row) == 1 for row in q), "a row of the mechanism is not a distribution")
    for x, row in enumerate(q):
        for to, v in zip(told, row):
            if v:
                pooled[x, to] += v
    return q, told, pooled


def proved(problem, mechanism, document, allow):
    """What the certificate proves of the mechanism, in words, with value and bound."""
    required = ["kind", "numbers", "lambda", "value", "gap", "channel", "replies", "weights"]
    (kind, parts), (shape, sent) = kind_of(problem), proof_table(keyed(document, required, OPTIONAL)["channel"])
    need(document["kind"] == kind and document["numbers"] in ("exact", "floats"), f"it is not about {kind}")
    floats, one, over = document["numbers"] == "floats", kind in ("release", "priors"), kind == "priors"
    need(over or not {*PRIORS} & {*document}, "there is no set of priors")
    need(all(document.get(key, True) for key in OPTIONAL), "what is empty is left out")
    need(kind == "release" or "reports" not in document, "agents need tables of losses")
    need(one or not any("priors" in part for part in parts), "a set of priors among several problems")
    read = rounded if floats else F
    reports = [proof_table(v) for v in many(document.get("reports", []))]
    games = [Game(part, read, shape[1], reports) for part in parts]
    own, asked, game = document.get("rows", {}), [], games[0]
    need(type(own) is dict and (kind == "release" or not own), "rows belong to conditions of one problem")
    conditions = [keyed(part.get("conditions", {}), [*own], CONDITIONS) for part in parts]
    supposed = conditions[0] if one else conditions if any(conditions) else {}
    need(texts(document.get("conditions", {})) == texts(supposed), "it supposes other conditions")

    def stated(given, wanted=None):
        """Numbers of the certificate, which must be those that problem.json asks for."""
        found = [proof_number(v) for v in listed(given, "numbers of the certificate", wanted and len(wanted))]
        need(not floats or found == [*map(rounded, found)], "a number of the certificate is no float")
        need(wanted is None or found == [*map(read, wanted)], "it is about another lambda or other weights")
        return found

    lams = stated([document["lambda"]] if one else document["lambda"], [g.lam for g in games])
    (value, gap), weights = stated([document["value"], document["gap"]]), []
    need(("weights_of_tiers" in document) == (kind == "tiers"), "only tiers have weights")
    if kind == "tiers":
        asked = listed(problem["weights"], "weights", len(games))
        weights = stated(document["weights_of_tiers"], [number(w, 0, MOST, True) for w in asked])
        need(min(weights) > 0 and all(part["data"] == parts[0]["data"] for part in parts), "weights, or other data")
    if one:
        release = Release(game, conditions[0], F(0) if over else lams[0], own=own)
        if over:
            priors, rows = over_priors(release, lams[0], problem["priors"], document)
        program, names, exact = release.program, release.names, release.exact
    else:
        program, names, exact = several(kind, games, conditions, lams, weights)
    need(floats or exact, "the certificate is exact and the problem is not")
    able = allow or not exact or floating(asked, [g.given_lam for g in games])
    need(not floats or able, "the problem is exact and the certificate in floats")
    need(shape == (game.N, program.signals), "the channel of the certificate has another shape")
    cases = [case_of(part, *shape) for part in many(document.get("cases", []))]
    need(not cases or (one and program.pure), "cases need determinism")

    plain = kind == "release" and release.free and not game.scores
    finer = plain and not {*mechanism["signals"]} <= {*names}  # signals may also name what the Eves decide
    meant = dict(zip(*game.tuples()[:2]) if finer else zip(names, range(len(names))))
    q, told, pooled = published(mechanism, game.states, meant)
    need(pooled == sent, "the mechanism is not the one that is proved")
    channel, attained = dense(shape, sent), True
    found = program.value(channel)
    if over:  # the first listed prior attains the value, or the value is an upper end
        worst = game.free_program(release.S, lams[0], rows[0]).value(channel)
        attained = (rounded_up(worst) if floats else worst) == value
        found = worst if attained else value
        need(found >= worst, f"R_A is {shown(worst)} under a prior of the set, above {shown(value)}")
        most_over(game, priors, lams[0], channel, rows[0], found)
    logs = one and lams[0] > 0 and any(a.kind == "log" for a in game.eves)
    top = rounded_up(found) if floats or logs else found
    need(top == value, f"R_A is {shown(found)}, not {shown(value)}")
    bound = program.bound(dual_of(document))
    if cases and bound < found:
        bound = max(bound, by_cases(release, cases, found))
    if finer:
        split = game.free_program(told, lams[0]).value(q)
        need(split - bound <= gap, "the mechanism tells Eve more than the one that is proved")
    beyond = outwards(found, bound)[2] if floats or logs else found - bound
    need(beyond <= gap, f"R_A is {shown(found)}, the proof only shows {shown(bound)}")
    what = {"release": "R_A =", "priors": f"over all priors of the set R_A {'=' if attained else '<='}",
            "scenarios": "the worst case", "tiers": "the sum over the tiers"}[kind]
    within = f"within {shown(found - bound)} of " if found > bound else ""
    by = f", where {', '.join(sorted(own))} is what the rows of certificate.json say" if own else ""
    return f"{what} {shown(found) if floats or logs else found} is {within}optimal{by}", found, bound


# ---- folders


def check(folder, allow_float=False):
    """Why the bundle in `folder` is proved; raises Refused if it is not."""
    place, digits = lambda name: os.path.join(folder, name), sys.get_int_max_str_digits()
    records = os.path.isfile(place("study.json")) and not os.path.isfile(place("problem.json"))
    names = FOLDER if records else ["problem.json", "mechanism.json", "certificate.json"]
    try:
        sys.set_int_max_str_digits(0)
        manifest, documents = bound_files(place, names, RECORDS if records else FORMAT)
        weigh(documents)
        if records:
            result, asked = proved_records(*documents, allow_float)
        else:
            (result, _, _), (kind, parts) = proved(*documents, allow_float), kind_of(documents[0])
            lams, tables = ([part["alice"]["lambda"] for part in parts], [part.get("conditions", {}) for part in parts])
            asked = {"lambda": lams, "conditions": tables if any(tables) else {}}
            asked = {"lambda": lams[0], "conditions": tables[0]} if kind in ("release", "priors") else asked
        need(all(texts(manifest[k]) == texts(v) for k, v in asked.items()), "the manifest has other demands")
        return result
    except (ValueError, OSError, RecursionError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise Refused(f"cannot be read: {error}"[:300]) from None
    except (TypeError, LookupError, AttributeError) as error:
        raise Refused(f"its files do not belong together: {error}"[:300]) from None
    finally:
        sys.set_int_max_str_digits(digits)


def bound_files(place, names, form):
    """The manifest and the documents, which are those that it names."""
    raw = {}
    for name in ["manifest.json", *names]:
        need(os.path.isfile(place(name)), f"{name} is not a file of a folder of the form {form!r}")
        with open(place(name), "rb") as file:
            raw[name] = file.read(LIMITS["bytes"] + 1)
        need(len(raw[name]) <= LIMITS["bytes"], f"{name} is too large")
    manifest, words = parsed(raw["manifest.json"], "manifest.json"), ["format", "version", "made", "how", "method"]
    own = f"it is of the form {str(manifest.get('format'))[:40]!r}, not {form!r}: solve the problem again"
    need(manifest.get("format") == form, own)
    nonce = ["nonce"] if form == RECORDS else []  # keeps the manifest's own hash from telling what is in the folder
    keyed(manifest, [*words, "lambda", "conditions", "source", "files", *nonce])
    good = all(type(manifest[k]) is str and re.fullmatch("[0-9a-f]{64}", manifest[k]) for k in nonce)
    need(good, "the manifest has no nonce of 32 bytes")
    source = {} if manifest["source"] is None else keyed(manifest["source"], ["name", "sha256"])
    need(all(type(v) is str for v in (*source.values(), *(manifest[k] for k in words))), "manifest.json")
    for name, digest in keyed(manifest["files"], names).items():
        need(hashlib.sha256(raw[name]).hexdigest() == digest, f"{name} is not the file of the manifest")
    return manifest, [parsed(raw[name], name) for name in names]


# ---- conditions: each is lowered to rows and observers of the program

ALONE = ["deterministic", "margin", "max_information"]  # conditions of one problem, not of several
CONES = ["posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish"]
PRIVACY = ["epsilon", "exp_epsilon", "neighbours", "metric", "delta"]
CONDITIONS = [*CONES, *PRIVACY, *ALONE, "min_eve_risk", "max_bob_risk", "max_leakage"]


class Release:
    """A problem under conditions: the names of its signals, what they tell Bob and the Eves, and its program."""

    def __init__(self, game, asked, lam, told=None, own=None):
        """told: what signals tell Bob, where they are not his decisions. own: rows of conditions without rules here."""
        keyed(asked, [*(own := own or {})], CONDITIONS)
        need(not {*own} & {*CONDITIONS}, "a condition has a rule of its own")
        need(None not in asked.values(), "a condition is null")
        self.game, self.exact, self.reports = game, game.exact, [*game.more]
        self.tuples = "margin" in asked or not game.aligned
        need(not (self.tuples and game.scores), "not possible with reports")
        every = game.decisions, list(range(len(game.decisions))) if told is None else told, None
        self.names, self.told, self.eve = game.tuples() if self.tuples else every
        self.program = game.free_program(self.told, lam)
        self.S, self.rows, self.bob = range(len(self.told)), self.program.rows, self.program.cost
        if self.eve:  # signals prescribe what the Eves do
            spend(game.N * len(self.eve) * len(game.groups))
            self.harm = [[sum(map(row.get, t, [F(0)] * len(t))) for t in self.eve] for row in map(dict, game.eve)]
            self.program.cost = [[c - lam * v for c, v in zip(*rows)] for rows in zip(self.bob, self.harm)]
            del self.program.observers["eve"]
        for name, value in asked.items():
            if name in CONES:
                vectors = []
                for vector, column in getattr(self, name)(value):
                    spend(game.N * (1 + len(self.S)))
                    vectors.append(([(x, v) for x, v in enumerate(vector) if v], column))
                self.rows[name] = [([(x, s, v) for x, v in row], [], F(0)) for s in self.S
                                   for row, column in vectors if column is None or column in self.eve[s]]
        for name, table in own.items():
            self.rows[name] = stated_rows(table, game.N, len(self.S))
        self.numbers(asked)
        if "max_information" in asked:
            self.max_information(asked["max_information"])
        private = {*PRIVACY} & {*asked} and self.privacy(asked)
        if self.tuples:
            self.rows["margin" if game.aligned else "beliefs"] = list(self.obedience(asked.get("margin", 0)))
        need(not self.reports, "there are reports of nobody")
        need(not (game.scores or game.more) or not (self.tuples or self.program.pure), "not possible with reports")
        self.free = not (self.tuples or self.program.pure or private or {*asked} - {*PRIVACY, "deterministic"})

    def limit(self, v, looser, low=0, high=MOST):
        """A number of a condition; in floats it may be an attainable extreme, rounded."""
        found, self.exact = number(v, low, high), self.exact and type(v) is not float
        return found + looser * LOOSE * found if self.game.read is rounded else found

    def numbers(self, asked):
        """Conditions that are one number each; sum_s max_x q(s|x) is the leakage."""
        program, N, S, groups = self.program, self.game.N, self.S, range(len(self.game.groups))
        costing = lambda table: [(x, s, v) for x, row in enumerate(table) for s, v in enumerate(row)]
        if "min_eve_risk" in asked:
            entries = costing([[-v for v in row] for row in self.harm] if self.eve else [])
            terms = [] if self.eve else [("eve", s, g, 1) for s in S for g in groups]
            self.rows["min_eve_risk"] = [(entries, terms, -self.limit(asked["min_eve_risk"], -1))]
        if "max_bob_risk" in asked:
            self.rows["max_bob_risk"] = [(costing(self.bob), [], self.limit(asked["max_bob_risk"], 1))]
        if "max_leakage" in asked:
            program.observe("leak", [[(x, F(-1))] for x in range(N)], [range(N)])
            terms = [("leak", s, 0, 1) for s in S]
            self.rows["max_leakage"] = [([], terms, self.limit(asked["max_leakage"], 1, 1))]
        program.pure = asked.get("deterministic", False)
        need(type(program.pure) is bool, "deterministic must be true or false")

    def max_information(self, rows):
        """I(A;S) <= c bits: H(A|S) is the risk of who reports A. c is read larger by 2^-100; logarithms are rounded."""
        game, losses, groups, scores, found = self.game, [[] for _ in self.game.p], [], [], []
        need(many(rows) and game.aligned, "max_information")
        for k, row in enumerate(rows):
            need(len(keyed(row, ["at_most"], ["secret", "eve"])) <= 2 and self.reports, "information needs reports")
            own = [a for a in game.eves if a.kind and a.name == row.get("eve")]
            need(own or "eve" not in row, "max_information names no Eve who reports")
            secret = worded(row.get("secret", own[0].secret if own else game.states), game.N)
            most, table = self.limit(row["at_most"], 1) + F(1, 2**100), self.reports.pop(0)
            need(most > F(1, 2**100), "max_information must be positive")
            who, start = Informant("log", secret, game.p, game.p), groups[-1].stop if groups else 0
            groups.append(range(start, start + table[0][0]))
            scores.append((k, who))
            for mine, w, own in zip(losses, game.p, who.by_state(table)):
                mine += [(j, w * v) for j, v in zip(groups[-1], own) if v]
            entropy = sum(v * log_below(1 / v) for v in who.masses([F(1)] * game.N) if v)
            terms = [("max_information", s, k, 1) for s in self.S]
            found.append(([], terms, -most * log_below(F(1, 2)) - entropy))
        self.program.observe("max_information", losses, groups, scores=scores)
        self.rows["max_information"] = found

    def obedience(self, margin):
        """Every agent prefers what he is told by a margin; rows by signal, agent and other decision."""
        game, m, sizes = self.game, self.limit(margin, -1), self.game.sizes
        acts = [[[a.weight * p * v for v in row] for p, row in zip(a.mass, a.loss)] for a in game.agents]
        sizes = [math.prod(sizes)] if game.aligned else sizes  # all Bobs are one agent
        for s, (i, columns) in enumerate(zip(self.told, self.eve)):
            told = [i // math.prod(sizes[k + 1 :]) % n for k, n in enumerate(sizes)]
            told += [j - group.start for j, group in zip(columns, game.groups)]
            for a, act, own in zip(game.agents, acts, told):
                for d in (d for d in range(len(act[0])) if d != own):
                    spend(game.N)
                    gains = [row[own] - row[d] + m * p for p, row in zip(a.mass, act)]
                    yield [(x, s, v) for x, v in enumerate(gains) if v], [], F(0)

    # conditions on one signal at a time, sum_x g(x) q(s|x) <= 0: every vector g, and Eve's column if it is about one

    def signal_floor(self, value):
        """The risk of every view of an Eve is at least her floor, whatever she decides, or is told to."""
        every = [(a.name, value) for a in self.game.eves]
        pairs = list(value.items()) if type(value) is dict else value if type(value) is list else every
        need(pairs and all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs), "signal_floor")
        floors = {str(eve): self.limit(v, -1) for eve, v in pairs}
        need({*floors} <= {a.name for a in self.game.eves}, "signal_floor names no Eve")
        for view in (view for view in self.game.views if view.eve.name in floors):
            need(not view.eve.kind, "signal_floor of reports")
            here, f = [m * k if k else k for m, k in zip(self.game.p, view.share)], floors[view.eve.name]
            for column, losses in zip(view.columns, zip(*view.eve.harm)):
                yield [m * (f - v) if m else m for m, v in zip(here, losses)], None if self.game.aligned else column

    def posterior_caps(self, rows):
        """P(A|s) <= at_most, P(A|s) >= at_least; P(A|s,z) for every z that an Eve may know, if she is named."""
        for row in many(rows):
            keyed(row, ["event"], ["at_most", "at_least", "eve"])
            views = [v for v in self.game.views if v.eve.name == row.get("eve")]
            need(views or row.get("eve") is None, "posterior_caps names no Eve")
            masses = [[m * k if k else k for m, k in zip(self.game.p, v.share)] for v in views] or [self.game.p]
            signs = [(row[end], sign) for end, sign in (("at_most", 1), ("at_least", -1)) if row.get(end) is not None]
            inside, ends = self.event(row["event"]), [(self.limit(c, sign, 0, 1), sign) for c, sign in signs]
            need(ends and number(signs[-1][0]) <= number(signs[0][0]), "posterior_caps")
            for (c, sign), here in product(ends, masses):
                yield [sign * m * (i - c) for m, i in zip(here, inside)], None

    def posterior_ratio(self, rows):
        """P(A) / K <= P(A|s) <= K P(A)."""
        for row in many(rows):
            (K, _), inside = self.factor(row, "event"), self.event(row["event"])
            share = sum(m for m, i in zip(self.game.p, inside) if i)
            yield [m * (i - K * share) for m, i in zip(self.game.p, inside)], None
            yield [m * (share - K * i) for m, i in zip(self.game.p, inside)], None

    def independent_of(self, rows):
        """P(A|s) = P(A)."""
        for inside, sign in product(map(self.event, many(rows)), (1, -1)):
            share = sum(m for m, i in zip(self.game.p, inside) if i)
            yield [sign * m * (i - share) for m, i in zip(self.game.p, inside)], None

    def pufferfish(self, rows):
        """P(s|A) <= K P(s|B) and back, under every prior."""
        for row in [rows] if type(rows) is dict else many(rows):
            (K, _), priors = self.factor(row, "pairs", "priors"), [self.game.p]
            spend(len(many(row["pairs"])) * self.game.N)
            pairs = [[*map(self.event, listed(pair, "no pair of events", 2))] for pair in row["pairs"]]
            if row.get("priors") is not None:
                given = listed(row["priors"], "priors")
                priors = [scaled(distribution(r, self.game.N), rounded if floating(r) else F) for r in given]
                self.exact = self.exact and not floating(given)
            for r, pair in product(priors, pairs):
                a, b = ([m * i for m, i in zip(r, inside)] for inside in pair)
                for more, less in ((a, b), (b, a)) if any(a) and any(b) else ():
                    yield [u - K * v for u, v in zip(scaled(more), scaled(less))], None

    def state(self, x):
        x = self.game.place.get(x, x) if type(x) is str else x
        need(type(x) is int and 0 <= x < self.game.N, "no state")
        return x

    def event(self, states):
        inside = {*map(self.state, listed(states, "an event lists states"))}
        return [x in inside for x in range(self.game.N)]

    def factor(self, row, required, *optional):
        """K = exp_epsilon or exp(epsilon), and its logarithm; the other keys of the row."""
        keyed(row, [required] if required else [], [*optional, "exp_epsilon", "epsilon"])
        given = [name for name in ("exp_epsilon", "epsilon") if row.get(name) is not None]
        need(len(given) == 1, "exp_epsilon or epsilon, one of the two")
        K = number(row[given[0]], given[0] == "exp_epsilon", MOST)
        self.exact = self.exact and (K == 0 if given[0] == "epsilon" else type(row["exp_epsilon"]) is not float)
        if given[0] == "epsilon":
            need(K <= 600, "epsilon is too large")
            return exponential(K), float(K)
        log = math.log1p(K - 1) if K < 2 else math.log(K.numerator) - math.log(K.denominator)
        need(log <= 600, "epsilon is too large")
        return K, log

    # conditions on pairs of states

    def privacy(self, asked):
        """q(s|x) <= K^d(x,y) q(s|y), or sum_s max(0, q(s|x) - K^d(x,y) q(s|y)) <= delta; whether anything is asked."""
        (K, log), N, S, pairs = self.factor(asked, "", *CONDITIONS), self.game.N, len(self.S), None
        delta = self.limit(asked.get("delta", 0), 1)
        need(not {"neighbours", "metric"} <= {*asked}, "neighbours or metric, one of the two")
        if "neighbours" in asked:
            rows = [[*map(self.state, listed(pair, "no pair of states", 2))] for pair in many(asked["neighbours"])]
            pairs = {(x, y): F(1) for pair in rows for x, y in (pair, pair[::-1]) if x != y}
        if "metric" in asked:
            whole = lambda v, d: (d, type(v) is not float and d.denominator == 1)
            far = lambda v: None if v in (None, "inf", math.inf) else whole(v, number(v, 0))
            found = table_of(asked["metric"], far, N, N)
            self.exact = self.exact and all(v is None or v[1] for row in found for v in row)
            pairs = {(x, y): v[0] for x, row in enumerate(found) for y, v in enumerate(row) if v and x != y}
        if number(asked.get("delta", 0)) >= 1:
            return False
        if pairs is None and not delta:  # max_x q(s|x) <= K min_x q(s|x)
            for name, sign in (("top", -1), ("low", 1)):
                self.program.observe(name, [[(x, F(sign))] for x in range(N)], [range(N)])
            self.rows["privacy"] = [([], [("top", s, 0, 1), ("low", s, 0, K)], F(0)) for s in self.S]
            return True
        spend(N * N * S if pairs is None else len(pairs) * (N + S))
        pairs = {(x, y): F(1) for x in range(N) for y in range(N) if x != y} if pairs is None else pairs
        powers = {d: power(K, log, d) for d in {*pairs.values()}}
        ratio = {pair: powers[pairs[pair]] for pair in (sorted(pairs) if delta else needed(pairs))}
        need(None not in ratio.values(), "exp(eps d) is too large")
        spend(S * sum((r.numerator.bit_length() // 1000) ** 2 for r in ratio.values()) // EFFORT.unit)  # if long
        if not delta:
            entries = ([(x, s, F(1)), (y, s, -r)] for (x, y), r in ratio.items() for s in self.S)
            self.rows["privacy"] = [(own, [], F(0)) for own in entries]
        elif ratio:
            need(len(ratio) * (S + 1) <= 500_000, "delta: too many pairs")
            beyond = [[] for _ in range(N)]  # a group per pair: 0 and K^d q(s|y) - q(s|x)
            for k, ((x, y), r) in enumerate(ratio.items()):
                beyond[x].append((2 * k + 1, F(-1)))
                beyond[y].append((2 * k + 1, r))
            self.program.observe("beyond", beyond, [range(2 * k, 2 * k + 2) for k in range(len(ratio))])
            rows = [([], [("beyond", s, k, 1) for s in self.S], delta) for k in range(len(ratio))]
            self.rows["approximate_privacy"] = rows
        return True


def stated_rows(table, N, S):
    """Rows that a certificate writes out: sum_xs a[k,x,s] q(s|x) <= rhs[k]."""
    (count, *shape), entries = proof_table(keyed(table, ["entries", "rhs"])["entries"], 3)
    size, rhs = proof_table(table["rhs"], 1)
    need(shape == [N, S] and size == (count,), "rows have another shape")
    rows = [([], [], rhs.get((k,), F(0))) for k in range(count)]
    for (k, x, s), v in entries.items():
        rows[k][0].append((x, s, v))
    return rows


def power(K, log, d):
    """K^d, None if it is too large to be written down."""
    bits = max(K.numerator.bit_length(), K.denominator.bit_length())
    if K != 1 and (d * F(log) > 600 or (d.denominator == 1 and d * bits > LIMITS["bits"])):
        return None
    return K if K == 1 else K ** int(d) if d.denominator == 1 else exponential(d, K)


def exponential(exponent, base=None):
    """The largest float that is at most e^exponent, or base^exponent; decimals of sixty digits tell which one it is."""
    if exponent == 0:
        return F(1)
    with localcontext() as context:
        context.prec = 60
        decimal = lambda v: Decimal(v.numerator) / Decimal(v.denominator)
        value = F((decimal(exponent) * (1 if base is None else decimal(base).ln())).exp())
    near = float(value)
    return F(near if F(near) <= value else math.nextafter(near, -math.inf))


def needed(pairs):
    """The pairs that no others imply: those without d(x,y) + d(y,z) <= d(x,z), both positive."""
    whole = integers([pairs[pair] for pair in sorted(pairs)])[1]
    d, ways = dict(zip(sorted(pairs), whole)), {x: [] for x, _ in pairs}
    for (x, y), v in d.items():
        ways[x] += [(y, v)] if v else []
    return [(x, z) for (x, z), most in d.items() if not any(0 < d.get((y, z), 0) <= most - v for y, v in ways[x])]


# ---- several problems: scenarios and tiers


def several(kind, games, conditions, lams, weights):
    """The program of scenarios, whose worst case counts, or of tiers, which add up; the names of its signals; if exact.

    Each problem is lowered with the signals that its agents see, and pulled back along sees.
    """
    need(all(g.aligned and not g.scores and not g.more for g in games), "no beliefs or reports here")
    need(all(g.states == games[0].states for g in games), "the problems have different states")
    heads = games if kind == "tiers" else [next(h for h in games if (h.p, h.B) == (g.p, g.B)) for g in games]
    bobs = [g for k, g in enumerate(games) if g is heads[k]]  # scenarios with the same prior and losses have one Bob
    sizes = [len(g.decisions) for g in bobs]
    need(math.prod(sizes) <= (100_000 if kind == "tiers" else 4096), "too many tuples of decisions")
    spend(math.prod(sizes) * len(games) * games[0].N)
    tuples, tiers, exact = list(product(*map(range, sizes))), kind == "tiers", True
    nothing = [[F(0)] * len(tuples) for _ in games[0].p]
    program = LoweredGame([F(1)] * games[0].N, nothing, None if tiers else "scenarios")
    for k, (g, head, asked, lam) in enumerate(zip(games, heads, conditions, lams)):
        alone = {k for k in ALONE if asked.get(k, False) is not False}
        need(not alone, "a condition is not possible with several problems")
        if tiers:  # tier k sees the first k decisions of a signal
            sees = [s // math.prod(sizes[k + 1 :]) for s in range(len(tuples))]
            told = [view % sizes[k] for view in range(sees[-1] + 1)]
        else:
            place, sees = next(n for n, bob in enumerate(bobs) if bob is head), range(len(tuples))
            told = [t[place] for t in tuples]
        release = Release(g, asked, F(0), told)
        own, behind, exact = release.program, [[] for _ in told], exact and release.exact
        for s, view in enumerate(sees):
            behind[view].append(s)
        for name, o in own.observers.items():
            price = weights[k] * lam if tiers and name == "eve" else F(0)
            program.observe(f"{name} {k}", o.losses, o.groups, price, sees)
        for name, rows in own.rows.items():
            spend(sum(len(entries) for entries, _, _ in rows) * len(tuples) // len(told))
            program.rows[f"{name} {k}"] = [([(x, s, a) for x, view, a in entries for s in behind[view]],
                                            [(f"{o} {k}", *term) for o, *term in terms], rhs)
                                           for entries, terms, rhs in rows]
        cost = [[row[view] for view in sees] for row in own.cost]
        if tiers:
            program.cost = [[c + weights[k] * v for c, v in zip(*rows)] for rows in zip(program.cost, cost)]
        else:
            worst_row(program, f"eve {k}", cost, g.groups, lam)
    return program, joints([g.decisions for g in bobs], " > " if tiers else " | "), exact


def worst_row(program, eve, cost, groups, lam):
    """R_B - lam R_E as one more row of the worst case, for an observer of this name."""
    entries = [(x, s, v) for x, row in enumerate(cost) for s, v in enumerate(row) if v]
    terms = [(eve, s, g, lam) for s in range(program.signals) for g in range(len(groups))]
    program.rows[program.worst].append((entries, terms, F(0)))


# ---- deterministic mechanisms, which are not a convex set


def case_of(part, N, S):
    """A part of the mechanisms: allowed signals by state, multipliers; void: no mechanism is in it."""
    keyed(part, ["replies", "weights"], ["states", "void"])
    allowed, why, void = [range(S)] * N, "no states", part.get("void", False)
    need(type(void) is bool, "void must be true or false")
    for x, own in (listed(row, why, 2) for row in many(part.get("states", []))):
        allowed[positions([x], N, why)[0]] = sorted({*positions(own, S, "a case is about no signals")})
    return Record(allowed=allowed, void=void, dual=dual_of(part))


def by_cases(release, cases, value):
    """The least bound over cases that together contain every mechanism."""
    S, boxes = len(release.S), []
    for case in cases:
        need(all(case.allowed), "a case is about no signals")
        spend(sum(map(len, case.allowed)) + S * (1 + S // 1000))
        boxes.append([sum(1 << s for s in own) for own in case.allowed])  # a set of signals, as bits, for every state
    covered([(1 << S) - 1] * release.game.N, boxes)
    for case in cases:
        bound = release.program.bound(case.dual, case.allowed, case.void)
        need(not case.void or bound > 0, "a void case is not proved to be empty")
        value = value if case.void else min(value, bound)
    return value


def covered(whole, boxes):
    """Every choice of an element per place lies in a box: split regions along the boxes."""
    todo, steps = [(whole, boxes)], LIMITS["parts"]
    while todo:
        region, near = todo.pop()
        steps -= len(whole) * (1 + len(near))
        need(steps >= 0, "the cases are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region))]
        need(near, "some mechanisms are in no case")
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(lacks):
            continue  # a box contains it
        k = max(range(len(whole)), key=lambda k: sum(k in lack for lack in lacks))
        inside = next(box[k] for box, lack in zip(near, lacks) if k in lack)
        todo += [([*region[:k], part, *region[k + 1 :]], near) for part in (region[k] & inside, region[k] & ~inside)]


# ---- Eves who report probabilities


class Informant:
    """An Eve who reports probabilities, at one value of what she knows; share: her weight times k(z|x)."""

    def __init__(self, kind, secret, mass, share):
        self.kind, self.share = kind, share
        self.values = list(dict.fromkeys(a for a, m in zip(secret, mass) if m)) or ["none"]
        place = {a: k for k, a in enumerate(self.values)}
        self.where = [place[a] if m else None for a, m in zip(secret, mass)]

    def times(self, p):
        """With shares multiplied by these numbers."""
        own = copy.copy(self)
        own.share = [m * v for m, v in zip(p, self.share)]
        return own

    def by_state(self, table):
        """The losses of all reports of a table, rounded up, at every state; none where she has no mass."""
        need(table[0][1] == len(self.values), "the reports have another shape")
        spend(40 * math.prod(table[0]))
        rows = dense(*table)
        good = self.kind == "brier" or all(sum(row) <= 1 and min(row) > 0 for row in rows)
        need(good, "no reports")
        losses = [*zip(*(score(self.kind, row) for row in rows))] or [[]] * len(self.values)
        return [[] if k is None else losses[k] for k in self.where]

    def masses(self, column):
        m = [F(0)] * len(self.values)
        for a, share, v in zip(self.where, self.share, column):
            if a is not None and v:
                m[a] += share * v
        return m

    def risk(self, column):
        """Her least loss at a signal with these masses of the states, rounded down."""
        masses = self.masses(column)
        M = sum(masses)
        if self.kind == "brier" or not M:
            return M - sum(m * m for m in masses) / M if M else M
        spend(40 * len(masses))
        return sum(m * log_below(M / m) for m in masses if m)


def score(kind, report):
    """The losses of a report at every value, rounded up."""
    square = sum(v * v for v in report) if kind == "brier" else 0
    return [1 - 2 * v + square if kind == "brier" else -log_below(v) for v in report]


def log_floor(q):
    """floor(2^128 log q) of a fraction, by decimals: their logarithms are right to the last digit."""
    need(q > 0, "a logarithm of a number that is not positive")
    if abs(q - 1) < F(1, 2**130):  # log q lies between 1 - 1/q and q - 1
        return 0 if q >= 1 else -1
    digits = 60
    while True:
        spend(1 + (digits > 60) * digits**2 // 20)
        with localcontext() as context:
            context.prec = digits
            log = F(Decimal(q.numerator).ln()) - F(Decimal(q.denominator).ln())
        off = F(10) ** (8 - digits)  # both logarithms are below 10^8
        low, high = (math.floor((log + v) * 2**128) for v in (-off, off))
        if low == high:
            return low
        digits *= 2


def log_below(q):
    """log q of a fraction, rounded down to a multiple of 2^-128."""
    return F(log_floor(q), 2**128)


# ---- sets of priors: the largest p.c over the set, for integers c


class Priors:
    """A set of priors: `inside` says if a prior is in it, `support` is the largest p.c; `listed`: all its vertices."""

    def __init__(self, table, game):
        need(type(table) is dict and (len(table) == 1 or {*table} == {"lower", "upper"}), "one set of priors")
        self.kind, p, self.listed, self.A = next(iter(table)), game.p, None, []
        N, floats, values, self.exact = len(p), game.read is rounded, table[self.kind], not floating(table)
        read = lambda v, low=0, high=MOST: game.read(number(v, low, high))
        loose = lambda v, sign: v + sign * LOOSE * abs(v) * floats
        if self.kind == "total_variation":  # mass moves from the least c to the largest
            radius = read(values, 0, 1)
            unit, (left, *mass) = integers([radius, *p])
            order = lambda c: sorted(range(N), key=c.__getitem__)
            self.inside = lambda own, _: sum(map(abs, map(F.__sub__, own, p))) <= 2 * radius
            self.support = lambda c: gained(c, mass, ((max(c) - c[x], mass[x]) for x in order(c)), left) / unit
        elif self.kind == "vertices":
            self.listed = [scaled(distribution(row, N), game.read) for row in listed(values, "no vertices")]
            self.inside = lambda own, _: own in self.listed
        elif self.kind in ("lower", "upper"):  # what the lower limits leave goes to the largest c
            ends = [(table.get(k, [int(k == "upper")] * N), sign) for k, sign in (("lower", -1), ("upper", 1))]
            low, top = ([min(loose(read(v), sign), F(1)) for v in listed(row, "no box", N)] for row, sign in ends)
            need(sum(low) <= 1 <= sum(top) and all(map(F.__le__, low, top)), "the box holds no distribution")
            unit, (*ends, left) = integers([*low, *top, 1 - sum(low)])
            least, room = ends[:N], [b - a for a, b in zip(ends, ends[N:])]
            order = lambda c: sorted(range(N), key=lambda x: -c[x])
            self.inside = lambda own, _: all(a <= v <= b for a, v, b in zip(low, own, top))
            self.support = lambda c: gained(c, least, ((c[x], room[x]) for x in order(c)), left) / unit
        elif self.kind == "polytope":  # `proofs`, from multipliers y >= 0: p.c <= y.b + max(c - y.A)
            self.A = table_of(keyed(values, ["A", "b"])["A"], lambda v: read(v, -MOST), None, N)
            self.b = [loose(read(v, -MOST), 1) for v in listed(values["b"], "a number per row", len(self.A))]
            self.inside = lambda own, _: all(sum(map(F.__mul__, row, own)) <= v for row, v in zip(self.A, self.b))
            over = lambda c, row: max(map(F.__sub__, map(F, c), row))
            self.support = lambda c: min([F(max(c)), *(v + over(c, row) for v, row in self.proofs)])
        else:
            need(self.kind == "wasserstein", "no such set of priors")
            radius, metric = read(keyed(values, ["radius", "metric"])["radius"]), values["metric"]
            far, d = (table_of(metric, own, N, N) for own in (read, lambda v: number(v, 0, MOST)))
            slack = F(1e-12) * max(map(max, d)) if floating(metric) else 0
            spend(N**3)
            need(not any(row[x] for x, row in enumerate(d)) and d == [*map(list, zip(*d))], "no metric")
            ways = ((a + slack, row, other) for row in d for a, other in zip(row, d))
            need(all(v <= a + w for a, row, other in ways for v, w in zip(row, other)), "no metric")
            cost = lambda moved: sum(v * d for row, own in zip(moved, far) for v, d in zip(row, own) if v)
            moves = lambda moved, own: [*map(sum, moved)] == p and [*map(sum, zip(*moved))] == own
            self.inside = lambda own, moved: moves(moved, own) and cost(moved) <= radius
            unit, (left, *mass) = integers([radius, *p])
            self.support = lambda c: transported(c, mass, far, left) / unit


def gained(c, mass, moves, left):
    """mass.c and what moves gain besides, (gain, most) each, while there is mass, or a budget, left."""
    out = F(sum(map(int.__mul__, mass, c)))
    for gain, most in moves:
        if not left:
            break
        out, left = out + gain * min(most, left), left - min(most, left)
    return out


def transported(c, mass, metric, left):
    """Mass moves first where a unit of cost gains most, along the concave envelope of the points (d(x,y), c(y))."""
    pieces, start = [], list(c)
    for x, (m, far) in enumerate(zip(mass, metric)):
        out = []
        for y in sorted(range(len(c)), key=lambda y: (far[y], -c[y])) if m else ():
            if out and c[y] <= c[out[-1]]:
                continue
            while len(out) > 1:
                a, b = out[-2:]
                if (c[b] - c[a]) * (far[y] - far[b]) > (c[y] - c[b]) * (far[b] - far[a]):
                    break
                out.pop()
            out.append(y)
        start[x] = c[out[0]] if out else 0
        steps = [(c[z] - c[y], far[z] - far[y]) for y, z in pairwise(out)]
        pieces += [(gain / length, m * length) for gain, length in steps]
    return gained(start, mass, sorted(pieces, reverse=True), left)


NODES = 50_000  # of a search for the worst prior


def most_over(game, priors, lam, q, start, claim):
    """Refuses if R_A may exceed the claim under a prior of the set.

    With replies t_ig of Eve, c(x) = sum_i q(i|x) (B(x,i) - lam sum_g E(x,t_ig)), and the worst R_A is the largest p.c
    over replies and priors. Another reply j at (i,g) adds d(x) = lam q(i|x) (E(x,t_ig) - E(x,j)). So R_A is at most
    support(c) + sum over open places of the largest support(d), if positive. The search closes one place at a time.
    """
    why = f"R_A is not shown to be at most {shown(claim)} over the set"
    if priors.listed is not None:
        need(all(game.free_program(range(len(q[0])), lam, p).value(q) <= claim for p in priors.listed), why)
        return
    E = [dict(row) for row in game.E]
    replied = lambda i, j: [lam * sent[i] * own.get(j, 0) for sent, own in zip(q, E)]
    c, gains = [sum(map(F.__mul__, sent, row)) for sent, row in zip(q, game.B)], []
    for i, g in product(range(len(q[0])), game.groups):
        if any(row[i] for row in q):
            each = [replied(i, j) for j in g]
            best = min(each, key=lambda row: sum(map(F.__mul__, start, row)))
            c = [*map(F.__sub__, c, best)]
            gains.append([[*map(F.__sub__, best, row)] for row in each if row is not best])
    unit = math.lcm(*(v.denominator for row in (c, *(gain for place in gains for gain in place)) for v in row))
    whole = lambda row: integers(row, unit)[1]
    times = lambda y, values: unit * sum(map(F.__mul__, y, values))
    priors.proofs = [(times(y, priors.b), [times(y, col) for col in zip(*priors.A)]) for y in priors.multipliers]
    places = []
    for place in gains:
        live = [(most, gain) for gain in map(whole, place) if (most := priors.support(gain)) > 0]
        places += [(max(most for most, _ in live), [gain for _, gain in live])] if live else []
    places.sort(key=lambda place: -place[0])
    rest = [sum(most for most, _ in places[k:]) for k in range(len(places) + 1)]
    todo = [(whole(c), priors.support(whole(c)), 0)]
    steps = min(NODES, LIMITS["work"] // (20 * game.N * (game.N if priors.kind == "wasserstein" else 1)))
    while todo:
        c, most, depth = todo.pop()
        if most + rest[depth] > claim * unit:
            need(depth < len(places) and steps, why)
            steps, own = steps - 1, [[*map(int.__add__, c, gain)] for gain in places[depth][1]]
            todo += [(c, most, depth + 1), *((c, priors.support(c), depth + 1) for c in own)]


def over_priors(release, lam, table, document):
    """The set of priors, and its listed priors as worst rows of the program of the conditions."""
    game, program = release.game, release.program
    need(not (release.tuples or program.pure) and texts(document.get("priors")) == texts(table), "other priors")
    need(not game.scores, "a set of priors needs agents with tables of losses")
    need("max_information" not in program.rows, "information over a set of priors")
    priors = Priors(table, game)
    release.exact = release.exact and priors.exact
    shape, at = proof_table(document.get("listed"))
    (K, wide), (count, width), witness = shape, (0, 0), []
    need(wide == game.N and K, "the listed priors have another shape")
    if "witness" in document:
        (count, width), more = proof_table(document["witness"])
        need(all(v > 0 for v in more.values()), "the witness has negative numbers")
        need(count, "the witness is empty")
        witness = dense((count, width), more)
    fits = {"polytope": not count or width == len(priors.A), "wasserstein": (count, width) == (K * wide, wide)}
    need(fits.get(priors.kind, "witness" not in document), "the witness does not fit")
    priors.multipliers = witness if priors.kind == "polytope" else []
    spend(K * game.N * (len(release.S) + len(priors.A) + 1) + count * max(width, 1))
    for k, p in enumerate(rows := dense(shape, at)):
        need(min(p) >= 0 and sum(p) == 1, f"listed prior {k} is not a distribution")
        need(priors.inside(p, witness[k * wide : (k + 1) * wide]), f"listed prior {k} is not in the set")
    heard = {term[0] for own in program.rows.values() for _, terms, _ in own for term in terms}
    program.observers = {name: o for name, o in program.observers.items() if name in heard}
    program.cost, program.worst = [[F(0)] * len(release.S) for _ in game.p], "priors"
    program.rows["priors"] = []
    for k, p in enumerate(rows):
        one = game.free_program(release.S, lam, p)
        program.observe(f"eve {k}", one.observers["eve"].losses, game.groups)
        worst_row(program, f"eve {k}", one.cost, game.groups, lam)
    return priors, rows


# ---- records: a record type x is a tuple of levels, and Bob decides on one level of every published column, so that
# B(x,i) = sum_k L_k(x_k,i_k). Eve n wants the secret s_n(x), and sees z, the joint value of the columns that she knows.
# Subtract from every row of her losses its least one: that takes lam sum_x p(x) min_j E_n(x,j) off every R_A, and
# leaves her no risk where one guess is right for all records with her z. The other pairs (n, z) are observers.
# Components share no observer, so the bound is the sum of theirs.

STUDY = ["format", "title", "columns", "publish", "eves", "holdout", "seed", "keep", "conditions"]
COLUMN = ["name", "labels", "values", "numeric", "bands", "named", "merged", "whole", "missing", "strip", "decimal",
          "ordered"]  # fmt: skip
PRIOR = ["model", "smoothing", "toward", "margins", "likelihoods", "scores", "draws", "fresh", "fitted", "held_out",
         "types", "p"]  # fmt: skip
SHARED = ["min_eve_risk", "max_bob_risk"]
MEASURED = ["light", "audit", "verdict"]  # what attackers found on held-out records
RESULT = [*MEASURED, "exact", "lambda", "eve_gain", "risks", "bound", "gap", "records", "types", "decisions",
          "components", "columns", "eves", "conditions", "model", "scores", "smoothing", "toward", "likelihoods",
          "method"]  # fmt: skip


class Summed(LoweredGame):
    """A signal is a tuple s of levels, and its cost at state x is sum_k tables[k][codes[x][k]][s_k]."""

    def __init__(self, mass, tables, codes):
        LoweredGame.__init__(self, mass, [range(math.prod(len(table[0]) for table in tables))])
        self.codes, self.unit = codes, math.lcm(*{v.denominator for table in tables for row in table for v in row})
        self.tables = [[integers(row, self.unit)[1] for row in table] for table in tables]

    def costs(self, x):
        row = [0]
        for table, code in zip(self.tables, self.codes[x]):
            row = [v + w for v in row for w in table[code]]
        return self.unit, row


def plain(v, low=0, high=MOST):
    """A number as the package writes it: a float, or a fraction in lowest terms."""
    found = number(v, low, high, True)
    need(type(v) is float or v == str(found), "a number is written otherwise")
    return found


def plain_table(rows, *shape):
    found = table_of(rows, plain, *shape)
    need(len({type(v) for row in rows for v in row}) == 1, "a table has floats and fractions")
    return found


def scored_losses(kind, size):
    """Losses of an Eve who reports probabilities of `size` levels, from a fixed list, rounded up to 2^-40."""
    steps = 64 if size == 2 else max(n for n in range(1, 65) if n == 1 or math.comb(n + size - 1, n) <= 300)
    columns = []
    for cuts in combinations(range(steps + size - 1), size - 1):
        r = [b - a - 1 for a, b in pairwise((-1, *cuts, steps + size - 1))]
        if kind == "log":
            r = [round(2**20 * math.sin(math.pi * v / (2 * steps)) ** 2) for v in r]
            columns.append(score(kind, [(1 - F(size, 4096)) * F(v, sum(r)) + F(1, 4096) for v in r]))
        else:
            columns.append(score(kind, [F(v, steps) for v in r]))
    return [[F(math.ceil(v * 2**40), 2**40) for v in row] for row in zip(*columns)]


class Records:
    """A study in fractions, and the channel of its mechanism."""

    def __init__(self, study, mechanism, prior, floats):
        keyed(study, STUDY)
        keyed(prior, PRIOR)
        keyed(mechanism, ["columns", "published", "levels", "types", "rows"])
        need(study["conditions"] is None or (type(study["conditions"]) is dict and study["conditions"]), "conditions")
        need(study["format"] == RECORDS and type(study["title"]) is str, "study.json is no study")
        self.floats, self.read = floats, rounded if floats else F
        columns = [keyed(c, COLUMN) for c in listed(study["columns"], "columns")]
        self.names, self.labels = labels([c["name"] for c in columns]), [c["labels"] for c in columns]
        for c, own in zip(columns, self.labels):
            words, missing = [v for v in listed(c["values"], "values") if v is not None], "(missing)"
            while missing in words:
                missing = f"({missing})"
            need(own == words + [missing] * (c["values"][-1] is None), "labels must be those of the values")
            need(all(type(v) is str for v in own) and len({*own}) == len(own), "levels need labels of their own")
        ends = [end for c in columns for end in c["bands"]]
        for v in (study["holdout"], *ends, *(alpha for alpha, _ in prior["likelihoods"])):
            plain(v, -MOST)
        same = mechanism["columns"] == self.names and mechanism["levels"] == dict(zip(self.names, self.labels))
        need(same, "the mechanism has other columns or levels")
        sizes = self.sizes = [*map(len, self.labels)]
        self.bobs = [self.target(t) for t in listed(study["publish"], "publish")]
        need(mechanism["published"] == [b.own["column"] for b in self.bobs], "the mechanism publishes other columns")
        self.decisions = math.prod(sizes[b.k] for b in self.bobs)
        need(self.decisions <= 10**7, "too many decisions")
        self.types = [self.levels(x, sizes) for x in listed(prior["types"], "types")]
        need(all(a < b for a, b in pairwise(self.types)), "record types must be in order, each once")
        need(texts(mechanism["types"]) == texts(self.types), "the mechanism has other record types")
        self.exact = not floating(study["publish"], study["eves"], prior["p"])
        p = self.probabilities(prior["p"])
        self.given, self.p = scaled(p), scaled(p, self.read)
        self.counts = [(tuple(x[:-1]), x[-1]) for x in listed(prior["fitted"], "fitted")]
        good = all(type(n) is int and 0 < n < 2**62 and self.levels([*x], sizes) for x, n in self.counts)
        need(good and all(a < b for (a, _), (b, _) in pairwise(self.counts)), "counts must be in order, each once")
        for tables in (prior["draws"], prior["fresh"]):
            for K, table in tables.items():
                rows = [positions(row, 2**17, "draws", int(K)) for row in listed(table, "draws", len(self.p))]
                need(str(int(K)) == K and all(sum(row) == 2**16 for row in rows), "draws")
        self.spies = [self.spy(e, prior["draws"]) for e in listed(study["eves"], "eves")]
        self.eves = [e for one in self.spies for e in one.parts]
        self.send(mechanism["rows"])

    def levels(self, x, sizes):
        """One level of every column."""
        need(all(v < size for v, size in zip(positions(x, max(sizes), "levels", len(sizes)), sizes)), "levels")
        return x

    def target(self, t):
        """A published column: its losses as they are given, and as they are read."""
        keyed(t, ["column", "loss", "weight"])
        need(t["column"] in self.names, "no such column is published")
        k = self.names.index(t["column"])
        loss, weight = plain_table(t["loss"], self.sizes[k], self.sizes[k]), plain(t["weight"])
        times = (lambda v: F(float(weight) * float(v))) if floating(t["loss"], t["weight"]) else weight.__mul__
        given = [[*map(times, row)] for row in loss]
        return Record(k=k, weight=weight, given=given, loss=[[*map(self.read, row)] for row in given], own=t)

    def spy(self, e, draws):
        """An Eve; who knows which of K draws is true is K Eves, each with her chance at every record type."""
        keyed(e, ["name", "secret", "knows", "loss", "weight", "informed"], ["score"])
        [secret], knows = positions([e["secret"]], len(self.sizes), "secret"), e["knows"]
        need(positions(knows, len(self.sizes), "knows") == sorted({*knows} - {secret}), "what an Eve wants and knows")
        given, weight = plain_table(e["loss"], self.sizes[secret]), self.read(plain(e["weight"]))
        need(weight > 0 and type(e["name"]) is str, "an Eve has a name and a positive weight")
        if "score" in e:
            need(e["score"] in ("log", "brier") and given == scored_losses(e["score"], len(given)), "another score")
        one = Record(secret=secret, knows=knows, loss=[[*map(self.read, row)] for row in given], weight=weight, own=e)
        joint = lambda z, k: z * self.sizes[k[0]] + k[1]  # one number for the levels that she knows
        one.z = [reduce(joint, ((k, x[k]) for k in knows), 0) for x in self.types]
        one.s, [K] = [x[secret] for x in self.types], positions([e["informed"]], 10**6, "informed")
        one.chances = [[F(v, 2**16) for v in row] for row in draws[str(K)]] if K > 1 else [[F(1)] for _ in self.types]
        one.parts = [Record(**vars(one) | {"chance": own}) for own in zip(*one.chances)]
        return one

    def probabilities(self, p):
        if type(p) is list and len(p) == 1 and floating(p):
            out = [number(v, 0, 1) for v in listed(p[0], "p", len(self.types))]
        else:
            [out], written = dense(*proof_table(p)), (p["rows"] if type(p) is dict else p)[0]
            need(len(out) == len(self.types), "there must be a probability for every record type")
            need(all(v == str(F(v)) for v in written) and sum(out) == 1, "p is not a distribution")
        need(min(out) > 0, "p is not a distribution")
        return out

    def send(self, rows):
        """The channel: for every record type its decisions with their probabilities."""
        self.sent, places, sizes = [{} for _ in self.types], [], [self.sizes[b.k] for b in self.bobs]
        for x, *told, q in (listed(row, "a row of the mechanism", len(sizes) + 2) for row in listed(rows, "rows")):
            positions([x], len(self.types), "a row of the mechanism")
            places.append((x, *self.levels(told, sizes)))
            self.sent[x][tuple(told)] = plain(q, 0, 1)
        kinds = {type(row[-1]) for row in rows}
        need(all(a < b for a, b in pairwise(places)), "rows of the mechanism must be in order, each once")
        good = all(total(own.values()) == 1 and all(own.values()) for own in self.sent)
        need(good, "a row of the mechanism is not a distribution")
        able = self.floats and all(q == rounded(q) for own in self.sent for q in own.values())
        need(kinds == {float if able else str}, "the mechanism has numbers of another kind")

    def risks(self):
        """The part of each column in R_B, each Eve's risk, and the share of changed cells by column."""
        mass = [(x, i, p * q) for x, (p, own) in enumerate(zip(self.p, self.sent)) for i, q in own.items()]
        columns, changed = [], []
        for k, b in enumerate(self.bobs):
            cells = summed(((i[k], self.types[x][b.k]), m) for x, i, m in mass)
            changed.append(total(m for (told, true), m in cells.items() if told != true))
            columns.append(total(m * b.loss[true][told] for (told, true), m in cells.items()))
        cells = ((e, summed((((i, e.z[x]), e.s[x]), m * e.chance[x]) for x, i, m in mass)) for e in self.eves)
        return columns, [least_losses(own, e.loss) for e, own in cells], changed

    def extremes(self, e):
        """An Eve's risk without a release, and with the whole record."""
        cells = summed(((z, s), p * k) for p, k, z, s in zip(self.p, e.chance, e.z, e.s))
        return least_losses(cells, e.loss), total(m * min(e.loss[s]) for (_, s), m in cells.items())

    def bound(self, lam, components, scale, weights):
        """What the replies prove, with Bob's losses times `scale` and these weights of the Eves."""
        tables, least = [[[v * scale for v in row] for row in b.loss] for b in self.bobs], []
        for e, w in ((e, w) for one, w in zip(self.spies, weights) for e in one.parts):
            e.low = [[(j, w * (v - min(row))) for j, v in enumerate(row) if v > min(row) and w] for row in e.loss]
            least += [p * k * w * min(e.loss[s]) for p, k, s in zip(self.p, e.chance, e.s)]
            right = {z: {*range(len(e.loss[0]))} for z in e.z}  # guesses without a loss
            for k, s, z in zip(e.chance, e.s, e.z):
                right[z] -= {j for j, _ in e.low[s] if k}
            e.live = [k and not right[z] and e.low[s] for k, s, z in zip(e.chance, e.s, e.z)]
        groups = [(g["eve"], g["known"]) for part in components for g in part["groups"]]
        need(len({*groups}) == len(groups), "a group of records that an Eve cannot tell apart is in two components")
        return total(self.component(part, lam, tables) for part in components) - lam * total(least)

    def component(self, part, lam, tables):
        """The bound of a component: a program with an observer for every Eve and value that she knows."""
        states, replies = keyed(part, ["states", "groups"])["states"], {}
        heard = [[(f"{n}, {e.z[x]}", e) for n, e in enumerate(self.eves) if e.live[x]] for x in states]
        codes = {x: tuple(self.types[x][b.k] for b in self.bobs) for x in states}
        live = [x for x, own in zip(states, heard) if own]  # nobody listens to the other records
        alone = total(self.p[x] * sum(min(table[code]) for table, code in zip(tables, codes[x]))
                      for x, own in zip(states, heard) if not own)
        program = Summed([self.p[x] for x in live], tables, [codes[x] for x in live])
        for g in many(part["groups"]):
            keyed(g, ["eve", "known", "replies", "reply_of"])
            [n], [z] = positions([g["eve"]], len(self.eves), "eve"), positions([g["known"]], 2**62, "known")
            shape, u = by_row(*proof_table(g["replies"]))
            which, name = positions(g["reply_of"], shape[0], "reply_of", self.decisions), f"{n}, {z}"
            program.observe(name, {}, [range(len(self.eves[n].loss[0]))], lam)
            replies[name] = (len(which), shape[1]), [u[r] for r in which]
        for at, (x, own) in enumerate(zip(live, filter(None, heard))):
            for name, e in own:
                need(name in program.observers, "a record touches a group of another component")
                program.observers[name].losses[at] = [(j, e.chance[x] * v) for j, v in e.low[e.s[x]]]
        return alone + program.bound((replies, {}))

    def from_counts(self, prior):
        """p(x) = (n_x + alpha m(x)) / (n + alpha) with m the product of the shares of groups of columns."""
        if type(prior["smoothing"]) is float:
            return  # such a prior is in floats, as it is written
        counts, n = dict(self.counts), sum(v for _, v in self.counts)
        alpha, wrong = plain(prior["smoothing"]), "the prior is not that of the counts"
        found = {tuple(x): v for x, v in zip(self.types, self.given)}
        if not alpha:
            need(found == {x: F(v, n) for x, v in counts.items()}, wrong)
            return
        known, every = {k for e in self.eves for k in e.knows}, range(len(self.sizes))
        parts = [[k for k in every if (k in known) == side] for side in (False, True)]
        parts = [[k] for k in every] if prior["toward"] == "margins" else [part for part in parts if part]
        shares = [summed((tuple(x[k] for k in part), v) for x, v in counts.items()) for part in parts]
        need(len(found) == math.prod(map(len, shares)), wrong)
        for x, p in found.items():
            m = math.prod(own.get(tuple(x[k] for k in part), 0) for part, own in zip(parts, shares))
            need(p == (counts.get(x, 0) + alpha * F(m, n ** len(parts))) / (n + alpha), wrong)

    def held_out(self, share, rows):
        """Of every secret as many records are held out as the share says, rounded down or up."""
        share, held, whole = plain(share, 0, 1), Counter(), Counter()
        secrets = sorted({e.secret for e in self.spies})
        counts = [(tuple(x[:-1]), x[-1]) for x in rows and listed(rows, "held-out records")]
        good = all(type(n) is int and 0 < n < 2**62 and self.levels([*x], self.sizes) for x, n in counts)
        need(good and all(a < b for (a, _), (b, _) in pairwise(counts)), "counts must be in order, each once")
        for x, n in counts:
            held[tuple(x[k] for k in secrets)] += n
        for x, n in [*counts, *self.counts]:
            whole[tuple(x[k] for k in secrets)] += n
        asked = {s: math.floor(share * n) for s, n in whole.items()}
        spare = math.floor(share * whole.total()) - sum(asked.values())
        rests = sorted(asked, key=lambda s: (asked[s] - share * whole[s], s))
        for s in [s for s in rests if whole[s] - asked[s] >= 2 and asked[s] < share * whole[s]][:spare]:
            asked[s] += 1
        need(share < 1 and all(held[s] == n for s, n in asked.items()), "another share of records is held out")
        return held.total()

    def by_spy(self, values):
        """Numbers of the Eves, added up where several of them are one informed Eve."""
        rest = iter(values)
        return [sum(next(rest) for _ in e.parts) for e in self.spies]


def summed(pairs):
    """The sum of the numbers of every key."""
    out = defaultdict(list)
    for key, v in pairs:
        out[key].append(v)
    return {key: total(own) for key, own in out.items()}


def least_losses(cells, loss):
    """The sum over what is seen of the least expected loss; cells: (what is seen, true level) -> probability."""
    seen = defaultdict(list)
    for (what, true), m in cells.items():
        seen[what].append((m, loss[true]))
    return total(min(sum(m * row[j] for m, row in own) for j in range(len(loss[0]))) for own in seen.values())


class StudyRules:
    """The conditions of a study: on columns, on record types, and numbers that all parts share, with their prices.

    With prices w_n, w, v >= 0 for floors and a cap on R_B, R_A of a release that meets them is at least that at the
    prices (Bob weighs 1 + v, Eve n weighs (lam + w) weight_n + w_n, and lam is one), less the prices times the limits.
    Without prices weights and lam are those of the study.
    """

    def __init__(self, study, records, certificate, lam, bob, eves):
        """bob, eves: the risks of the release."""
        self.records, self.columns, self.asked = records, study["columns"], study["conditions"] or {}
        self.types, self.cells = dict(self.asked), {}  # cells: the levels of columns of numbers, by their numbers
        self.cap, self.floor, self.dp = (many(self.types.pop(name, [])) for name in ("cap", "floor", "dp"))
        self.cell = self.types.pop("min_cell", None)
        self.convex = not self.types.get("deterministic")
        given, names = keyed(certificate["prices"], ["floor", *SHARED]), [e.own["name"] for e in records.spies]
        self.least, limits, loose = {}, [], LOOSE if records.floats else 0
        prices = {names.index(name): proof_number(w) for name, w in given["floor"].items()}
        prices |= {name: proof_number(given[name]) for name in SHARED}
        need(min(prices.values()) >= 0, "a price is negative")
        self.scale, every = 1 + prices["max_bob_risk"], [e.weight for e in records.spies]
        self.weights, self.at = every, lam
        if any(prices.values()):
            paid = [(lam + prices["min_eve_risk"]) * w + prices.get(n, 0) for n, w in enumerate(every)]
            self.weights, self.at = (paid, F(1)) if any(paid) else (every, F(0))
        for row in self.floor:
            keyed(row, ["at_least"], ["eve"])
            need(len(names) == 1 or "eve" in row, "a floor names no Eve")
            n = names.index(row.get("eve", names[0]))
            self.least[n] = max(self.least.get(n, F(0)), number(row["at_least"], 0))
        if self.convex:  # (price, what the release has, its most)
            limits = [(prices.pop(n, F(0)), -eves[n], -v) for n, v in self.least.items()]
            if "min_eve_risk" in self.types:
                low = number(self.types["min_eve_risk"])
                limits.append((prices.pop("min_eve_risk"), -sum(map(F.__mul__, every, eves)), -low))
            if "max_bob_risk" in self.types:
                limits.append((prices.pop("max_bob_risk"), bob, number(self.types["max_bob_risk"])))
        need(not any(prices.values()), "there is a price for what is not demanded")
        limits = [(price, has, most + loose * abs(most)) for price, has, most in limits]
        need(all(has <= most for _, has, most in limits), "the release breaks a floor, or a cap on R_B")
        self.has, self.paid = (sum(limit[0] * limit[k] for limit in limits) for k in (1, 2))
        if self.cell is not None:
            sent = summed((i, p * q) for p, own in zip(records.p, records.sent) for i, q in own.items())
            least = number(self.cell, 0) / sum(n for _, n in records.counts) * (1 - loose)
            need(all(m >= least for m in sent.values()), "the release breaks min_cell")

    def ends(self, certificate, value):
        """R_A of the release and its bound: the sums over all parts at the prices, less the prices times the limits."""
        r, parts = self.records, listed(certificate["parts"], "parts")
        seen = [x for part in parts for x in positions(part["states"], len(r.p), "states")]
        need(sorted(seen) == [*range(len(r.p))], "the parts do not hold every record type once")
        if any("certificate" in part for part in parts):
            need(self.asked, "a study without conditions is proved by its components")
            kinds = {part["certificate"]["numbers"] for part in parts}
            need(kinds == {certificate["numbers"]}, "the parts have numbers of another kind")
            self.split(parts)
            value, bound = map(total, zip(*map(self.proved, parts)))
            value -= self.has
        else:
            local = self.cap or self.dp or {*self.types} - {*SHARED} or not self.convex
            need(not local, "these conditions are proved part by part")
            bound = r.bound(self.at, parts, self.scale, self.weights)
        return value, bound - self.paid

    def level(self, column, level):
        """The position of a level, by its label, or by the cell that has it."""
        own, text = self.columns[column], str(level).lower() if type(level) is bool else str(level)
        spend(1 + len(own["labels"]) // 20)
        for names in (own["labels"], own["values"]):
            if text in names:
                return names.index(text)
        need(own["numeric"] and not own["bands"], "a cap names no level")
        if column not in self.cells:
            spend(sum(10 + (len(v or "") // 300) ** 2 for v in own["values"]))
            cells = [None if v is None else number(v) for v in own["values"]]
            self.cells[column] = {v: k for k, v in [*enumerate(cells)][::-1]}
        return self.cells[column][number(text)]

    def part(self, states):
        """What a part must satisfy by itself, with record types by their position in it."""
        r, given = self.records, {k: v for k, v in self.types.items() if not self.convex or k not in SHARED}
        if not self.convex and self.least:
            need(len(r.spies) == 1, "a floor for one of several Eves")
            floor = max(self.least[0] * number(r.spies[0].own["weight"]), number(given.get("min_eve_risk", 0)))
            given["min_eve_risk"] = str(floor)
        types, names = [r.types[x] for x in states], [e.own["name"] for e in r.spies]
        caps, pairs = [], defaultdict(list)
        for row in self.cap:
            k = r.names.index(keyed(row, ["secret", "level", "at_most"], ["eve"])["secret"])
            wanting = [row["eve"]] if "eve" in row else [n for n, e in zip(names, r.spies) if e.secret == k]
            need(wanting and {*wanting} <= {*names}, "a cap names no Eve")
            level = self.level(k, row["level"])
            spend(len(types) // 20)
            event = [x for x, own in enumerate(types) if own[k] == level]
            caps += [{"event": event, "at_most": row["at_most"], "eve": n} for n in wanting] if event else []
        if caps:
            given["posterior_caps"] = [*given.get("posterior_caps", []), *caps]
        for row in self.dp:
            alike = defaultdict(list)
            for x, z in enumerate(self.others(row, types)):
                alike[z].append(x)
            spend(sum(len(own) ** 2 for own in alike.values()) // 2)
            found = [[*pair] for _, own in sorted(alike.items()) for pair in combinations(own, 2)]
            if found:
                pairs[row["exp_epsilon"]] += found
        if pairs and not {*PRIVACY} & {*given}:
            K = next(iter(pairs))
            given["exp_epsilon"], given["neighbours"] = K, pairs.pop(K)
        if pairs:
            tables = [{"exp_epsilon": K, "pairs": [[[x], [y]] for x, y in own]} for K, own in pairs.items()]
            given["pufferfish"] = [*given.get("pufferfish", []), *tables]
        return given

    def others(self, row, types):
        """All columns but the private one."""
        k = self.records.names.index(keyed(row, ["column", "exp_epsilon"])["column"])
        return [tuple(own[:k] + own[k + 1 :]) for own in types]

    def split(self, parts):
        """That the parts may be proved one by one: nobody and no condition looks across them."""
        if len(parts) > 1:
            coupled, r = self.floor or {*SHARED} & {*self.types}, self.records
            alone = {*self.types} <= {*SHARED, "signal_floor", "deterministic"} and (self.convex or not coupled)
            need(alone, "a condition looks at several parts")
            home = {x: k for k, part in enumerate(parts) for x in part["states"]}
            for link in [e.z for e in r.spies] + [self.others(row, r.types) for row in self.dp]:
                seen = {}
                need(all(seen.setdefault(z, home[x]) == home[x] for x, z in enumerate(link)), "parts share a view")

    def problem(self, part):
        """A part as problem.json: prior p / P, Bob's levels that others do not replace, weights at the prices."""
        r, states, bobs, eves = self.records, part["states"], [], []
        types, mass = [r.types[x] for x in states], sum(r.given[x] for x in states)
        for b, own in zip(r.bobs, listed(part["levels"], "levels", len(r.bobs))):
            need(positions(own, r.sizes[b.k], "levels") == sorted({*own}) and own, "levels")
            there, loss, w = {x[b.k] for x in types}, b.own["loss"], b.own["weight"]
            for j in {*range(r.sizes[b.k])} - {*own}:  # another level is as good for every record type of the part
                better = any(all(b.given[t][i] <= b.given[t][j] for t in there) for i in own)
                need(self.cell is None and better, "a level is left out")
            w = float(w) * float(self.scale) if type(w) is float else str(number(w) * self.scale)
            bobs.append({"name": b.own["column"], "weight": w, "decisions": [r.labels[b.k][j] for j in own],
                         "loss": [[loss[x[b.k]][j] for j in own] for x in types]})  # fmt: skip
        for e, w in zip(r.spies, self.weights):
            loss = [e.own["loss"][x[e.secret]] if w else ["0"] * len(e.loss[0]) for x in types]
            guesses = [str(j) for j in range(len(loss[0]))]
            eves.append({"name": e.own["name"], "weight": str(w or 1), "loss": loss, "decisions": guesses})
            if len(e.parts) > 1:  # she knows z, and which of the draws is true
                every = [*dict.fromkeys(e.z[x] for x in states)]
                rows = [[str(k * (e.z[x] == z)) for z in every for k in e.chances[x]] for x in states]
                eves[-1]["knowledge"] = rows
            elif e.knows:
                eves[-1]["knows"] = [str(e.z[x]) for x in states]
        names = [", ".join(f"{n}={own[v]}" for n, own, v in zip(r.names, r.labels, x)) for x in types]
        data = {"labels": names, "prior": [str(r.given[x] / mass) for x in states]}
        out = {"title": "", "data": data, "bob": bobs, "eve": eves, "alice": {"lambda": str(self.at)}}
        given = self.part(states)
        return out | ({"conditions": given} if given else {}), mass

    def proved(self, part):
        """P times value and bound of a part at the prices; its certificate is about the mechanism of the study."""
        keyed(part, ["states", "levels", "certificate"])
        r, (problem, mass), proof = self.records, self.problem(part), part["certificate"]
        names, (shape, at) = joints([b["decisions"] for b in problem["bob"]], ", "), proof_table(proof["channel"])
        need(shape == (len(part["states"]), len(names)), "a part has another channel")
        channel, used = dense(shape, at), [*product(*part["levels"])]
        sent = [{i: q for i, q in zip(used, row) if q} for row in channel]
        need(sent == [{i: q for i, q in r.sent[x].items() if q} for x in part["states"]], "another mechanism is proved")
        rows = [[*map(str, row)] for row in channel]
        mechanism = {"states": problem["data"]["labels"], "signals": names, "channel": rows}
        _, value, bound = proved(problem, mechanism, proof, True)
        return mass * value, mass * bound


def proved_records(study, mechanism, result, prior, certificate, allow):
    """What a folder of records proves, in words."""
    keyed(certificate, ["numbers", "lambda", "value", "bound", "gap", "prices", "parts"])
    need(certificate["numbers"] in ("exact", "floats"), "numbers are exact or floats")
    floats, conditions = certificate["numbers"] == "floats", study["conditions"] or {}
    records, lam = Records(study, mechanism, prior, floats), number(certificate["lambda"], 0, MOST, True)
    exact = records.exact and not floating(conditions) and not has_epsilon(conditions)
    need(floats or exact, "the proof is exact and the study is not")
    need(not floats or allow or not exact, "the study is exact and its proof in floats")
    if prior["model"] == "counts":
        records.from_counts(prior)
    columns, eves, changed = records.risks()
    null, full = (records.by_spy(side) for side in zip(*map(records.extremes, records.eves)))
    bob, risks = total(columns), records.by_spy(eves)
    eve = total(e.weight * r for e, r in zip(records.spies, risks))
    value, bound = StudyRules(study, records, certificate, lam, bob, risks).ends(certificate, bob - lam * eve)
    need(bound <= value, "the bound is above the value")
    told = outwards(value, bound) if floats else (value, bound, value - bound)
    ends = {"lambda": records.read(lam), **dict(zip(("value", "bound", "gap"), told))}
    same = all(proof_number(certificate[k]) == v for k, v in ends.items())
    need(same, "the certificate states other numbers")
    within = f"within {shown(value - bound)} of " if value > bound else ""
    said = f"R_A = {shown(value) if floats else value} is {within}optimal" + " under the conditions" * bool(conditions)
    like, read = (float, float) if floats else (str, F)
    weights = [float(b.weight) if floats else b.weight for b in records.bobs]
    claims = {
        "model": prior["model"], "smoothing": prior["smoothing"], "toward": prior["toward"], "exact": not floats,
        "types": len(records.types), "decisions": records.decisions, "records": sum(n for _, n in records.counts),
        "lambda": like(lam), "risks": {"bob": like(bob), "eve": like(eve), "alice": like(told[0])},
        "components": len(certificate["parts"]), "bound": like(told[1]), "gap": like(told[2]),
        "columns": [{"name": b.own["column"], "risk": like(read(c) / w), "weight": b.own["weight"], "changed": like(v)}
                    for b, c, v, w in zip(records.bobs, columns, changed, weights)],
        "eves": [{"name": e.own["name"], "secret": records.names[e.secret], "weight": e.own["weight"],
                  "knows": [records.names[k] for k in e.knows], "informed": e.own["informed"],
                  "score": e.own.get("score"), **{key: like(v) for key, v in zip(("risk", "null", "full"), own)}}
                 for e, *own in zip(records.spies, risks, null, full)],
    }  # fmt: skip
    need(type(keyed(result, RESULT)["method"]) is str, "result.json says no method")
    held, light, audit = records.held_out(study["holdout"], prior["held_out"]), result["light"], result["audit"]
    same = texts(audit["records"] if audit is not None else 0) == texts(held) or (audit is None and light is None)
    need(same, "the audit is not of the held-out records")
    told = light is result["verdict"] if light is None else result["verdict"] and light in ("green", "amber", "red")
    need(told, "result.json has no light for its verdict")
    said += "; the light, the audit and the verdict are not checked here" if audit or light else ""
    for own in result["eves"]:
        own.pop("fresh", None)  # a measurement, as is what probabilities would cost that are not on her list
        need(own.pop("reported", None) is None or own.get("score"), "an Eve reports who does not")
    for key, true in claims.items():
        need(key in result and texts(result[key]) == texts(true), f"result.json has another {key} than the proof")
    return said, {"lambda": like(lam), "conditions": conditions}


# ---- effort: the unit is an operation with short fractions. To add a fraction of m digits to a sum of d digits takes
# d m / 32000 more; d is at most what all denominators have in common, and m the mean length of the numbers in the table
# where it is largest.

EFFORT = Record(left=0, unit=1)
LABELS = ["labels", "decisions", "states", "signals", "knows", "secret", "values", "columns", "published", "levels"]


def spend(steps):
    EFFORT.left -= steps * EFFORT.unit
    need(EFFORT.left >= 0, f"it takes more than {LIMITS['work']} steps (BAP_LIMITS=work=N raises this)")


def weigh(documents):
    """Find what a step takes with the numbers of these documents, and refuse deep nesting."""
    todo, sizes, denominators, common = [("", document, 1) for document in documents], defaultdict(list), set(), 1
    EFFORT.left, EFFORT.unit = LIMITS["work"], 1
    while todo:  # numbers in lists, by key; those outside of lists are used once, and labels are no numbers
        key, node, depth = todo.pop()
        need(depth <= LIMITS["depth"] or type(node) not in (dict, list), "nested too deeply")
        if type(node) is dict:
            lists = [(name, item) for name, item in node.items() if type(item) in (dict, list) or name == "over"]
            todo += [(name if key != "levels" else key, item, depth + 1) for name, item in lists]
        elif type(node) is list:
            todo += [(key, item, depth + 1) for item in node]
        elif key not in LABELS:
            found = re.fullmatch(r"\s*[-+]?[0-9]+(?:/([0-9]+))?\s*", node) if type(node) is str else None
            below = found and (found[1] or (key == "over" and node))
            sizes[key].append(len(node) // (2 if below else 1) if found else 0)
            denominators |= {below} if below else set()
    count, digits = sum(map(len, sizes.values())), max((sum(own) // len(own) for own in sizes.values()), default=0)
    if sum(map(len, denominators)) * digits > 32_000:
        for q in denominators:
            common = math.lcm(common, int(q)) if q.strip("0") else common
            EFFORT.unit = 1 + common.bit_length() * 3 // 10 * digits // 32_000
            if count * EFFORT.unit > LIMITS["work"]:
                break
    spend(count)


# ---- the command


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
