import type { ProblemCode } from "../../problem.ts";
import type { ToolRoute } from "../../tool.ts";

/** Description of a tool's route where it differs from the tool's own. */
export interface RouteNotes {
  /** Absent: the name of the tool. */
  readonly id?: string;
  /** Absent: the title of the tool. */
  readonly summary?: string;
  /** Absent: the description of the tool. */
  readonly description?: string;
  /** Input members that apply to the route; absent: all. */
  readonly takes?: readonly string[];
  /** Indexes of the tool's outputs that the route returns; absent: all. */
  readonly answers?: readonly number[];
  /** In addition to the problems of every tool. */
  readonly problems?: readonly ProblemCode[];
}

const SYMBOL: readonly ProblemCode[] = ["unknown_symbol", "ambiguous_symbol"];

const SENDING: readonly ProblemCode[] = ["not_found", "wrong_state"];

/** By method and path. Other routes use the description of their tool. */
const notes: Readonly<Record<string, RouteNotes>> = {
  "GET /api/signals": { problems: [...SYMBOL, "not_available_then"] },
  "GET /api/factors": { problems: [...SYMBOL, "not_available_then"] },
  "GET /api/darkpool": { problems: [...SYMBOL, "not_available_then"] },
  "POST /api/alerts": {
    problems: [...SYMBOL, "not_available_then", "alert_limit", "idempotency_key_reused"],
  },
  "GET /api/alerts": {
    description:
      "The alerts that you made, oldest first; with a person's own key, all alerts made on the person's behalf.",
    takes: ["status", "limit", "cursor"],
    answers: [1],
  },
  "GET /api/alerts/{id}": {
    id: "get_alert",
    summary: "Get one alert",
    description: "One of your alerts, with the health of its webhook and its pending deliveries.",
    takes: ["id"],
    answers: [0],
    problems: ["not_found"],
  },
  "PATCH /api/alerts/{id}": {
    id: "update_alert",
    summary: "Change an alert",
    description:
      "Changes the given members. Alternatively, action: pause; snooze until snoozedUntil; resume.",
    takes: [
      "id",
      "action",
      "symbols",
      "kinds",
      "scoreMove",
      "volatilityZ",
      "cooldownDays",
      "reportSessions",
      "label",
      "url",
      "expiresAt",
      "snoozedUntil",
    ],
    answers: [0],
    problems: [...SYMBOL, "not_available_then", ...SENDING],
  },
  "DELETE /api/alerts/{id}": {
    id: "delete_alert",
    summary: "Delete an alert",
    description: "Deletes the alert immediately. Pending deliveries are dropped.",
    takes: ["id"],
    answers: [1],
    problems: ["not_found"],
  },
  "POST /api/alerts/{id}/test": {
    id: "test_alert",
    summary: "Send a test event",
    description: "Sends a webhook.test event, signed and retried like any event.",
    takes: ["id"],
    answers: [0],
    problems: SENDING,
  },
  "POST /api/alerts/{id}/rotate": {
    id: "rotate_alert_secret",
    summary: "Replace the signing secret",
    description:
      "The response has the new secret, once. The earlier one also signs for another day.",
    takes: ["id"],
    answers: [0],
    problems: SENDING,
  },
  "POST /api/alerts/{id}/enable": {
    id: "enable_alert",
    summary: "Enable a disabled webhook",
    description: "Challenges the webhook again; events are sent once it has answered.",
    takes: ["id"],
    answers: [0],
    problems: SENDING,
  },
  "POST /api/alerts/{id}/redeliver": {
    id: "redeliver_alert_events",
    summary: "Resend failed events",
    description:
      "Resends events that failed since an instant, the oldest 1,000; or one event by its eventId.",
    takes: ["id", "since", "eventId"],
    answers: [0],
    problems: SENDING,
  },
  "POST /api/alerts/{id}/deliveries/{eventId}/redeliver": {
    id: "redeliver_alert_event",
    summary: "Resend one event",
    description: "Resends one event of the last 30 days under the same id.",
    takes: ["id", "eventId"],
    answers: [0],
    problems: SENDING,
  },
  "GET /api/alerts/events": {
    description:
      "Events of your alerts in the last 30 days, oldest first. To poll, send the last nextCursor as cursor: no event is missed.",
    takes: ["alertId", "since", "cursor", "limit"],
    problems: ["not_found"],
  },
  "GET /api/alerts/{alertId}/deliveries": {
    id: "get_alert_deliveries",
    summary: "Get the deliveries of an alert",
    description: "Every attempt to deliver to the webhook of an alert, newest first.",
    takes: ["alertId", "cursor", "limit"],
    problems: ["not_found"],
  },
};

/** The notes of a route. */
export const notesOf = ({ method, path }: ToolRoute): RouteNotes =>
  notes[`${method} ${path}`] ?? {};

/** Routes that have notes. */
export const notedRoutes: readonly string[] = Object.keys(notes);
