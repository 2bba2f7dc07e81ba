/**
 * An agent that knows only the base URL: it registers, requests a token, and reads the strongest
 * signals and the factors behind the first signal. Run it with
 * `npx node examples/agent.ts [base URL]` (Node.js 24).
 */

const base = process.argv[2] ?? "http://127.0.0.1:3000";

/**
 * No redirect is followed, so that secrets reach the named service alone.
 *
 * @throws {Error} When the service rejects the request; the message contains the response.
 */
async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(base + path, { redirect: "error", ...init });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

const client = await json<{ client_id: string; client_secret: string }>("/oauth/register", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ client_name: "Example agent" }),
});
const { access_token } = await json<{ access_token: string }>("/oauth/token", {
  method: "POST",
  body: new URLSearchParams({
    grant_type: "client_credentials",
    client_id: client.client_id,
    client_secret: client.client_secret,
  }),
});
const headers = { authorization: `Bearer ${access_token}` };

const { items } = await json<{ items: readonly { symbol: string; score: number }[] }>(
  "/api/signals?signal=LONG&limit=500",
  { headers },
);
const [first, ...others] = items.toSorted((a, b) => b.score - a.score).slice(0, 5);
if (first === undefined) throw new Error("There is no LONG signal now.");
for (const { symbol, score } of [first, ...others]) process.stdout.write(`${symbol}  ${score}\n`);

const { factors } = await json<{ factors: Readonly<Record<string, { contribution: number }>> }>(
  `/api/factors?symbol=${encodeURIComponent(first.symbol)}`,
  { headers },
);
for (const [name, { contribution }] of Object.entries(factors)) {
  process.stdout.write(`  ${name}: ${contribution.toFixed(2)} points\n`);
}
