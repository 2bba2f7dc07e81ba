import { LOG_LEVEL_META_KEY, RELATED_TASK_META_KEY } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { messageIn } from "./mcp-messages.ts";
import { type RawAnswer, sendRaw } from "./raw.ts";

/** A message with its headers, except for the credential. */
export interface OddMessage {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Generates mostly the usual value, and sometimes a different one. */
const mostly = <T, U>(usual: T, ...odd: U[]): fc.Arbitrary<T | U> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );

const of = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const SYMBOLS: readonly unknown[] = [
  "ALDER.SIM",
  "alder/sim",
  "NOBODY",
  "",
  "x".repeat(300),
  5,
  null,
  ["ALDER.SIM"],
];
const symbol = fc.oneof({ weight: 3, arbitrary: of<unknown>("ALDER.SIM") }, of(...SYMBOLS));

/** Generates requests with valid and invalid parameters. */
const calls = fc.record({
  name: fc.oneof(
    {
      weight: 6,
      arbitrary: of<unknown>("get_signal", "get_factors", "find_instruments", "get_darkpool"),
    },
    of<unknown>(
      "manage_alert",
      "register_alert",
      "nothing",
      "__proto__",
      "",
      "=?base64?Z2V0?=",
      7,
      null,
    ),
  ),
  arguments: fc.oneof(
    { weight: 5, arbitrary: fc.record({ symbol }) },
    {
      weight: 2,
      arbitrary: fc.record({ query: of<unknown>("a", "", 3), limit: of<unknown>(1, 0, "1", 1e9) }),
    },
    of<unknown>(undefined, null, [], "ALDER.SIM", { symbol: "ALDER.SIM", and: { more: true } }),
  ),
});
const uri = of<unknown>(
  ...["market://instruments", "market://signals/ALDER.SIM", "market://signals/alder%2Fsim"],
  ...["market://signals/%zz", "market://nothing", "no address", " ", "=?base64?bWFya2V0?=", 4],
);
const reads = fc.record({ uri });
const prompts = fc.record({
  name: mostly<unknown, unknown>("check_a_signal", "nothing", "=?base64?x?=", 9, undefined),
  arguments: of<unknown>({ symbol: "ALDER.SIM" }, { symbol: "NOBODY" }, {}, undefined, { a: 1 }),
});
const completions = fc.record({
  ref: of<unknown>(
    { type: "ref/prompt", name: "check_a_signal" },
    { type: "ref/resource", uri: "market://signals/{symbol}" },
    { type: "ref/prompt", name: "nothing" },
    { type: "ref/none" },
    null,
  ),
  argument: of<unknown>({ name: "symbol", value: "al" }, { name: "x", value: "" }, {}, undefined),
});
const lists = of<object | undefined>({}, undefined, { cursor: "x" }, { cursor: 4 }, { more: 1 });

const asked: readonly (readonly [string, fc.Arbitrary<object | undefined>])[] = [
  ["tools/call", calls],
  ["tools/call", calls],
  ["resources/read", reads],
  ["prompts/get", prompts],
  ["completion/complete", completions],
  ["tools/list", lists],
  ["resources/list", lists],
  ["resources/templates/list", lists],
  ["prompts/list", lists],
  ["server/discover", lists],
  ["ping", lists],
  ["initialize", lists],
  ["logging/setLevel", lists],
  ["resources/subscribe", reads],
  ["tasks/get", lists],
  ["no/method", lists],
  ["notifications/initialized", lists],
  ["notifications/cancelled", lists],
];

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";

/** Generates additional members, mostly none. */
const more = (...members: object[]) => mostly({}, ...members);

/**
 * Generates the `_meta` of a message. @param version Revision of the client; `undefined` for older
 * clients.
 */
const metaOf = (version: string | undefined) =>
  fc
    .tuple(
      version === undefined
        ? mostly<object, object>({}, { [CAPABILITIES]: {} })
        : mostly<object, object>(
            { [VERSION]: version, [CAPABILITIES]: {} },
            { [VERSION]: version },
            { [VERSION]: version, [CAPABILITIES]: 4 },
            { [VERSION]: version, [CAPABILITIES]: { roots: { listChanged: "yes" } } },
            { [VERSION]: "2025-11-25", [CAPABILITIES]: {} },
            { [VERSION]: "2099-01-01", [CAPABILITIES]: {} },
            { [VERSION]: null, [CAPABILITIES]: {} },
          ),
      more(
        { progressToken: 1 },
        { progressToken: {} },
        { [LOG_LEVEL_META_KEY]: "debug" },
        { [LOG_LEVEL_META_KEY]: "never" },
        { [RELATED_TASK_META_KEY]: { taskId: "t" } },
        { [CLIENT]: { name: "c", version: "1" } },
        { [CLIENT]: "c" },
        { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
      ),
    )
    .map(([usual, odd]) => ({ ...usual, ...odd }));

const nameIn = (params: object | undefined) => {
  const { name, uri: address } = (params ?? {}) as { name?: unknown; uri?: unknown };
  return [name, address].find((value) => typeof value === "string");
};

/** Generates messages of a client with a revision as in `metaOf`, mostly with something unusual. */
const messagesOf = (version: string | undefined): fc.Arbitrary<OddMessage> =>
  of(...asked)
    .chain(([method, params]) =>
      fc.record({
        method: of(method),
        params,
        meta: metaOf(version),
        id: mostly<unknown, unknown>("a", 1, 0, -7, 1.5, 2 ** 53, "", null, undefined, {}),
        extra: more(
          { extra: 1 },
          { jsonrpc: "1.0" },
          { result: {} },
          { params: [] },
          { params: 3 },
        ),
        inParams: more({ inputResponses: {} }, { requestState: "x" }, { task: {} }),
        accept: mostly("application/json, text/event-stream", "application/json", "*/*"),
        type: mostly("application/json", "application/json; charset=utf-8", "application/json;a=b"),
        wrong: more(
          { "mcp-method": "tools/list" },
          { "mcp-method": undefined },
          { "mcp-name": "get_factors" },
          { "mcp-name": undefined },
          { "mcp-name": ["get_signal", "get_signal"] },
          { "mcp-name": "=?base64?Z2V0X3NpZ25hbA==?=" },
          { "mcp-protocol-version": "2025-11-25" },
          { "mcp-protocol-version": "2025-06-18" },
          { "mcp-protocol-version": "2026-07-28" },
          { "mcp-protocol-version": "1999-01-01" },
          { "mcp-protocol-version": undefined },
        ),
      }),
    )
    .map(({ method, params, meta, id, extra, inParams, accept, type, wrong }) => {
      const hasMeta = Object.keys(meta).length > 0;
      const given = params && { ...params, ...inParams, ...(hasMeta && { _meta: meta }) };
      const modern = { "mcp-method": method, "mcp-name": nameIn(params) };
      return {
        body: { jsonrpc: "2.0", id, method, params: given, ...extra },
        headers: {
          ...{ accept, "content-type": type },
          "mcp-protocol-version": version ?? "2025-11-25",
          ...(version !== undefined && modern),
          ...wrong,
        },
      };
    });

/** Generates messages of newer and older clients, and some that are not valid messages. */
export const oddMessages: fc.Arbitrary<OddMessage> = fc.oneof(
  { weight: 6, arbitrary: messagesOf("2026-07-28") },
  { weight: 6, arbitrary: messagesOf(undefined) },
  fc
    .array(messagesOf(undefined), { maxLength: 12 })
    .map((all) => ({ body: all.map(({ body }) => body), headers: all[0]?.headers ?? {} })),
  fc
    .tuple(of<unknown>(null, 1, "x", {}, [[]], { id: 1 }), messagesOf("2026-07-28"))
    .map(([body, { headers }]) => ({ body, headers })),
);

/**
 * The message with a content type that means the same, but with which the fast path leaves it to
 * the SDK's handler.
 */
export const forSdk = ({ body, headers }: OddMessage): OddMessage => ({
  body,
  headers: { ...headers, ...("content-type" in headers && { "content-type": SDK_TYPE }) },
});

const SDK_TYPE = "application/json;a=b";

/** Response headers that matter to the client. */
const MEANT = [
  ...["content-type", "cache-control", "x-accel-buffering", "www-authenticate", "allow"],
  ...["ratelimit-policy", "x-content-type-options", "content-security-policy", "referrer-policy"],
];

/** Sends a message without any change. */
export const sendOddMessage = (
  base: string,
  token: string,
  { body, headers }: OddMessage,
): Promise<RawAnswer> => {
  const known = Object.entries({ ...headers, authorization: `Bearer ${token}` }).filter(
    ([, value]) => value !== undefined,
  );
  return sendRaw(`${base}/mcp`, {
    method: "POST",
    headers: Object.fromEntries(known),
    body: JSON.stringify(body),
  });
};

/**
 * The meaning of an answer, after values that differ between servers are removed, and the number of
 * remaining calls that its RateLimit header reports.
 *
 * @param base Origin of the server, which is removed from the texts.
 */
export function meaningOf({ status, headers, body }: RawAnswer, base: string) {
  const text = body
    .replaceAll(base, "BASE")
    .replace(/"requestId":"[\w-]+"/, "")
    .replace(/agent=agt_[\w-]+/g, "agent=AGENT")
    .replace(/(\bcode |"code":")[0-9A-Z]{8}\b/g, "$1CODE");
  const meant = Object.fromEntries(
    MEANT.map((name) => [name, String(headers[name]).replaceAll(base, "BASE")]),
  );
  const [, left] = /r=(\d+)/.exec(String(headers.ratelimit)) ?? [];
  const message = headers["content-type"]?.includes("problem") ? text : text && messageIn(text);
  return { status, headers: meant, left, message };
}
