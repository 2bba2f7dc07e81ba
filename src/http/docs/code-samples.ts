import { FORM_TYPE } from "../../openapi/operations/tokens.ts";
import type { DescribedOperation, DescribedParameter } from "./described.ts";

/** Environment variable from which the code reads a token or an API key. */
export const TOKEN_VARIABLE = "MARKET_SIGNAL_TOKEN";

/** A request of an operation. */
interface SampleRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a credential is sent. */
  readonly isAuthorized: boolean;
  /** Absent without a body. */
  readonly body?: string;
}

/** A request in one language. */
interface Sample {
  readonly language: "curl" | "TypeScript" | "Python";
  readonly code: string;
}

/** The example value of a parameter: the recorded one; for a required parameter without one, any
 *  valid value. */
const givenValue = ({ example, required, schema }: DescribedParameter): unknown =>
  example ?? (required ? (schema.examples?.[0] ?? schema.enum?.[0]) : undefined);

/** The example request of an operation, from its recorded example. Parameters without an example
 *  value are omitted, or remain in braces if they are in the path. */
export function sampleRequest(operation: DescribedOperation, baseUrl: string): SampleRequest {
  const { method, path, parameters, body, scopes } = operation;
  const valued = (place: DescribedParameter["in"]): readonly [name: string, value: string][] =>
    parameters.flatMap((one) => {
      const value = one.in === place ? givenValue(one) : undefined;
      return value === undefined ? [] : [[one.name, String(value)]];
    });
  const filled = valued("path").reduce(
    // A value may be the rest of a path, with its slashes.
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

function bodyText(mediaType: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (mediaType === FORM_TYPE)
    return new URLSearchParams(value as Record<string, string>).toString();
  return JSON.stringify(value, undefined, 2);
}

/** A request in every language. */
export const samplesOf = (request: SampleRequest): readonly [Sample, Sample, Sample] => [
  { language: "curl", code: curl(request) },
  { language: "TypeScript", code: typescript(request) },
  { language: "Python", code: python(request) },
];

/** A text in single quotes of a POSIX shell. */
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

/** A text as a string literal of TypeScript and Python, which share the escapes of JSON. */
const quoted = (text: string): string => JSON.stringify(text);

function typescript({ method, url, headers, isAuthorized, body }: SampleRequest): string {
  const fields = [
    ...(isAuthorized ? [`    authorization: \`Bearer \${process.env.${TOKEN_VARIABLE}}\`,`] : []),
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
  return `${call}
const text = await response.text();
if (!response.ok) throw new Error(text);
console.log(text);`;
}

/** A body: JSON as an object, anything else as a string. */
const tsBody = (mediaType: string | undefined, body: string): string =>
  mediaType === "application/json"
    ? `JSON.stringify(${body.replaceAll("\n", "\n  ")})`
    : quoted(body);

function python({ method, url, headers, isAuthorized, body }: SampleRequest): string {
  const fields = [
    ...(isAuthorized
      ? [`        "authorization": f"Bearer {os.environ['${TOKEN_VARIABLE}']}",`]
      : []),
    ...Object.entries(headers).map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`),
  ];
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
    "with urllib.request.urlopen(request) as response:",
    "    print(response.read().decode())",
  ].join("\n");
}

const oneLine = (mediaType: string | undefined, body: string): string =>
  mediaType === "application/json" ? JSON.stringify(JSON.parse(body)) : body;
