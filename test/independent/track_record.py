"""Recomputes outcomes and the track record from a downloaded log and price files alone.

    python3 track_record.py LOG PRICES [RECORD]

LOG     folder of `market-signal log download`
PRICES  market folder: instruments.csv and bars/<SYMBOL>.csv
RECORD  JSON of GET /api/track-record

Prints as JSON how many outcomes and figures were compared, and the largest differences. Shares no code
with the service; needs Python 3.9 and its standard library.
"""

import csv
import datetime
import json
import math
import pathlib
import statistics
import sys

NAN = float("nan")
DAY = datetime.timedelta(days=1)
DAY_MS = 86_400_000
EXCLUSIONS = ("failed", "unscored", "untraded", "unsettled", "copies")


# --- the log: C2SP tlog-tiles -------------------------------------------------------------------


def tile_path(index):
    path = f"{index % 1000:03d}"
    while index >= 1000:
        index //= 1000
        path = f"x{index % 1000:03d}/{path}"
    return path


def read_entries(folder):
    size = int((folder / "checkpoint").read_text().split("\n")[1])
    for first in range(0, size, 256):
        width = min(256, size - first)
        part = "" if width == 256 else f".p/{width}"
        data = (folder / "tile" / "entries" / (tile_path(first // 256) + part)).read_bytes()
        at = 0
        for _ in range(width):
            end = at + 2 + int.from_bytes(data[at : at + 2], "big")
            yield json.loads(data[at + 2 : end])
            at = end


def millis(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


# --- prices -------------------------------------------------------------------------------------


def nth_sunday(year, month, nth):
    first = datetime.date(year, month, 1)
    return first + DAY * ((6 - first.weekday()) % 7 + 7 * (nth - 1))


def known_at(date, asset_class):
    """When a daily bar is known: the end of a UTC day for coins, else 16:15 New York."""
    midnight = datetime.datetime.combine(date, datetime.time(), datetime.timezone.utc)
    start = round(midnight.timestamp() * 1000)
    if asset_class == "crypto":
        return start + DAY_MS
    is_summer = nth_sunday(date.year, 3, 2) <= date < nth_sunday(date.year, 11, 1)
    return start + (16 * 60 + 15 + (240 if is_summer else 300)) * 60_000


class Bar:
    __slots__ = ("session", "at", "open", "high", "low", "close", "volume", "dividend", "split", "ret")

    def __init__(self, session, at, values):
        self.session, self.at, self.ret = session, at, None
        self.open, self.high, self.low, self.close, self.volume, self.dividend, self.split = values

    def changed(self, **members):
        values = (self.open, self.high, self.low, self.close, self.volume, self.dividend, self.split)
        bar = Bar(self.session, self.at, values)
        for name, value in members.items():
            setattr(bar, name, value)
        return bar


RATIOS = [
    value
    for ratio in (1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100)
    for value in (ratio, 1 / ratio)
]
DECAY = 2 ** (-1 / 21)


class Past:
    """The accepted bars that the next one is compared with."""

    def __init__(self, before, bar):
        spread = min(math.log(bar.high / bar.low), 0.8)
        usual = spread if before is None else before.spread
        volume = bar.volume if before is None else before.volume * bar.split
        self.last = bar
        self.spread = DECAY * usual + (1 - DECAY) * spread
        self.volume = DECAY * volume + (1 - DECAY) * bar.volume


def change(price, bar, before):
    return math.log((price + bar.dividend) * bar.split / before)


def is_possible(bar):
    return (
        0 < bar.low <= bar.open <= bar.high < math.inf
        and bar.low <= bar.close <= bar.high
        and 0 <= bar.volume < math.inf
    )


def doubt(bar, past):
    """(doubted price or None, suspected split or None), or None for a plausible bar."""
    if not is_possible(bar):
        return (None, None)
    if past is None:
        return None
    last = past.last
    same = all(
        getattr(bar, name) == getattr(last, name) for name in ("open", "high", "low", "close", "volume")
    )
    if same and bar.high != bar.low and bar.split == 1:
        return (None, None)
    if bar.split == 1:
        opening, closing = change(bar.open, bar, last.close), change(bar.close, bar, last.close)
        if abs(opening) >= 1 / 3:
            for ratio in RATIOS:
                gap = math.log(ratio)
                if abs(opening + gap) < 0.06 and abs(closing + gap) < 0.06:
                    calm = max(2.5 * past.spread, 0.1 * abs(opening))
                    traded = divided(bar.volume, past.volume) * min(1, bar.close / last.close)
                    if math.log(bar.high / bar.low) < calm and not traded >= 3:
                        return (bar.close, ratio)
                    break
    for level in (bar.close, bar.open):
        if abs(change(level, bar, last.close)) > max(0.8, 12 * past.spread):
            return (level, None)
    top, bottom = max(bar.open, bar.close), min(bar.open, bar.close)
    level, body = (bar.high, top) if bar.high / top > bottom / bar.low else (bar.low, bottom)
    if abs(math.log(level / body)) > max(math.log(3), 12 * past.spread):
        return (level, None)
    return None


def divided(a, b):
    if b != 0:
        return a / b
    return NAN if a == 0 else math.inf


def inherit(dropped, bar):
    if dropped.split == 1 and dropped.dividend == 0:
        return bar
    return bar.changed(
        dividend=bar.dividend + dropped.dividend / bar.split, split=dropped.split * bar.split
    )


def plausible(reported):
    """The bars that are used: a doubted one is decided on by the bar after it."""
    past = held = None
    for bar in reported:
        if held is not None:
            (level, split), doubted = held
            held = None
            is_confirmed = (
                level is not None
                and past is not None
                and is_possible(bar)
                and abs(change(bar.open, bar, level))
                < abs(change(bar.open, inherit(doubted, bar), past.last.close))
            )
            if is_confirmed:
                used = doubted.changed(at=bar.at, split=doubted.split if split is None else split)
                past = Past(past, used)
                yield used
            else:
                bar = inherit(doubted, bar)
        suspicion = doubt(bar, past)
        if suspicion is None:
            past = Past(past, bar)
            yield bar
        else:
            held = (suspicion, bar)


def number(text):
    try:
        return float(text)
    except ValueError:
        return NAN


class Instrument:
    def __init__(self, symbol, asset_class, path):
        self.symbol, self.asset_class, self.bars = symbol, asset_class, []
        if not path.exists():
            return
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        reported = []
        for row in rows:
            date = datetime.date.fromisoformat(row["date"])
            names = ("open", "high", "low", "close", "volume", "dividend", "split")
            values = [number(row[name]) for name in names]
            reported.append(Bar(row["date"], known_at(date, asset_class), values))
        before = None
        for bar in plausible(reported):
            if before is not None:
                bar.ret = change(bar.close, bar, before)
            before = bar.close
            self.bars.append(bar)
        self.instants = [bar.at for bar in self.bars]

    def known(self, at):
        """Number of bars that are known at an instant."""
        low, high = 0, len(self.bars)
        while low < high:
            middle = (low + high) // 2
            if self.bars[middle].at <= at:
                low = middle + 1
            else:
                high = middle
        return low


def read_prices(folder):
    with (folder / "instruments.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Instrument(row["symbol"], row["assetClass"], folder / "bars" / f"{row['symbol']}.csv")
        for row in rows
    ]


# --- outcomes -----------------------------------------------------------------------------------


def sessions_of(lists):
    """Sessions with the first instant at which a bar of them was known, in order."""
    closes = {}
    for bars in lists:
        for bar in bars:
            closes[bar.session] = min(closes.get(bar.session, bar.at), bar.at)
    return sorted(closes.items(), key=lambda item: item[1])


def returns_on(places, bars):
    returns = [NAN] * len(places)
    for bar in bars:
        if bar.session in places:
            returns[places[bar.session]] = 0.0 if bar.ret is None else bar.ret
    return returns


def return_over(returns, entry, horizon):
    values = [value for value in returns[entry + 1 : entry + 1 + horizon] if not math.isnan(value)]
    # In the order of the sessions: ranks tell returns apart that differ in the last bit.
    total = 0.0
    for value in values:
        total += value
    return total if values else NAN


def moments(x, y):
    pairs = [(a, b) for a, b in zip(x, y) if a == a and b == b]
    n = len(pairs)
    if n < 60:
        return (0.0, 0.0, 0.0)
    sum_x, sum_y = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    xx, yy = sum(a * a for a, _ in pairs), sum(b * b for _, b in pairs)
    xy = sum(a * b for a, b in pairs)
    return (
        (xx - sum_x * sum_x / n) / n,
        (yy - sum_y * sum_y / n) / n,
        (xy - sum_x * sum_y / n) / n,
    )


def copies_at(group, close):
    """Coins that repeat an older one, or hardly move, over the year before a close."""
    ordered = sorted(group, key=lambda one: one.instants[0] if one.bars else math.inf)
    year = [(one, one.bars[one.known(close - 252 * DAY_MS) : one.known(close)]) for one in ordered]
    sessions = sessions_of([bars for _, bars in year])
    places = {label: place for place, (label, _) in enumerate(sessions)}
    start = max(0, len(sessions) - 252)
    whole = [(one.symbol, returns_on(places, bars)) for one, bars in year]

    def first(row):
        return next((place for place, value in enumerate(row[1]) if value == value), -1)

    rows = [(symbol, returns[start:]) for symbol, returns in sorted(whole, key=first)]
    volatilities = [math.sqrt(max(0.0, moments(row, row)[0])) for _, row in rows]
    moving = [value for value in volatilities if value > 0]
    usual = statistics.median(moving) if moving else NAN
    found = set()
    for place, (symbol, row) in enumerate(rows):
        if 0 < volatilities[place] < 0.1 * usual:
            found.add(symbol)
        for _, older in rows[:place]:
            var_x, var_y, covariance = moments(row, older)
            scale = math.sqrt(max(0.0, var_x * var_y))
            if scale > 0 and covariance / scale >= 0.95:
                found.add(symbol)
                break
    return found


class Prices:
    def __init__(self, instruments):
        self.instruments, self.copies = instruments, {}

    def outcomes(self, asset_class, close, horizon, symbols, until):
        """(entry, exit, outcomes), or None while the sessions are not known."""
        group = [one for one in self.instruments if one.asset_class == asset_class]
        around = {}
        for one in group:
            start = max(0, one.known(close - 1) - 3)
            around[one.symbol] = one.bars[start : min(start + horizon + 8, one.known(until))]
        sessions = sessions_of(around.values())
        closes = [at for _, at in sessions]
        place = closes.index(close) if close in closes else -1
        if place < 0 or place + 2 + horizon >= len(sessions):
            return None
        if asset_class == "crypto" and close not in self.copies:
            self.copies[close] = copies_at(group, close)
        counted = sessions[place : place + 2 + horizon]
        copies = self.copies.get(close, set()) if asset_class == "crypto" else set()
        found = [
            {"status": "copies"}
            if symbol in copies
            else outcome_of(around.get(symbol, []), counted, closes[place + 2 + horizon], horizon)
            for symbol in symbols
        ]
        return (closes[place + 1], closes[place + 1 + horizon], found)


def outcome_of(bars, sessions, at, horizon):
    label, close = sessions[0]
    if not any(bar.session == label and bar.at <= close for bar in bars):
        return {"status": "untraded"}
    places = {name: place for place, (name, _) in enumerate(sessions)}
    returns = returns_on(places, [bar for bar in bars if bar.at <= at])
    followed = return_over(returns, 1, horizon)
    if math.isnan(followed):
        return {"status": "unsettled"}
    last = max(place for place, value in enumerate(returns) if value == value)
    from_close = return_over(returns, 0, horizon)
    return {
        "status": "settled",
        "followed": followed,
        "fromClose": None if math.isnan(from_close) else from_close,
        "lastPrice": None if last == len(sessions) - 1 else sessions[last][0],
    }


# --- figures of a run ---------------------------------------------------------------------------

PROBABILITIES = [0.005] + [step / 100 for step in range(1, 100)] + [0.995]
RANGES = (0.5, 0.8, 0.95)
SIGNS = {"LONG": 1, "WAIT": 0, "SHORT": -1}


def quantile_of(values, p):
    below = sum(1 for one in PROBABILITIES if one < p)
    above = min(max(1, below), len(values) - 1)
    low_p, high_p = PROBABILITIES[above - 1], PROBABILITIES[above]
    share = min(1, max(0, (p - low_p) / (high_p - low_p)))
    return values[above - 1] + share * (values[above] - values[above - 1])


def probability_of(values, value):
    def shared(index):
        same = [place for place, one in enumerate(values) if one == values[index]]
        return (PROBABILITIES[same[0]] + PROBABILITIES[same[-1]]) / 2

    above = min(sum(1 for one in values if one < value), len(values) - 1)
    if above == 0 or value >= values[above]:
        return shared(above)
    low, high = values[above - 1], values[above]
    low_p = shared(above - 1)
    return low_p + (value - low) / (high - low) * (shared(above) - low_p)


def ranks(values):
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranked = [0.0] * len(values)
    first = 0
    while first < len(order):
        beyond = first + 1
        while beyond < len(order) and values[order[beyond]] == values[order[first]]:
            beyond += 1
        for place in range(first, beyond):
            ranked[order[place]] = (first + 1 + beyond) / 2
        first = beyond
    return ranked


def rank_correlation(x, y):
    x, y = ranks(x), ranks(y)
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    xx = math.fsum((a - mean_x) ** 2 for a in x)
    yy = math.fsum((b - mean_y) ** 2 for b in y)
    if xx == 0 or yy == 0:
        return None
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / math.sqrt(xx * yy)


def width_of(said, tables, horizon):
    """Standard deviation over the horizon."""
    if said["sigmas"] is None:
        return None
    if len(said["sigmas"]) != len(tables):
        raise ValueError(f"{said['symbol']} of run {said['run']} forecasts over other horizons")
    place = [one["horizon"] for one in tables].index(horizon)
    return positive(said["sigmas"][place])


def positive(sigma):
    if not 0 < sigma < math.inf:
        raise ValueError(f"{sigma} is no standard deviation")
    return sigma


def grade(statements, outcomes, tables, horizon):
    table = next((one for one in tables if one["horizon"] == horizon), None)
    graded = [
        (said, outcome)
        for said, outcome in zip(statements, outcomes)
        if outcome["status"] == "settled" and "signal" in said and "scoreRaw" in said
    ]
    followed = [outcome["followed"] for _, outcome in graded]
    n = len(graded)
    universe = math.fsum(followed) / n if n else 0.0
    signs = [SIGNS[said["signal"]] for said, _ in graded]
    excess = [value - universe for value in followed]
    products = [sign * value for sign, value in zip(signs, excess)]
    center = sum(signs) / n if n else 0
    spread = math.fsum((sign - center) ** 2 for sign in signs)
    squares = math.fsum(value**2 for value in excess)
    run = {
        "long": signs.count(1),
        "short": signs.count(-1),
        "wait": signs.count(0),
        "universe": universe,
        "excess": math.fsum(products),
        "followed": math.fsum(sign * value for sign, value in zip(signs, followed)),
        "hits": sum(1 for product in products if product > 0),
        "variance": spread * squares / (n - 1) if n > 1 else 0.0,
        "ic": rank_correlation([said["scoreRaw"] for said, _ in graded], followed) if n >= 10 else None,
        "forecasts": 0,
        "within": [0] * len(RANGES),
        "falls": 0,
        "errors": 0.0,
        "excluded": {
            reason: sum(1 for outcome in outcomes if outcome["status"] == reason) for reason in EXCLUSIONS
        },
    }
    run["split"] = split_of(graded, excess)
    run["neutral"] = neutral_of(graded, tables, horizon)
    for said, outcome in graded:
        value = outcome["fromClose"]
        width = width_of(said, tables, horizon) if table else None
        if width is None or value is None:
            continue
        run["forecasts"] += 1
        for place, share in enumerate(RANGES):
            tail = (1 - share) / 2
            low, high = (quantile_of(table["quantiles"], p) * width for p in (tail, 1 - tail))
            run["within"][place] += low <= value <= high
        limit = math.log1p(-table["fallPercent"] / 100)
        fell = 1 if value < limit else 0
        run["falls"] += fell
        run["errors"] += (probability_of(table["quantiles"], limit / width) - fell) ** 2
    return run


def split_of(graded, excess):
    """Sums by signal and by sector, over the entries that say their sector."""
    rows = [
        (said["signal"], said["sector"], said["scoreRaw"], outcome["followed"], beyond)
        for (said, outcome), beyond in zip(graded, excess)
        if "sector" in said
    ]
    if not rows:
        return None
    signals = {}
    for signal in SIGNS:
        own = [row for row in rows if row[0] == signal]
        signals[signal] = (
            len(own),
            math.fsum(row[3] for row in own),
            math.fsum(row[4] for row in own),
        )
    sectors = {}
    if any(row[1] is not None for row in rows):
        for sector in {row[1] for row in rows}:
            own = [row for row in rows if row[1] == sector]
            sectors[sector] = {
                "long": sum(1 for row in own if row[0] == "LONG"),
                "short": sum(1 for row in own if row[0] == "SHORT"),
                "wait": sum(1 for row in own if row[0] == "WAIT"),
                "excess": math.fsum(SIGNS[row[0]] * row[4] for row in own),
                "ic": rank_correlation([row[2] for row in own], [row[3] for row in own])
                if len(own) >= 10
                else None,
            }
    return {"signals": signals, "sectors": sectors}


# --- the claim ----------------------------------------------------------------------------------

CLAIM_HORIZON = 5
TRAITS = ("beta", "volatility", "dollarVolume")
CANDIDATE = "method-2"
NORMAL = statistics.NormalDist()


def plain_sum(values):
    """In the order of the values: ranks tell residuals apart that differ in the last bit."""
    total = 0.0
    for value in values:
        total += value
    return total


def without_means(values, groups):
    means = {}
    for group in groups:
        if group not in means:
            own = [value for value, other in zip(values, groups) if other == group]
            means[group] = plain_sum(own) / len(own)
    return [value - means[group] for value, group in zip(values, groups)]


def product(a, b):
    return plain_sum(x * y for x, y in zip(a, b))


def without_part(values, direction):
    share = product(values, direction) / product(direction, direction)
    return [value - share * other for value, other in zip(values, direction)]


def residuals(values, columns, groups):
    """Of a regression on columns and on a constant per group."""
    basis = []
    for column in columns:
        deviations = without_means(column, groups)
        fresh = deviations
        for direction in basis:
            fresh = without_part(fresh, direction)
        if product(fresh, fresh) > 1e-9 * product(deviations, deviations):
            basis.append(fresh)
    left = without_means(values, groups)
    for direction in basis:
        left = without_part(left, direction)
    return left


def normal_score(percentile):
    return NORMAL.inv_cdf(min(99.995, max(0.005, percentile)) / 100)


def neutral_of(graded, tables, horizon):
    """The coefficients of one run: of the score, and of the candidate method."""
    if horizon != CLAIM_HORIZON:
        return None

    def coefficient(score_of):
        rows = []
        for said, outcome in graded:
            percentiles, score = said.get("percentiles"), score_of(said)
            width = width_of(said, tables, horizon) if tables else None
            if percentiles is None or score is None or width is None:
                continue
            traits = [percentiles[name] for name in TRAITS]
            if None not in traits:
                rows.append((score, outcome["followed"] / width, traits, said["sector"] or ""))
        if len(rows) < 10:
            return None
        columns = [[normal_score(row[2][place]) for row in rows] for place in range(len(TRAITS))]
        left = residuals([row[1] for row in rows], columns, [row[3] for row in rows])
        return rank_correlation([row[0] for row in rows], left)

    return {
        "score": coefficient(lambda said: said["scoreRaw"]),
        "candidate": coefficient(lambda said: (said.get("candidates") or {}).get(CANDIDATE)),
    }


def estimate(values):
    """Mean of the coefficients, its interval, and its t as a normal quantile."""
    n = len(values)
    if n < 2 or all(value == values[0] for value in values):
        return None
    cosines = min(n - 1, max(2, math.floor(min(0.4 * n ** (2 / 3), n / (3 * CLAIM_HORIZON)))))
    squares = 0.0
    for j in range(1, cosines + 1):
        total = math.fsum(
            value * math.cos(math.pi * j * (index + 0.5) / n) for index, value in enumerate(values)
        )
        squares += 2 / n * total**2
    center = math.fsum(values) / n
    error = math.sqrt(squares / cosines / n)
    plain = statistics.stdev(values) / math.sqrt(n)
    wallace = (8 * cosines + 1) / (8 * cosines + 3)
    z = NORMAL.inv_cdf(0.975)
    student = math.sqrt(cosines * math.expm1((z / wallace) ** 2 / cosines))
    t = math.copysign(
        wallace * math.sqrt(cosines * math.log1p((center / error) ** 2 / cosines)), center
    )
    width = max(student * error, z * plain)
    return {
        "dates": n,
        "value": center,
        "low": center - width,
        "high": center + width,
        "t": min(t, center / plain, key=abs),
    }


def claim_figures(claim, records):
    graded = records.get((claim["assetClass"], claim["horizon"], claim["methodHash"]), [])
    timely = [run for run in graded if not run["late"]]

    def estimate_of(name, until=math.inf):
        known = [run["neutral"] for run in timely if run["exit"] <= until and run["neutral"]]
        return estimate([one[name] for one in known if one[name] is not None])

    def verdict(look):
        found = estimate_of("score", millis(look["at"]))
        if found is None or found["dates"] < claim["minDates"]:
            return "insufficient_data"
        is_above = found["t"] > NORMAL.inv_cdf(1 - look["significance"] / 2)
        return "confirmed_live" if is_above else "not_confirmed_live"

    return estimate_of("score"), estimate_of("candidate"), verdict


# --- figures of a record ------------------------------------------------------------------------

MASK = 0xFFFFFFFF
DRAWS = 2_000


def scrambled(value):
    bits = value & MASK
    bits = ((bits ^ (bits >> 16)) * 0x85EBCA6B) & MASK
    bits = ((bits ^ (bits >> 13)) * 0xC2B2AE35) & MASK
    return bits ^ (bits >> 16)


def bootstrap(values, block, seed=1):
    """95 % interval of the mean by the stationary block bootstrap."""
    n = len(values)
    if n < 2:
        return None
    means = []
    for draw in range(DRAWS):
        base = scrambled(seed + draw)

        def random(index):
            return scrambled(base + (index + 1) * 0x9E3779B9) / 2**32

        place, total = 0, 0.0
        for index in range(n):
            if index == 0 or random(2 * index) * block < 1:
                place = int(random(2 * index + 1) * n)
            else:
                place = (place + 1) % n
            total += values[place]
        means.append(total / n)
    means.sort()
    low, high = (means[math.floor(share * (DRAWS - 1) + 0.5)] for share in (0.025, 0.975))
    return {"low": low, "high": high}


def newey_west_t(values, lag):
    n = len(values)
    center = math.fsum(values) / n
    deviations = [value - center for value in values]

    def autocovariance(distance):
        return math.fsum(a * b for a, b in zip(deviations[distance:], deviations)) / n

    variance = autocovariance(0) + sum(
        2 * (1 - distance / (lag + 1)) * autocovariance(distance) for distance in range(1, lag + 1)
    )
    if variance > 0:
        return center / math.sqrt(variance / n)
    return center / (statistics.stdev(values) / math.sqrt(n))


def mean(values):
    return math.fsum(values) / len(values) if values else None


def figures_of(graded, horizon):
    timely = [run for run in graded if not run["late"]]
    runs = [run for run in timely if run["long"] + run["short"] + run["wait"] > 0]

    def total(name):
        return sum(run[name] for run in timely)

    def calls(run):
        return run["long"] + run["short"]

    called = [run for run in runs if calls(run) > 0]
    excess = [run["excess"] / calls(run) for run in called]
    ics = [run["ic"] for run in runs if run["ic"] is not None]
    interval, spread = bootstrap(excess, horizon), bootstrap(ics, horizon)
    varies = any(value != ics[0] for value in ics)
    forecasts, directed = total("forecasts"), total("long") + total("short")
    frequency = total("falls") / forecasts if forecasts else 0.0
    climatology = frequency * (1 - frequency)
    shuffled = None
    if called:
        variances = [run["variance"] / calls(run) ** 2 for run in called]
        high = statistics.NormalDist().inv_cdf(0.975) * math.sqrt(mean(variances) / len(called))
        shuffled = {"low": -high, "high": high}
    ic = None
    if spread is not None and varies:
        ic = {"value": mean(ics), **spread, "t": newey_west_t(ics, horizon)}
    return {
        "runs": len(runs),
        "lateRuns": len(graded) - len(timely),
        "periods": len(runs) / horizon,
        "calls": {name: total(name) for name in ("long", "short", "wait")},
        "meanExcess": None if interval is None else {"value": mean(excess), **interval},
        "meanReturn": mean([run["followed"] / calls(run) for run in called]),
        "hitRate": total("hits") / directed if directed else None,
        "alwaysLong": mean([run["universe"] for run in runs]),
        "shuffled": shuffled,
        "ic": ic,
        "ranges": [
            {"probability": share, "coverage": sum(run["within"][place] for run in timely) / forecasts}
            for place, share in enumerate(RANGES)
            if forecasts
        ],
        "fallSkill": 1 - total("errors") / forecasts / climatology if climatology > 0 else None,
        "excluded": {
            reason: sum(run["excluded"][reason] for run in timely) for reason in EXCLUSIONS
        },
        **split_figures([run["split"] for run in runs if run["split"]], horizon),
    }


def split_figures(splits, horizon):
    by_signal, by_sector = [], []
    for signal in ("LONG", "WAIT", "SHORT") if splits else ():
        sums = [one["signals"][signal] for one in splits if one["signals"][signal][0] > 0]
        excess = [beyond / count for count, _, beyond in sums]
        interval = bootstrap(excess, horizon)
        by_signal.append(
            {
                "signal": signal,
                "statements": sum(count for count, _, _ in sums),
                "meanReturn": mean([followed / count for count, followed, _ in sums]),
                "meanExcess": None if interval is None else {"value": mean(excess), **interval},
            }
        )
    names = {sector for one in splits for sector in one["sectors"]}
    for sector in sorted(names, key=lambda name: (name is None, name or "")):
        own = [one["sectors"][sector] for one in splits if sector in one["sectors"]]
        called = [one for one in own if one["long"] + one["short"] > 0]
        by_sector.append(
            {
                "sector": sector,
                "long": sum(one["long"] for one in own),
                "short": sum(one["short"] for one in own),
                "wait": sum(one["wait"] for one in own),
                "meanExcess": mean([one["excess"] / (one["long"] + one["short"]) for one in called]),
                "ic": mean([one["ic"] for one in own if one["ic"] is not None]),
            }
        )
    return {"bySignal": by_signal, "bySector": by_sector}


# --- comparison ---------------------------------------------------------------------------------


class Differences:
    def __init__(self):
        self.count, self.largest, self.where = 0, 0.0, None

    def add(self, mine, other, where):
        if isinstance(mine, dict) and isinstance(other, dict):
            for name, value in mine.items():
                self.add(value, other.get(name), f"{where} {name}")
            return
        if isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            for place, value in enumerate(mine):
                self.add(value, other[place], f"{where} {place}")
            return
        self.count += 1
        is_number = isinstance(mine, (int, float)) and isinstance(other, (int, float))
        difference = abs(mine - other) if is_number else (0.0 if mine == other else math.inf)
        if difference > self.largest:
            self.largest, self.where = difference, f"{where}: {mine} and {other}"

    def join(self, other):
        self.count += other.count
        if other.largest > self.largest:
            self.largest, self.where = other.largest, other.where

    def told(self):
        return {"compared": self.count, "largest": self.largest, "where": self.where}


def main(log, prices, record):
    prices = Prices(read_prices(pathlib.Path(prices)))
    outcomes, figures, settlements = Differences(), Differences(), {}
    runs, closes, records, method, index, claims = {}, {}, {}, {}, -1, {}
    run = settlement = None
    for index, leaf in enumerate(read_entries(pathlib.Path(log))):
        kind = leaf["kind"]
        if kind == "method":
            method = leaf
        elif kind == "claim":
            claims.setdefault(leaf["methodHash"], leaf)
        elif kind == "run":
            run = runs[index] = {"leaf": leaf, "method": method, "statements": []}
            closes[leaf["assetClass"]] = millis(leaf["close"])
        elif kind == "signal":
            run["statements"].append(leaf)
        elif kind == "settlement":
            settlement = {"leaf": leaf, "index": index, "logged": []}
        elif kind == "outcome":
            settlement["logged"].append(leaf)
            if len(settlement["logged"]) == settlement["leaf"]["results"]:
                # One that takes the place of another, since prices were corrected, is compared instead.
                settlements.pop(settlement["leaf"].get("corrects"), None)
                differences = settlements[settlement["index"]] = Differences()
                settle(settlement, runs, closes, prices, records, differences)
    for differences in settlements.values():
        outcomes.join(differences)
    if record is not None:
        answer = json.loads(pathlib.Path(record).read_text())
        compare_figures(answer, records, figures)
        compare_claims(answer, claims, records, figures)
    print(json.dumps({"entries": index + 1, "outcomes": outcomes.told(), "figures": figures.told()}))


def settle(settlement, runs, closes, prices, records, differences):
    leaf, logged = settlement["leaf"], settlement["logged"]
    asset_class, horizon, close = leaf["assetClass"], leaf["horizon"], millis(leaf["close"])
    statements = runs[leaf["run"]]["statements"]
    symbols = [said["symbol"] for said in statements]
    found = prices.outcomes(asset_class, close, horizon, symbols, closes[asset_class])
    entry, exit_, followed = found or (None, None, [{"status": "unsettled"}] * len(symbols))
    for place, said in enumerate(statements):
        if said["status"] == "failed":
            followed[place] = {"status": "failed"}
        elif said.get("coverage") == 0 or said.get("scoreRaw", 0) is None:
            followed[place] = {"status": "unscored"}
    where = f"entry {settlement['index']}"
    for name, instant in (("entry", entry), ("exit", exit_)):
        theirs = leaf[name] and millis(leaf[name])
        differences.add(instant, theirs, f"{where} {name}")
    for place, outcome in enumerate(followed):
        differences.add(outcome, logged[place], f"entry {settlement['index'] + 1 + place}")
    tables = runs[leaf["run"]]["method"]["risk"].get(asset_class, [])
    graded = grade(statements, followed, tables, horizon)
    graded["late"] = entry is not None and millis(leaf["coveredAt"]) >= entry
    graded["settlement"] = settlement["index"]
    graded["exit"] = exit_ or close
    method = runs[leaf["run"]]["leaf"]["methodHash"]
    record = records.setdefault((asset_class, horizon, method), [])
    corrected = [place for place, one in enumerate(record) if one["settlement"] == leaf.get("corrects")]
    if corrected:
        record[corrected[0]] = graded
    else:
        record.append(graded)


def compare_figures(answer, records, differences):
    for answered in answer["records"]:
        key = (answered["assetClass"], answered["horizon"], answered["methodHash"])
        mine = figures_of(records.get(key, []), answered["horizon"])
        differences.add(mine, answered, f"{key[0]} {key[1]} {key[2][:16]}")


def compare_claims(answer, claims, records, differences):
    answered = {claim["methodHash"]: claim for claim in answer["claims"]}
    differences.add(sorted(claims), sorted(answered), "claims")
    for method, claim in claims.items():
        theirs, where = answered[method], f"claim of {method[:16]}"
        score, candidate, verdict = claim_figures(claim, records)
        mine = {"score": score, "candidate": candidate}
        for name in ("registeredAt", "assetClass", "horizon"):
            mine[name] = claim[name]
        mine["verdicts"] = [
            {"at": given["at"], "verdict": verdict(look)}
            for look, given in zip(claim["looks"], theirs["verdicts"])
        ]
        differences.add(mine, theirs, where)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
