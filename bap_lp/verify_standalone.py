"""Check a bundle of bap-lp with the standard library alone:  python verify_standalone.py DIR [--allow-float]

Exit code 0: mechanism.json is optimal for problem.json, and certificate.json proves it. Exit code 1: it is not proved;
stderr says why. This file imports nothing of bap-lp and may be copied. Everything is computed in fractions.

The problem: data x with probability p(x), Bob's loss B(x,i), losses E(x,j) of Eves g (weighted). A mechanism sends
signal s, which tells Bob to decide i_s, with probability q(s|x). Alice wants the least R_A = R_B - lam R_E, where
    R_B = sum_xs p(x) q(s|x) B(x,i_s)      R_E = sum_sg min_{j in g} sum_x p(x) q(s|x) E(x,j).
The proof: conditions are rows  C q + D t + F a <= r  in q, in Eve's risks t[s,g], and in columns 0 <= a <= 1. For all
u >= 0 and w >= 0 with  sum_{j in g} u[s,j] = lam - (D'w)[s,g]  no mechanism that meets the conditions has R_A below
    sum_x min_s (p(x) B(x,i_s) - sum_j u[s,j] p(x) E(x,j) + (C'w)[x,s]) + sum min(0, F'w) - w.r         (weak duality).
The mechanism must attain this bound. Deterministic mechanisms and few signals may need a bound case by case, or a trial
of all maps. A float is the fraction it is; rows that should sum to something are scaled to it, and the gap may be 1e-9
of the spread R_B(null) - R_B(full) + lam (R_E(null) - R_E(full)) plus 2^-46 of the range of the losses.
"""

import hashlib
import json
import math
import os
import re
import sys
from fractions import Fraction as F
from itertools import product

LIMITS = {"bytes": 2**28, "digits": 20_000, "keys": 10_000, "columns": 100_000, "cells": 20_000_000, "bits": 100_000,
          "parts": 5_000_000, "maps": 100_000}  # fmt: skip
NUMBER = re.compile(r"[-+]?([0-9]+(/[0-9]+)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?)")
TOLERANCE, ROUNDING, MOST = F(1e-9), F(2) ** -46, 10**300
LOWEST = {
    "min_eve_risk": 0,
    "max_bob_risk": 0,
    "exp_epsilon": 1,
    "epsilon": 0,
    "margin": 0,
    "delta": 0,
    "max_leakage": 1,
}
OTHERS = ("neighbours", "metric", "deterministic", "max_signals", "posterior_caps", "posterior_ratio", "independent_of",
          "signal_floor", "pufferfish")  # fmt: skip
WIDTHS = {"privacy": 3, "approximate_privacy": 3, "beliefs": 3, "max_leakage": 2, "posterior_caps": 2,
          "posterior_ratio": 2, "independent_of": 2, "signal_floor": 2, "pufferfish": 2}  # fmt: skip
PRICES = {"prices", "obedience", *WIDTHS}


class Refused(Exception):
    """Why a bundle is not proved."""


def need(good, why):
    if not good:
        raise Refused(why)


# ---- reading: strict JSON, strict numbers


def parsed(raw, name):
    def table(pairs):
        need(len(pairs) <= LIMITS["keys"] and len({k for k, _ in pairs}) == len(pairs), f"{name}: keys repeat")
        return dict(pairs)

    def integer(digits):
        need(len(digits) <= LIMITS["digits"], f"{name}: too many digits")
        return int(digits)

    text = raw.decode("utf-8-sig")
    document = json.loads(text, object_pairs_hook=table, parse_int=integer)
    json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair is not text
    need(type(document) is dict, f"{name} is not a table")
    return document


def keys(table, known, required=()):
    need(type(table) is dict and set(required) <= set(table) <= set(known), f"keys must be {sorted(known)}")
    return table


def number(v, long=False):
    """A fraction if it is written exactly, else a float."""
    if type(v) is str:
        v = v.strip(" \t\r\n")
        need(len(v) <= 2 * LIMITS["digits"] + 8 and NUMBER.fullmatch(v), f"{v[:40]!r} is not a number")
        whole = not re.search("[.eE]", v)
        most = LIMITS["digits"] if whole and ("/" in v or long) else 300
        need(all(len(part.lstrip("+")) <= most for part in v.split("/")), "too many digits")
        power = re.search("[eE](.*)", v)
        need(not power or abs(int(power[1])) <= 300, "too large an exponent")
        need("/" not in v or v.split("/")[1].strip("0"), "divides by zero")
        return F(v)
    need(type(v) is int or (type(v) is float and math.isfinite(v)), "not a finite number")
    return F(v) if type(v) is int else v


def table_of(rows, read=number):
    need(
        type(rows) is list and rows and all(type(r) is list and r and len(r) == len(rows[0]) for r in rows), "no table"
    )
    return [[read(v) for v in row] for row in rows]


def positive(v):
    v = number(v)
    need(0 <= v <= MOST, "a number is negative or too large")
    return v


def signed(v):
    return number(v, True)


def labels(names, count):
    need(type(names) is list and all(type(n) is str and n for n in names), "labels must be texts")
    need(len(names) == count == len(set(names)), "labels must be distinct, one per item")
    return names


def floating(*values):
    return any(type(v) is float or (type(v) is list and floating(*v)) for v in values)


class Player:
    """A Bob or an Eve: decisions, losses, what Alice counts, beliefs, and k(z|x) for each z an Eve may know."""

    def __init__(self, table, prior, role):
        parts, more = {"name", "weight", "decisions", "loss"}, {"harm", "prior"}
        keys(table, parts | more | ({"knows", "knowledge"} if role == "eve" else set()), parts)
        self.name, self.weight, self.loss = table["name"], number(table["weight"]), table_of(table["loss"], positive)
        need(self.weight > 0 and len(self.loss) == len(prior), "an agent does not fit")
        self.decisions = labels(table["decisions"], len(self.loss[0]))
        self.harm = self.loss if "harm" not in table else table_of(table["harm"], positive)
        need([len(r) for r in self.harm] == [len(r) for r in self.loss], "harm must have the shape of the loss")
        self.prior = prior if "prior" not in table else distribution(table["prior"], len(prior))
        self.shares = [[F(1)] for _ in prior]
        need(not {"knows", "knowledge"} <= set(table), "knows or knowledge, one of the two")
        if "knows" in table:
            need(type(table["knows"]) is list and len(table["knows"]) == len(prior), "knows does not fit")
            need(all(type(z) is int or (type(z) is str and z) for z in table["knows"]), "knows must be labels")
            values = list(dict.fromkeys(map(str, table["knows"])))
            self.shares = [[F(str(z) == v) for v in values] for z in table["knows"]]
        if "knowledge" in table:
            need(type(table["knowledge"]) is list and len(table["knowledge"]) == len(prior), "knowledge does not fit")
            self.shares = [distribution(row, None) for row in table["knowledge"]]
            need(len({len(row) for row in self.shares}) == 1, "knowledge must be a table")
            if floating(*self.shares):
                self.shares = [[float(v) for v in row] for row in self.shares]
        self.exact = not floating(self.weight, self.loss, self.harm, self.prior, self.shares)


def distribution(row, count):
    row = table_of([row], positive)[0]
    need(count is None or len(row) == count, "a distribution has the wrong length")
    need(abs(sum(map(float, row)) - 1) <= 1e-12 if floating(row) else sum(row) == 1, "a distribution must sum to 1")
    return [float(v) for v in row] if floating(row) else row


class Game:
    """A problem in fractions; with `floats` its numbers are rounded first, as the solver did."""

    def __init__(self, document, floats=False):
        parts = {"title", "data", "bob", "eve", "alice"}
        keys(document, parts | {"conditions"}, parts)
        need(type(document["title"]) is str, "title must be a text")
        data = keys(document["data"], {"labels", "prior"}, {"labels", "prior"})
        prior = distribution(data["prior"], None)
        self.states, self.N = labels(data["labels"], len(prior)), len(prior)
        groups = [document["bob"], document["eve"]]
        need(all(type(group) is list and group for group in groups), "an agent is missing")
        bobs, eves = ([Player(one, prior, role) for one in g] for g, role in zip(groups, ("bob", "eve")))
        for group in (bobs, eves):
            labels([one.name for one in group], len(group))
        self.lam = positive(keys(document["alice"], {"lambda"}, {"lambda"})["lambda"])
        self.exact = not floating(prior) and all(a.exact for a in bobs + eves)
        kind = (lambda v: v) if self.exact and not floats else float
        over = lambda f, *tables: [[f(*map(kind, cells)) for cells in zip(*rows)] for rows in zip(*tables)]
        times = lambda w, table: over(lambda v: kind(w) * v, table)
        columns = math.prod(len(a.decisions) for a in bobs)
        need(len(bobs) == 1 or (columns <= LIMITS["columns"] and columns * self.N <= LIMITS["cells"]), "too large")
        total = times(bobs[0].weight, bobs[0].harm)
        for extra in bobs[1:]:
            total = [[a + b for a in row for b in more] for row, more in zip(total, times(extra.weight, extra.harm))]
        self.p, self.B = [F(kind(v)) for v in prior], [[F(v) for v in row] for row in total]
        self.E, self.groups, self.replies, self.shares = [[] for _ in prior], [], [], []
        self.beliefs = [self.belief(a, kind, times, None) for a in bobs]
        for a in eves:
            counted = times(a.weight, a.harm)
            for z in range(len(a.shares[0])):
                share = [kind(row[z]) for row in a.shares]
                start = len(self.E[0])
                for x, row in enumerate(counted):
                    self.E[x] += [F(share[x] * v) for v in row]
                self.groups.append(range(start, len(self.E[0])))
                self.replies.append(a.decisions)
                self.shares.append([F(v) for v in share])
                known = len(a.shares[0]) > 1 or any(v != 1 for v in share)
                self.beliefs.append(self.belief(a, kind, times, share if known else None))
        self.decisions = [", ".join(d) for d in product(*(a.decisions for a in bobs))]
        self.sizes = [len(a.decisions) for a in bobs]
        rounded = lambda table: [[kind(v) for v in row] for row in table]
        same = lambda a, b: rounded(a) == rounded(b)
        self.aligned = all(same(a.harm, a.loss) and same([a.prior], [prior]) for a in bobs + eves)
        self.eves = [(a.name, rounded(a.harm), rounded(a.shares)) for a in eves]
        self.conditions = document.get("conditions", {})

    @staticmethod
    def belief(agent, kind, times, share):
        """What an agent acts on: pi(x) and pi(x) w L(x,d); and the largest w L."""
        loss, mass = times(agent.weight, agent.loss), [kind(v) for v in agent.prior]
        mass = mass if share is None else [m * v for m, v in zip(mass, share)]
        act = [[F(m * v) for v in row] for m, row in zip(mass, loss)]
        return [F(m) for m in mass], act, F(max(map(max, loss)))

    def tuples(self):
        """One signal per tuple of everybody's decisions: names, Bob's decisions, Eves' columns of E."""
        count = len(self.decisions) * math.prod(len(g) for g in self.groups)
        need(count <= LIMITS["columns"] and count * self.N <= LIMITS["cells"], "too many tuples of decisions")
        each = list(product(range(len(self.decisions)), *self.groups))
        words = [", ".join(d) for d in product(*self.replies)]
        return [f"{i} / {j}" for i in self.decisions for j in words], [t[0] for t in each], [t[1:] for t in each]

    def spreads(self):
        """What Bob and Eve gain from the data, and the range of their losses."""
        gain = lambda L, g: min(sum(p * r[j] for p, r in zip(self.p, L)) for j in g) - sum(
            p * min(r[j] for j in g) for p, r in zip(self.p, L))  # fmt: skip
        wide = lambda L, g: sum(
            p * (max(r[j] for j in g) - min(r[j] for j in g)) for p, r in zip(self.p, L))  # fmt: skip
        own, hers = range(len(self.B[0])), self.groups
        return (gain(self.B, own), sum(gain(self.E, g) for g in hers)), (
            wide(self.B, own), sum(wide(self.E, g) for g in hers))  # fmt: skip

    def allowance(self, lam, unit):
        """The largest gap between value and bound."""
        if not unit:
            return F(0)
        (bob, eve), (b, e) = self.spreads()
        return unit * (bob + lam * eve) + ROUNDING * (b + lam * e)

    def heard(self, q):
        """sum_x p(x) q(s|x) E(x,j) and the same with B, for every signal and decision."""
        joint = [[p * v for v in row] for p, row in zip(self.p, q)]
        return ([[sum(joint[x][s] * L[x][j] for x in range(self.N) if joint[x][s]) for j in range(len(L[0]))]
                 for s in range(len(q[0]))] for L in (self.E, self.B))  # fmt: skip

    def risks(self, q, told, eve=None):
        """R_B and R_E of a channel whose signal s tells Bob to decide told[s], and perhaps the Eves eve[s]."""
        hers, his = map(list, self.heard(q))
        bob = sum(his[s][i] for s, i in enumerate(told))
        if eve is not None:
            return bob, sum(hers[s][j] for s, own in enumerate(eve) for j in own)
        return bob, sum(min(row[j] for j in g) for row in hers for g in self.groups)


# ---- conditions: each notion has a check by definition and rows; a new one is two functions and a line in NOTIONS


class Demands:
    """Conditions as they are written, in fractions, for a game and its signals: what Bob and the Eves are told."""

    def __init__(self, game, table):
        keys(table, {*LOWEST, *OTHERS})
        given = {k: v for k, v in table.items() if v is not None}
        for name in [k for k in given if k in LOWEST]:
            given[name] = number(given[name])
            need(LOWEST[name] <= given[name] <= MOST, f"{name} is out of range")
        need(type(table.get("deterministic", False)) is bool, "deterministic must be true or false")
        if not given.get("deterministic"):
            given.pop("deterministic", None)
        most = given.get("max_signals", 1)
        need(type(most) is int and most >= 1, "max_signals must be a positive integer")
        self.game, self.given, self.unit = game, given, F(0)
        numbers = ("min_eve_risk", "max_bob_risk", "margin", "max_leakage", "delta")
        self.floor, self.cap, self.m, self.leak, self.delta = (F(given[k]) if k in given else None for k in numbers)
        self.most, self.deterministic = given.get("max_signals"), "deterministic" in given
        self.exact = not floating(*(given[k] for k in given if k in LOWEST)) and not given.get("epsilon")
        self.private(given)
        self.floored = []  # the column of E that each row of signal_floor is about
        self.cones = {name: self.cone(name, given[name]) for name in CONES if name in given}
        self.own_beliefs = not game.aligned
        self.tuples = self.m is not None or self.own_beliefs
        every = list(range(len(game.decisions)))
        self.names, self.told, self.eve = game.tuples() if self.tuples else (game.decisions, every, None)

    def stated(self):
        pairs = {"neighbours": {frozenset(p) for p in self.d}} if "neighbours" in self.given else {}
        return self.given | pairs | ({"metric": self.d} if "metric" in self.given else {})

    # differential privacy: q(s|x) <= K^d(x,y) q(s|y); with delta: sum_s max(0, q(s|x) - K^d(x,y) q(s|y)) <= delta

    def private(self, given):
        self.K, self.d, N = None, None, self.game.N
        kinds = {"epsilon", "exp_epsilon"}, {"neighbours", "metric"}
        need(not any(kind <= set(given) for kind in kinds), "two conditions of a kind")
        if not kinds[0] & set(given):
            return need(not (kinds[1] | {"delta"}) & set(given), "privacy needs epsilon")
        self.K = ratio_of(given)
        self.log = log(self.K)
        if "neighbours" in given:
            need(type(given["neighbours"]) is list, "neighbours must be a list")
            self.d = {}
            for pair in given["neighbours"]:
                need(type(pair) is list and len(pair) == 2, "no pair of states")
                x, y = (self.state(x) for x in pair)
                self.d |= {(x, y): F(1), (y, x): F(1)} if x != y else {}
        if "metric" in given:
            rows = given["metric"]
            need(type(rows) is list and len(rows) == N and all(type(r) is list and len(r) == N for r in rows), "metric")
            far = lambda v: None if v is None or v == "inf" else at_least_zero(v)
            found = {(x, y): far(v) for x, r in enumerate(rows) for y, v in enumerate(r)}
            self.d = {(x, y): F(v) for (x, y), v in found.items() if v is not None and x != y}
            self.exact = self.exact and all(v is None or (type(v) is F and v.denominator == 1) for v in found.values())
        steps = self.delta is None or self.delta == 0  # then a pair may be implied by two others
        for (x, z), d in (self.d or {}).items() if steps or self.delta < 1 else ():
            step = lambda y: self.d.get((x, y), 0) > 0 and self.d.get((y, z), 0) > 0
            implied = steps and any(step(y) and self.d[x, y] + self.d[y, z] <= d for y in range(N))
            need(implied or self.ratio(d) is not None, "exp(eps d) is too large")

    def state(self, x):
        need(type(x) in (int, str), "no state")
        x = self.game.states.index(x) if type(x) is str and x in self.game.states else x
        need(type(x) is int and 0 <= x < self.game.N, "no state")
        return x

    def ratio(self, d):
        """K^d, None if it is too large to be written down."""
        if self.K == 1 or d is None:
            return self.K
        if float(d) * self.log > 600:
            return None
        if d.denominator != 1:
            return F(float(self.K) ** float(d))
        return self.K ** int(d) if d * bits(self.K) <= LIMITS["bits"] else None

    def too_likely(self, a, b, d):
        """Whether a > K^d b."""
        ratio = self.ratio(d)
        if ratio is not None:
            return a > b * ratio + self.unit * a
        if a == 0 or b == 0:
            return a > 0
        room = float(d) * self.log
        over = log(a / b) - room
        if d.denominator != 1 or abs(over) > 1e-9 * room:
            return over > 1e-9 * room
        return d * bits(self.K) > LIMITS["bits"] or a > self.K ** int(d) * b

    def privacy_holds(self, q):
        if self.d is None:
            return all(max(c) <= self.K * min(c) + self.unit * max(c) for c in zip(*q))
        return not any(self.too_likely(a, b, d) for (x, y), d in self.d.items() for a, b in zip(q[x], q[y]))

    def privacy_row(self, place, told, eve):
        s, x, y = place
        need(0 <= s < len(told) and 0 <= x < self.game.N and 0 <= y < self.game.N, "privacy of no signal or state")
        need(self.d is None or (x, y) in self.d, "privacy of states that are no neighbours")
        ratio = self.ratio(None if self.d is None else self.d[x, y])
        need(ratio is not None, "privacy of states that are no neighbours")
        return [(x, s, F(1)), (y, s, -ratio)], [], [], F(0)

    def delta_holds(self, q):
        pairs = self.d or dict.fromkeys(product(range(self.game.N), repeat=2)) if self.d is None else self.d
        for (x, y), d in pairs.items():
            ratio = self.ratio(d)
            if sum(max(F(0), a - ratio * b) for a, b in zip(q[x], q[y])) > self.delta + self.unit:
                return False
        return True

    def delta_row(self, place, told, eve):
        s, x, y = place
        entries = self.privacy_row((max(s, 0) if s >= -1 else s, x, y), told, eve)[0]
        need(x != y, "a state is compared with itself")
        if s >= 0:
            return entries, [], [((x, y, s), F(-1))], F(0)
        return [], [], [((x, y, t), F(1)) for t in range(len(told))], self.delta

    # R_E at least, R_B at most, sum_s max_x q(s|x) at most

    def near(self, k, size):
        return self.unit * self.game.spreads()[0][k] + ROUNDING * size if self.unit else F(0)

    def floor_holds(self, q):
        return self.game.risks(q, self.told, self.eve)[1] >= self.floor - self.near(1, self.floor)

    def floor_row(self, place, told, eve):
        return [], [(s, k, F(-1)) for s in range(len(told)) for k in range(len(self.game.groups))], [], -self.floor

    def cap_holds(self, q):
        return self.game.risks(q, self.told)[0] <= self.cap + self.near(0, self.cap)

    def cap_row(self, place, told, eve):
        g = self.game
        return [(x, s, g.p[x] * g.B[x][i]) for x in range(g.N) for s, i in enumerate(told)], [], [], self.cap

    def leak_holds(self, q):
        return sum(map(max, zip(*q))) <= self.leak + self.unit * self.leak

    def leak_row(self, place, told, eve):
        s, x = place
        if place == (-1, -1):
            return [], [], [(t, F(1)) for t in range(len(told))], self.leak
        need(0 <= s < len(told) and 0 <= x < self.game.N, "a price of max_leakage is about none of its rows")
        return [(x, s, F(1))], [], [(s, F(-1))], F(0)

    # one signal at a time: sum_x g(x) q(s|x) <= 0 for every signal and vector g

    def cone(self, name, value):
        g, out = self.game, []
        rows = value if type(value) is list else [value]
        if name == "signal_floor":
            floors = value.items() if type(value) is dict else value if type(value) is list else None
            if floors is not None:
                need(floors and all(type(p) in (list, tuple) and len(p) == 2 for p in floors), "signal_floor")
                floors = [(str(eve), self.small(v, 0, MOST)) for eve, v in floors]
                need({eve for eve, _ in floors} <= {eve for eve, _, _ in g.eves}, "signal_floor names no Eve")
                self.given[name] = tuple(floors)
            else:
                self.given[name] = self.small(value, 0, MOST)
                floors = [(eve, self.given[name]) for eve, _, _ in g.eves]
            floors = dict(floors)
            columns = (j for group in g.groups for j in group)
            for eve, harm, shares in g.eves:
                for (z, j), column in zip(product(range(len(shares[0])), range(len(harm[0]))), columns):
                    if eve in floors:
                        rows = zip(g.p, shares, harm)
                        out.append([p * F(k[z]) * (F(floors[eve]) - F(row[j])) for p, k, row in rows])
                        self.floored.append(column)
            return out
        need(type(value) is list or (name == "pufferfish" and type(value) is dict), f"{name} must be a list")
        stated = []
        for row in rows:
            out += getattr(self, name)(row, stated)
        self.given[name] = stated
        return out

    def small(self, v, low, high):
        v = number(v)
        need(low <= v <= high, "a number is out of range")
        self.exact = self.exact and type(v) is not float
        return v

    def event(self, states, stated):
        need(type(states) is list and states and all(type(x) in (int, str) for x in states), "an event lists states")
        stated.append(states)
        inside = {self.state(x) for x in states}
        return [F(x in inside) for x in range(self.game.N)]

    def factor(self, row, stated):
        """K of a demand with exp_epsilon or epsilon."""
        given = {k: self.small(row[k], low, MOST) if k == "exp_epsilon" else number(row[k])
                 for k, low in (("exp_epsilon", 1), ("epsilon", 0)) if row.get(k) is not None}  # fmt: skip
        need(len(given) == 1 and 0 <= given.get("epsilon", 0) <= MOST, "exp_epsilon or epsilon, one of the two")
        self.exact = self.exact and not given.get("epsilon")
        stated.append(given)
        return ratio_of(given)

    def posterior_caps(self, row, stated):
        keys(row, {"event", "at_most", "at_least"}, {"event"})
        inside, p = self.event(row["event"], stated), self.game.p
        high, low = (self.small(row[k], 0, 1) if row.get(k) is not None else None for k in ("at_most", "at_least"))
        need((high is not None or low is not None) and (None in (high, low) or low <= high), "posterior_caps")
        stated.append((high, low))
        return [
            [sign * m * (i - F(c)) for m, i in zip(p, inside)] for c, sign in ((high, 1), (low, -1)) if c is not None
        ]

    def posterior_ratio(self, row, stated):
        keys(row, {"event", "exp_epsilon", "epsilon"}, {"event"})
        inside, p = self.event(row["event"], stated), self.game.p
        K, whole, rest = self.factor(row, stated), *self.shares(inside)
        high, low = (rest - (K - 1) * whole, -K * whole), ((1 - K) * whole - K * rest, whole)
        return [[m * (a if i else b) for m, i in zip(p, inside)] for a, b in (high, low)]

    def independent_of(self, row, stated):
        inside, p = self.event(row, stated), self.game.p
        whole, rest = self.shares(inside)
        return [[sign * m * (rest if i else -whole) for m, i in zip(p, inside)] for sign in (1, -1)]

    def shares(self, inside):
        """P(A) and 1 - P(A), each a sum, as rounded probabilities need not sum to one."""
        return (sum(m for m, i in zip(self.game.p, inside) if bool(i) is own) for own in (True, False))

    def pufferfish(self, row, stated):
        keys(row, {"pairs", "priors", "exp_epsilon", "epsilon"}, {"pairs"})
        K, out = self.factor(row, stated), []
        need(
            type(row["pairs"]) is list and all(type(p) is list and len(p) == 2 for p in row["pairs"]), "pairs of events"
        )
        pairs = [[self.event(event, stated) for event in pair] for pair in row["pairs"]]
        priors = row.get("priors")
        need(priors is None or (type(priors) is list and priors), "priors must be a list")
        read = [self.game.p] if priors is None else [distribution(r, self.game.N) for r in priors]
        stated.append(None if priors is None else read)
        self.exact = self.exact and (priors is None or not floating(read))
        for r in [[F(v) for v in one] for one in read]:
            for pair in pairs:
                masses = [sum(m * i for m, i in zip(r, inside)) for inside in pair]
                if all(masses):
                    a, b = ([m * i / mass for m, i in zip(r, inside)] for inside, mass in zip(pair, masses))
                    out += [[u - K * v for u, v in zip(a, b)], [u - K * v for u, v in zip(b, a)]]
        return out

    def cone_holds(self, name, q):
        for k, g in enumerate(self.cones[name]):
            for s, column in enumerate(zip(*q)):
                if not self.about(name, s, k, self.eve):
                    continue
                size = sum(abs(v) * c for v, c in zip(g, column)) if self.unit else 0
                if sum(v * c for v, c in zip(g, column)) > self.unit * size:
                    return False
        return True

    def about(self, name, s, k, eve):
        """Whether a vector speaks about a signal: with own beliefs, a floor only about what she is told there."""
        return name != "signal_floor" or self.game.aligned or self.floored[k] in eve[s]

    def cone_row(self, name, place, told, eve):
        s, k = place
        known = 0 <= s < len(told) and 0 <= k < len(self.cones[name]) and self.about(name, s, k, eve)
        need(known, f"a price of {name} is about none of its rows")
        return [(x, s, v) for x, v in enumerate(self.cones[name][k]) if v], [], [], F(0)

    # every decision better than any other by m P(signal); decisions of Bob first, then of the Eves

    def own(self, s, d, told, eve):
        b = len(self.game.decisions)
        return told[s] if d < b else b + next(e for e, g in zip(eve[s], self.game.groups) if d - b in g)

    def share(self, x, d):
        """The probability with which the agent of decision d is at hand."""
        b = len(self.game.decisions)
        return F(1) if d < b else next(k[x] for k, g in zip(self.game.shares, self.game.groups) if d - b in g)

    def margin_holds(self, q):
        g = self.game
        eves, bobs = map(list, g.heard(q))
        near = self.unit * max(max(row) - min(row) for L in (g.B, g.E) for row in L)
        for s in range(len(q[0])):
            played = bobs[s] + eves[s]
            for d, loss in enumerate(played):
                own = self.own(s, d, self.told, self.eve)
                if own != d:
                    mass = sum(p * row[s] * self.share(x, d) for x, (p, row) in enumerate(zip(g.p, q)))
                    if played[own] + self.m * mass > loss + near:
                        return False
        return True

    def margin_row(self, place, told, eve):
        (s, d), g = place, self.game
        own = self.own(s, d, told, eve)
        need(own != d, "obedience has a price for the decision itself")
        L = [b + e for b, e in zip(g.B, g.E)]
        return [(x, s, g.p[x] * (L[x][own] - L[x][d] + self.m * self.share(x, d))) for x in range(g.N)], [], [], F(0)

    # agents with beliefs or losses of their own follow what they are told

    def prescribed(self, s, told, eve):
        """What signal s prescribes to every agent, Bobs first."""
        out, rest = [], told[s]
        for size in reversed(self.game.sizes):
            rest, d = divmod(rest, size)
            out.insert(0, d)
        return out + [j - g.start for j, g in zip(eve[s], self.game.groups)]

    def beliefs_hold(self, q):
        m = self.m or F(0)
        for s, column in enumerate(zip(*q)):
            for own, (mass, act, size) in zip(self.prescribed(s, self.told, self.eve), self.game.beliefs):
                losses = [sum(c * v for c, v in zip(column, row)) for row in zip(*act)]
                others, sent = losses[:own] + losses[own + 1 :], sum(c * v for c, v in zip(column, mass))
                if others and losses[own] + m * sent > min(others) + self.unit * (size + m):
                    return False
        return True

    def beliefs_row(self, place, told, eve):
        s, a, d = place
        need(0 <= s < len(told) and 0 <= a < len(self.game.beliefs), "a price of beliefs is about none of its rows")
        (mass, act, _), own = self.game.beliefs[a], self.prescribed(s, told, eve)[a]
        need(0 <= d < len(act[0]) and d != own, "a price of beliefs is about none of its rows")
        m = self.m or F(0)
        return [(x, s, act[x][own] - act[x][d] + m * mass[x]) for x in range(self.game.N)], [], [], F(0)

    def set_holds(self, q):
        good = self.most is None or sum(any(v > 0 for v in c) for c in zip(*q)) <= self.most
        return good and (not self.deterministic or all(v == 0 or abs(v - 1) <= self.unit for row in q for v in row))

    def asked(self, name):
        return name in self.cones if name in CONES else NOTIONS[name][0](self)

    def row(self, name, *where):
        return self.cone_row(name, *where) if name in CONES else NOTIONS[name][2](self, *where)

    def broken(self, q):
        for name in (*NOTIONS, *self.cones):
            holds = self.cone_holds(name, q) if name in CONES else not self.asked(name) or NOTIONS[name][1](self, q)
            if not holds:
                return name
        return "" if self.set_holds(q) else "the limits on signals"

    def everywhere(self):
        """Whether a condition speaks about states of probability zero."""
        pairs = self.K is not None and self.d is not None and not (self.delta or 0) >= 1
        null = [x for x, p in enumerate(self.game.p) if p == 0]
        return pairs or any(g[x] for cone in self.cones.values() for g in cone for x in null)


CONES = ("posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish")
NOTIONS = {
    "min_eve_risk": (lambda c: c.floor is not None, Demands.floor_holds, Demands.floor_row),
    "max_bob_risk": (lambda c: c.cap is not None, Demands.cap_holds, Demands.cap_row),
    "max_leakage": (lambda c: c.leak is not None, Demands.leak_holds, Demands.leak_row),
    "privacy": (lambda c: c.K is not None and not c.delta, Demands.privacy_holds, Demands.privacy_row),
    "approximate_privacy": (lambda c: bool(c.delta) and c.delta < 1, Demands.delta_holds, Demands.delta_row),
    "margin": (lambda c: c.m is not None and c.game.aligned, Demands.margin_holds, Demands.margin_row),
    "beliefs": (lambda c: not c.game.aligned, Demands.beliefs_hold, Demands.beliefs_row),
}


def ratio_of(given):
    """K = exp_epsilon or exp(epsilon)."""
    eps, K = given.get("epsilon"), given.get("exp_epsilon")
    need((float(eps) if K is None else log(F(K))) <= 600, "epsilon is too large")
    return F(K) if K is not None else F(1) if eps == 0 else F(math.exp(eps))


def at_least_zero(v):
    v = number(v)
    need(v >= 0, "a distance is negative")
    return v


def log(v):
    return math.log1p(float(v - 1)) if F(1, 2) < v < 2 else math.log(v.numerator) - math.log(v.denominator)


def bits(v):
    return max(v.numerator.bit_length(), v.denominator.bit_length())


# ---- the proof


def prices_of(document, read):
    """The multipliers of a certificate or a branch: (notion, place, weight)."""
    limits = keys(document.get("prices", {}), {"min_eve_risk", "max_bob_risk"})
    out = [(name, (), read(w)) for name, w in limits.items()]
    for name, width in WIDTHS.items():
        rows = document.get(name, [])
        need(type(rows) is list, f"{name} must be a list")
        for row in rows:
            need(
                type(row) is list and len(row) == width + 1 and all(type(v) is int for v in row[:-1]), f"{name}: no row"
            )
            out.append((name, tuple(row[:-1]), read(row[-1])))
    table = document.get("obedience", [])
    table = table_of(table, read) if table else need(type(table) is list, "obedience must be a list") or []
    return out, table


def bound_of(game, demands, told, eve, lam, beta, u, prices, obedience, allowed=None):
    """What the multipliers prove about beta R_B - lam R_E of channels that send only allowed[x]."""
    S, b = len(told), len(game.decisions)
    need(len(u) == S and len(u[0]) == len(game.E[0]), "u has the wrong shape")
    rows = [row for row in prices if row[2] != 0]
    if demands.asked("margin"):
        need(len(obedience) == S and len(obedience[0]) == b, "a margin needs prices of Bob's obedience")
        rows += [("margin", (s, b + j), w) for s, r in enumerate(u) for j, w in enumerate(r) if w]
    rows += [("margin", (s, i), w) for s, r in enumerate(obedience) for i, w in enumerate(r) if w]
    need(min(min(r) for r in u) >= 0 and all(w >= 0 for _, _, w in rows), "a multiplier is negative")
    cost = [[beta * game.p[x] * game.B[x][i] for i in told] for x in range(game.N)]
    risk, constant, extra = [[lam] * len(game.groups) for _ in told], F(0), {}
    for name, place, w in rows:
        need(demands.asked(name), f"there is a price for {name}, which is no condition")
        q, t, a, rhs = demands.row(name, place, told, eve)
        for x, s, v in q:
            cost[x][s] += w * v
        for s, k, v in t:
            risk[s][k] -= w * v
        for column, v in a:
            extra[name, column] = extra.get((name, column), F(0)) + w * v
        constant -= w * rhs
    for s in range(S):
        for k, g in enumerate(game.groups):
            if eve is not None:
                share = {eve[s][k]: risk[s][k]}
            else:
                total = sum(u[s][j] for j in g)
                need(abs(total - risk[s][k]) <= demands.unit * abs(risk[s][k]), f"u[{s}] has the wrong sum")
                share = {j: u[s][j] * (risk[s][k] / total if total else 1) for j in g if u[s][j]}
            for x in range(game.N):
                cost[x][s] -= game.p[x] * sum(v * game.E[x][j] for j, v in share.items())
    least = sum(min(r if allowed is None else [r[s] for s in allowed[x]]) for x, r in enumerate(cost))
    return least + constant + sum(min(F(0), v) for v in extra.values())


def read_branch(branch, game, S, read):
    """The signals, allowed signals by state, whether some states are limited, void, u, prices and obedience."""
    keys(branch, {"signals", "u", "states", "void"} | PRICES, {"signals", "u"})
    keep, few = branch["signals"], {}
    need(positions(keep, S) and type(branch.get("states", [])) is list, "a branch is about no signals")
    for row in branch.get("states", []):
        need(type(row) is list and len(row) == 2 and positions([row[0]], game.N), "a branch is about no states")
        need(positions(row[1], len(keep)), "a branch is about no signals")
        few[row[0]] = sorted(set(row[1]))
    allowed = [few.get(x, range(len(keep))) for x in range(game.N)]
    return keep, allowed, bool(few), branch.get("void") is True, table_of(branch["u"], read), *prices_of(branch, read)


def by_cases(game, demands, branches, lam, value):
    """The least bound over branches that together contain every mechanism."""
    S, parts = len(demands.told), []
    for keep, allowed, few, void, u, prices, obedience in branches:
        need(keep and all(allowed), "a branch is about no signals")
        parts.append(([sum({1 << keep[s] for s in row}) for row in allowed], few))
        told, eve = [demands.told[s] for s in keep], demands.eve and [demands.eve[s] for s in keep]
        price = F(0) if void else lam
        bound = bound_of(game, demands, told, eve, price, F(not void), u, prices, obedience, allowed)
        need(not void or bound > 0, "a void branch is not proved to be empty")
        value = value if void else min(value, bound)
    if demands.deterministic:
        covers_maps([part for part, _ in parts], game.N, S, demands.most)
    else:
        need(demands.most is not None and demands.most <= S and not any(few for _, few in parts), "no limit on signals")
        covers_signals([(1 << S) - 1 & ~part[0] for part, _ in parts], S, demands.most)
    return value


def positions(values, count):
    return type(values) is list and all(type(v) is int and 0 <= v < count for v in values)


def covers_signals(lacking, S, most):
    """Every set of `most` signals lies in a branch: no such set has a signal that each branch lacks."""
    todo, steps = [(0, 0)], LIMITS["parts"]
    while todo:
        chosen, banned = todo.pop()
        steps -= 1 + len(lacking)
        need(steps >= 0, "the branches are too many to check")
        unmet = [lack & ~banned for lack in lacking if not lack & chosen]
        need(unmet, "no branch is about some set of signals")
        first = min(unmet, key=int.bit_count)
        for s in range(S) if chosen.bit_count() < most else ():
            if first >> s & 1:
                todo.append((chosen | 1 << s, banned))
                banned |= 1 << s


def covers_maps(parts, N, S, most):
    """Every map from states to signals (at most so many of them) follows a branch: split along the branches."""
    todo, steps = [([(1 << S) - 1] * N, parts)], LIMITS["parts"]
    while todo:
        region, near = todo.pop()
        steps -= N * (1 + len(near))
        need(steps >= 0, "the branches are too many to check")
        single = sum({row for row in region if row.bit_count() == 1})
        if most is not None and single.bit_count() >= most:
            region = [row & single if single.bit_count() == most else 0 for row in region]
        if not all(region):
            continue
        near = [part for part in near if all(a & b for a, b in zip(part, region))]
        lacks = [{x for x in range(N) if region[x] & ~part[x]} for part in near]
        if not all(lacks):
            continue
        if near:
            x = max(range(N), key=lambda x: (sum(x in lack for lack in lacks), -x))
            inside = region[x] & next(part[x] for part, lack in zip(near, lacks) if x in lack)
        else:
            divided = [x for x in range(N) if region[x].bit_count() > 1]
            need(most is not None and divided, "no branch is about some map")
            x = divided[0]
            inside = region[x] & -region[x]
        todo += [([*region[:x], part, *region[x + 1 :]], near) for part in (inside, region[x] & ~inside)]


def best_map(game, demands, lam, value):
    """The least R_A of a deterministic mechanism that meets the conditions, if it is below `value`."""
    b, lead = len(game.decisions), next(x for x in range(game.N) if game.p[x])
    free = [x for x in range(game.N) if game.p[x] or demands.everywhere()]
    need(b ** min(len(free), 64) <= LIMITS["maps"] and not demands.tuples, "arithmetic proves less")
    best, common = value, math.lcm(*(v.denominator for row in (*game.B, *game.E) for v in row), lam.denominator)
    scale = common * math.lcm(*(p.denominator for p in game.p))
    bob, eve = ([[int(p * v * scale) for v in r] for p, r in zip(game.p, L)] for L in (game.B, game.E))
    for choice in product(range(b), repeat=len(free)):
        cells = [[0] * len(game.E[0]) for _ in range(b)]
        told = 0
        for x, i in zip(free, choice):
            told += bob[x][i]
            cells[i] = [c + v for c, v in zip(cells[i], eve[x])]
        score = F(told, scale) - lam * F(sum(min(c[j] for j in g) for c in cells for g in game.groups), scale)
        if score < best:
            sent = dict(zip(free, choice))
            q = [
                [F(sent.get(x, sent[lead if lead in sent else free[0]]) == i) for i in range(b)] for x in range(game.N)
            ]
            best = best if demands.broken(q) else score
    return best


def channel_of(document, game, names, finer=None):
    """The mechanism as a channel over the signals of the proof, and what Bob is told if its signals are finer."""
    keys(document, {"name", "states", "signals", "channel"}, {"states", "signals", "channel"})
    need(type(document.get("name", "")) is str, "name must be a text")
    q = table_of(document["channel"], lambda v: positive(v) if type(v) is not str else exact_share(v))
    need(document["states"] == game.states and len(q) == game.N, "the states are not the problem's")
    own, exact = labels(document["signals"], len(q[0])), not floating(q)
    need(all(abs(sum(map(float, r)) - 1) <= 1e-12 if floating(r) else sum(r) == 1 for r in q), "a row must sum to 1")
    q = [[F(v if exact else float(v)) for v in row] for row in q]
    if set(own) <= set(names):
        return expanded(q, [names.index(name) for name in own], len(names)), exact, None, q
    need(finer is not None, "the proof has no such signal")
    known, told, _ = finer()
    need(set(own) <= set(known), "the proof has no such signal")
    bobs = [told[known.index(name)] for name in own]
    return expanded(q, bobs, len(names)), exact, bobs, q


def exact_share(v):
    v = number(v, True)
    need(0 <= v <= MOST, "a probability is out of range")
    return v


def expanded(q, places, width):
    out = [[F(0)] * width for _ in q]
    for x, row in enumerate(q):
        for place, v in zip(places, row):
            out[x][place] += v
    return out


def same_lambda(asked, proved):
    need(float(asked) == proved if type(proved) is float else F(asked) == F(proved), f"it is about lambda = {proved}")


def scaled(q, unit):
    return [[v / sum(row) for v in row] for row in q] if unit else q


def check_single(problem, mechanism, document, allow):
    known = {"lambda", "value", "rho", "u"}
    under = {"conditions", "channel", "branches"} | PRICES
    keys(document, known | under, known)
    conditioned = "conditions" in document
    need(("channel" in document) if conditioned else not under & set(document), "conditions and channel go together")
    branches = document.get("branches", [])
    need(
        type(branches) is list
        and (branches or "branches" not in document)
        and all(type(branch) is dict for branch in branches),
        "branches must be tables",
    )
    parts = [document, *branches]
    tables = [part.get(k, []) for part in parts for k in ("channel", "u", "obedience", *WIDTHS)]
    tables += [list(part["prices"].values()) for part in parts if type(part.get("prices")) is dict]
    floats = floating(document["lambda"], document["value"], document["rho"], tables)
    read = (lambda v: F(float(signed(v)))) if floats else signed
    game = Game(problem, floats)
    need("conditions" not in problem or type(problem["conditions"]) is dict, "conditions must be a table")
    asked = Demands(game, game.conditions)
    demands = Demands(game, document["conditions"]) if conditioned else asked
    need(asked.stated() == demands.stated() and (conditioned or not asked.given), "it supposes other conditions")
    need(floats or (game.exact and demands.exact), "the certificate is exact and the problem is not")
    need(
        not floats or allow or type(game.lam) is float or not (game.exact and demands.exact),
        "the certificate is in floats",
    )
    lam = float(signed(document["lambda"])) if floats else signed(document["lambda"])
    same_lambda(game.lam, lam)
    lam, claimed, unit = F(lam), read(document["value"]), TOLERANCE if floats else F(0)
    demands.unit = unit
    rho, u = table_of(document["rho"], read), table_of(document["u"], read)
    q, exact, finer, sent = channel_of(mechanism, game, demands.names, None if conditioned else game.tuples)
    need(exact == (not floats), "mechanism and certificate must both be exact or both be floats")
    need(len(rho) == game.N and len(rho[0]) == len(q[0]), "rho has the wrong shape")
    wanted, null = rho, [sum(p * row[s] for p, row in zip(game.p, q)) / sum(game.p) for s in range(len(q[0]))]
    for x, p in enumerate(game.p):  # the mechanism is the one of the certificate
        row = [p * v for v in q[x]]
        need(all(abs(a - r) <= unit * p for a, r in zip(row, wanted[x])), "the mechanism is not the one that is proved")
        need(p or conditioned or all(abs(a - b) <= unit for a, b in zip(q[x], null)), "a row is not the null row")
    if conditioned:
        channel = table_of(document["channel"], read)
        need(len(channel) == game.N and len(channel[0]) == len(q[0]), "channel has the wrong shape")
        need(all(abs(a - b) <= unit for r, c in zip(q, channel) for a, b in zip(r, c)), "the mechanism is not the one")
    need(conditioned or game.aligned, "there are no prices of the agents' obedience")
    for channel, told, eve in ((scaled(q, unit), demands.told, demands.eve), (scaled(sent, unit), finer, None)):
        if told is not None:
            bob, eve = game.risks(channel, told, eve)
            value, near = bob - lam * eve, game.allowance(lam, unit)
            rounding = ROUNDING * (bob + lam * eve) if unit else 0
            need(abs(value - claimed) <= near + rounding, f"R_A is {float(value):.9g}, not {float(claimed):.9g}")
    q = scaled(q, unit)
    bob, eve = game.risks(q, demands.told, demands.eve)
    value = bob - lam * eve
    broken = demands.broken(q)
    need(not broken, f"the mechanism breaks {broken}")
    prices, obedience = prices_of(document, read) if conditioned else ([], [])
    branches = [read_branch(branch, game, len(q[0]), read) for branch in branches]
    bound = bound_of(game, demands, demands.told, demands.eve, lam, F(1), u, prices, obedience)
    if value - bound > near and (demands.deterministic or demands.most is not None):
        bound = by_cases(game, demands, branches, lam, value) if branches else None
        if bound is None:
            need(demands.deterministic, "arithmetic proves less")
            bound = best_map(game, demands, lam, value)
    need(value - bound <= near, f"R_A is {float(value):.9g}, the proof only shows {float(bound):.9g}")
    return f"R_A = {value if not unit else float(value)} is optimal" + (
        f" within {float(value - bound):.2g}" if unit else ""
    )


def check_worst_case(problem, mechanism, document, allow):
    names = {"lambdas", "value", "weights", "channel", "replies"}
    keys(document, names, names)
    need(type(problem["scenarios"]) is list and problem["scenarios"], "there are no scenarios")
    need(all(type(document[k]) is list for k in names - {"value"}), "lists are missing")
    floats = floating(*document.values())
    read = (lambda v: F(float(signed(v)))) if floats else signed
    need(not any("conditions" in one and one["conditions"] for one in problem["scenarios"]), "no conditions here")
    games = [Game(one, floats) for one in problem["scenarios"]]
    able = all(g.exact for g in games)
    need(floats or able, "the certificate is exact and a problem is not")
    need(not floats or allow or not able or any(type(g.lam) is float for g in games), "the certificate is in floats")
    need(all(g.states == games[0].states for g in games), "the scenarios have different states")
    lams = [float(signed(v)) if floats else signed(v) for v in document["lambdas"]]
    need(len(lams) == len(games) == len(document["replies"]), "another number of scenarios")
    for g, lam in zip(games, lams):
        same_lambda(g.lam, lam)
    lams, unit, heads, place = [F(v) for v in lams], TOLERANCE if floats else F(0), [], []
    for g in games:  # scenarios with the same prior and losses share their Bob
        head = next((k for k, h in enumerate(heads) if (h.p, h.B) == (g.p, g.B)), len(heads))
        heads += [g] if head == len(heads) else []
        place.append(head)
    need(math.prod(len(h.decisions) for h in heads) <= 4096, "too many profiles of decisions")
    profiles = list(product(*(range(len(h.decisions)) for h in heads)))
    q, exact, _, _ = channel_of(mechanism, games[0], [" | ".join(n) for n in product(*(h.decisions for h in heads))])
    need(exact == (not floats), "mechanism and certificate must both be exact or both be floats")
    channel = table_of(document["channel"], read)
    need([len(r) for r in channel] == [len(r) for r in q], "channel has the wrong shape")
    need(
        all(abs(a - b) <= unit for r, c in zip(q, channel) for a, b in zip(r, c)), "the mechanism is not the one proved"
    )
    q, w = scaled(q, unit), table_of([document["weights"]], read)[0]
    need(len(w) == len(games) and min(w) >= 0 and abs(sum(w) - 1) <= unit, "the weights are no mixture")
    w, values, total = [v / sum(w) for v in w], [], [[F(0)] * len(profiles) for _ in q]
    for k, (g, lam) in enumerate(zip(games, lams)):
        u, told = table_of(document["replies"][k], read), [profile[place[k]] for profile in profiles]
        need(len(u) == len(profiles) and len(u[0]) == len(g.E[0]) and min(map(min, u)) >= 0, "replies do not fit")
        for s, row in enumerate(u):
            share = [F(0)] * len(row)
            for group in g.groups:
                mass, own = sum(row[j] for j in group), w[k] * lam
                need(abs(mass - own) <= unit * (1 + lam), "replies do not sum to weight times lambda")
                for j in group:
                    share[j] = row[j] * (own / mass) if mass else own / len(group)
            for x in range(g.N):
                total[x][s] += g.p[x] * (w[k] * g.B[x][told[s]] - sum(a * b for a, b in zip(share, g.E[x]) if a))
        eve, bob = g.heard(q)
        values.append(sum(map(min, bob)) - lam * sum(min(row[j] for j in group) for row in eve for group in g.groups))
    worst, bound = max(values), sum(map(min, total))
    near = max(g.allowance(lam, unit) for g, lam in zip(games, lams))
    size = max(sum(p * (max(b) + lam * max(e)) for p, b, e in zip(g.p, g.B, g.E)) for g, lam in zip(games, lams))
    need(abs(worst - read(document["value"])) <= near + ROUNDING * size * bool(unit), "the worst case is another one")
    need(worst - bound <= near, "the weights prove less")
    return f"the worst case {worst if not unit else float(worst)} is optimal"


def check(folder, allow_float=False):
    """Why the bundle in `folder` is proved; raises Refused if it is not."""
    names, raw = ("manifest.json", "problem.json", "mechanism.json", "certificate.json"), {}
    digits = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                raw[name] = file.read(LIMITS["bytes"] + 1)
            need(len(raw[name]) <= LIMITS["bytes"], f"{name} is too large")
        manifest, problem, mechanism, certificate = (parsed(raw[name], name) for name in names)
        texts = {"format", "version", "made", "how", "method"}
        known = texts | {"lambda", "conditions", "source", "files"}
        keys(manifest, known, known)
        need(all(type(manifest[k]) is str for k in texts) and manifest["format"] == "bap-lp bundle 1", "manifest.json")
        source = manifest["source"]
        if source is not None:
            need(all(type(v) is str for v in keys(source, {"name", "sha256"}, {"name", "sha256"}).values()), "source")
        for name, digest in keys(manifest["files"], names[1:], names[1:]).items():
            need(hashlib.sha256(raw[name]).hexdigest() == digest, f"{name} is not the file of the manifest")
        robust = set(problem) == {"scenarios"}
        proved = (check_worst_case if robust else check_single)(problem, mechanism, certificate, allow_float)
        prices = [one["alice"]["lambda"] for one in (problem["scenarios"] if robust else [problem])]
        need(same(manifest["lambda"], prices if robust else prices[0]), "the manifest has another lambda")
        need(same(manifest["conditions"], problem.get("conditions", {})), "the manifest has other conditions")
        return proved
    except (ValueError, OSError, RecursionError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise Refused(f"cannot be read: {error}"[:300]) from None
    finally:
        sys.set_int_max_str_digits(digits)


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def main(arguments):
    folders = [a for a in arguments if a != "--allow-float"]
    if len(folders) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    for setting in filter(None, os.environ.get("BAP_LIMITS", "").split(",")):
        name, _, value = setting.strip().partition("=")
        if name in LIMITS:
            LIMITS[name] = int(value)
    try:
        print(f"verified: {check(folders[0], '--allow-float' in arguments)}")
        return 0
    except Refused as why:
        print(f"not proved: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
