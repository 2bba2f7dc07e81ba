import { mean, ownHistoryZ } from "./statistics.ts";

/** Constants of the attention measure. */
export const ATTENTION_RULES = {
  /** Sessions of the mean, and sessions of the distribution for z. */
  usualSessions: 30,
  baselineSessions: 60,
  /** Minimum sessions for either. */
  minSessions: 20,
  /** z above which attention reduces the sentiment, and the reduction per unit of z. */
  threshold: 1,
  penalty: 0.25,
} as const;

/** Message volume of one instrument, session by session. */
export interface Attention {
  /** Ends a session with the weight of the messages of its last day. */
  closeSession(weight: number): void;
  /** Begins the next session: the closed one becomes history. */
  beginSession(): void;
  /** Attention ln((1 + W24)/(1 + mean30 W24)) and its z against the 60 sessions before. */
  read(weight: number): AttentionReading;
}

/** `null` while the history is too short. */
export interface AttentionReading {
  readonly value: number | null;
  readonly z: number | null;
}

/** Attention before the first message. */
export const NO_ATTENTION: AttentionReading = { value: null, z: null };

/** Creates an empty history. */
export function createAttention(): Attention {
  const { usualSessions, baselineSessions, minSessions } = ATTENTION_RULES;
  const weights: number[] = [];
  const past: number[] = [];
  let closed: number | undefined;

  const relativeTo = (weight: number): number | null =>
    weights.length < minSessions ? null : Math.log((1 + weight) / (1 + mean(weights)));
  return {
    closeSession(weight) {
      closed = weight;
    },
    beginSession() {
      if (closed === undefined) return;
      const value = relativeTo(closed);
      if (value !== null && past.push(value) > baselineSessions) past.shift();
      if (weights.push(closed) > usualSessions) weights.shift();
      closed = undefined;
    },
    read(weight) {
      const value = relativeTo(weight);
      const z = value === null ? undefined : ownHistoryZ(value, past, minSessions);
      return { value, z: z ?? null };
    },
  };
}

/** Penalty on the sentiment: 0.25 max(0, z - 1); 0 while attention is unknown. */
export const attentionPenalty = ({ z }: AttentionReading): number =>
  ATTENTION_RULES.penalty * Math.max(0, (z ?? 0) - ATTENTION_RULES.threshold);
