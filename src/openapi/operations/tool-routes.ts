import type { ProblemCode } from "../../lib/problem.ts";
import type { ToolRoute } from "../../tool/tool.ts";

/** Overrides of a tool's description for one of its routes. */
export interface RouteOverrides {
  /** Operation id. Default: the name of the tool. */
  readonly id?: string;
  /** Summary. Default: the title of the tool. */
  readonly summary?: string;
  /** Description. Default: the description of the tool. */
  readonly description?: string;
  /** Names of the input members that the route accepts. Default: all. */
  readonly inputs?: readonly string[];
  /** Indexes of the tool's outputs that the route returns. Default: all. */
  readonly outputs?: readonly number[];
  /** Example query, for an operation without a recorded example. */
  readonly exampleQuery?: Readonly<Record<string, string>>;
  /** Problems in addition to those of every tool. */
  readonly problems?: readonly ProblemCode[];
}

const SYMBOL_PROBLEMS: readonly ProblemCode[] = ["unknown_symbol", "ambiguous_symbol"];

const WEBHOOK_PROBLEMS: readonly ProblemCode[] = ["not_found", "wrong_state"];

/** Overrides by method and path. A route without overrides uses the description of its tool. */
const overrides: Readonly<Record<string, RouteOverrides>> = {
  "GET /api/signals": { problems: [...SYMBOL_PROBLEMS, "not_found", "not_available_then"] },
  "GET /api/factors": { problems: [...SYMBOL_PROBLEMS, "not_available_then"] },
  "GET /api/darkpool": { problems: [...SYMBOL_PROBLEMS, "not_available_then"] },
  "GET /api/signals/verify": {
    // No recorded example: the response contains signatures, which differ in each recording.
    exampleQuery: { symbol: "ALDER.SIM" },
    problems: [...SYMBOL_PROBLEMS, "not_found", "not_available_then"],
  },
  "GET /api/track-record": { problems: ["not_found"] },
  "POST /api/alerts": {
    problems: [
      ...SYMBOL_PROBLEMS,
      "not_available_then",
      "not_found",
      "alert_limit",
      "idempotency_key_reused",
    ],
  },
  "GET /api/watchlists": {
    id: "list_watchlists",
    summary: "List watchlists",
    description: "Your watchlists, and your person's own, by name.",
    inputs: ["cursor"],
  },
  "POST /api/watchlists": {
    id: "set_watchlist",
    summary: "Make or replace a watchlist",
    description: "Makes a named list of symbols, or replaces the symbols of one.",
    inputs: ["watchlist", "symbols"],
    problems: [...SYMBOL_PROBLEMS, "not_available_then", "alert_limit"],
  },
  "PATCH /api/watchlists/{watchlist}": {
    id: "change_watchlist",
    summary: "Change a watchlist",
    description: "Adds symbols to a list, or removes some. Alerts that watch it follow.",
    inputs: ["watchlist", "action", "symbols"],
    problems: [...SYMBOL_PROBLEMS, "not_available_then", "not_found", "alert_limit"],
  },
  "DELETE /api/watchlists/{watchlist}": {
    id: "delete_watchlist",
    summary: "Delete a watchlist",
    description: "Deletes a list that no alert watches.",
    inputs: ["watchlist"],
    problems: ["not_found", "wrong_state"],
  },
  "GET /api/alerts": {
    description:
      "The alerts that you created, oldest first; with a person's own key, all alerts created on the person's behalf.",
    inputs: ["status", "limit", "cursor"],
    outputs: [1],
  },
  "GET /api/alerts/{id}": {
    id: "get_alert",
    summary: "Get one alert",
    description: "One of your alerts, with the health of its webhook and its pending deliveries.",
    inputs: ["id"],
    outputs: [0],
    problems: ["not_found"],
  },
  "PATCH /api/alerts/{id}": {
    id: "update_alert",
    summary: "Change an alert",
    description:
      "Changes the given members. Alternatively, action: pause; snooze until snoozedUntil; resume.",
    inputs: [
      "id",
      "action",
      "symbols",
      "watchlist",
      "kinds",
      "scoreMove",
      "volatilityZ",
      "cooldownDays",
      "reportSessions",
      "steadinessLevel",
      "label",
      "url",
      "expiresAt",
      "snoozedUntil",
    ],
    outputs: [0],
    problems: [...SYMBOL_PROBLEMS, "not_available_then", ...WEBHOOK_PROBLEMS],
  },
  "DELETE /api/alerts/{id}": {
    id: "delete_alert",
    summary: "Delete an alert",
    description: "Deletes the alert immediately. Pending deliveries are dropped.",
    inputs: ["id"],
    outputs: [1],
    problems: ["not_found"],
  },
  "POST /api/alerts/{id}/test": {
    id: "test_alert",
    summary: "Send a test event",
    description: "Sends a webhook.test event, signed and retried like any event.",
    inputs: ["id"],
    outputs: [0],
    problems: WEBHOOK_PROBLEMS,
  },
  "POST /api/alerts/{id}/rotate": {
    id: "rotate_alert_secret",
    summary: "Replace the signing secret",
    description:
      "The response has the new secret, once. The earlier one also signs for another day.",
    inputs: ["id"],
    outputs: [0],
    problems: WEBHOOK_PROBLEMS,
  },
  "POST /api/alerts/{id}/enable": {
    id: "enable_alert",
    summary: "Enable a disabled webhook",
    description: "Challenges the webhook again; events are sent once it has answered.",
    inputs: ["id"],
    outputs: [0],
    problems: WEBHOOK_PROBLEMS,
  },
  "POST /api/alerts/{id}/redeliver": {
    id: "redeliver_alert_events",
    summary: "Resend failed events",
    description:
      "Resends events that failed since an instant, the oldest 1,000; or one event by its eventId.",
    inputs: ["id", "since", "eventId"],
    outputs: [0],
    problems: WEBHOOK_PROBLEMS,
  },
  "POST /api/alerts/{id}/deliveries/{eventId}/redeliver": {
    id: "redeliver_alert_event",
    summary: "Resend one event",
    description: "Resends one event of the last 30 days under the same id.",
    inputs: ["id", "eventId"],
    outputs: [0],
    problems: WEBHOOK_PROBLEMS,
  },
  "GET /api/alerts/events": {
    description:
      "Events of your alerts in the last 30 days, oldest first. To poll, send the last nextCursor as cursor: no event is missed.",
    inputs: ["alertId", "since", "cursor", "limit"],
    problems: ["not_found"],
  },
  "GET /api/alerts/{alertId}/deliveries": {
    id: "get_alert_deliveries",
    summary: "Get the deliveries of an alert",
    description: "Every attempt to deliver to the webhook of an alert, newest first.",
    inputs: ["alertId", "cursor", "limit"],
    problems: ["not_found"],
  },
};

/** The overrides for a route; empty if there are none. */
export const routeOverridesOf = ({ method, path }: ToolRoute): RouteOverrides =>
  overrides[`${method} ${path}`] ?? {};

/** Method and path of the routes that have overrides. */
export const routesWithOverrides: readonly string[] = Object.keys(overrides);
