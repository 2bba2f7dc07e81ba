import { type AlertOwner, alerts, eventSubject } from "../../src/alerts/alert.ts";
import {
  EVENT_ARCHIVE_KIND,
  EVENTS_TOPIC,
  type EventRowBody,
  newMessageId,
} from "../../src/alerts/delivery/delivery.ts";
import { announce, appendToArchive } from "../../src/store/port/operations.ts";
import { type ClaimableAgent, postJson, registerClaimable, tokenOf } from "./agent.ts";
import { type OpenStream, openStream } from "./event-stream.ts";
import type { Person } from "./person.ts";
import type { TestService } from "./test-service.ts";

/** Registers an agent and lets a person claim it. */
export async function claimedAgent(
  { base }: Pick<TestService, "base">,
  person: Person,
  client_name = "Night shift",
): Promise<{ readonly agent: ClaimableAgent; readonly token: string }> {
  const agent = await registerClaimable(base, { client_name });
  await person.claim(agent.client_id, agent.claim.code);
  return { agent, token: await tokenOf(base, agent) };
}

/** Credential headers of a request. */
export type Headers = Readonly<Record<string, string>>;

/** The Authorization header for a token. */
export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** A function that sends requests with a credential. @returns Status and JSON body of an answer. */
export const asking =
  ({ base }: Pick<TestService, "base">) =>
  async (headers: Headers, path: string, method = "GET", body?: object) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, body: answer };
  };

/** Creates an alert. @returns Its id. */
export async function makeAlert(
  { base }: Pick<TestService, "base">,
  headers: Headers,
  changes: object = {},
): Promise<string> {
  const wanted = { symbols: ["ALDER.SIM"], ...changes };
  const response = await postJson(`${base}/api/alerts`, wanted, headers);
  const { id } = (await response.json()) as { readonly id?: string };
  if (id === undefined) throw new Error(`no alert: ${response.status}`);
  return id;
}

/** An alert, and the credential of its owner. */
export interface Watcher {
  readonly headers: Headers;
  readonly alertId: string;
  readonly owner: AlertOwner;
  /** Opens the event stream of the owner. */
  open(path?: string, more?: Headers): Promise<OpenStream>;
}

/** Creates an alert for which a test can write events. */
export async function watcherIn(testService: TestService, headers: Headers): Promise<Watcher> {
  const alertId = await makeAlert(testService, headers);
  const alert = await testService.service.state.store.records.get(alerts, alertId);
  if (alert === undefined) throw new Error("the alert is not kept");
  return {
    ...{ headers, alertId, owner: alert.value.owner },
    open: (path = "", more = {}) =>
      openStream(`${testService.base}/api/alerts/stream${path}`, { ...headers, ...more }),
  };
}

/**
 * Writes events in one commit, as the leader does.
 *
 * @param ats Instants of the events, ascending, Unix milliseconds.
 * @param data Additional members of each payload.
 */
export async function writeEvents(
  { service }: Pick<TestService, "service">,
  { alertId, owner }: Pick<Watcher, "alertId" | "owner">,
  ats: readonly number[],
  data: object = {},
): Promise<void> {
  const rows = ats.map((at) => {
    const type = "signal.shift";
    const body: EventRowBody = {
      alertId,
      type,
      body: JSON.stringify({ type, data: { at, ...data } }),
    };
    return {
      kind: EVENT_ARCHIVE_KIND,
      at,
      id: newMessageId(at),
      subject: eventSubject(owner),
      body,
    };
  });
  await service.state.store.records.commit([...rows.map(appendToArchive), announce(EVENTS_TOPIC)]);
}
