import { z } from "zod";
import {
  RangeAlertEvent,
  ReportAlertEvent,
  SignalShiftEvent,
  SteadinessAlertEvent,
  VolatilityAlertEvent,
} from "../answers/event.ts";
import { MethodChangedEvent } from "../answers/method-change.ts";
import { InstantAnswer } from "../answers/shared-members.ts";

const AlertId = z.string().describe("The alert that the webhook belongs to.");

/** Schema of the challenge sent to a new webhook. */
export const EndpointVerify = z.object({
  type: z.literal("endpoint.verify"),
  timestamp: InstantAnswer,
  data: z.object({
    alertId: AlertId,
    challenge: z.string().describe("Must be returned, as the body or as its member `challenge`."),
  }),
});

/** Schema of a test event that a caller requests. */
export const WebhookTest = z.object({
  type: z.literal("webhook.test"),
  timestamp: InstantAnswer,
  data: z.object({ alertId: AlertId, eventId: z.string().describe("Equal to webhook-id.") }),
});

/**
 * Schema of the event that tells an owner's remaining webhooks that another of the owner's webhooks
 * was disabled.
 */
export const EndpointDisabled = z.object({
  type: z.literal("endpoint.disabled"),
  timestamp: InstantAnswer,
  data: z.object({
    alertId: z.string().describe("The alert whose webhook was disabled."),
    label: z.string().nullable(),
    reason: z.enum(["gone", "failing", "unverified"]),
  }),
});

/** Schema of the signature headers of a delivery (Standard Webhooks 1.0.0). */
const SignatureFields = z.object({
  "webhook-id": z.string().describe("The same in all attempts: skip an id that you have seen."),
  "webhook-timestamp": z
    .string()
    .describe("Unix time in seconds; reject it if it is more than five minutes off."),
  "webhook-signature": z
    .string()
    .describe(
      "Signatures of `{webhook-id}.{webhook-timestamp}.{body}`, in base64, separated by spaces: `v1,` and an HMAC-SHA256 with the alert's secret, `v1a,` and an Ed25519 signature by a key of /.well-known/webhook-keys.json.",
    ),
});

/** Describes one type of event that the service sends to webhooks. */
export interface WebhookEventDescription {
  /** Event type. */
  readonly type: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly header: z.ZodObject;
}

const DELIVERY_NOTE =
  "Answer 2xx within 15 seconds, then process the event. A failed delivery is retried up to nine times over three days.";

const webhook = (
  schema: z.ZodType,
  type: string,
  words: Pick<WebhookEventDescription, "summary" | "description">,
) => ({ type, schema, header: SignatureFields, ...words }) satisfies WebhookEventDescription;

/** All webhook events. */
export const webhookEventDescriptions: readonly WebhookEventDescription[] = [
  webhook(SignalShiftEvent, "signal.shift", {
    summary: "The signal or the score of an instrument moved",
    description: `For alerts of the kind signal_shift. ${DELIVERY_NOTE}`,
  }),
  webhook(VolatilityAlertEvent, "volatility.alert", {
    summary: "The volatility of an instrument is unusual",
    description: `For alerts of the kind volatility. ${DELIVERY_NOTE}`,
  }),
  webhook(ReportAlertEvent, "report.alert", {
    summary: "A quarterly report is near, was filed or is late",
    description: `For alerts of the kind report, which cover companies only. ${DELIVERY_NOTE}`,
  }),
  webhook(RangeAlertEvent, "range.alert", {
    summary: "A close left the expected range of an instrument",
    description: `For alerts of the kind range. ${DELIVERY_NOTE}`,
  }),
  webhook(SteadinessAlertEvent, "steadiness.alert", {
    summary: "The steadiness of a stock or coin crossed a level",
    description: `For alerts of the kind steadiness, which cover no funds. ${DELIVERY_NOTE}`,
  }),
  webhook(MethodChangedEvent, "method.changed", {
    summary: "Another method scores the instruments of the alert",
    description: `For alerts of every kind, once, after an update of the service that changed the method. ${DELIVERY_NOTE}`,
  }),
  webhook(EndpointVerify, "endpoint.verify", {
    summary: "Challenge that confirms the endpoint",
    description:
      "Sent 5 seconds after a webhook is registered, and again after 1, 5 and 30 minutes. Answer 2xx with the challenge; until then events are held.",
  }),
  webhook(WebhookTest, "webhook.test", {
    summary: "A test that the owner requested",
    description: DELIVERY_NOTE,
  }),
  webhook(EndpointDisabled, "endpoint.disabled", {
    summary: "Another webhook of the owner was disabled",
    description: `After a 410, five days without success, or without an answer to the challenge. ${DELIVERY_NOTE}`,
  }),
];

/** Responses that a receiver can send, each with its effect on the delivery. */
export const receiverAnswers = {
  "2XX": { description: "The event was accepted." },
  "410": { description: "The endpoint accepts no more events: the webhook is disabled." },
  "429": { description: "Retried later: `Retry-After` is honored up to a day, as with 503." },
  default: { description: "Failed; the event is sent again. A redirect counts as a failure." },
} as const;
