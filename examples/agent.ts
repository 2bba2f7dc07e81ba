/**
 * An agent that knows only the base URL: it registers, requests a token, and reads the strongest
 * signals and the factors behind the first signal. Run it with
 * `npx node examples/agent.ts [base URL]` (Node.js 24).
 */

const base = process.argv[2] ?? "http://127.0.0.1:3000";

/** Maximum size of a response, in bytes after decompression. */
const MAX_BYTES = 1_000_000;

/** Ends the whole exchange after this time, in milliseconds. */
const deadline = AbortSignal.timeout(30_000);

/**
 * No redirect is followed, so that secrets reach the named service alone.
 *
 * @throws {Error} With words of this program alone: what a stranger sent can control the terminal.
 */
async function json<T>(path: string, init?: RequestInit): Promise<T> {
  let problem = "no answer";
  try {
    const response = await fetch(base + path, { redirect: "error", signal: deadline, ...init });
    problem = `status ${response.status}`;
    if (response.ok) {
      problem = `no JSON of at most ${MAX_BYTES} bytes`;
      return JSON.parse(await bounded(response)) as T;
    }
  } catch {}
  throw new Error(`${path.split("?")[0]}: ${problem}${deadline.aborted ? " in time" : ""}`);
}

async function bounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error("too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The first 80 characters of a value, with those escaped that a terminal obeys or does not show. */
const shown = (value: unknown): string =>
  String(value)
    .slice(0, 80)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);

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
for (const { symbol, score } of [first, ...others])
  process.stdout.write(`${shown(symbol)}  ${shown(score)}\n`);

const { factors } = await json<{ factors: Readonly<Record<string, { contribution: number }>> }>(
  `/api/factors?symbol=${encodeURIComponent(first.symbol)}`,
  { headers },
);
for (const [name, { contribution }] of Object.entries(factors)) {
  process.stdout.write(`  ${shown(name)}: ${contribution.toFixed(2)} points\n`);
}
