/** A command in a document, and the status that the document promises. */
interface Step {
  /** The heading above the command. */
  readonly under: string;
  readonly command: string;
  readonly status: number;
}

/** Values of the variables in commands, some of which are determined only when needed. */
export type Variables = Record<string, string | (() => Promise<string>)>;

/** The response to a command. */
export interface Outcome {
  readonly step: Step;
  readonly status: number;
  readonly headers: Headers;
  /** The response body, parsed if it is JSON. */
  readonly body: unknown;
}

/**
 * Returns the commands of a document in order. @throws {Error} When a command has no promised
 * status.
 */
export function stepsOf(markdown: string): readonly Step[] {
  const parts = markdown.split(/^```/m);
  return parts.flatMap((part, at) => {
    if (at % 2 === 0 || !part.startsWith("sh\n")) return [];
    const before = parts.slice(0, at).filter((_, index) => index % 2 === 0);
    const [, under = ""] = [...before.join("").matchAll(/^#+ (.*)$/gm)].at(-1) ?? [];
    const [, status] = /^\n\nAnswer: `(\d{3})`/.exec(parts[at + 1] ?? "") ?? [];
    if (status === undefined) throw new Error(`no status is promised for ${part}`);
    return [{ under, command: part.slice("sh\n".length).trimEnd(), status: Number(status) }];
  });
}

/** Runs commands like curl, and stores the string members of responses as variables. */
export async function run(steps: readonly Step[], variables: Variables) {
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    const { url, ...init } = requestOf(await expanded(step.command, variables));
    const response = await fetch(url, init);
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
    const body: unknown = isJson ? JSON.parse(text) : text;
    learn(body, variables);
    outcomes.push({ step, status: response.status, headers: response.headers, body });
  }
  return outcomes as readonly Outcome[];
}

/**
 * Stores string members under their name in capitals. Outer members take precedence over nested
 * ones, and only the first item of a list is used.
 */
function learn(body: unknown, variables: Variables): void {
  const found: Variables = {};
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const members = Array.isArray(value) ? value.slice(0, 1).entries() : Object.entries(value);
    const nested: unknown[] = [];
    for (const [name, member] of members) {
      if (typeof member === "string") found[String(name).toUpperCase()] ??= member;
      nested.push(member);
    }
    nested.forEach(visit);
  };
  visit(body);
  Object.assign(variables, found);
}

/** Replaces the variables in a command, except in single quotes. */
async function expanded(command: string, variables: Variables): Promise<string> {
  let result = "";
  for (const part of command.split(/('[^']*'|\$[A-Z_]+)/)) {
    if (!part.startsWith("$")) {
      result += part;
      continue;
    }
    const value = variables[part.slice(1)];
    if (value === undefined) throw new Error(`nothing says what ${part} is`);
    result += typeof value === "string" ? value : await value();
  }
  return result;
}

/** Parses a curl command into a request. @throws {Error} For an unsupported option. */
function requestOf(command: string) {
  const [line = "", document = ""] = command.split(/ <<END\n(.*)\nEND$/s);
  const words = wordsIn(line);
  if (words[0] !== "curl") throw new Error(`not a curl command: ${command}`);
  const strange = words.find((word) => word.startsWith("-") && !/^-[XHd]$/.test(word));
  if (strange !== undefined) throw new Error(`unknown option ${strange}`);
  const given = (option: string) => words.filter((_, at) => words[at - 1] === option);
  const url = words.find((word, at) => at > 0 && /^https?:/.test(word) && words[at - 1] !== "-d");
  const data = given("-d").map((text) => (text === "@-" ? document : text));
  const body = data.length > 0 ? { body: data.join("&") } : {};
  const [method = data.length > 0 ? "POST" : "GET"] = given("-X");
  const headers = new Headers(given("-H").map(headerOf));
  if (data.length > 0 && !headers.has("content-type")) {
    headers.set("content-type", "application/x-www-form-urlencoded");
  }
  return { url: url ?? "", method, headers, ...body };
}

const wordsIn = (line: string): readonly string[] =>
  Array.from(
    line.replaceAll("\\\n", " ").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );

function headerOf(text: string): [string, string] {
  const [, name = "", value = ""] = /^([\w-]+): (.*)$/.exec(text) ?? [];
  return [name, value];
}
