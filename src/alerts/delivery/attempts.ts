import { randomUUID } from "node:crypto";
import { append } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import type { StoredAlert } from "../alert.ts";
import { CHALLENGE_TYPE, isEchoed } from "./challenge.ts";
import { ATTEMPT_KIND, type Attempt, type StoredDelivery } from "./delivery.ts";
import type { WebhookResponse } from "./sender.ts";

/** An attempt that was made. */
export interface CompletedAttempt {
  readonly delivery: StoredDelivery;
  /** The alert as it was before. */
  readonly alert: StoredAlert;
  /** When it began, milliseconds since the epoch: its end would tell how long a silence lasted. */
  readonly at: number;
  /** `undefined`: no answer came, for whatever reason. */
  readonly answer: WebhookResponse | undefined;
}

/** What was wrong with it, if anything. */
export function attemptError({ delivery, alert, answer }: CompletedAttempt): Attempt["error"] {
  if (answer === undefined) return "unreachable";
  if (answer.status < 200 || answer.status > 299) return "http_status";
  const { way } = alert.value;
  if (delivery.value.type !== CHALLENGE_TYPE || way.by !== "webhook") return "none";
  const isAnswered = way.state.is === "pending" && isEchoed(answer.response, way.state.challenge);
  return isAnswered ? "none" : "bad_challenge";
}

/** The steps that note an attempt for the owner. @param nextInMs `null`: there is no further one. */
export function attemptRows(
  tried: CompletedAttempt,
  nextInMs: number | null,
): readonly Operation[] {
  const { delivery, at, answer } = tried;
  const { alertId, type, attempts } = delivery.value;
  const body: Attempt = {
    ...{ alertId, eventId: delivery.key, type, number: attempts + 1 },
    status: answer?.status ?? null,
    latencyMs: answer?.latencyMs ?? null,
    error: attemptError(tried),
    // What a host says before it has agreed to be a webhook is not for whoever named it.
    response: type === CHALLENGE_TYPE ? "" : (answer?.response ?? ""),
    nextInMs,
  };
  return [append({ kind: ATTEMPT_KIND, at, id: randomUUID(), subject: alertId, body })];
}
