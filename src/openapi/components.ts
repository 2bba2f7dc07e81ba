import type { z } from "zod";
import { findInstruments } from "../../tools/find-instruments.ts";
import { getAlertEvents } from "../../tools/get-alert-events.ts";
import { OffExchange } from "../../tools/get-darkpool.ts";
import { getFactors } from "../../tools/get-factors.ts";
import { listAlerts } from "../../tools/list-alerts.ts";
import { manageAlert } from "../../tools/manage-alert.ts";
import { registerAlert } from "../../tools/register-alert.ts";
import { WebhookKeySet } from "../alerts/delivery/webhook-keys.ts";
import { AlertAnswer, AttemptAnswer, EventAnswer } from "../answers/alert.ts";
import {
  RangeAlertEvent,
  ReportAlertEvent,
  SignalShiftEvent,
  VolatilityAlertEvent,
} from "../answers/event.ts";
import { Method } from "../answers/method.ts";
import { Signal, SignalHistory, SignalPage } from "../answers/signal.ts";
import { jsonSchema } from "../lib/json-schema.ts";
import { memo } from "../lib/memo.ts";
import {
  AcceptedApplication,
  Application,
  Inquiry,
  RecordedInquiry,
} from "./operations/applications.ts";
import { Claim, Claimed, ClaimStart, ClaimStarted } from "./operations/claims.ts";
import { JsonRpcError, JsonRpcMessage } from "./operations/mcp.ts";
import { RegisteredClient, Registration } from "./operations/registration.ts";
import { Health, Liveness, Readiness } from "./operations/service-status.ts";
import { AccessToken, Revocation, TokenRequest } from "./operations/tokens.ts";
import { Problem } from "./problems.ts";
import { OAuthProblem, Refusal } from "./refusals.ts";
import { EndpointDisabled, EndpointVerify, WebhookTest } from "./webhooks.ts";

/** A JSON Schema, or another part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** Named request schemas. */
const requests = {
  Application,
  Inquiry,
  Registration,
  TokenRequest,
  Revocation,
  Claim,
  ClaimStart,
};

const [AlertDetail, AlertPage] = listAlerts.output.options;
const [ManagedAlert, DeletedAlert] = manageAlert.output.options;

/** Named response schemas. */
const answers = {
  Signal,
  SignalPage,
  SignalHistory,
  Factors: getFactors.output,
  OffExchange,
  InstrumentPage: findInstruments.output,
  Method,
  Alert: AlertAnswer,
  AlertDetail,
  AlertPage,
  RegisteredAlert: registerAlert.output,
  ManagedAlert,
  DeletedAlert,
  AlertEvent: EventAnswer,
  DeliveryAttempt: AttemptAnswer,
  AlertEvents: getAlertEvents.output,
  SignalShiftEvent,
  VolatilityAlertEvent,
  ReportAlertEvent,
  RangeAlertEvent,
  EndpointVerify,
  WebhookTest,
  EndpointDisabled,
  WebhookKeySet,
  RegisteredClient,
  AccessToken,
  Claimed,
  ClaimStarted,
  AcceptedApplication,
  RecordedInquiry,
  Health,
  Readiness,
  Liveness,
  JsonRpcMessage,
  JsonRpcError,
  Problem,
  OAuthProblem,
  Refusal,
};

/** Direction of a schema. */
type Io = "input" | "output";

const named: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries({ ...requests, ...answers }).map(([name, schema]) => [schema, name]),
);

const referTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const allOf = (group: Readonly<Record<string, z.ZodType>>, io: Io): readonly [string, Json][] =>
  Object.entries(group).map(([name, schema]) => [name, jsonSchema(schema, io)]);

const said = memo(() => allOf(answers, "output"));

/** The named schemas in full, before references replace their parts. */
const whole = memo(
  (): ReadonlyMap<string, string> =>
    new Map(said().map(([name, schema]) => [JSON.stringify(schema), name])),
);

/** All named schemas; created lazily, because most processes never serve the document. */
export const schemas = memo(
  (): Readonly<Record<string, Json>> =>
    Object.fromEntries([
      ...allOf(requests, "input"),
      ...said().map(([name, schema]) => [name, shortenedInside(schema)]),
    ]),
);

/** The schema of a type: a reference if it is named. */
export function schemaOf(schema: z.ZodType, io: Io): Json {
  const name = named.get(schema);
  return name === undefined ? shortenedInside(jsonSchema(schema, io)) : referTo(name);
}

/** A part of a schema, with references in place of named parts. */
function shortened(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(shortened);
  if (typeof part !== "object" || part === null) return part;
  const name = whole().get(JSON.stringify(part));
  return name === undefined ? shortenedInside(part) : referTo(name);
}

function shortenedInside(part: object): Json {
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, shortened(value)]));
}
