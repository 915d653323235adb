"""Check a bundle of bap-lp with the standard library alone:  python verify_standalone.py DIR [--allow-float]

Exit code 0: mechanism.json is optimal for problem.json, and certificate.json proves it. Exit code 1: it is not proved;
stderr says why. This file imports nothing of bap-lp and may be copied. Everything is computed in fractions.

The problem: data x with probability p(x), Bob's loss B(x,i), losses E(x,j) of Eves k (weighted). A mechanism sends
signal s, which tells Bob to decide i_s, with probability q(s|x). Alice wants the least R_A = R_B - lam R_E, where
    R_B = sum_xs p(x) q(s|x) B(x,i_s)      R_E = sum_sk t[s,k],  t[s,k] = min_{j of k} sum_x p(x) q(s|x) E(x,j).
Conditions are rows  C q + D t + A a <= r  in q, in t and in columns 0 <= a <= 1. For all u >= 0 and w >= 0 with
sum_{j of k} u[s,j] = lam - (D'w)[s,k]  no mechanism that meets them has R_A below
    sum_x min_s (p(x) B(x,i_s) - sum_j u[s,j] p(x) E(x,j) + (C'w)[x,s]) + sum min(0, A'w) - w.r         (weak duality).
The mechanism must attain this bound. Deterministic mechanisms and few signals may need a bound case by case, or a trial
of all maps; a worst case over scenarios, and tiers that refine each other, have bounds of their own, stated there. A
float is the fraction it is; rows that should sum to something are scaled to it, and the gap may be 1e-9 of the spread
R_B(null) - R_B(full) + lam (R_E(null) - R_E(full)) plus 2^-46 of the range of the losses, but no more than 2^-16 of the
spread if there is one.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import sys
from fractions import Fraction as F
from itertools import pairwise, product
from types import SimpleNamespace as Record

LIMITS = {"bytes": 2**28, "digits": 20_000, "keys": 10_000, "columns": 100_000, "cells": 20_000_000, "bits": 100_000,
          "parts": 5_000_000, "maps": 100_000, "work": 20_000_000}
NUMBER = re.compile(r"[-+]?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?)")
TOLERANCE, ROUNDING, MOST = F(1e-9), F(2) ** -46, 10**300
LOWEST = dict.fromkeys(["min_eve_risk", "max_bob_risk", "margin", "max_leakage", "delta", "epsilon", "exp_epsilon"], 0)
LOWEST |= {"max_leakage": 1, "exp_epsilon": 1}
CONES = ["posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish"]
WIDTHS = dict.fromkeys(["privacy", "approximate_privacy", "beliefs"], 3) | dict.fromkeys(["max_leakage", *CONES], 2)


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


def loss(v):
    return number(v, 0, MOST)


def table_of(rows, read, count=None, width=None):
    width = len(listed(listed(rows, "no table", count)[0], "no table", width))
    return [[read(v) for v in listed(row, "a table has rows of several lengths", width)] for row in rows]


def distribution(row, read=F, count=None, long=False):
    values = [number(v, 0, MOST, long) for v in listed(row, "a distribution has the wrong length", count)]
    need(abs(sum(map(float, values)) - 1) <= 1e-12 if floating(row) else sum(values) == 1, "no distribution")
    return [read(v) for v in values]


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


def agent(table, p, R, role):
    """A Bob or an Eve: losses, what Alice counts as harm, beliefs, and k(z|x) for each z that an Eve may know."""
    keyed(table, ["name", "weight", "decisions", "loss"], ["harm", "prior"] + ["knows", "knowledge"] * (role == "eve"))
    own, N = Record(name=table["name"], weight=R(number(table["weight"]))), len(p)
    read = lambda v: R(loss(v))
    own.loss = table_of(table["loss"], read, N)
    own.decisions = labels(table["decisions"], len(own.loss[0]))
    own.harm = table_of(table["harm"], read, N, len(own.loss[0])) if "harm" in table else own.loss
    own.prior = distribution(table["prior"], R, N) if "prior" in table else p
    need(number(table["weight"]) > 0 and not {"knows", "knowledge"} <= {*table}, "a weight, or what an Eve knows")
    own.shares = [[F(1)] for _ in p]
    if "knows" in table:
        known = listed(table["knows"], "knows", N)
        need(all(type(z) is int or (type(z) is str and z) for z in known), "knows must be labels")
        own.shares = [[F(str(z) == v) for v in dict.fromkeys(map(str, known))] for z in known]
    if "knowledge" in table:
        width = len(listed(listed(table["knowledge"], "knowledge", N)[0], "knowledge"))
        own.shares = [distribution(row, R, width) for row in table["knowledge"]]
    return own


class Game:
    """A problem in fractions; with `rounded` every number and product is rounded to a float, as the solver did."""

    def __init__(self, document, rounded=False):
        R = (lambda v: F(float(v))) if rounded else F
        keyed(document, ["title", "data", "bob", "eve", "alice"], ["conditions"])
        data, roles = keyed(document["data"], ["labels", "prior"]), ("bob", "eve")
        need(type(document["title"]) is str, "title must be a text")
        self.p = p = distribution(data["prior"], R)
        self.N, self.states = len(p), labels(data["labels"], len(p))
        self.given_lam = keyed(document["alice"], ["lambda"])["lambda"]
        self.lam, self.exact = loss(self.given_lam), not floating(*(document[k] for k in ("data", *roles)))
        bobs, eves = ([agent(one, p, R, role) for one in listed(document[role], "no agent")] for role in roles)
        for group in (bobs, eves):
            labels([a.name for a in group], len(group))
        fits = all(a.weight <= 1 or a.weight * max(map(max, a.harm)) <= MOST for a in bobs + eves)
        need(rounded or fits, "a weight makes a loss larger than 1e300")
        columns = math.prod(len(a.decisions) for a in bobs)
        need(len(bobs) == 1 or (columns <= LIMITS["columns"] and columns * self.N <= LIMITS["cells"]), "too large")
        times = lambda w, rows: [[R(w * v) for v in row] for row in rows]
        self.B, self.E, self.owner, self.shares, self.beliefs = [[F(0)] for _ in p], [[] for _ in p], [], [], []
        for a in bobs:
            self.B = [[R(v + w) for v in row for w in more] for row, more in zip(self.B, times(a.weight, a.harm))]
        views = [(bob, 0, False) for bob in bobs] + [(eve, z, True) for eve in eves for z in range(len(eve.shares[0]))]
        for a, z, is_eve in views:
            share, losses = [row[z] for row in a.shares], times(a.weight, a.loss)
            losses = [[R(v - min(row)) for v in row] for row in losses]  # he acts on differences
            mass = [R(m * v) for m, v in zip(a.prior, share)]
            acts = [[R(m * v) for v in row] for m, row in zip(mass, losses)]
            self.beliefs.append((mass, acts))
            if is_eve:
                for x, row in enumerate(times(a.weight, a.harm)):
                    self.E[x] += [R(share[x] * v) for v in row]
                self.owner.append(a)
                self.shares.append(share)
        ends = [sum(len(a.decisions) for a in self.owner[:k]) for k in range(len(self.owner) + 1)]
        self.groups = [range(*pair) for pair in pairwise(ends)]
        self.decisions = joints([a.decisions for a in bobs], ", ")
        self.sizes = [len(a.decisions) for a in bobs]
        self.aligned = all(a.harm == a.loss and a.prior == p for a in bobs + eves)
        self.conditions, self.eves = document.get("conditions", {}), eves

    def tuples(self):
        """One signal per tuple of everybody's decisions: names, Bob's decisions, Eves' columns of E."""
        count = len(self.decisions) * math.prod(len(g) for g in self.groups)
        need(count <= LIMITS["columns"] and count * self.N <= LIMITS["cells"], "too many tuples of decisions")
        each = list(product(range(len(self.decisions)), *self.groups))
        words = joints([a.decisions for a in self.owner], ", ")
        return joints([self.decisions, words], " / "), [t[0] for t in each], [t[1:] for t in each]

    def mean(self, losses, groups, of):
        """sum_x p(x) of(losses that an agent may have in x), over the agents."""
        return sum(p * of([row[j] for j in g]) for g in groups for p, row in zip(self.p, losses))

    @property
    def gains(self):
        """What Bob and the Eves gain from the data."""
        for L, groups in ((self.B, [range(len(self.B[0]))]), (self.E, self.groups)):
            yield sum(min(self.mean(L, [[j]], max) for j in g) for g in groups) - self.mean(L, groups, min)

    def scale(self, lam):
        """The spread, and the range of the losses: a huge loss that nobody need have excuses no part of the spread."""
        (bob, eve), ranges = self.gains, lambda row: max(row) - min(row)
        wide = self.mean(self.B, [range(len(self.B[0]))], ranges) + lam * self.mean(self.E, self.groups, ranges)
        spread = bob + lam * eve
        return spread, min(wide, 2**30 * spread) if spread > 0 else wide

    def allowance(self, lam, unit):
        """The largest gap between value and bound."""
        spread, wide = self.scale(lam)
        return unit * spread + ROUNDING * wide if unit else F(0)

    def heard(self, q, losses):
        """sum_x p(x) q(s|x) losses(x,j) for every signal and decision."""
        joint = [[(p * v, row) for p, v, row in zip(self.p, column, losses) if p * v] for column in zip(*q)]
        return [[sum(m * row[j] for m, row in part) for j in range(len(losses[0]))] for part in joint]

    def eve_risks(self, q, eve=None):
        """t[s,k]; with `eve` of Eves who do as they are told."""
        told = lambda row, s: [row[j] for j in eve[s]] if eve else [min(row[j] for j in g) for g in self.groups]
        return [told(row, s) for s, row in enumerate(self.heard(q, self.E))]

    def risks(self, q, told, eve=None):
        """R_B and R_E of a channel whose signal s tells Bob to decide told[s], and perhaps the Eves eve[s]."""
        return sum(row[i] for row, i in zip(self.heard(q, self.B), told)), sum(map(sum, self.eve_risks(q, eve)))


# ---- effort: what the check would take, before a number is used. The unit is an operation with short fractions; to add
# a fraction of m digits to a sum of d digits takes d m / 32000 more. d is at most what all denominators have in common,
# and m the mean length of the numbers in the table where it is largest.


def size(table, key):
    """Rows and longest row of a list in a table."""
    rows = table.get(key) if type(table) is dict else None
    rows = rows if type(rows) is list else [rows] if type(rows) is dict else []
    return len(rows), max((len(row) for row in rows if type(row) is list), default=0), rows


def problem_kind(problem):
    """What problem.json is about: "scenarios", "tiers", or "" for one problem."""
    kinds = {("scenarios",): "scenarios", ("tiers", "weights"): "tiers"}
    return kinds.get(tuple(sorted(problem)), "")


def affordable(problem, mechanism, certificate):
    """Refuse a check that takes more than LIMITS["work"] steps."""
    if problem_kind(problem):
        N, S, _ = size(certificate, "rho" if "tiers" in problem else "channel")
        steps = N * S * sum(2 + max((len(row) for row in u if type(row) is list), default=0)
                            for u in size(certificate, "replies")[2] if type(u) is list)
    else:
        steps = single_steps(problem, certificate)
    todo, sizes, denominators, common = [("", problem), ("", mechanism), ("", certificate)], {}, set(), 1
    while todo:  # numbers in lists, by key; those outside of lists are used once
        key, node = todo.pop()
        if type(node) is dict:
            todo += [(name, item) for name, item in node.items() if type(item) in (dict, list)]
        elif type(node) is list:
            todo += [(key, item) for item in node]
        else:
            found = re.fullmatch(r"[ \t\r\n]*[-+]?[0-9]+(?:/([0-9]+))?[ \t\r\n]*", node) if type(node) is str else None
            below = found and found[1]
            sizes.setdefault(key, []).append(len(node) // (2 if below else 1) if found else 0)
            denominators |= {below} if below else set()
    digits = max((sum(own) // len(own) for own in sizes.values()), default=0)
    fits = lambda: steps * (1 + common.bit_length() * 3 // 10 * digits // 32_000) <= LIMITS["work"]
    for q in denominators if fits() else ():
        common = math.lcm(common, int(q)) if q.strip("0") else common
        if not fits():
            break
    need(fits(), f"it takes more than {LIMITS['work']} steps (BAP_LIMITS=work=N raises this)")


def single_steps(problem, certificate):
    """The steps of the loops below: N states, S signals, e decisions of Eves, and what the conditions add."""
    (N, S, _), (_, e, _) = size(certificate, "rho"), size(certificate, "u")
    N, S, e, asked = max(N, 1), max(S, 1), max(e, 1), certificate.get("conditions")
    asked = asked if type(asked) is dict else {}
    decisions = sum(size(agent, "decisions")[0] for role in ("bob", "eve") for agent in size(problem, role)[2])
    vectors = 2 * sum(size(asked, name)[0] for name in CONES[:3]) + e * ("signal_floor" in asked)
    for one in size(asked, "pufferfish")[2]:
        vectors += 2 * size(one, "pairs")[0] * max(1, size(one, "priors")[0])
    pairs = 2 * size(asked, "neighbours")[0] if "neighbours" in asked else N * N * bool({"metric", "delta"} & {*asked})
    steps = N * S * (2 + e + decisions + vectors) + pairs * (S + N * ("metric" in asked))
    branches = size(certificate, "branches")[2]
    for part in branches:
        steps += N * size(part, "signals")[0] * (2 + e)
    for part in (certificate, *branches):  # a price is about a row of up to N numbers
        steps += N * sum(size(part, name)[0] for name in ("obedience", *WIDTHS))
    if asked.get("deterministic") is True and not branches:
        bobs = math.prod(min(size(bob, "decisions")[0], 2**20) for bob in size(problem, "bob")[2])
        maps = bobs ** min(sum(mass not in (0, "0") for mass in size(problem.get("data"), "prior")[2]), 64)
        steps += maps * N * min(S, 64) if maps <= LIMITS["maps"] else 0
    return steps


# ---- conditions: a notion is a function from places to rows (C, D, A, r, size), and the places that a channel q must
# meet. C has (x, s, v), D has (s, k, v), A has (column, v). A float may miss a row by 1e-9 of `size`, without one by
# 1e-9 of the sum of |v| q(s|x); if `size` is a list of terms, also by 2^-46 of the sum of terms[x] q(s|x).


class Demands:
    """Conditions of a game as they are written: signals, what they tell Bob and the Eves, the rows of each notion."""

    def __init__(self, game, table, unit=F(0)):
        keyed(table, [], [*LOWEST, *CONES, "neighbours", "metric", "deterministic", "max_signals"])
        need(None not in table.values(), "a condition is null")
        given = dict(table)
        numbers = {k: number(given[k], low, MOST) for k, low in LOWEST.items() if k in given}
        need(type(table.get("deterministic", False)) is bool, "deterministic must be true or false")
        self.most, self.deterministic = given.get("max_signals"), bool(given.pop("deterministic", False))
        need(self.most is None or (type(self.most) is int and self.most >= 1), "max_signals must be a positive integer")
        self.game, self.unit, self.notions, self.beyond, g, N = game, unit, {}, False, game, game.N
        floor, cap, self.m, leak, delta = map(numbers.get, list(LOWEST)[:5])
        self.exact = not floating(given) and not numbers.get("epsilon")
        self.meaning = given | numbers | {"deterministic": self.deterministic}
        self.tuples = self.m is not None or not g.aligned
        every = list(range(len(g.decisions)))
        self.names, self.told, self.eve = g.tuples() if self.tuples else (g.decisions, every, None)
        S, sizes = range(len(self.told)), [v + ROUNDING / TOLERANCE * (c or 0) for v, c in zip(g.gains, (cap, floor))]
        if floor is not None:
            all_t = lambda told: [(s, k, -1) for s in range(len(told)) for k in range(len(g.groups))]
            self.notions["min_eve_risk"] = lambda _, told, eve: ([], all_t(told), [], -floor, sizes[1]), lambda q: [()]
        if cap is not None:
            cost = lambda told: [(x, s, g.p[x] * g.B[x][i]) for x in range(N) for s, i in enumerate(told)]
            self.notions["max_bob_risk"] = lambda _, told, eve: (cost(told), [], [], cap, sizes[0]), lambda q: [()]
        if leak is not None:
            self.notions["max_leakage"] = self.leakage(leak), lambda q: [*product(S, range(N)), (-1, -1)]
        self.privacy(given, numbers, delta, S)
        for name in CONES:
            if name in given:
                self.cone(name, given[name], S)
        if self.m is not None and g.aligned:
            both, own = range(len(every) + len(g.E[0])), lambda s, d: self.own(s, d, self.told, self.eve)
            self.L = [b + e for b, e in zip(g.B, g.E)]
            self.notions["margin"] = self.margin, lambda q: [(s, d) for s in S for d in both if d != own(s, d)]
        if not g.aligned:
            others = [(s, a, d) for s in S for a, own in enumerate(self.prescribed(s, self.told, self.eve))
                      for d in range(len(g.beliefs[a][1][0])) if d != own]
            self.notions["beliefs"] = self.belief, lambda q: others

    def leakage(self, leak):
        """sum_s a[s] <= leak, q(s|x) <= a[s]."""
        def row(place, told, eve):
            s, x = place
            if place == (-1, -1):
                return [], [], [(t, 1) for t in range(len(told))], leak, leak
            need(0 <= s < len(told) and 0 <= x < self.game.N, "a price of max_leakage is about none of its rows")
            return [(x, s, 1)], [], [(s, -1)], 0, 0
        return row

    def privacy(self, given, numbers, delta, S):
        """q(s|x) <= K^d(x,y) q(s|y); with delta: q(s|x) - K^d(x,y) q(s|y) <= a[x,y,s], sum_s a[x,y,s] <= delta."""
        pairs, N = None, self.game.N
        need(not {"neighbours", "metric"} <= {*given} and not {"epsilon", "exp_epsilon"} <= {*given}, "two of a kind")
        if not {"epsilon", "exp_epsilon"} & {*given}:
            return need(not {"neighbours", "metric", "delta"} & {*given}, "privacy needs epsilon")
        K, log = ratio_of(numbers)
        if "neighbours" in given:
            need(type(given["neighbours"]) is list, "neighbours must be a list")
            found = [[self.state(x) for x in listed(pair, "no pair of states", 2)] for pair in given["neighbours"]]
            pairs = {(x, y): F(1) for pair in found for x, y in (pair, pair[::-1]) if x != y}
        if "metric" in given:
            far = lambda v: None if v is None or v == "inf" else number(v, 0)
            found = table_of(given["metric"], far, N, N)
            pairs = {(x, y): v for x, row in enumerate(found) for y, v in enumerate(row) if v is not None and x != y}
            self.exact = self.exact and all(v is None or v.denominator == 1 for row in found for v in row)
        self.meaning |= {k: pairs for k in ("neighbours", "metric") if k in given}
        if "neighbours" in given:
            self.meaning["neighbours"] = {*pairs}

        def ratio(x, y):
            """K^d, None if it is too large to be written down."""
            if pairs is None or K == 1:
                return K
            d, bits = pairs[x, y], max(K.numerator.bit_length(), K.denominator.bit_length())
            if float(d) * log > 600 or (d.denominator == 1 and d * bits > LIMITS["bits"]):
                return None
            return K ** int(d) if d.denominator == 1 else F(float(K) ** float(d))

        def row(place, told, eve):
            s, x, y = place
            need(-bool(delta) <= s < len(told) and 0 <= x < N and 0 <= y < N, "privacy of no signal or state")
            K_d = ratio(x, y) if pairs is None or (x, y) in pairs else None
            need(K_d is not None and not (delta and x == y), "privacy of states that are no neighbours")
            if s < 0:
                return [], [], [((x, y, t), 1) for t in range(len(told))], delta, 1
            return [(x, s, 1), (y, s, -K_d)], [], [((x, y, s), -1)] if delta else [], 0, None

        if delta and delta >= 1:
            return None
        # K^d too large is left out if d(x,z) >= d(x,y) + d(y,z), both positive: then the pairs (x,y) and (y,z) imply it
        large = [pair for pair in pairs or () if ratio(*pair) is None]
        for x, z in large:
            steps = ((pairs.get((x, y), 0), pairs.get((y, z), 0)) for y in range(N))
            implied = any(min(step) > 0 and sum(step) <= pairs[x, z] for step in steps)
            need(implied and not delta, "exp(eps d) is too large")
        near = None if pairs is None else sorted({*pairs} - {*large})
        if delta:
            asked = near if pairs is not None else [(x, y) for x in range(N) for y in range(N) if x != y]
            self.notions["approximate_privacy"] = row, lambda q: [(s, *pair) for pair in asked for s in (*S, -1)]
        else:
            ends = lambda q: [(s, c.index(max(c)), c.index(min(c))) for s, c in enumerate(zip(*q))]
            each = lambda q: ends(q) if near is None else [(s, *pair) for pair in near for s in S]
            self.notions["privacy"] = row, each

    def state(self, x):
        x = self.game.states.index(x) if type(x) is str and x in self.game.states else x
        need(type(x) is int and 0 <= x < self.game.N, "no state")
        return x

    def cone(self, name, value, S):
        """One signal at a time: sum_x g(x) q(s|x) <= 0 for every signal and vector g.

        Where g(x) is a difference of two numbers, which were rounded, their sum comes with it.
        """
        g, out, told_at = self.game, [], []
        if name == "signal_floor":
            every = [(a.name, value) for a in g.eves]
            pairs = list(value.items()) if type(value) is dict else value if type(value) is list else every
            need(pairs and all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs), "signal_floor")
            floors = [(str(eve), number(v, 0, MOST)) for eve, v in pairs]
            need({eve for eve, _ in floors} <= {a.name for a in g.eves}, "signal_floor names no Eve")
            self.meaning[name] = floors if type(value) in (dict, list) else floors[0][1]
            for group, a, share in zip(g.groups, g.owner, g.shares):
                for column, losses in zip(group, zip(*a.harm)) if a.name in dict(floors) else ():
                    here, f = [p * k for p, k in zip(g.p, share)], dict(floors)[a.name]
                    out.append([[m * (f + sign * v) for m, v in zip(here, losses)] for sign in (-1, 1)])
                    told_at.append(column)
        else:
            rows = [value] if name == "pufferfish" and type(value) is dict else value
            need(type(rows) is list, f"{name} must be a list")
            out = [vector for row in rows for vector in getattr(self, name)(row)]
            self.meaning[name] = meaning(rows, name)
        about = lambda s, k, eve: not told_at or g.aligned or told_at[k] in eve[s]

        def row(place, told, eve):
            s, k = place
            known = 0 <= s < len(told) and 0 <= k < len(out) and about(s, k, eve)
            need(known, f"a price of {name} is about none of its rows")
            return [(x, s, v) for x, v in enumerate(out[k][0]) if v], [], [], 0, out[k][1]

        self.notions[name] = row, lambda q: [(s, k) for s in S for k in range(len(out)) if about(s, k, self.eve)]
        self.beyond = self.beyond or any(v for vector, _ in out for p, v in zip(g.p, vector) if p == 0)

    def event(self, states):
        need(all(type(x) in (int, str) for x in listed(states, "an event lists states")), "an event lists states")
        inside = {self.state(x) for x in states}
        return [x in inside for x in range(self.game.N)]

    def factor(self, row):
        """K of a demand with exp_epsilon or epsilon."""
        given = {k: number(row[k], LOWEST[k], MOST) for k in ("exp_epsilon", "epsilon") if row.get(k) is not None}
        need(len(given) == 1, "exp_epsilon or epsilon, one of the two")
        self.exact = self.exact and not given.get("epsilon")
        return ratio_of(given)[0]

    def posterior_caps(self, row):
        keyed(row, ["event"], ["at_most", "at_least"])
        inside, p = self.event(row["event"]), self.game.p
        high, low = (None if row.get(k) is None else number(row[k], 0, 1) for k in ("at_most", "at_least"))
        need((high, low) != (None, None) and (None in (high, low) or low <= high), "posterior_caps")
        ends = [(c, sign) for c, sign in ((high, 1), (low, -1)) if c is not None]
        return [([sign * m * (i - c) for m, i in zip(p, inside)], []) for c, sign in ends]

    def posterior_ratio(self, row):
        keyed(row, ["event"], ["exp_epsilon", "epsilon"])
        inside, p, K = self.event(row["event"]), self.game.p, self.factor(row)
        whole, rest = (sum(m for m, i in zip(p, inside) if i is own) for own in (True, False))
        high, low = (rest - (K - 1) * whole, -K * whole), ((1 - K) * whole - K * rest, whole)
        top, low = ([m * (a if i else b) for m, i in zip(p, inside)] for a, b in (high, low))
        return [(top, [m * (rest + (K - 1) * whole) * i for m, i in zip(p, inside)]), (low, [])]

    def independent_of(self, row):
        inside, p = self.event(row), self.game.p
        whole, rest = (sum(m for m, i in zip(p, inside) if i is own) for own in (True, False))
        return [([sign * m * (rest if i else -whole) for m, i in zip(p, inside)], []) for sign in (1, -1)]

    def pufferfish(self, row):
        keyed(row, ["pairs"], ["priors", "exp_epsilon", "epsilon"])
        K, out = self.factor(row), []
        need(type(row["pairs"]) is list, "pairs of events")
        pairs = [[self.event(event) for event in listed(pair, "a pair of events", 2)] for pair in row["pairs"]]
        priors = [self.game.p]
        if row.get("priors") is not None:
            priors = [distribution(r, F, self.game.N) for r in listed(row["priors"], "priors")]
        for r, pair in product(priors, pairs):
            a, b = ([m * i for m, i in zip(r, inside)] for inside in pair)
            if sum(a) and sum(b):
                a, b = [v / sum(a) for v in a], [v / sum(b) for v in b]
                for one, two in ((a, b), (b, a)):
                    out.append(([u - K * v for u, v in zip(one, two)], [u + K * v for u, v in zip(one, two)]))
        return out

    def own(self, s, d, told, eve):
        """What the agent of decision d is told; decisions of Bob first, then of the Eves."""
        b = len(self.game.decisions)
        return told[s] if d < b else b + next(e for e, g in zip(eve[s], self.game.groups) if d - b in g)

    def margin(self, place, told, eve):
        """Every decision is better than any other by m P(signal)."""
        (s, d), g, b = place, self.game, len(self.game.decisions)
        own = self.own(s, d, told, eve)
        share = next((k for k, group in zip(g.shares, g.groups) if d - b in group), [1] * g.N)
        need(own != d, "obedience has a price for the decision itself")
        gain = lambda x: self.L[x][own] - self.L[x][d] + self.m * share[x]
        gains = [g.p[x] * gain(x) for x in range(g.N)]
        return [(x, s, v) for x, v in enumerate(gains)], [], [], 0, None

    def prescribed(self, s, told, eve):
        """What signal s prescribes to every agent, Bobs first."""
        out, rest = [], told[s]
        for size in reversed(self.game.sizes):
            rest, d = divmod(rest, size)
            out.insert(0, d)
        return out + [j - g.start for j, g in zip(eve[s], self.game.groups)]

    def belief(self, place, told, eve):
        """Agents with beliefs or losses of their own follow what they are told."""
        (s, a, d), m = place, self.m or F(0)
        need(0 <= s < len(told) and 0 <= a < len(self.game.beliefs), "a price of beliefs is about none of its rows")
        (mass, act), own = self.game.beliefs[a], self.prescribed(s, told, eve)[a]
        need(0 <= d < len(act[0]) and d != own, "a price of beliefs is about none of its rows")
        return [(x, s, act[x][own] - act[x][d] + m * mass[x]) for x in range(self.game.N)], [], [], 0, None

    def broken(self, q):
        """The first notion that a channel breaks; columns a are as small as their rows allow."""
        t = self.game.eve_risks(q, self.eve)
        for name, (row, places) in self.notions.items():
            least = {}
            for place in places(q):
                C, D, A, r, size = row(place, self.told, self.eve)
                left = sum(v * q[x][s] for x, s, v in C) + sum(v * t[s][k] for s, k, v in D) - r
                if A and A[0][1] < 0:
                    least[A[0][0]] = max(least.get(A[0][0], 0), left)
                    continue
                if size is None or type(size) is list:
                    terms = sum(v * row_q[place[0]] for v, row_q in zip(size or (), q))
                    size = sum(abs(v) * q[x][s] for x, s, v in C) + ROUNDING / TOLERANCE * terms
                if left + sum(v * least[column] for column, v in A) > self.unit * size:
                    return name
        few = self.most is None or sum(map(any, zip(*q))) <= self.most
        pure = not self.deterministic or all(v == 0 or abs(v - 1) <= self.unit for row in q for v in row)
        return "" if few and pure else "the limits on signals"


def ratio_of(given):
    """K = exp_epsilon or exp(epsilon), and its logarithm."""
    eps, K = given.get("epsilon"), given.get("exp_epsilon")
    log = eps if K is None else math.log1p(K - 1) if K < 2 else math.log(K.numerator) - math.log(K.denominator)
    need(log <= 600, "epsilon is too large")
    return (F(math.exp(eps)) if eps else F(1)) if K is None else K, float(log)


def meaning(v, key):
    """A demand with its numbers as fractions; events stay as they are written."""
    if type(v) is dict:
        return {k: meaning(w, k) for k, w in v.items() if w is not None}
    if key in ("event", "pairs", "independent_of"):
        return v
    return [meaning(w, key) for w in v] if type(v) is list else number(v)


# ---- the proof


def prices_of(document, read):
    """The multipliers of a certificate or a branch: (notion, place, weight)."""
    limits = keyed(document.get("prices", {}), [], ["min_eve_risk", "max_bob_risk"])
    table = document.get("obedience", [])
    out = [(name, (), read(w)) for name, w in limits.items()]
    for name, width in WIDTHS.items():
        need(type(document.get(name, [])) is list, f"{name} must be a list")
        for row in document.get(name, []):
            places = listed(row, f"{name}: no row", width + 1)[:-1]
            need(all(type(v) is int and -1 <= v < 2**31 for v in places), f"{name}: no row")
            out.append((name, tuple(places), read(row[-1])))
    need(type(table) is list, "obedience must be a list")
    return out, table and table_of(table, read)


def bound_of(demands, told, eve, lam, beta, u, prices, obedience, allowed=None):
    """What the multipliers prove about beta R_B - lam R_E of channels that send only allowed[x]."""
    game, b = demands.game, len(demands.game.decisions)
    need(len(u) == len(told) and len(u[0]) == len(game.E[0]), "u has the wrong shape")
    rows = [row for row in prices if row[2] != 0 or row[0] in demands.notions]
    if "margin" in demands.notions:
        need(len(obedience) == len(told) and len(obedience[0]) == b, "a margin needs prices of Bob's obedience")
        rows += [("margin", (s, b + j), w) for s, row in enumerate(u) for j, w in enumerate(row) if w]
    rows += [("margin", (s, i), w) for s, row in enumerate(obedience) for i, w in enumerate(row) if w]
    need(min(map(min, u)) >= 0 and all(w >= 0 for _, _, w in rows), "a multiplier is negative")
    cost = [[beta * p * row[i] for i in told] for p, row in zip(game.p, game.B)]
    risk, constant, extra = [[lam] * len(game.groups) for _ in told], F(0), {}
    for name, place, w in rows:
        need(name in demands.notions, f"there is a price for {name}, which is not a condition")
        C, D, A, r, _ = demands.notions[name][0](place, told, eve)
        for x, s, v in C:
            cost[x][s] += w * v
        for s, k, v in D:
            risk[s][k] -= w * v
        for column, v in A:
            extra[name, column] = extra.get((name, column), F(0)) + w * v
        constant -= w * r
    for s, k in product(range(len(told)), range(len(game.groups))):
        mass, total = risk[s][k], sum(u[s][j] for j in game.groups[k])
        need(eve or abs(total - mass) <= demands.unit * abs(mass), f"u[{s}] has the wrong sum")
        share = {eve[s][k]: mass} if eve else {j: u[s][j] * (mass / total) for j in game.groups[k] if u[s][j]}
        for x, p in enumerate(game.p):
            cost[x][s] -= p * sum(v * game.E[x][j] for j, v in share.items())
    least = sum(min(row if allowed is None else [row[s] for s in allowed[x]]) for x, row in enumerate(cost))
    return least + constant + sum(min(F(0), v) for v in extra.values())


def read_branch(branch, N, S, read):
    """A part of the mechanisms: signals, allowed signals by state, and multipliers; void: no mechanism is in it."""
    keyed(branch, ["signals", "u"], ["states", "void", "prices", "obedience", *WIDTHS])
    positions = lambda values, count: type(values) is list and all(type(v) is int and 0 <= v < count for v in values)
    keep, few = branch["signals"], {}
    need(positions(keep, S) and type(branch.get("states", [])) is list, "a branch is about no signals")
    need(type(branch.get("void", False)) is bool, "void must be true or false")
    for row in branch.get("states", []):
        x, own = listed(row, "a branch is about no states", 2)
        need(positions([x], N) and positions(own, len(keep)), "a branch is about no states or signals")
        few[x] = sorted({*own})
    allowed = [few.get(x, range(len(keep))) for x in range(N)]
    return Record(keep=keep, allowed=allowed, few=few, void=branch.get("void", False), u=table_of(branch["u"], read),
                  prices=prices_of(branch, read))


def by_cases(demands, branches, lam, value):
    """The least bound over branches that together contain every mechanism."""
    N, S, boxes = demands.game.N, len(demands.told), []
    for part in branches:
        need(part.keep and all(part.allowed), "a branch is about no signals")
        told, eve = [demands.told[s] for s in part.keep], demands.eve and [demands.eve[s] for s in part.keep]
        some = F(not part.void)
        bound = bound_of(demands, told, eve, some * lam, some, part.u, *part.prices, part.allowed)
        need(not part.void or bound > 0, "a void branch is not proved to be empty")
        value = value if part.void else min(value, bound)
        if demands.deterministic:  # a set of signals, as bits, for every state
            boxes.append([sum({1 << part.keep[s] for s in row}) for row in part.allowed])
        else:  # for every signal: 1 it is sent, 2 it is not
            need(demands.most is not None and demands.most <= S and not part.few, "no limit on signals")
            boxes.append([3 if s in part.keep else 2 for s in range(S)])
    covered([(1 << S) - 1] * N if demands.deterministic else [3] * S, boxes, demands)
    return value


def covered(whole, boxes, demands):
    """Every choice of an element per place lies in a box, or uses too many signals: split regions along the boxes."""
    todo, steps = [(whole, boxes)], LIMITS["parts"]
    while todo:
        region, near = todo.pop()
        region, steps = feasible(region, demands), steps - len(whole) * (1 + len(near))
        need(steps >= 0, "the branches are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region))]
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(region) or not all(lacks):
            continue  # it is empty, or a box contains it
        k = max(range(len(whole)), key=lambda k: (sum(k in lack for lack in lacks), region[k].bit_count() > 1))
        inside = next((box[k] for box, lack in zip(near, lacks) if k in lack), region[k] & -region[k])
        # a region without a box may have no choice with so few signals: look closer
        need(near or (demands.most is not None and region[k].bit_count() > 1), "some mechanisms are in no branch")
        todo += [([*region[:k], part, *region[k + 1 :]], near) for part in (region[k] & inside, region[k] & ~inside)]


def feasible(region, demands):
    """The region without what uses more than the allowed signals; a place is 0 if nothing is left."""
    if demands.most is None:
        return region
    if demands.deterministic:
        used = sum({part for part in region if part.bit_count() == 1})
        return region if used.bit_count() < demands.most else [part & used for part in region]
    return region if region.count(1) < demands.most else [part if part == 1 else part & 2 for part in region]


def best_map(demands, lam, value):
    """The least R_A of a deterministic mechanism that meets the conditions, if it is below `value`."""
    g, b = demands.game, len(demands.game.decisions)
    pairs = {"neighbours", "metric"} & {*demands.meaning} and {"privacy", "approximate_privacy"} & {*demands.notions}
    free = [x for x, p in enumerate(g.p) if p or pairs or demands.beyond]  # other states follow the first one
    need(b ** min(len(free), 64) <= LIMITS["maps"] and not demands.tuples, "arithmetic proves less")
    scale = math.lcm(*(v.denominator for row in (*g.B, *g.E) for v in row)) * math.lcm(*(p.denominator for p in g.p))
    bob, eve = ([[int(p * v * scale) for v in row] for p, row in zip(g.p, L)] for L in (g.B, g.E))
    for choice in product(range(b), repeat=len(free)):
        cells = [[0] * len(g.E[0]) for _ in range(b)]
        for x, i in zip(free, choice):
            cells[i] = [c + v for c, v in zip(cells[i], eve[x])]
        told = sum(bob[x][i] for x, i in zip(free, choice))
        score = F(told, scale) - lam * F(sum(min(c[j] for j in group) for c in cells for group in g.groups), scale)
        if score < value:
            sent = dict.fromkeys(range(g.N), choice[0]) | dict(zip(free, choice))
            value = value if demands.broken([[F(sent[x] == i) for i in range(b)] for x in range(g.N)]) else score
    return value


def channel_of(document, game, names, finer=None):
    """The mechanism over the signals of the proof; itself; and what it tells Bob if its signals are finer."""
    keyed(document, ["states", "signals", "channel"], ["name"])
    need(type(document.get("name", "")) is str and document["states"] == game.states, "other states")
    own = labels(document["signals"], len(listed(listed(document["channel"], "channel", game.N)[0], "channel")))
    read = (lambda v: F(float(v))) if floating(document["channel"]) else F
    q = [distribution(row, read, len(own), True) for row in document["channel"]]
    told = list(range(len(names)))
    if finer is not None and not {*own} <= {*names}:
        names, told, _ = finer()
        finer = [told[names.index(name)] for name in own if name in names]
    need({*own} <= {*names}, "the proof has no such signal")
    places = [told[names.index(name)] for name in own]
    pooled = [[sum(v for v, place in zip(row, places) if place == s) for s in range(max(told) + 1)] for row in q]
    return pooled, q, finer if type(finer) is list else None


def same_kind(game_exact, floats, allow, given_lams, mechanism):
    need(floats or game_exact, "the certificate is exact and the problem is not")
    need(not floats or allow or not game_exact or floating(given_lams), "the certificate is in floats")
    need(floating(mechanism.get("channel", [])) == floats, "mechanism and certificate must both be exact or floats")


def same_lambda(asked, proved, floats):
    proved = number(proved, long=True)
    need(float(asked) == float(proved) if floats else asked == proved, f"it is about lambda = {shown(proved)}")
    return F(float(proved)) if floats else proved


def scaled(q, unit):
    return [[v / sum(row) for v in row] for row in q] if unit else q


def near_table(a, b, unit, why):
    need([len(row) for row in a] == [len(row) for row in b], f"{why}: the shape")
    need(all(abs(v - w) <= unit for row, other in zip(a, b) for v, w in zip(row, other)), why)


def check_single(problem, mechanism, document, allow):
    under = ["conditions", "channel", "branches", "prices", "obedience", *WIDTHS]
    keyed(document, ["lambda", "value", "rho", "u"], under)
    conditioned, branches = "conditions" in document, document.get("branches", [])
    need("channel" in document if conditioned else not {*under} & {*document}, "conditions and channel go together")
    need(type(branches) is list and (branches or "branches" not in document), "branches must be tables")
    floats = floating({k: v for k, v in document.items() if k != "conditions"})
    unit, read = TOLERANCE * floats, lambda v: F(float(number(v, long=True))) if floats else number(v, long=True)
    game = Game(problem, floats)
    asked = Demands(game, game.conditions, unit)
    demands = Demands(game, document["conditions"], unit) if conditioned else asked
    free = not any(v is not False for v in game.conditions.values())
    need(asked.meaning == demands.meaning and (conditioned or free), "it supposes other conditions")
    same_kind(game.exact and demands.exact, floats, allow, [game.given_lam], mechanism)
    lam, claimed = same_lambda(game.lam, document["lambda"], floats), read(document["value"])
    q, sent, finer = channel_of(mechanism, game, demands.names, None if conditioned else game.tuples)
    null = [sum(p * row[s] for p, row in zip(game.p, q)) / sum(game.p) for s in range(len(q[0]))]
    for x, (p, row) in enumerate(zip(game.p, table_of(document["rho"], read, game.N, len(q[0])))):
        near_table([[p * v for v in q[x]]], [row], unit * p, "the mechanism is not the one that is proved")
        near_table([q[x]], [q[x] if p or conditioned else null], unit, "a state that never occurs has another row")
    if conditioned:
        near_table(q, table_of(document["channel"], read), unit, "the mechanism is not the one that is proved")
    need(conditioned or game.aligned, "there are no prices of the agents' obedience")
    near, q, sent = game.allowance(lam, unit), scaled(q, unit), scaled(sent, unit)
    for channel, told, eve in [(sent, finer, None)] * (finer is not None) + [(q, demands.told, demands.eve)]:
        bob, eve = game.risks(channel, told, eve)
        value, rounding = bob - lam * eve, ROUNDING * (bob + lam * eve) if unit else 0
        need(abs(value - claimed) <= near + rounding, f"R_A is {shown(value)}, not {shown(claimed)}")
    broken = demands.broken(q)
    need(not broken, f"the mechanism breaks {broken}")
    parts = [read_branch(branch, game.N, len(q[0]), read) for branch in branches]
    u, prices = table_of(document["u"], read), prices_of(document, read)
    bound = bound_of(demands, demands.told, demands.eve, lam, F(1), u, *prices)
    if value - bound > near and (demands.deterministic or demands.most is not None):
        need(parts or demands.deterministic, "arithmetic proves less")
        bound = by_cases(demands, parts, lam, value) if parts else best_map(demands, lam, value)
    need(value - bound <= near, f"R_A is {shown(value)}, the proof only shows {shown(bound)}")
    return f"R_A = {shown(value)} is optimal within {shown(value - bound)}" if unit else f"R_A = {value} is optimal"


def check_worst_case(problem, mechanism, document, allow):
    """max_k R_A^k >= sum_x min_s sum_k p_k(x) (w_k B_k(x,s_k) - sum_j u_k[s,j] E_k(x,j)) for weights w of scenarios."""
    keyed(document, ["lambdas", "value", "weights", "channel", "replies"])
    floats, scenarios = floating(document), listed(problem["scenarios"], "there are no scenarios")
    unit, read = TOLERANCE * floats, lambda v: F(float(number(v, long=True))) if floats else number(v, long=True)
    games, K = [Game(one, floats) for one in scenarios], len(scenarios)
    need(not any(g.conditions for g in games) and all(g.aligned for g in games), "no conditions or beliefs here")
    need(all(g.states == games[0].states for g in games), "the scenarios have different states")
    same_kind(all(g.exact for g in games), floats, allow, [g.given_lam for g in games], mechanism)
    lams = [same_lambda(g.lam, v, floats) for g, v in zip(games, listed(document["lambdas"], "lambdas", K))]
    heads = [next(h for h in games if (h.p, h.B) == (g.p, g.B)) for g in games]  # same prior and losses: same Bob
    bobs = [g for g, head in zip(games, heads) if g is head]
    need(math.prod(len(h.decisions) for h in bobs) <= 4096, "too many profiles of decisions")
    profiles = list(product(*(range(len(h.decisions)) for h in bobs)))
    q, _, _ = channel_of(mechanism, games[0], joints([h.decisions for h in bobs], " | "))
    near_table(q, table_of(document["channel"], read), unit, "the mechanism is not the one that is proved")
    q, w = scaled(q, unit), table_of([document["weights"]], read, 1, K)[0]
    need(min(w) >= 0 and abs(sum(w) - 1) <= unit, "the weights are no mixture")
    w, total, values = [v / sum(w) for v in w], [[F(0)] * len(profiles) for _ in q], []
    for g, head, lam, weight, replies in zip(games, heads, lams, w, listed(document["replies"], "replies", K)):
        u, own = table_of(replies, read, len(profiles), len(g.E[0])), weight * lam
        need(min(map(min, u)) >= 0, "replies are negative")
        for s, profile in enumerate(profiles):
            for group in g.groups:
                mass = sum(u[s][j] for j in group)
                need(abs(mass - own) <= unit * (1 + lam), "replies do not sum to weight times lambda")
                for j in group:
                    u[s][j] = u[s][j] * (own / mass) if mass else own / len(group)
            told = profile[bobs.index(head)]
            for x, (p, losses, eves) in enumerate(zip(g.p, g.B, g.E)):
                total[x][s] += p * (weight * losses[told] - sum(a * b for a, b in zip(u[s], eves) if a))
        bob, eve = sum(map(min, g.heard(q, g.B))), sum(map(sum, g.eve_risks(q)))
        values.append((bob - lam * eve, bob + lam * eve))
    scales = [g.scale(lam) for g, lam in zip(games, lams)]
    spread, wide = sum(weight * own for weight, (own, _) in zip(w, scales)), max(own for _, own in scales)
    near = unit * spread + ROUNDING * (min(wide, 2**30 * spread) if spread > 0 else wide) * floats
    (worst, size), bound = max(values), sum(map(min, total))
    need(abs(worst - read(document["value"])) <= near + ROUNDING * size * floats, "the worst case is another one")
    need(worst - bound <= near, "the weights prove less")
    return f"the worst case {shown(worst) if floats else worst} is optimal"


def check_tiers(problem, mechanism, document, allow):
    """Tier k sees the first k decisions i of a signal: with u_k >= 0 whose entries sum to w_k lam_k per prefix and Eve,
    sum_k w_k R_A^k >= sum_x p(x) min_i sum_k (w_k B_k(x,i_k) - sum_j u_k[i_1..i_k, j] E_k(x,j))."""
    keyed(document, ["lambdas", "weights", "value", "rho", "replies"])
    floats, tiers = floating(document), listed(problem["tiers"], "there are no tiers")
    unit, read = TOLERANCE * floats, lambda v: F(float(number(v, long=True))) if floats else number(v, long=True)
    games, K = [Game(one, floats) for one in tiers], len(tiers)
    need(not any(g.conditions for g in games) and all(g.aligned for g in games), "no conditions or beliefs here")
    need(all(one["data"] == tiers[0]["data"] for one in tiers), "the tiers have different data")
    asked = [number(w, None, MOST, True) for w in listed(problem["weights"], "weights", K)]
    given = [*(g.given_lam for g in games), *problem["weights"]]
    same_kind(all(g.exact for g in games), floats, allow, given, mechanism)
    lams = [same_lambda(g.lam, v, floats) for g, v in zip(games, listed(document["lambdas"], "lambdas", K))]
    weights = [same_lambda(w, v, floats) for w, v in zip(asked, listed(document["weights"], "weights", K))]
    need(min(asked) > 0 and min(weights) > 0, "weights must be positive")
    need(math.prod(len(g.decisions) for g in games) <= 100_000, "too many tuples of decisions")
    signals, p = list(product(*(range(len(g.decisions)) for g in games))), games[0].p
    q, _, _ = channel_of(mechanism, games[0], joints([g.decisions for g in games], " > "))
    null = [sum(m * row[s] for m, row in zip(p, q)) / sum(p) for s in range(len(signals))]
    for m, row, joint in zip(p, q, table_of(document["rho"], read, len(p), len(signals))):
        near_table([[m * v for v in row]], [joint], unit * m, "the mechanism is not the one that is proved")
        near_table([row], [row if m else null], unit, "a state that never occurs has another row")
    q, total, value, scale, near = scaled(q, unit), [[F(0)] * len(signals) for _ in p], F(0), F(0), F(0)
    for k, (g, lam, w, replies) in enumerate(zip(games, lams, weights, listed(document["replies"], "replies", K))):
        prefixes = list(dict.fromkeys(i[: k + 1] for i in signals))
        place, own = {prefix: s for s, prefix in enumerate(prefixes)}, w * lam
        seen, u = [[F(0)] * len(prefixes) for _ in p], table_of(replies, read, len(prefixes), len(g.E[0]))
        need(min(map(min, u)) >= 0, "replies are negative")
        for row, group in product(u, g.groups):
            mass = sum(row[j] for j in group)
            need(abs(mass - own) <= unit * own, "replies do not sum to weight times lambda")
            for j in group:
                row[j] *= own / mass if mass else 0
        answer = [[sum(a * b for a, b in zip(row, eves) if a) for row in u] for eves in g.E]
        for x, s in product(range(len(p)), range(len(signals))):
            at = place[signals[s][: k + 1]]
            seen[x][at] += q[x][s]
            total[x][s] += w * g.B[x][signals[s][k]] - answer[x][at]
        bob, eve = g.risks(seen, [prefix[k] for prefix in prefixes])
        value, scale = value + w * (bob - lam * eve), scale + w * (bob + lam * eve)
        near += w * g.allowance(lam, unit)
    bound = sum(m * min(row) for m, row in zip(p, total))
    need(value - bound <= near, f"the sum is {shown(value)}, the proof only shows {shown(bound)}")
    need(abs(value - read(document["value"])) <= near + ROUNDING * scale * floats, "the sum is another one")
    return f"the sum over the tiers {shown(value) if floats else value} is optimal"


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
        texts = ["format", "version", "made", "how", "method"]
        keyed(manifest, [*texts, "lambda", "conditions", "source", "files"])
        need(all(type(manifest[k]) is str for k in texts) and manifest["format"] == "bap-lp bundle 1", "manifest.json")
        source = {} if manifest["source"] is None else keyed(manifest["source"], ["name", "sha256"])
        need(all(type(v) is str for v in source.values()), "source")
        for name, digest in keyed(manifest["files"], names[1:]).items():
            need(hashlib.sha256(raw[name]).hexdigest() == digest, f"{name} is not the file of the manifest")
        problem, mechanism, certificate = (parsed(raw[name], name) for name in names[1:])
        affordable(problem, mechanism, certificate)
        kind = problem_kind(problem)
        judge = {"scenarios": check_worst_case, "tiers": check_tiers}.get(kind, check_single)
        proved = judge(problem, mechanism, certificate, allow_float)
        lams = [one["alice"]["lambda"] for one in problem[kind]] if kind else problem["alice"]["lambda"]
        stated, wanted = (manifest["lambda"], manifest["conditions"]), (lams, problem.get("conditions", {}))
        need(json.dumps(stated, sort_keys=True) == json.dumps(wanted, sort_keys=True), "the manifest has other demands")
        return proved
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
            if not re.fullmatch("[0-9]{1,18}", value) or name not in (*LIMITS, "depth", "memory"):
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
