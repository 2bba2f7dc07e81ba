// @module-tag nightly

import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { allScopes } from "../../src/access/scopes.ts";
import { newKey } from "../support/admin.ts";
import { newToken, postJson, register } from "../support/agent.ts";
import { createAnswerChecker, type Description, describedIn } from "../support/checks-answers.ts";
import { type FuzzedRequest, fuzzedRequest } from "../support/fuzz-requests.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

/** Number of requests and random seed: `npm run fuzz` sends 20,000 with a new seed each day. */
const REQUESTS = Number(process.env.FUZZ ?? 3_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);

/** Number of concurrent requests. */
const LANES = 12;

vi.setConfig({ testTimeout: 180_000 + REQUESTS * 20 });

/**
 * A request target longer than this many characters may be rejected before it is read completely.
 */
const LONG_PATH = 15_000;

/** Matches text that no answer may contain: a stack frame or a path of the program. */
const INTERNAL = /\bat \S.{0,120}\.m?[jt]s:\d+:\d+|node_modules\/|node:internal/;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

it(`the service answers ${REQUESTS} random requests from its OpenAPI document as documented, and never with 5xx`, async () => {
  const DATA_DIR = temporaryFolder();
  const { baseUrl, child } = await startProcess({ DATA_DIR, RATE_LIMITS: LOOSE_LIMITS });
  const document = (await (await fetch(`${baseUrl}/docs/api/openapi.json`)).json()) as Description;
  const witness = createAnswerChecker(document);
  const key = await newKey({ DATA_DIR }, allScopes.join(" "));
  const client = await register(baseUrl);
  const alert = await postJson(
    `${baseUrl}/api/alerts`,
    { url: "https://hooks.example/x", symbols: ["ALDER.SIM"] },
    bearer(key),
  );
  const { id = "alert_none" } = (await alert.json()) as { readonly id?: string };

  const request = fuzzedRequest({
    document,
    described: describedIn(document),
    callers: [{}, bearer(await newToken(baseUrl)), bearer(key), { "x-api-key": key }, bearer("x")],
    ids: ["ALDER.SIM", "1.1.0", id, client.client_id],
  });
  const requests = fc.sample(request, { numRuns: REQUESTS, seed: SEED });
  const failed: string[] = [];
  const lane = async () => {
    for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
      const fault = await faultOf(baseUrl, next, witness.saw);
      if (fault !== undefined) failed.push(`${fault}: ${shown(next)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));

  expect(failed.slice(0, 10), `seed ${SEED}`).toEqual([]);
  expect(witness.faults(), `seed ${SEED}`).toEqual([]);
  expect(child.exitCode).toBeNull();
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
});

const shown = ({ one, path, headers, body }: FuzzedRequest): string =>
  `${one.method} ${JSON.stringify({ path, headers, body }).slice(0, 500)}`;

/**
 * Sends a request.
 * @returns A fault of the answer other than a schema violation, if there is one.
 */
async function faultOf(
  baseUrl: string,
  { one, path, headers, body }: FuzzedRequest,
  saw: ReturnType<typeof createAnswerChecker>["saw"],
): Promise<string | undefined> {
  const leaving = new AbortController();
  const sent = body !== undefined && one.method !== "GET" && { body };
  try {
    const response = await fetch(baseUrl + path, {
      ...{ method: one.method, headers, redirect: "manual", signal: leaving.signal },
      ...sent,
    });
    // A request with a header section that is too large never reaches an operation.
    if (response.status === 431) return path.length > LONG_PATH ? undefined : "431";
    await saw(one, response);
    return await faultIn(response);
  } catch (error) {
    return `no answer (${error})`;
  } finally {
    leaving.abort();
  }
}

async function faultIn(response: Response): Promise<string | undefined> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) return undefined;
  const text = await response.text();
  if (response.status >= 500) return `${response.status} ${text.slice(0, 100)}`;
  return INTERNAL.test(text) ? `internals in ${response.status}` : undefined;
}
