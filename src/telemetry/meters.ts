/** Labels of a request that was answered or aborted. */
export interface AnsweredRequest {
  readonly method: string;
  /** The declared route with its parameter names, never the requested path. */
  readonly route: string;
  /** Status class such as `2xx`; `aborted` when the client disconnected before a response. */
  readonly status: string;
}

/** Records measurements. Every label must have few values. */
export interface Meters {
  request(answered: AnsweredRequest, seconds: number): void;
  /** @param call The tool, and as its outcome `ok` or the code of an error. */
  toolCall(call: { readonly tool: string; readonly outcome: string }, seconds: number): void;
  /**
   * Records an attempt to deliver a webhook.
   *
   * @param outcome Status class such as `2xx`; `unreachable` without a response.
   */
  attempt(outcome: string, seconds: number): void;
  commit(outcome: "ok" | "conflict" | "failed", seconds: number): void;
}

/** Meters that record nothing. */
export const NO_METERS: Meters = {
  request() {},
  toolCall() {},
  attempt() {},
  commit() {},
};

/** The class of an HTTP status, for example `4xx`. */
export const statusClass = (status: number): string => `${Math.floor(status / 100)}xx`;
