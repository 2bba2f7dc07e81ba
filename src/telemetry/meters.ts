/** How something ended: `ok`, or the code of a problem. */
type Outcome = string;

/** A request that was answered, or that its caller gave up. */
export interface AnsweredRequest {
  readonly method: string;
  /** As it is declared, with names in place of what varies; never what was asked for. */
  readonly route: string;
  /** `2xx` and so on; `aborted` when the caller left before there was an answer. */
  readonly status: string;
}

/** Told what happens, so that it can be counted. Every text is one of few. */
export interface Meters {
  request(answered: AnsweredRequest, seconds: number): void;
  toolCall(call: { readonly tool: string; readonly outcome: Outcome }, seconds: number): void;
  /** @param outcome `2xx` and so on; `unreachable` when no answer came. */
  attempt(outcome: Outcome, seconds: number): void;
  commit(outcome: "ok" | "conflict" | "failed", seconds: number): void;
}

/** Counts nothing. */
export const NO_METERS: Meters = {
  request() {},
  toolCall() {},
  attempt() {},
  commit() {},
};

/** The class of an HTTP status, for example `4xx`. */
export const statusClass = (status: number): string => `${Math.floor(status / 100)}xx`;
