import { BROAD_FUNDS, VARIANCE_GATE } from "../factors/benchmark.ts";
import { BLOCK_PRESSURE_RULES } from "../factors/block-pressure.ts";
import { COIN_HISTORY_RULES } from "../factors/coin-history.ts";
import { DARKPOOL_RULES } from "../factors/darkpool.ts";
import { FILING_RULES } from "../factors/filings.ts";
import { BETA_RULES, MAX_BAR_AGE_DAYS } from "../factors/momentum.ts";
import { NETWORK_VALUE_RULES } from "../factors/network-value.ts";
import { MIN_TRADE_SIGN } from "../factors/off-exchange.ts";
import { PRICE_HISTORY_RULES } from "../factors/price-history.ts";
import { SHORT_PRESSURE_RULES } from "../factors/short-pressure.ts";
import { SOCIAL_RULES } from "../factors/social.ts";
import { VOLATILITY_RULES } from "../factors/volatility.ts";
import { MAX_FIGURE_AGE_DAYS } from "../factors/yields.ts";
import { MIN_BLOCK_SIZE } from "../market/block-size.ts";
import { ATTENTION_RULES } from "../messages/attention.ts";
import { SOCIAL_COUNTER_RULES } from "../messages/message-counters.ts";
import { MESSAGE_WEIGHT_RULES } from "../messages/message-weight.ts";
import { ECDF_PROBABILITIES, MIN_PEER_GROUP_SIZE } from "../statistics/ecdf.ts";
import { BASELINE_SESSIONS, MIN_BASELINE_SESSIONS, Z_BOUND } from "../statistics/statistics.ts";
import { CANDIDATE_PARTS, CANDIDATE_RULES } from "./candidate.ts";
import { BENCHMARK_SIZE } from "./class-scorer.ts";
import { REFERENCE_TABLES } from "./close-tables.ts";
import { COIN_STEADINESS_RULES } from "./coin-steadiness.ts";
import { BASE_FACTOR_WEIGHTS, FACTORS_BY_CLASS } from "./composite.ts";
import { EVENT_RULES } from "./shift-and-volatility-events.ts";
import {
  MIN_SESSIONS_FOR_SIGNAL,
  SIGNAL_THRESHOLDS,
  SMOOTHING_HALF_LIFE_SESSIONS,
} from "./signal-hysteresis.ts";
import { STEADINESS_RULES } from "./steadiness.ts";
import { STOCK_SCORE_RULES } from "./stock-score.ts";

/** All constants of the method, as plain JSON data. */
export const METHOD_CONSTANTS = {
  weights: BASE_FACTOR_WEIGHTS,
  classFactors: FACTORS_BY_CLASS,
  stocks: {
    parts: CANDIDATE_PARTS,
    rules: STOCK_SCORE_RULES,
    reversalSessions: CANDIDATE_RULES.reversalSessions,
    minSector: CANDIDATE_RULES.minSector,
    surprise: CANDIDATE_RULES.surprise,
    reference: REFERENCE_TABLES,
  },
  steadiness: { ...STEADINESS_RULES, coins: COIN_STEADINESS_RULES },
  signal: {
    thresholds: SIGNAL_THRESHOLDS,
    smoothingHalfLifeSessions: SMOOTHING_HALF_LIFE_SESSIONS,
    minSessions: MIN_SESSIONS_FOR_SIGNAL,
  },
  events: EVENT_RULES,
  normalisation: {
    probabilities: ECDF_PROBABILITIES,
    minPeers: MIN_PEER_GROUP_SIZE,
    zBound: Z_BOUND,
    ownHistory: { sessions: BASELINE_SESSIONS, minSessions: MIN_BASELINE_SESSIONS },
  },
  momentum: {
    windows: PRICE_HISTORY_RULES,
    coinWindows: COIN_HISTORY_RULES,
    beta: BETA_RULES,
    benchmarkSize: BENCHMARK_SIZE,
    broadFunds: BROAD_FUNDS,
    gate: VARIANCE_GATE,
    maxBarAgeDays: MAX_BAR_AGE_DAYS,
  },
  valuation: {
    filings: FILING_RULES,
    maxFigureAgeDays: MAX_FIGURE_AGE_DAYS,
    network: NETWORK_VALUE_RULES,
  },
  social: {
    rules: SOCIAL_RULES,
    counters: SOCIAL_COUNTER_RULES,
    messages: MESSAGE_WEIGHT_RULES,
    attention: ATTENTION_RULES,
  },
  darkpool: {
    rules: DARKPOOL_RULES,
    blocks: BLOCK_PRESSURE_RULES,
    blockSize: MIN_BLOCK_SIZE,
    minSign: MIN_TRADE_SIGN,
    shorts: SHORT_PRESSURE_RULES,
  },
  volatility: VOLATILITY_RULES,
} as const;
