import { mean, zAgainstHistory } from "../statistics/statistics.ts";

/** Constants of the attention measure. */
export const ATTENTION_RULES = {
  /**
   * Number of sessions in the mean message volume, and number of previous sessions against which
   * the z of attention is computed.
   */
  usualSessions: 30,
  baselineSessions: 60,
  /** Minimum number of sessions for the mean, and for the z. */
  minSessions: 20,
  /**
   * z of attention above which the z of sentiment is reduced, and the reduction per unit of z above
   * it.
   */
  threshold: 1,
  penalty: 0.25,
} as const;

/** Tracks the message volume of one instrument, session by session. */
export interface AttentionTracker {
  /**
   * Closes a session.
   *
   * @param weight Sum of the weights of the messages in the last 24 hours (W24).
   */
  closeSession(weight: number): void;
  /** Begins the next session and moves the closed session into the history. */
  beginSession(): void;
  /**
   * Reads attention, ln((1 + W24)/(1 + mean W24 of 30 sessions)), and its z against the previous 60
   * sessions.
   *
   * @param weight W24 now.
   */
  read(weight: number): AttentionReading;
}

/** Attention and its z; each is `null` while its history is too short. */
export interface AttentionReading {
  readonly value: number | null;
  readonly z: number | null;
}

/** Attention before the first message. */
export const NO_ATTENTION: AttentionReading = { value: null, z: null };

/** Creates a tracker whose history is still empty. */
export function createAttentionTracker(): AttentionTracker {
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
      const z = value === null ? undefined : zAgainstHistory(value, past, minSessions);
      return { value, z: z ?? null };
    },
  };
}

/**
 * Amount subtracted from the sentiment z-score: 0.25 max(0, a - 1), where a is the attention
 * z-score; 0 while attention is unknown.
 */
export const attentionPenalty = ({ z }: AttentionReading): number =>
  ATTENTION_RULES.penalty * Math.max(0, (z ?? 0) - ATTENTION_RULES.threshold);
