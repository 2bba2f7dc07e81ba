import { describe, expect, it, onTestFinished } from "vitest";
import { getWith, postJson } from "../support/agent.ts";
import { createPlayer, type Described } from "../support/exchange-player.ts";
import { type ReceiverOptions, startReceiver } from "../support/receivers.ts";
import { startTestService } from "../support/test-service.ts";

/**
 * Whether the answers replace the recorded examples instead of being compared with them. The tests
 * execute every example of the OpenAPI document against the sandbox; after an intended change of
 * the answers, run them with UPDATE_EXAMPLES=1.
 */
const isRecorded = process.env.UPDATE_EXAMPLES === "1";

const testService = await startTestService({ ALLOW_INSECURE_WEBHOOKS: "1" });
const { base, clock, service } = testService;
const document = (await (await fetch(`${base}/docs/api/openapi.json`)).json()) as Described;
const player = createPlayer(base, document, isRecorded);
const { play, fail } = player;

/**
 * Durations in milliseconds: one second, the delay of the first webhook challenge, and a simulated
 * day.
 */
const SECOND_MS = 1_000;
const CHALLENGE_MS = 5_000;
const DAY_MS = 60_000;

/** Number of simulated days after which a signal and a volatility event have both occurred. */
const DAYS = 3;

function pass(ms: number): void {
  clock.now = new Date(clock.now.getTime() + ms);
  service.refresh();
}

/** Signs in a person who confirms an agent's claim. @returns The code shown to the person. */
async function confirmed(link: string): Promise<string> {
  const person = testService.person();
  await person.signIn();
  const page = await person.web.get(link);
  const shown = await person.web.submit(page.form("/claim/approve"));
  return /<code id="claim-code">([0-9A-Z]{8})<\/code>/.exec(shown.html)?.[1] ?? "";
}

interface Attempts {
  readonly deliveries: readonly unknown[];
}

interface Named {
  readonly id: string;
  readonly type: string;
  readonly status: string;
}

describe("the examples of the OpenAPI document", () => {
  it("equal the answers of a running sandbox", async () => {
    await play("get_health", "sandbox");
    await play("get_readiness", "ready");
    await play("get_liveness", "alive");
    await play("get_webhook_keys", "one");
    await play("apply", "quant");
    await play("contact", "question");

    const { registration_access_token: own = "" } = await play("register_client", "agent");
    const { access_token: token = "" } = await play("get_token", "agent");
    await play("get_client", "agent", own);
    await readMarket(token);

    const { verification_uri = "" } = await play("start_claim", "agent", token);
    player.learn("9X4BQ7TM", await confirmed(verification_uri));
    const { registration_access_token: renewed } = await play("claim_agent", "agent", token);
    const { access_token: claimed = "" } = await play("get_token", "claimed");
    await useAlerts(claimed);

    await play("revoke_token", "token");
    const { registration_access_token: next = "" } = await play("update_client", "agent", renewed);
    await play("delete_client", "agent", next);
    if (isRecorded) player.keep();
  });

  it("are all executed by these tests", () => {
    expect(player.left()).toEqual([]);
  });
});

async function readMarket(token: string): Promise<void> {
  for (const name of ["one", "several", "long", "history"]) await play("get_signal", name, token);
  await play("get_factors", "one", token);
  for (const name of ["summary", "blocks", "days"]) await play("get_darkpool", name, token);
  await play("find_instruments", "query", token);
  await play("call_mcp", "call", token);
  await fail("unauthenticated");
  for (const code of [
    "invalid_request",
    "insufficient_scope",
    "forbidden_origin",
    "unknown_symbol",
    "not_available_then",
  ]) {
    await fail(code, token);
  }
}

async function useAlerts(token: string): Promise<void> {
  const receiver = await newReceiver("https://hooks.example.com/market");
  const { id: alertId = "" } = await play("register_alert", "webhook", token);
  pass(SECOND_MS);
  await play("register_alert", "poll", token);
  await play("set_watchlist", "list", token);
  await play("change_watchlist", "add", token);
  await play("list_watchlists", "all", token);
  await play("delete_watchlist", "list", token);
  for (const code of [
    ...["idempotency_key_reused", "not_found", "wrong_state"],
    "unsupported_media_type",
  ]) {
    await fail(code, token);
  }
  pass(CHALLENGE_MS);
  player.deliver("endpoint.verify", await receiver.arrivedOf("endpoint.verify"));
  const alert = `${base}/api/alerts/${alertId}`;
  while ((await jsonOf<Named>(getWith(token, alert))).status !== "active");
  await play("update_alert", "change", token);
  await play("list_alerts", "all", token);
  await play("get_alert", "webhook", token);
  pass(SECOND_MS);
  await play("test_alert", "webhook", token);
  player.deliver("webhook.test", await receiver.arrivedOf("webhook.test"));
  const attempts = () => jsonOf<Attempts>(getWith(token, `${alert}/deliveries`));
  while ((await attempts()).deliveries.length < 2);
  await play("get_alert_deliveries", "webhook", token);
  await play("rotate_alert_secret", "webhook", token);
  await disableAnother(token);
  player.deliver("endpoint.disabled", await receiver.arrivedOf("endpoint.disabled"));
  await play("enable_alert", "webhook", token);

  pass(DAYS * DAY_MS);
  const types = ["signal.shift", "volatility.alert"];
  for (const type of types) await receiver.arrivedOf(type);
  const list = getWith(token, `${base}/api/alerts/events?alertId=${alertId}`);
  const { events } = await jsonOf<{ readonly events: readonly Named[] }>(list);
  for (const type of types) {
    player.deliver(
      type,
      await receiver.arrivedOf(type, events.find((one) => one.type === type)?.id),
    );
  }
  await play("get_alert_events", "first", token);
  await play("redeliver_alert_events", "webhook", token);
  await play("redeliver_alert_event", "webhook", token);
  await play("update_alert", "pause", token);
  await play("delete_alert", "poll", token);
}

/** Starts a local receiver in place of a webhook URL in the examples. */
async function newReceiver(url: string, inTurn: ReceiverOptions["inTurn"] = ["healthy"]) {
  const { received, arrived, close, url: actual } = await startReceiver({ inTurn });
  onTestFinished(close);
  player.learn(url, actual);
  return {
    url: actual,
    /** Waits for a delivery. @param id Event id; any event if absent. @returns The body. */
    async arrivedOf(type: string, id?: string): Promise<unknown> {
      for (;;) {
        const found = received.find((one) => one.type === type && (id ?? one.id) === one.id);
        if (found !== undefined) return JSON.parse(found.body);
        await arrived(received.length + 1);
      }
    },
  };
}

/** Creates another alert whose webhook answers its first event with 410 Gone. */
async function disableAnother(token: string): Promise<void> {
  const { url, arrivedOf } = await newReceiver("https://hooks.example.com/old", ["healthy", 410]);
  const headers = { authorization: `Bearer ${token}` };
  const body = { symbols: ["BORUN.SIM"], delivery: { type: "webhook", url }, label: "Old" };
  const { id } = await jsonOf<Named>(postJson(`${base}/api/alerts`, body, headers));
  player.learn("alert_Zk9WnF8Qx2Vt0By5", id);
  pass(CHALLENGE_MS);
  await arrivedOf("endpoint.verify");
  const alert = `${base}/api/alerts/${id}`;
  while ((await jsonOf<Named>(getWith(token, alert))).status !== "active");
  await postJson(`${alert}/test`, {}, headers);
}

const jsonOf = async <T>(response: Promise<Response>) => (await (await response).json()) as T;
