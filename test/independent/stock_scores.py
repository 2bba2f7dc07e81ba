"""Recomputes the scores of stocks from answers of get_factors (detail=full) and the tables of the
method alone. Standard library only; no code of the project.

    python3 stock_scores.py < answers.json

answers.json is {"method": GET /api/method/{version}?tables=..., "reference": ...?tables=reference,
"answers": [get_factors, ...]}. Prints one JSON object: how many scores and contributions were
recomputed, and the largest difference of each, in points.
"""

import bisect
import itertools
import json
import math
import sys
from statistics import NormalDist

NORMAL = NormalDist()
PARTS = {"valuation": ["surprise"], "momentum": ["residualMomentum", "reversal"]}
LEAST = 30


class Tables:
    def __init__(self, content, reference):
        self.sorted = content["stocks"]["sorted"]
        self.means = content["stocks"]["means"]
        self.reference = reference["quantiles"]

    def share(self, stage, value, own):
        """(rank - .5) / n of a value; own is that of the same stock among the values, or None."""
        values = self.sorted[stage]
        if len(values) < LEAST:
            return self.reference_share(self.reference[stage], value)
        low, high = bisect.bisect_left(values, value), bisect.bisect_right(values, value)
        less, equal = low, high - low
        if own is not None:
            less -= own < value
            equal -= own == value
        others = len(values) - (own is not None)
        return (less + (equal + 1) / 2) / (others + 1)

    @staticmethod
    def reference_share(knots, value):
        count = len(knots)

        def middle(index):
            first, last = bisect.bisect_left(knots, knots[index]), bisect.bisect_right(knots, knots[index]) - 1
            return (first + last + 1) / 2 / count

        above = min(bisect.bisect_left(knots, value), count - 1)
        if above == 0 or value >= knots[above]:
            return middle(above)
        low, high = knots[above - 1], knots[above]
        return middle(above - 1) + (value - low) / (high - low) * (middle(above) - middle(above - 1))

    def exact(self, stage, value):
        """The value of the table that differs from a value by the rounding of its last digit."""
        values = self.sorted[stage]
        at = bisect.bisect_left(values, value - 2e-12)
        return values[at] if at < len(values) and abs(values[at] - value) < 2e-12 else value


def normal_score(tables, stage, value, place):
    """The normal score of a place; at a close, the place itself is recomputed from the table."""
    said = (place["rank"] - 0.5) / place["of"]
    values = tables.sorted[stage]
    at = bisect.bisect_left(values, value)
    if len(values) < LEAST or (at < len(values) and values[at] == value):
        found = tables.share(stage, value, value)
        assert abs(found - said) < 1e-12, (stage, value, found, said)
    return NORMAL.inv_cdf(said)


def recompute(answer, method, tables):
    stocks = method["parameters"]["stocks"]
    weights = stocks["rules"]["weights"]
    inputs = {one["name"]: one for factor in answer["factors"].values() for one in factor["inputs"]}
    known = sum("rank" in inputs.get(name, {}) for names in PARTS.values() for name in names)
    terms = {}
    for name, factor in answer["factors"].items():
        if name not in PARTS:
            if factor["z"] is not None and "place" in factor:
                terms[name] = weights[name] * normal_score(tables, name, factor["z"], factor["place"])
            continue
        scores = []
        for part in PARTS[name]:
            one = inputs.get(part, {})
            if "rank" not in one:
                continue
            wanted = one["value"]
            if part != "surprise":
                means = tables.means["monthReturn" if part == "reversal" else part]
                own = means.get(answer["sector"] or "")
                mean = own if own and own["count"] >= stocks["minSector"] else means[""]
                wanted = (one["value"] - mean["mean"]) * (-1 if part == "reversal" else 1)
            assert abs(wanted - one["relative"]) < 1e-9, (answer["symbol"], part)
            scores.append(normal_score(tables, part, one["relative"], one))
        if scores:
            terms[name] = weights["parts"] * sum(scores) / known
    if known == 0:
        return None, {}

    close_z = answer["ranking"]["closeZ"]

    def value_of(members):
        if not members:
            return 50.0
        z = tables.exact("composite", math.fsum(terms[name] for name in members))
        return 100 * tables.share("composite", z, close_z)

    contributions = dict.fromkeys(terms, 0.0)
    orders = list(itertools.permutations(terms))
    for order in orders:
        for place, name in enumerate(order):
            contributions[name] += (value_of(order[: place + 1]) - value_of(order[:place])) / len(orders)
    return value_of(tuple(terms)), contributions


def main():
    given = json.load(sys.stdin)
    tables = {one["version"]: one["content"] for one in given["method"]["tables"]}
    scores, parts, score_error, part_error = 0, 0, 0.0, 0.0
    for answer in given["answers"]:
        own = Tables(tables[answer["tableVersion"]], given["reference"]["reference"])
        score, contributions = recompute(answer, given["method"], own)
        assert (score is None) == (answer["scoreRaw"] is None), answer["symbol"]
        if score is None:
            continue
        scores += 1
        score_error = max(score_error, abs(score - answer["scoreRaw"]))
        for name, factor in answer["factors"].items():
            parts += 1
            part_error = max(part_error, abs(contributions.get(name, 0.0) - factor["contribution"]))
    print(json.dumps({"scores": scores, "contributions": parts, "scoreError": score_error, "contributionError": part_error}))


main()
