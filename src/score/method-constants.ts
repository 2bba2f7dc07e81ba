import { ATTENTION_RULES } from "../factors/attention.ts";
import { VARIANCE_GATE } from "../factors/benchmark.ts";
import { BLOCK_PRESSURE_RULES } from "../factors/block-pressure.ts";
import { COIN_WINDOWS } from "../factors/coin-history.ts";
import { DARKPOOL_RULES } from "../factors/darkpool.ts";
import { ECDF_PROBABILITIES, MIN_PEER_GROUP_SIZE } from "../factors/ecdf.ts";
import { FILING_RULES } from "../factors/filings.ts";
import { COUNTER_RULES } from "../factors/message-counters.ts";
import { MESSAGE_RULES } from "../factors/message-weight.ts";
import { BETA_RULES, MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { NETWORK_RULES } from "../factors/network-value.ts";
import { MIN_TRADE_SIGN } from "../factors/off-exchange.ts";
import { PRICE_WINDOWS } from "../factors/price-history.ts";
import { SHORT_RULES } from "../factors/short-pressure.ts";
import { SOCIAL_RULES } from "../factors/social.ts";
import { BASELINE_SESSIONS, MIN_BASELINE_SESSIONS, Z_BOUND } from "../factors/statistics.ts";
import { INTANGIBLE_SECTORS, VALUATION_RULES } from "../factors/valuation.ts";
import { VOLATILITY_RULES } from "../factors/volatility.ts";
import { OWN_HISTORY_RULES } from "../factors/yield-history.ts";
import { MAX_FIGURE_AGE_DAYS } from "../factors/yields.ts";
import { MIN_BLOCK_SIZE } from "../market/block-size.ts";
import { BENCHMARK_SIZE } from "./class-scorer.ts";
import { CLASS_FACTORS, WEIGHTS } from "./composite.ts";
import { EVENT_RULES } from "./shift-and-volatility-events.ts";
import { MIN_BARS, SIGNAL_THRESHOLDS, SMOOTHING_HALF_LIFE } from "./signal-hysteresis.ts";
import { METHOD_HASH, METHOD_VERSION } from "./snapshot.ts";

/** All constants of the method, as plain JSON data. */
export const METHOD = {
  version: METHOD_VERSION,
  methodHash: METHOD_HASH,
  weights: WEIGHTS,
  classFactors: CLASS_FACTORS,
  signal: {
    thresholds: SIGNAL_THRESHOLDS,
    smoothingHalfLifeSessions: SMOOTHING_HALF_LIFE,
    minBars: MIN_BARS,
  },
  events: EVENT_RULES,
  normalisation: {
    probabilities: ECDF_PROBABILITIES,
    minPeers: MIN_PEER_GROUP_SIZE,
    zBound: Z_BOUND,
    ownHistory: { sessions: BASELINE_SESSIONS, minSessions: MIN_BASELINE_SESSIONS },
  },
  momentum: {
    windows: PRICE_WINDOWS,
    coinWindows: COIN_WINDOWS,
    beta: BETA_RULES,
    benchmarkSize: BENCHMARK_SIZE,
    gate: VARIANCE_GATE,
    maxBarAgeDays: MAX_BAR_AGE_DAYS,
  },
  valuation: {
    rules: VALUATION_RULES,
    filings: FILING_RULES,
    maxFigureAgeDays: MAX_FIGURE_AGE_DAYS,
    ownHistory: OWN_HISTORY_RULES,
    intangibleSectors: [...INTANGIBLE_SECTORS],
    network: NETWORK_RULES,
  },
  social: {
    rules: SOCIAL_RULES,
    counters: COUNTER_RULES,
    messages: MESSAGE_RULES,
    attention: ATTENTION_RULES,
  },
  darkpool: {
    rules: DARKPOOL_RULES,
    blocks: BLOCK_PRESSURE_RULES,
    blockSize: MIN_BLOCK_SIZE,
    minSign: MIN_TRADE_SIGN,
    shorts: SHORT_RULES,
  },
  volatility: VOLATILITY_RULES,
} as const;
