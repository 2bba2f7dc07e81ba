import { FORM_MEDIA_TYPE } from "../../openapi/operations/tokens.ts";
import type { DescribedOperation, DescribedParameter } from "./described.ts";

/** Environment variable from which the code reads a token or an API key. */
export const TOKEN_VARIABLE = "MARKET_SIGNAL_TOKEN";

/** The example request of an operation. */
interface SampleRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a credential is sent. */
  readonly isAuthorized: boolean;
  /** Body as text; absent if the request has none. */
  readonly body?: string;
}

/** Source code that sends a request, in one language. */
interface Sample {
  readonly language: "curl" | "TypeScript" | "Python";
  readonly code: string;
}

/**
 * The example value of a parameter: its recorded example or, for a required parameter without one,
 * the first example or `enum` value of its schema.
 */
const givenValue = ({ example, required, schema }: DescribedParameter): unknown =>
  example ?? (required ? (schema.examples?.[0] ?? schema.enum?.[0]) : undefined);

/**
 * Builds the example request of an operation from the recorded examples. Without an example value,
 * a query or header parameter is omitted, and a path parameter stays in braces.
 */
export function sampleRequest(operation: DescribedOperation, baseUrl: string): SampleRequest {
  const { method, path, parameters, body, scopes } = operation;
  const valued = (place: DescribedParameter["in"]): readonly [name: string, value: string][] =>
    parameters.flatMap((one) => {
      const value = one.in === place ? givenValue(one) : undefined;
      return value === undefined ? [] : [[one.name, String(value)]];
    });
  const filled = valued("path").reduce(
    // Slashes stay unencoded, because a value can span several path segments.
    (text, [name, value]) =>
      text.replace(`{${name}}`, encodeURIComponent(value).replaceAll("%2F", "/")),
    path,
  );
  const query = new URLSearchParams([...valued("query")]);
  const text = body === undefined ? undefined : bodyText(body.mediaType, body.example?.value);
  return {
    method,
    url: `${baseUrl}${filled}${query.size > 0 ? `?${query}` : ""}`,
    headers: {
      ...Object.fromEntries(valued("header").map(([name, value]) => [name.toLowerCase(), value])),
      ...(body !== undefined && { "content-type": body.mediaType }),
    },
    isAuthorized: scopes !== undefined,
    ...(text !== undefined && { body: text }),
  };
}

/** Matches the symbols of the recorded examples, which are those of the sandbox. */
const SANDBOX_SYMBOL = /[A-Z]+(?:-USD)?\.SIM\b/g;

/**
 * Replaces the symbols of the sandbox in a request, so that it runs on the given market.
 *
 * @param covered Symbols of the market; a symbol of the sandbox that is one of them stays.
 */
export function withCoveredSymbols(
  { url, body, ...request }: SampleRequest,
  covered: readonly string[],
): SampleRequest {
  const [stock = "SYMBOL", other = stock] = covered;
  const replace = (text: string, encode: (symbol: string) => string) =>
    text.replaceAll(SANDBOX_SYMBOL, (symbol) =>
      covered.includes(symbol) ? symbol : encode(symbol.includes("-USD") ? other : stock),
    );
  return {
    ...request,
    url: replace(url, encodeURIComponent),
    ...(body !== undefined && {
      body: replace(body, (symbol) => JSON.stringify(symbol).slice(1, -1)),
    }),
  };
}

function bodyText(mediaType: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (mediaType === FORM_MEDIA_TYPE)
    return new URLSearchParams(value as Record<string, string>).toString();
  return JSON.stringify(value, undefined, 2);
}

/** Renders a request as source code in every language. */
export const codeSamplesOf = (request: SampleRequest): readonly [Sample, Sample, Sample] => [
  { language: "curl", code: curl(request) },
  { language: "TypeScript", code: typescript(request) },
  { language: "Python", code: python(request) },
];

/** Quotes a text for a POSIX shell, in single quotes. */
const shellText = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function curl({ method, url, headers, isAuthorized, body }: SampleRequest): string {
  const isUsual = method === "GET" || (method === "POST" && body !== undefined);
  return [
    `curl -sS ${isUsual ? "" : `-X ${method} `}${shellText(url)}`,
    ...(isAuthorized ? [`-H "authorization: Bearer $${TOKEN_VARIABLE}"`] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellText(body)}`]),
  ].join(" \\\n  ");
}

/**
 * Renders a text as a string literal for TypeScript and Python, which both accept the escapes of
 * JSON.
 */
const quoted = (text: string): string => JSON.stringify(text);

function typescript({ method, url, headers, isAuthorized, body }: SampleRequest): string {
  const fields = [
    ...(isAuthorized ? [`    authorization: \`Bearer \${env.${TOKEN_VARIABLE}}\`,`] : []),
    ...Object.entries(headers).map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`),
  ];
  const options = [
    ...(method === "GET" ? [] : [`  method: ${quoted(method)},`]),
    ...(fields.length === 0 ? [] : ["  headers: {", ...fields, "  },"]),
    ...(body === undefined ? [] : [`  body: ${tsBody(headers["content-type"], body)},`]),
  ];
  const call =
    options.length === 0
      ? `const response = await fetch(${quoted(url)});`
      : [`const response = await fetch(${quoted(url)}, {`, ...options, "});"].join("\n");
  const imports = isAuthorized ? 'import { env } from "node:process";\n\n' : "";
  return `${imports}${call}
const text = await response.text();
if (!response.ok) throw new Error(text);
console.log(text);`;
}

/**
 * The body as a TypeScript expression: `JSON.stringify` of an object literal for JSON, a string
 * literal for any other type.
 */
const tsBody = (mediaType: string | undefined, body: string): string =>
  mediaType === "application/json"
    ? `JSON.stringify(${body.replaceAll("\n", "\n  ")})`
    : quoted(body);

function python({ method, url, headers, isAuthorized, body }: SampleRequest): string {
  const fields = Object.entries(headers).map(
    ([name, value]) => `        ${quoted(name)}: ${quoted(value)},`,
  );
  // urllib sends the other headers to the target of a redirect as well.
  const authorization = `request.add_unredirected_header("authorization", f"Bearer {os.environ['${TOKEN_VARIABLE}']}")`;
  return [
    ...(isAuthorized ? ["import os"] : []),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${quoted(url)},`,
    ...(method === "GET" ? [] : [`    method=${quoted(method)},`]),
    ...(fields.length === 0 ? [] : ["    headers={", ...fields, "    },"]),
    ...(body === undefined
      ? []
      : [`    data=${quoted(oneLine(headers["content-type"], body))}.encode(),`]),
    ")",
    ...(isAuthorized ? [authorization] : []),
    "with urllib.request.urlopen(request) as response:",
    "    print(response.read().decode())",
  ].join("\n");
}

const oneLine = (mediaType: string | undefined, body: string): string =>
  mediaType === "application/json" ? JSON.stringify(JSON.parse(body)) : body;
