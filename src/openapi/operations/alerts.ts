import { z } from "zod";
import { alertScopes } from "../../access/scopes.ts";
import { WebhookKeySet } from "../../alerts/delivery/webhook-keys.ts";
import { paths } from "../../lib/paths.ts";
import { LIMIT_HEADERS } from "../headers.ts";
import { jsonResponse, type Operation } from "../operation.ts";
import { PROTECTED_PROBLEMS, PUBLIC_PROBLEMS } from "../problems.ts";

/** Maximum length of a cursor, in characters. */
export const MAX_CURSOR_CHARACTERS = 200;

const Cursor = z.string().max(MAX_CURSOR_CHARACTERS).optional();

/** The operation that streams the events of a caller's alerts. */
export const streamAlertEvents = {
  id: "stream_alert_events",
  method: "get",
  path: "/api/alerts/stream",
  tag: "Alerts",
  summary: "Stream the events of your alerts",
  description: `Server-sent events: \`id\` is the cursor of the event, \`event\` its type, \`data\` the same JSON as a webhook gets. The first block has only \`retry\` and the \`id\` to reconnect with. A comment is sent every 15 seconds to keep the stream alive; the stream ends when the credential does.`,
  access: { scopes: alertScopes },
  allowsAnyOrigin: true,
  query: z.object({
    cursor: Cursor.describe("Events after this one; by default events from now on."),
  }),
  header: z.object({ "Last-Event-ID": Cursor.describe("The same, as browsers send it.") }),
  answers: {
    200: {
      description: "The events, as they occur.",
      content: [{ mediaType: "text/event-stream", schema: z.string() }],
      headers: LIMIT_HEADERS,
    },
  },
  problems: PROTECTED_PROBLEMS,
} as const satisfies Operation;

/** Operations on alerts, apart from those that are offered as tools. */
export const alertOperations = [
  streamAlertEvents,
  {
    id: "get_webhook_keys",
    method: "get",
    path: paths.webhookKeys,
    tag: "Alerts",
    summary: "Get the keys that sign webhooks",
    description: "Public keys that verify the `v1a` signatures of deliveries (Ed25519).",
    access: "public",
    allowsAnyOrigin: true,
    answers: {
      200: jsonResponse("The keys, newest first.", WebhookKeySet),
    },
    problems: PUBLIC_PROBLEMS,
  },
] as const satisfies readonly Operation[];
