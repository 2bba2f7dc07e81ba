import type { z } from "zod";
import { findInstruments } from "../../tools/find-instruments.ts";
import { getAlertEvents } from "../../tools/get-alert-events.ts";
import { OffExchange } from "../../tools/get-darkpool.ts";
import { getFactors } from "../../tools/get-factors.ts";
import { listAlerts } from "../../tools/list-alerts.ts";
import { manageAlert } from "../../tools/manage-alert.ts";
import { registerAlert } from "../../tools/register-alert.ts";
import { WebhookKeySet } from "../alerts/delivery/webhook-keys.ts";
import {
  RangeAlertEvent,
  ReportAlertEvent,
  SignalShiftEvent,
  SteadinessAlertEvent,
  VolatilityAlertEvent,
} from "../answers/event.ts";
import { MethodChangedEvent } from "../answers/method-change.ts";
import { jsonSchema } from "../lib/json-schema.ts";
import { memo } from "../lib/memo.ts";
import { ApplicationFields, InquiryFields } from "../principals/applications/fields.ts";
import { AlertAnswer, AttemptAnswer, EventAnswer } from "../tool/alert.ts";
import { MethodDocument } from "../tool/method.ts";
import { SignalAnswer, SignalHistory, SignalPage } from "../tool/signal.ts";
import { OAuthErrorBody, OAuthProblem } from "./oauth-errors.ts";
import { AcceptedApplication, RecordedInquiry } from "./operations/applications.ts";
import { ClaimBody, ClaimedBody, ClaimStartBody, ClaimStartedBody } from "./operations/claims.ts";
import { JsonRpcError, JsonRpcMessage } from "./operations/mcp.ts";
import { RegisteredClient, RegistrationBody } from "./operations/registration.ts";
import { HealthBody, Liveness, ReadinessBody } from "./operations/service-status.ts";
import { AccessToken, RevocationBody, TokenRequest } from "./operations/tokens.ts";
import { ProblemBody } from "./problems.ts";
import { EndpointDisabled, EndpointVerify, WebhookTest } from "./webhooks.ts";

/** A JSON Schema, or another part of the OpenAPI document. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Request schemas by name. */
const requests = {
  Application: ApplicationFields,
  Inquiry: InquiryFields,
  Registration: RegistrationBody,
  TokenRequest,
  Revocation: RevocationBody,
  Claim: ClaimBody,
  ClaimStart: ClaimStartBody,
};

const [AlertDetail, AlertPage] = listAlerts.output.options;
const [ManagedAlert, DeletedAlert] = manageAlert.output.options;

/** Response schemas by name. */
const answers = {
  Signal: SignalAnswer,
  SignalPage,
  SignalHistory,
  Factors: getFactors.output,
  OffExchange,
  InstrumentPage: findInstruments.output,
  Method: MethodDocument,
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
  SteadinessAlertEvent,
  MethodChangedEvent,
  EndpointVerify,
  WebhookTest,
  EndpointDisabled,
  WebhookKeySet,
  RegisteredClient,
  AccessToken,
  Claimed: ClaimedBody,
  ClaimStarted: ClaimStartedBody,
  AcceptedApplication,
  RecordedInquiry,
  Health: HealthBody,
  Readiness: ReadinessBody,
  Liveness,
  JsonRpcMessage,
  JsonRpcError,
  Problem: ProblemBody,
  OAuthProblem,
  Refusal: OAuthErrorBody,
};

/** Which side of a Zod schema is described: what requests contain, or what responses contain. */
type Io = "input" | "output";

const schemaNames: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries({ ...requests, ...answers }).map(([name, schema]) => [schema, name]),
);

const referenceTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

const jsonSchemas = (
  group: Readonly<Record<string, z.ZodType>>,
  io: Io,
): readonly [string, JsonObject][] =>
  Object.entries(group).map(([name, schema]) => [name, jsonSchema(schema, io)]);

const answerSchemas = memo(() => jsonSchemas(answers, "output"));

/**
 * Names of the response schemas, by the JSON of the schema before its parts are replaced by
 * references.
 */
const namesByJson = memo(
  (): ReadonlyMap<string, string> =>
    new Map(answerSchemas().map(([name, schema]) => [JSON.stringify(schema), name])),
);

/**
 * All named schemas; created at first use, because most processes never serve the OpenAPI document.
 */
export const componentSchemas = memo(
  (): Readonly<Record<string, JsonObject>> =>
    Object.fromEntries([
      ...jsonSchemas(requests, "input"),
      ...answerSchemas().map(([name, schema]) => [name, withReferencesInside(schema)]),
    ]),
);

/** The JSON Schema of a Zod type; a reference if the type is named. */
export function jsonSchemaOf(schema: z.ZodType, io: Io): JsonObject {
  const name = schemaNames.get(schema);
  return name === undefined ? withReferencesInside(jsonSchema(schema, io)) : referenceTo(name);
}

/** Replaces each part of a schema that is a named schema with a reference. */
function withReferences(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withReferences);
  if (typeof part !== "object" || part === null) return part;
  const name = namesByJson().get(JSON.stringify(part));
  return name === undefined ? withReferencesInside(part) : referenceTo(name);
}

function withReferencesInside(part: object): JsonObject {
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, withReferences(value)]),
  );
}
