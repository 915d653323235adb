"""Check a bundle of bap-lp with the standard library alone:  python verify_standalone.py DIR [--allow-float]

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
Where mechanisms are deterministic or signals few, the bound may go case by case, or all maps are tried.
An Eve may report a distribution r over the values a(x) of a secret and lose -log r(a) ("log", in nats) or
sum_k (1{a = k} - r_k)^2 ("brier"). Her columns are the reports that the certificate lists: a minimum over all reports
is not above that over the list, so that the bound holds. The value counts her least loss over all reports, at masses m:
sum_a m_a log(M / m_a) or M - sum_a m_a^2 / M with M = sum_a m_a. Logarithms are rounded down to multiples of 2^-128.

A certificate about "floats" takes every number of the problem as the nearest float, and each float as the fraction it
is, with distributions scaled to sum to one. The limits of conditions are then looser by 2^-48 of their size.
"""

import contextlib
import copy
import hashlib
import json
import math
import os
import re
import sys
from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import product
from types import SimpleNamespace as Record

LIMITS = {"bytes": 2**28, "digits": 20_000, "keys": 10_000, "depth": 64, "columns": 100_000, "cells": 20_000_000,
          "memory": 2**30, "bits": 100_000, "parts": 5_000_000, "maps": 100_000, "work": 20_000_000}
NUMBER = re.compile(r"[-+]?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?)")
FORMAT, MOST, LOOSE = "bap-lp bundle 2", 10**300, F(1, 2**48)
CONES = ["posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish"]
NOTIONS = [*CONES, "min_eve_risk", "max_bob_risk", "max_leakage", "deterministic", "max_signals"]
PRIVACY = ["epsilon", "exp_epsilon", "neighbours", "metric", "delta"]
OPTIONAL = ["conditions", "cases", "weights_of_tiers", "reports", "conflict", "attainable"]  # of a certificate
ENTRY = 200  # bytes of a fraction in a table


class Refused(Exception):
    """Why a bundle is not proved."""


def need(good, why):
    if not good:
        raise Refused(why)


def shown(v):
    return f"{float(v):.9g}" if abs(v) < 2**1000 else "a number too large for floats"


# ---- effort: the unit is an operation with short fractions. To add a fraction of m digits to a sum of d digits takes
# d m / 32000 more; d is at most what all denominators have in common, and m the mean length of the numbers in the table
# where it is largest.

EFFORT = Record(left=0, unit=1)


def spend(steps, unit=None):
    EFFORT.left -= steps * (unit or EFFORT.unit)
    need(EFFORT.left >= 0, f"it takes more than {LIMITS['work']} steps (BAP_LIMITS=work=N raises this)")


def weigh(documents):
    """Find what a step takes with the numbers of these documents, and refuse deep nesting."""
    todo, sizes, denominators, common = [("", document, 1) for document in documents], {}, set(), 1
    EFFORT.left, EFFORT.unit = LIMITS["work"], 1
    while todo:  # numbers in lists, by key; those outside of lists are used once
        key, node, depth = todo.pop()
        need(depth <= LIMITS["depth"] or type(node) not in (dict, list), "nested too deeply")
        if type(node) is dict:
            lists = [(name, item) for name, item in node.items() if type(item) in (dict, list) or name == "over"]
            todo += [(name, item, depth + 1) for name, item in lists]
        elif type(node) is list:
            todo += [(key, item, depth + 1) for item in node]
        else:
            found = re.fullmatch(r"\s*[-+]?[0-9]+(?:/([0-9]+))?\s*", node) if type(node) is str else None
            below = found and (found[1] or (key == "over" and node))
            sizes.setdefault(key, []).append(len(node) // (2 if below else 1) if found else 0)
            denominators |= {below} if below else set()
    count, digits = sum(map(len, sizes.values())), max((sum(own) // len(own) for own in sizes.values()), default=0)
    if sum(map(len, denominators)) * digits > 32_000:
        for q in denominators:
            common = math.lcm(common, int(q)) if q.strip("0") else common
            EFFORT.unit = 1 + common.bit_length() * 3 // 10 * digits // 32_000
            if count * EFFORT.unit > LIMITS["work"]:
                break
    spend(count)


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


def scaled(values, read=F):
    """Numbers over their sum."""
    values = [read(v) for v in values]
    total = sum(values)
    return [v / total for v in values]


def rounded(v):
    return F(float(v))


def rounded_up(v):
    """The least float that is at least v."""
    near = float(v)
    return F(near if F(near) >= v else math.nextafter(near, math.inf))


# ---- logarithms, and agents who report probabilities

LOG = 128  # bits behind the point


def log_below(q):
    """The largest multiple of 2^-128 that is at most log q, by the series of log((1 + z) / (1 - z))."""
    need(q > 0, "a logarithm needs a positive number")
    if abs(q - 1) * 2**LOG < min(q, 1):  # 0 < log q < q - 1 above one, (q - 1) / q < log q < 0 below
        return F(0 if q >= 1 else -1, 2**LOG)
    power, bits = q.numerator.bit_length() - q.denominator.bit_length(), LOG + 64
    q = q / F(2) ** power  # between 1/2 and 2
    while True:
        spend(1 + (bits // 1000) ** 2)
        (low, high), (least, most) = series((q - 1) / (q + 1), bits), series(F(1, 3), bits)
        ends = sorted((power * least, power * most))
        floors = [(a + b) >> (bits - LOG) for a, b in ((low, ends[0]), (high, ends[1]))]
        if floors[0] == floors[1]:
            return F(floors[0], 2**LOG)
        bits *= 2


def series(z, bits):
    """Integers around 2^bits 2 (z + z^3 / 3 + z^5 / 5 + ...), for |z| <= 1/3."""
    power = (z.numerator << bits) // z.denominator
    square, total, k = power * power >> bits, power, 1
    while abs(power) > 1:
        power, k = power * square >> bits, k + 2
        total += power // k
    # each term is off by less than 4, and what follows the last one is less than another 4
    return 2 * (total - 4 * k), 2 * (total + 4 * k)


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

    def losses(self, shape, table):
        """For every value the losses of all reports, rounded up."""
        need(shape[1] == len(self.values), "the reports have another shape")
        rows = [[table.get((j, a), F(0)) for a in range(shape[1])] for j in range(shape[0])]
        spend(40 * shape[0] * shape[1])
        if self.kind == "brier":
            squares = [sum(r * r for r in row) for row in rows]
            return [[1 - 2 * row[a] + square for row, square in zip(rows, squares)] for a in range(shape[1])]
        need(all(r > 0 for row in rows for r in row) and all(sum(row) <= 1 for row in rows), "no reports")
        return [[-log_below(row[a]) for row in rows] for a in range(shape[1])]

    def risk(self, column):
        """Her least loss at a signal with these masses of the states, rounded down."""
        m = [F(0)] * len(self.values)
        for a, share, v in zip(self.where, self.share, column):
            if a is not None and v:
                m[a] += share * v
        total = sum(m)
        if not total or self.kind == "brier":
            return total - sum(v * v for v in m) / total if total else total
        spend(40 * len(m))
        return sum(v * log_below(total / v) for v in m if v)


# ---- the problem


class Game:
    """A problem in fractions. `read` takes a number as it is, or as the nearest float; the proof has `signals`."""

    def __init__(self, document, read, signals, reports=()):
        keyed(document, ["title", "data", "bob", "eve", "alice"], ["conditions"])
        data, roles = keyed(document["data"], ["labels", "prior"]), ("bob", "eve")
        need(type(document["title"]) is str, "title must be a text")
        self.read, self.p = read, scaled(distribution(data["prior"]), read)
        self.N, self.states = len(self.p), labels(data["labels"], len(self.p))
        self.place = {label: x for x, label in enumerate(self.states)}
        self.given_lam = keyed(document["alice"], ["lambda"])["lambda"]
        self.lam, self.exact = number(self.given_lam, 0, MOST), not floating(*map(document.get, ("data", *roles)))
        bobs, eves = ([self.agent(one, role) for one in listed(document[role], "no agent")] for role in roles)
        for group in (bobs, eves):
            labels([a.name for a in group], len(group))
        self.sizes, self.eves = [len(a.decisions) for a in bobs], eves
        columns = math.prod(self.sizes)
        need(columns <= signals and (len(bobs) == 1 or columns <= LIMITS["columns"]), "the proof has too few signals")
        lists = iter(reports)
        need(len(reports) == sum(len(a.shares[0]) for a in eves if a.kind), "every Eve who reports needs her reports")
        cells = self.N * (columns + sum(len(a.decisions) * a.known for a in eves) + sum(v[0][0] for v in reports))
        need(cells * ENTRY <= LIMITS["memory"], "the tables are too large (BAP_LIMITS=memory=N raises this)")
        spend(cells)
        self.B, self.E, self.views, self.scores = [[F(0)] for _ in self.p], [[] for _ in self.p], [], []
        for a in bobs:
            self.B = [[v + a.weight * w for v in row for w in more] for row, more in zip(self.B, a.harm)]
        for a in eves:  # a view is an Eve with the z that she knows; E[x] has her losses k(z|x) E(x,j), without zeros
            for share in zip(*a.shares):
                start = self.views[-1].columns.stop if self.views else 0
                mass = [m * k if k else k for m, k in zip(a.mass, share)]
                if a.kind:
                    own, table = Informant(a.kind, a.secret, mass, [k * a.weight for k in share]), next(lists)
                    columns, losses = range(start, start + table[0][0]), own.losses(*table)
                    self.scores.append((len(self.views), own))
                    self.views.append(Record(eve=a, share=share, mass=mass, columns=columns))
                    for mine, w, where in zip(self.E, own.share, own.where):
                        mine += [] if where is None else [(j, w * v) for j, v in zip(columns, losses[where]) if v]
                    continue
                columns = range(start, start + len(a.decisions))
                self.views.append(Record(eve=a, share=share, mass=mass, weight=a.weight, loss=a.loss, columns=columns))
                for own, k, row in zip(self.E, share, a.harm):
                    if k:
                        own += [(j, k * a.weight * v) for j, v in zip(columns, row) if v]
        self.groups, self.decisions = [v.columns for v in self.views], joints([a.decisions for a in bobs], ", ")
        self.eve = [[(j, p * v) for j, v in row] for p, row in zip(self.p, self.E)]
        self.logs = any(a.kind == "log" for a in eves)
        self.aligned = all(a.harm == a.loss and a.mass == self.p for a in bobs + eves)
        bob = [Record(mass=self.p, weight=1, loss=self.B)]  # who share Alice's prior and harm act as one
        self.agents = (bob if self.aligned else bobs) + self.views

    def agent(self, table, role):
        """A Bob or an Eve: losses, what Alice counts as harm, beliefs, and k(z|x) for each z that an Eve may know."""
        kind = table.get("loss") if type(table) is dict and type(table.get("loss")) is str else ""
        own = ["harm", "prior"] * (not kind) + ["knows", "knowledge"] * (role == "eve") + ["secret"] * bool(kind)
        keyed(table, ["name", "weight", "loss"] + ["decisions"] * (not kind), own)
        need(not kind or (role == "eve" and kind in ("log", "brier")), "a loss must be a table, log or brier")
        a = Record(name=table["name"], weight=self.read(number(table["weight"])), known=1, kind=kind)
        a.loss, a.decisions, a.harm = None, [], None
        if not kind:
            a.loss = table_of(table["loss"], self.loss, self.N)
            a.decisions = labels(table["decisions"], len(a.loss[0]))
            a.harm = table_of(table["harm"], self.loss, self.N, len(a.loss[0])) if "harm" in table else a.loss
        a.secret = [*map(str, listed(table.get("secret", self.states), "secret", self.N))]
        need(all(type(v) is int or (type(v) is str and v) for v in table.get("secret", [])), "secret must be labels")
        a.mass = scaled(distribution(table["prior"], self.N), self.read) if "prior" in table else self.p
        need(a.weight > 0 and not {"knows", "knowledge"} <= {*table}, "a weight, or what an Eve knows")
        small = a.weight <= 1 or a.weight * (10**5 if kind else max(map(max, a.harm))) <= MOST
        need(small, "a weight makes a loss larger than 1e300")
        known = listed(table.get("knows", [0] * self.N), "knows", self.N)
        need(all(type(z) is int or (type(z) is str and z) for z in known), "knows must be labels")
        places, zero, one = {z: k for k, z in enumerate(dict.fromkeys(map(str, known)))}, [F(0)], [F(1)]
        need(len(places) * self.N <= LIMITS["cells"], "she knows too much")
        a.shares = [zero * k + one + zero * (len(places) - 1 - k) for k in (places[str(z)] for z in known)]
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

    def free_program(self, told, lam):
        """Without conditions: signal s tells Bob to decide told[s], and the Eves decide for themselves."""
        spend(self.N * len(told))
        program = Lowered([F(1)] * self.N, [[p * row[i] for i in told] for p, row in zip(self.p, self.B)])
        program.observe("eve", self.eve, self.groups, lam, scores=[(g, own.times(self.p)) for g, own in self.scores])
        return program


# ---- the program


class Lowered:
    """Observers and rows have names; rows are (entries (x, s, a), terms (observer, view, group, c), rhs).

    `laws` are the conditions by their definitions, apart from the rows: functions of the channel.
    """

    def __init__(self, mass, cost, worst=None):
        self.mass, self.cost, self.worst, self.signals = mass, cost, worst, len(cost[0])
        self.observers, self.rows, self.laws = {}, {}, {}

    def observe(self, name, losses, groups, price=F(0), sees=None, scores=()):
        """losses[x] = [(column, loss), ...] where it is not zero; groups are ranges of columns; sees[s] is a view.

        scores: groups whose columns are only some of all reports, with who reports; they see the signal itself.
        """
        sees = range(self.signals) if sees is None else sees
        self.observers[name] = Record(losses=losses, groups=groups, price=price, sees=sees, scores=scores)

    def value(self, q):
        """What is minimised; refuses a channel that breaks a row or a law."""
        rho, t = [[m * v for v in row] for m, row in zip(self.mass, q)], {}
        spend(sum(len(entries) + len(terms) for rows in self.rows.values() for entries, terms, _ in rows))
        for name, o in self.observers.items():
            spend(self.signals * (o.groups[-1].stop + sum(map(len, o.losses))))
            sums = [[F(0)] * o.groups[-1].stop for _ in range(max(o.sees) + 1)]
            for row, losses in zip(rho, o.losses):
                for view, m in zip(o.sees, row):
                    for j, v in losses if m else ():
                        sums[view][j] += m * v
            t[name] = [[min(row[g.start : g.stop]) for g in o.groups] for row in sums]
            for g, reporter in o.scores:
                for row, column in zip(t[name], zip(*rho)):
                    row[g] = reporter.risk(column)
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
        heard = sum(o.price * sum(map(sum, t[name])) for name, o in self.observers.items())
        return cost - heard + max(worst, default=0)

    def bound(self, dual, keep=None, allowed=None, void=False):
        """What multipliers prove of channels that send only `keep`, and at x only those positions of it in allowed[x].

        void: with cost and prices zero. A positive bound then proves that there is no such channel.
        """
        (replies, weights), whole = dual, keep is None
        place = {s: k for k, s in enumerate(range(self.signals) if whole else keep)}
        keep = range(self.signals) if whole else keep
        spend(len(self.mass) * len(keep) * (1 + len(replies)))
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
                spend(len(entries) + len(terms))
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
            spend(len(u) * (o.groups[-1].stop + sum(map(len, o.losses))))
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


# ---- conditions: each is lowered to rows and observers of the program


class Release:
    """A problem under conditions: the names of its signals, what they tell Bob and the Eves, and its program."""

    def __init__(self, game, asked, lam):
        keyed(asked, [], [*NOTIONS, *PRIVACY, "margin"])
        need(None not in asked.values(), "a condition is null")
        self.game, self.exact, self.most, self.pure, self.pairs = game, game.exact, None, False, None
        self.tuples = "margin" in asked or not game.aligned
        every = game.decisions, list(range(len(game.decisions))), None
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
                    vectors.append((list(enumerate(vector)), column))
                self.rows[name] = [([(x, s, v) for x, v in row if v], [], F(0)) for s in self.S
                                   for row, column in vectors if column is None or column in self.eve[s]]
            elif name in NOTIONS:
                getattr(self, name)(value)
        private = [self.privacy(asked)] if {*PRIVACY} & {*asked} else []
        if self.tuples:
            self.rows["margin" if game.aligned else "beliefs"] = list(self.obedience(asked.get("margin", 0)))
        self.few = self.pure or self.most is not None
        need(not game.scores or not (self.tuples or self.few), "not possible where probabilities are reported")
        self.free = not (self.tuples or self.few or any(private) or {*asked} - {*PRIVACY, "deterministic"})

    def limit(self, v, looser, low=0, high=MOST):
        """A number of a condition; in floats it may be an attainable extreme, rounded."""
        found, self.exact = number(v, low, high), self.exact and type(v) is not float
        return found + looser * LOOSE * found if self.game.read is rounded else found

    def min_eve_risk(self, v):
        entries = [(x, s, -v) for x, row in enumerate(self.harm) for s, v in enumerate(row)] if self.eve else []
        terms = [] if self.eve else [("eve", s, g, 1) for s in self.S for g in range(len(self.game.groups))]
        self.rows["min_eve_risk"] = [(entries, terms, -self.limit(v, -1))]

    def max_bob_risk(self, v):
        entries = [(x, s, cost) for x, row in enumerate(self.bob) for s, cost in enumerate(row)]
        self.rows["max_bob_risk"] = [(entries, [], self.limit(v, 1))]

    def max_leakage(self, v):
        """sum_s max_x q(s|x) <= c."""
        most = self.limit(v, 1, 1)
        self.program.observe("leak", [[(x, F(-1))] for x in range(self.game.N)], [range(self.game.N)])
        self.rows["max_leakage"] = [([], [("leak", s, 0, 1) for s in self.S], most)]
        self.program.laws["max_leakage"] = lambda q: sum(map(max, zip(*q))) <= most

    def max_signals(self, v):
        need(type(v) is int and v >= 1, "max_signals must be a positive integer")
        self.most, self.program.laws["max_signals"] = v, lambda q: sum(map(any, zip(*q))) <= v

    def deterministic(self, v):
        need(type(v) is bool, "deterministic must be true or false")
        self.pure, self.program.laws["deterministic"] = v, lambda q: not v or all(r in (0, 1) for row in q for r in row)

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
        need(not any(view.eve.kind and view.eve.name in floors for view in self.game.views), "signal_floor of reports")
        for view in (view for view in self.game.views if view.eve.name in floors):
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
            keyed(row, ["event"], ["exp_epsilon", "epsilon"])
            inside, p, (K, _) = self.event(row["event"]), self.game.p, self.factor(row)
            share = sum(m for m, i in zip(p, inside) if i)
            yield [m * (i - K * share) for m, i in zip(p, inside)], None
            yield [m * (share - K * i) for m, i in zip(p, inside)], None

    def independent_of(self, rows):
        """P(A|s) = P(A)."""
        for inside, sign in product(map(self.event, many(rows)), (1, -1)):
            share = sum(m for m, i in zip(self.game.p, inside) if i)
            yield [sign * m * (i - share) for m, i in zip(self.game.p, inside)], None

    def pufferfish(self, rows):
        """P(s|A) <= K P(s|B) and back, under every prior."""
        for row in [rows] if type(rows) is dict else many(rows):
            keyed(row, ["pairs"], ["priors", "exp_epsilon", "epsilon"])
            spend(len(many(row["pairs"])) * self.game.N)
            pairs = [[*map(self.event, listed(pair, "no pair of events", 2))] for pair in row["pairs"]]
            (K, _), priors = self.factor(row), [self.game.p]
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
        need(all(type(x) in (int, str) for x in listed(states, "an event lists states")), "an event lists states")
        inside = {self.state(x) for x in states}
        return [x in inside for x in range(self.game.N)]

    def factor(self, row):
        """K = exp_epsilon or exp(epsilon), and its logarithm."""
        given = [name for name in ("exp_epsilon", "epsilon") if row.get(name) is not None]
        need(len(given) == 1, "exp_epsilon or epsilon, one of the two")
        K = number(row[given[0]], given[0] == "exp_epsilon", MOST)
        if given[0] == "epsilon":
            self.exact = self.exact and K == 0
            need(K <= 600, "epsilon is too large")
            return exponential(K), float(K)
        self.exact = self.exact and type(row["exp_epsilon"]) is not float
        log = math.log1p(K - 1) if K < 2 else math.log(K.numerator) - math.log(K.denominator)
        need(log <= 600, "epsilon is too large")
        return K, log

    # conditions on pairs of states

    def privacy(self, asked):
        """q(s|x) <= K^d(x,y) q(s|y), or sum_s max(0, q(s|x) - K^d(x,y) q(s|y)) <= delta; whether anything is asked."""
        (K, log), N, program = self.factor(asked), self.game.N, self.program
        delta = self.limit(asked.get("delta", 0), 1)
        need(not {"neighbours", "metric"} <= {*asked}, "neighbours or metric, one of the two")
        if "neighbours" in asked:
            rows = [listed(pair, "no pair of states", 2) for pair in many(asked["neighbours"])]
            found = [[*map(self.state, pair)] for pair in rows]
            self.pairs = {(x, y): F(1) for pair in found for x, y in (pair, pair[::-1]) if x != y}
        if "metric" in asked:
            whole = lambda v, d: (d, type(v) is not float and d.denominator == 1)
            far = lambda v: None if v in (None, "inf", math.inf) else whole(v, number(v, 0))
            found = table_of(asked["metric"], far, N, N)
            self.exact = self.exact and all(v is None or v[1] for row in found for v in row)
            self.pairs = {(x, y): v[0] for x, row in enumerate(found) for y, v in enumerate(row) if v and x != y}
        if number(asked.get("delta", 0)) >= 1:
            return False
        spend(N * N * len(self.S) * bool(delta) if self.pairs is None else len(self.pairs) * (N + len(self.S)))
        every = self.pairs if self.pairs is not None else product(range(N), range(N)) if delta else ()
        every = sorted((x, y) for x, y in every if x != y)
        powers = {d: power(K, log, d) for d in {*(self.pairs or {}).values()}}
        ratio = {pair: K if self.pairs is None else powers[self.pairs[pair]] for pair in every}
        spend(sum((r.numerator.bit_length() // 1000) ** 2 for r in ratio.values() if r), len(self.S))  # if long
        if delta:
            need(len(every) * (len(self.S) + 1) <= 500_000 and None not in ratio.values(), "delta: too many pairs")
            beyond = [[] for _ in range(N)]  # a group per pair: 0 and K^d q(s|y) - q(s|x)
            for k, (x, y) in enumerate(every):
                beyond[x].append((2 * k + 1, F(-1)))
                beyond[y].append((2 * k + 1, ratio[x, y]))
            if every:
                program.observe("beyond", beyond, [range(2 * k, 2 * k + 2) for k in range(len(every))])
                rows = [([], [("beyond", s, k, 1) for s in self.S], delta) for k in range(len(every))]
                self.rows["approximate_privacy"] = rows
            over = lambda q, x, y: sum(max(0, u - ratio[x, y] * v) for u, v in zip(q[x], q[y]))
            program.laws["delta"] = lambda q: all(over(q, x, y) <= delta for x, y in every)
        elif self.pairs is None:
            for name, sign in (("top", -1), ("low", 1)):  # max_x q(s|x) <= K min_x q(s|x)
                program.observe(name, [[(x, F(sign))] for x in range(N)], [range(N)])
            self.rows["privacy"] = [([], [("top", s, 0, 1), ("low", s, 0, K)], F(0)) for s in self.S]
            program.laws["privacy"] = lambda q: all(max(column) <= K * min(column) for column in zip(*q))
        else:
            pairs = needed(self.pairs)
            need(all(ratio[pair] is not None for pair in pairs), "exp(eps d) is too large")
            self.rows["privacy"] = [([(x, s, F(1)), (y, s, -ratio[x, y])], [], F(0)) for x, y in pairs for s in self.S]
            if all(d.denominator == 1 for d in self.pairs.values()):  # rounded powers do not imply each other
                pairs = [pair for pair in every if ratio[pair] is not None]
            keeps = lambda q, x, y: all(u <= ratio[x, y] * v for u, v in zip(q[x], q[y]))
            program.laws["privacy"] = lambda q: all(keeps(q, x, y) for x, y in pairs)
        return True


def many(rows):
    need(type(rows) is list, "a condition must be a list")
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
    common = math.lcm(*(d.denominator for d in pairs.values()))
    d = {pair: int(v * common) for pair, v in sorted(pairs.items())}
    ways = {x: [] for x, _ in d}
    for (x, y), v in d.items():
        ways[x] += [(y, v)] if v else []
    return [(x, z) for (x, z), most in d.items() if not any(0 < d.get((y, z), 0) <= most - v for y, v in ways[x])]


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
    need(positions(keep, S) and type(part.get("void", False)) is bool, "a case is about no signals")
    for x, own in (listed(row, "a case is about no states", 2) for row in many(part.get("states", []))):
        need(positions([x], N) and positions(own, len(keep)), "a case is about no states or signals")
        few[x] = sorted({*own})
    allowed = [few.get(x, range(len(keep))) for x in range(N)]
    return Record(keep=keep, few=few, allowed=allowed, void=part.get("void", False), dual=dual_of(part))


def by_cases(release, cases, value):
    """The least bound over cases that together contain every mechanism."""
    N, S, boxes = release.game.N, len(release.S), []
    for case in cases:
        need(case.keep and all(case.allowed), "a case is about no signals")
        spend(N + sum(map(len, case.few.values())) + S * (1 + S // 1000))
        kept, bits = {*case.keep}, [1 << s for s in case.keep]
        if release.pure:  # a set of signals, as bits, for every state
            every = sum({*bits})
            boxes.append([sum({bits[s] for s in case.few[x]}) if x in case.few else every for x in range(N)])
        else:  # for every signal: 1 it is sent, 2 it is not
            need(release.most <= S and not case.few, "there are cases without a limit on the signals")
            boxes.append([3 if s in kept else 2 for s in range(S)])
    covered([(1 << S) - 1] * N if release.pure else [3] * S, boxes, release.most, release.pure)
    for case in cases:
        bound = release.program.bound(case.dual, case.keep, case.allowed, case.void)
        need(not case.void or bound > 0, "a void case is not proved to be empty")
        value = value if case.void else min(value, bound)
    return value


def covered(whole, boxes, most, pure):
    """Every choice of an element per place lies in a box, or uses too many signals: split regions along the boxes."""
    todo, steps = [(whole, boxes)], LIMITS["parts"]
    while todo:
        region, near = todo.pop()
        region, steps = feasible(region, most, pure), steps - len(whole) * (1 + len(near))
        need(steps >= 0, "the cases are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region))]
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(region) or not all(lacks):
            continue  # it is empty, or a box contains it
        k = max(range(len(whole)), key=lambda k: (sum(k in lack for lack in lacks), region[k].bit_count() > 1))
        inside = next((box[k] for box, lack in zip(near, lacks) if k in lack), region[k] & -region[k])
        # a region without a box may have no choice with so few signals: look closer
        need(near or (most is not None and region[k].bit_count() > 1), "some mechanisms are in no case")
        todo += [([*region[:k], part, *region[k + 1 :]], near) for part in (region[k] & inside, region[k] & ~inside)]


def feasible(region, most, pure):
    """The region without what uses more than the allowed signals; a place is 0 if nothing is left."""
    if most is None:
        return region
    if pure:
        used = sum({part for part in region if part.bit_count() == 1})
        return region if used.bit_count() < most else [part & used for part in region]
    return region if region.count(1) < most else [part if part == 1 else part & 2 for part in region]


def best_map(release, lam, value, bound):
    """The least R_A of a deterministic mechanism that meets the conditions, or `value`; `bound` if there are many."""
    g, b, program = release.game, len(release.S), release.program
    fixed = {x for name in CONES for entries, _, _ in release.rows.get(name, ()) for x, _, _ in entries}
    fixed = set(range(g.N)) if release.pairs is not None or any(not g.p[x] for x in fixed) else set()
    free = [x for x, p in enumerate(g.p) if p or x in fixed]  # other states follow the first one
    if release.tuples or b ** min(len(free), 64) > LIMITS["maps"]:
        return bound
    spend(b ** len(free) * (len(free) + b) * g.groups[-1].stop)
    scale = math.lcm(*(v.denominator for row in program.cost for v in row))
    scale = math.lcm(scale, *(v.denominator for row in g.eve for _, v in row))
    bob = [[int(v * scale) for v in row] for row in program.cost]
    eve = [[(j, int(v * scale)) for j, v in row] for row in g.eve]
    for choice in product(range(b), repeat=len(free)):
        cells = [[0] * g.groups[-1].stop for _ in range(b)]
        for x, i in zip(free, choice):
            for j, v in eve[x]:
                cells[i][j] += v
        heard = sum(min(cell[group.start : group.stop]) for cell in cells for group in g.groups)
        if (sum(bob[x][i] for x, i in zip(free, choice)) - lam * heard) / scale < value:
            sent = dict.fromkeys(range(g.N), choice[0]) | dict(zip(free, choice))
            with contextlib.suppress(Refused):
                value = min(value, program.value([[F(sent[x] == i) for i in range(b)] for x in range(g.N)]))
    spend(0)  # a map may have been refused for the work alone
    return value


# ---- bundles


def kind_of(problem):
    """What problem.json is about: "scenarios", "tiers", or one "release"."""
    kinds = {("scenarios",): "scenarios", ("tiers", "weights"): "tiers"}
    return kinds.get(tuple(sorted(problem)), "release")


def several(kind, games, lams, weights):
    """The program of scenarios, whose worst case counts, or of tiers, which add up; and the names of its signals."""
    need(all(g.aligned and not g.scores for g in games), "no beliefs or reports here")
    need(all(g.states == games[0].states for g in games), "the problems have different states")
    heads = games if kind == "tiers" else [next(h for h in games if (h.p, h.B) == (g.p, g.B)) for g in games]
    bobs = [g for k, g in enumerate(games) if g is heads[k]]  # scenarios with the same prior and losses have one Bob
    sizes = [len(g.decisions) for g in bobs]
    need(math.prod(sizes) <= (100_000 if kind == "tiers" else 4096), "too many tuples of decisions")
    spend(math.prod(sizes) * len(games) * games[0].N)
    tuples = list(product(*map(range, sizes)))
    if kind == "tiers":  # tier k sees the first k decisions of a signal
        cost = [[sum(w * g.B[x][i] for w, g, i in zip(weights, games, t)) for t in tuples] for x in range(games[0].N)]
        program = Lowered(games[0].p, cost)
        for k, (g, lam, w) in enumerate(zip(games, lams, weights)):
            sees = [s // math.prod(sizes[k + 1 :]) for s in range(len(tuples))]
            program.observe(f"eve {k}", g.E, g.groups, w * lam, sees)
        return program, joints([g.decisions for g in games], " > ")
    program = Lowered([F(1)] * games[0].N, [[F(0)] * len(tuples) for _ in games[0].p], "scenarios")
    program.rows["scenarios"] = []
    for k, (g, head, lam) in enumerate(zip(games, heads, lams)):
        told = [t[next(n for n, bob in enumerate(bobs) if bob is head)] for t in tuples]
        program.observe(f"eve {k}", g.eve, g.groups)
        entries = [(x, s, p * row[i]) for x, (p, row) in enumerate(zip(g.p, g.B)) for s, i in enumerate(told)]
        terms = [(f"eve {k}", s, v, lam) for s in range(len(tuples)) for v in range(len(g.groups))]
        program.rows["scenarios"].append((entries, terms, F(0)))
    return program, joints([g.decisions for g in bobs], " | ")


def proved(problem, mechanism, document, allow):
    """What the certificate proves of the mechanism, in words."""
    required = ["kind", "numbers", "lambda", "value", "gap", "channel", "replies", "weights"]
    kind, (shape, sent) = kind_of(problem), proof_table(keyed(document, required, OPTIONAL)["channel"], 2)
    need(document["kind"] == kind and document["numbers"] in ("exact", "floats"), f"it is not about {kind}")
    floats, one = document["numbers"] == "floats", kind == "release"
    read, parts = rounded if floats else F, [problem] if one else listed(problem[kind], "there are no problems")
    reports = [proof_table(v, 2) for v in many(document.get("reports", []))]
    games = [Game(part, read, shape[1], reports) for part in parts]
    asked, conditions = [g.given_lam for g in games], [part.get("conditions", {}) for part in (document, *parts)]
    need(len({*map(texts, conditions)}) == 1 and (one or not conditions[0]), "it supposes other conditions")

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
        asked = asked + listed(problem["weights"], "weights", len(games))
        weights = stated(document["weights_of_tiers"], [number(w, 0, MOST, True) for w in problem["weights"]])
        need(min(weights) > 0 and all(part["data"] == parts[0]["data"] for part in parts), "weights, or other data")
    release = Release(games[0], conditions[0], lams[0]) if one else None
    program, names = (release.program, release.names) if one else several(kind, games, lams, weights)
    exact = release.exact if one else all(g.exact for g in games)
    need(floats or exact, "the certificate is exact and the problem is not")
    need(not floats or allow or not exact or floating(asked), "the problem is exact and the certificate in floats")
    need(shape == (games[0].N, program.signals), "the channel of the certificate has another shape")
    cases = [case_of(part, *shape) for part in many(document.get("cases", []))]
    need(cases or "cases" not in document, "there are no cases")

    keyed(mechanism, ["states", "signals", "channel"], ["name"])
    need(type(mechanism.get("name", "")) is str and mechanism["states"] == games[0].states, "other states")
    rows = listed(mechanism["channel"], "channel", games[0].N)
    own = labels(mechanism["signals"], len(listed(rows[0], "channel")))
    like = rounded if floating(rows) else F
    q = [[like(v) for v in distribution(row, len(own), True)] for row in rows]
    finer = one and release.free and not {*own} <= {*names}  # signals may also name what the Eves decide
    told, pooled = dict(zip(*games[0].tuples()[:2]) if finer else zip(names, range(len(names)))), {}
    need({*own} <= {*told}, "the proof has no such signal")
    for (x, row), (s, name) in product(enumerate(q), enumerate(own)):
        if row[s]:
            pooled[x, told[name]] = pooled.get((x, told[name]), 0) + row[s]
    need(pooled == sent, "the mechanism is not the one that is proved")
    need(all(sum(row) == 1 for row in q), "a row of the mechanism is not a distribution")

    found = program.value([[sent.get((x, s), F(0)) for s in range(shape[1])] for x in range(shape[0])])
    logs = one and games[0].logs and lams[0] > 0
    need((rounded_up if logs else read)(found) == value, f"R_A is {shown(found)}, not {shown(value)}")
    bound = program.bound(dual_of(document))
    if one and bound < found and release.few and (cases or release.pure):
        bound = max(bound, by_cases(release, cases, found) if cases else best_map(release, lams[0], found, bound))
    if finer:
        split = games[0].free_program([told[name] for name in own], lams[0]).value(q)
        need(split - bound <= gap, "the mechanism tells Eve more than the one that is proved")
    need((value if logs else found) - bound <= gap, f"R_A is {shown(found)}, the proof only shows {shown(bound)}")
    what = {"release": "R_A =", "scenarios": "the worst case", "tiers": "the sum over the tiers"}[kind]
    within = f"within {shown(found - bound)} of " if found > bound else ""
    return f"{what} {shown(found) if floats or logs else found} is {within}optimal"


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
        words = ["format", "version", "made", "how", "method"]
        keyed(manifest, [*words, "lambda", "conditions", "source", "files"])
        source = {} if manifest["source"] is None else keyed(manifest["source"], ["name", "sha256"])
        need(all(type(v) is str for v in (*source.values(), *(manifest[k] for k in words))), "manifest.json")
        for name, digest in keyed(manifest["files"], names[1:]).items():
            need(hashlib.sha256(raw[name]).hexdigest() == digest, f"{name} is not the file of the manifest")
        problem, mechanism, certificate = documents = [parsed(raw[name], name) for name in names[1:]]
        kind = kind_of(problem)
        weigh(documents)
        result = proved(problem, mechanism, certificate, allow_float)
        lams = [part["alice"]["lambda"] for part in problem.get(kind, [problem])]
        asked = {"lambda": lams[0] if kind == "release" else lams, "conditions": problem.get("conditions", {})}
        need(all(texts(manifest[k]) == texts(v) for k, v in asked.items()), "the manifest has other demands")
        return result
    except (ValueError, OSError, RecursionError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise Refused(f"cannot be read: {error}"[:300]) from None
    finally:
        sys.set_int_max_str_digits(digits)


def texts(value):
    return json.dumps(value, sort_keys=True)


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
