import { randomUUID } from "node:crypto";
import { createAuditor } from "../../src/access/auditor.ts";
import type { Caller } from "../../src/access/caller.ts";
import { allScopes, type Scope } from "../../src/access/scopes.ts";
import { eventSubject, type OwnerIdentity } from "../../src/alerts/alert.ts";
import { AlertService } from "../../src/alerts/api/alert-service.ts";
import type { AlertDependencies } from "../../src/alerts/api/dependencies.ts";
import type { NewAlert } from "../../src/alerts/api/register.ts";
import { AlertCapacity } from "../../src/alerts/capacity.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  EVENT_ARCHIVE_KIND,
  newMessageId,
} from "../../src/alerts/delivery/delivery.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { createLimits, type Limits } from "../../src/limits/limits.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { grants } from "../../src/principals/accounts/grants.ts";
import { accountRecordsGroup, clientGroup, clients } from "../../src/principals/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../../src/principals/keys/api-keys.ts";
import { type AuditEntry, unsealedAudit } from "../../src/store/audit-entry.ts";
import { insert, put } from "../../src/store/port/operations.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import type { Records } from "../../src/store/port/records.ts";
import { looseNumbers } from "./limits.ts";
import type { TestStore } from "./stores.ts";
import { endpointKey, vault } from "./webhook-alerts.ts";

/** Options of the service under test. */
interface Choice extends Partial<Pick<AlertDependencies, "records" | "standsStill">> {
  /** Low limits; all other limits are never reached. */
  readonly limits?: LimitOverrides;
}

/** Creates limits that are never reached, except for the given ones. */
export function looseLimits(overrides: LimitOverrides = {}): Limits {
  return createLimits({ overrides: { ...looseNumbers, ...overrides } });
}

const hashAddress = (address: string): string => `hash of ${address}`;

/** Dependencies of an alert service on a store, with the clock of the store as wall clock. */
export function alertDependencies(
  { records, archive, clock }: Pick<TestStore, "records" | "archive" | "clock">,
  { limits, ...choice }: Choice = {},
): AlertDependencies {
  const now = () => new Date(clock.now);
  return {
    ...{
      records,
      archive,
      now,
      vault,
      endpointKey,
      urlPolicy: {},
      baseUrl: "https://signals.test",
    },
    audit: createAuditor({ hashAddress, now }),
    capacity: new AlertCapacity({ records, hashAddress, now }),
    limits: looseLimits(limits),
    standsStill: () => false,
    ...choice,
  };
}

/** Creates an alert service on a store. */
export const alertServiceOn = (
  store: Parameters<typeof alertDependencies>[0],
  choice: Choice = {},
): AlertService => new AlertService(alertDependencies(store, choice));

/** Creates a caller with every scope. */
const caller = (kind: Caller["kind"], id: string, accountId: string | undefined): Caller => ({
  ...{ kind, id, accountId },
  clientId: kind === "agent" ? id : undefined,
  scopes: new Set(allScopes),
  resource: "https://signals.test",
  signedInAt: undefined,
});

/** Client metadata with every scope. */
const metadata = { scope: allScopes.join(" ") };

/** Stores a person's account. @returns The person as a caller. */
export async function newPerson(records: Records, id: string): Promise<Caller> {
  const value = { label: id, createdAt: 0 };
  await records.commit([insert(accounts, { key: id, value, groups: [accountRecordsGroup(id)] })]);
  return newApplication(records, id, `app-of-${id}`);
}

/** Authorizes an application for a person who has an account. @returns The person through it. */
export async function newApplication(
  records: Records,
  accountId: string,
  clientId: string,
  scopes: readonly Scope[] = allScopes,
): Promise<Caller> {
  const value = { accountId, clientId, resources: { "https://signals.test": scopes.join(" ") } };
  const groups = [accountRecordsGroup(accountId), clientGroup(clientId)];
  const agent = { identityType: "anonymous", registeredAt: 0 } as const;
  await records.commit([
    put(clients, { key: clientId, value: { metadata, agent } }),
    insert(grants, { key: randomUUID(), value, groups }),
  ]);
  return { ...caller("user", accountId, accountId), clientId, scopes: new Set(scopes) };
}

/** Stores an agent that a person owns. @returns The agent as a caller. */
export async function newAgent(
  records: Records,
  id: string,
  accountId = "acc_of_agents",
): Promise<Caller> {
  const owner = { accountId, scopes: allScopes, claimedAt: 0 };
  const agent = { identityType: "anonymous", registeredAt: 0, owner } as const;
  await records.commit([insert(clients, { key: id, value: { metadata, agent } })]);
  return caller("agent", id, accountId);
}

/** Stores an API key. @returns Its holder as a caller. */
export async function newKeyHolder(
  records: Records,
  id: string,
  accountId?: string,
): Promise<Caller> {
  const value = {
    ...{ id, name: id, scopes: allScopes, hint: "", accountId, createdAt: 0 },
    expiresAt: undefined,
  };
  const groups = [
    apiKeyGroup(id),
    ...(accountId === undefined ? [] : [accountRecordsGroup(accountId)]),
  ];
  await records.commit([insert(apiKeys, { key: id, value, groups })]);
  return caller("service", id, accountId);
}

/** Request for an alert without a webhook, whose events are polled. */
export const ALERT_WITH_POLLING: NewAlert = {
  ...{ label: null, kinds: ["signal_shift", "volatility"], url: undefined },
  watched: { by: "symbols", symbols: ["ALDER.SIM"] },
  thresholds: { scoreMove: 15, volatilityZ: 2.5, cooldownDays: null },
  ...{ expiresAt: null, snoozedUntil: null },
};

/** Request for an alert with a webhook. */
export const ALERT_WITH_WEBHOOK: NewAlert = {
  ...ALERT_WITH_POLLING,
  url: "https://hooks.example.com/in",
};

/** Creates an alert. */
export const createTestAlert = (
  service: AlertService,
  by: Caller,
  wanted: NewAlert = ALERT_WITH_WEBHOOK,
) => service.register(by, { wanted, idempotencyKey: undefined });

/** The entries of the audit log, oldest first. */
export async function auditEntriesIn(records: Records): Promise<readonly AuditEntry[]> {
  const rows = await readAll(records, unsealedAudit);
  return rows.map(({ value }) => value.body as AuditEntry);
}

/** Appends an event to the archive, as the leader does. @returns Its id. */
export async function storedEvent(
  { archive }: Pick<TestStore, "archive">,
  { owner, alertId, at }: { readonly owner: OwnerIdentity; alertId: string; at: number },
): Promise<string> {
  const id = newMessageId(at);
  const type = "signal.shift";
  const data = { alertId, eventId: id, sequence: 1 };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  const subject = eventSubject(owner);
  await archive.append([
    { kind: EVENT_ARCHIVE_KIND, at, id, subject, body: { alertId, type, body } },
  ]);
  return id;
}

/** Appends a delivery attempt to the archive, as the delivery worker does. */
export async function archiveTestAttempt(
  { archive }: Pick<TestStore, "archive">,
  {
    at,
    ...attempt
  }: Partial<DeliveryAttempt> & Pick<DeliveryAttempt, "eventId"> & { alertId: string; at: number },
): Promise<void> {
  const body: DeliveryAttempt = {
    ...{ type: "signal.shift", number: 1, status: 200, latencyMs: 3, error: "none" },
    ...{ response: "", nextInMs: null },
    ...attempt,
  };
  const id = crypto.randomUUID();
  await archive.append([{ kind: ATTEMPT_ARCHIVE_KIND, at, id, subject: attempt.alertId, body }]);
}
