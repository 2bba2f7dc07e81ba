import { Problem } from "../lib/problem.ts";
import { allowHeader, methodNotAllowedProblem } from "./allowed-methods.ts";
import type { WriteError } from "./errors.ts";
import type { RequestContext } from "./request-context.ts";

/** Handles a request. Exceptions that it throws go to the error writer. */
export type Handler = (context: RequestContext) => void | Promise<void>;

/** A handler with the method and path that it serves. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path in which `{name}` stands for a variable segment. */
  readonly path: string;
  readonly handle: Handler;
  /**
   * Whether a path with a trailing slash is a different path. By default, a trailing slash is
   * ignored.
   */
  readonly isStrict?: true;
  /**
   * Whether the last variable matches the rest of the path, including slashes. By default, it
   * matches one segment.
   */
  readonly takesRest?: true;
  /**
   * Handles requests with other methods. By default, they are rejected with `method_not_allowed`.
   */
  readonly otherMethods?: Handler;
}

/** A path with the handlers of its methods. */
interface Resource {
  /** Path for logs and metrics, with `:name` for a variable segment. */
  readonly template: string;
  /**
   * Segments in lower case, because paths match case-insensitively; used only for paths with
   * variables.
   */
  readonly segments: readonly string[];
  readonly handlers: Map<string, Handler>;
  readonly isStrict: boolean;
  readonly takesRest: boolean;
  readonly otherMethods: Handler;
}

interface Match {
  readonly resource: Resource;
  /** Values of the variable segments, still percent-encoded. */
  readonly values: readonly (readonly [name: string, value: string])[];
}

/**
 * The routes for programs: tools, MCP, tokens and health probes. A matching request is handled here
 * completely, including its errors; all other requests go to Express.
 */
export class RouteTable {
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly #writeError: WriteError;
  readonly #literal = new Map<string, Resource>();
  /**
   * Paths with variables, by their first segment, which is never variable. Paths with the fewest
   * variable segments come first.
   */
  readonly #templates: ReadonlyMap<string, readonly Resource[]>;

  constructor(routes: readonly Route[], writeError: WriteError) {
    this.#writeError = writeError;
    const resources = Object.values(Object.groupBy(routes, ({ path }) => path)).map((group = []) =>
      resourceOf(group),
    );
    for (const resource of resources.filter((one) => !isTemplate(one))) {
      this.#literal.set(resource.template, resource);
    }
    const templates = resources.filter(isTemplate).toSorted(bySpecificity);
    this.#templates = Map.groupBy(templates, ({ segments }) => segments[1] ?? "");
    this.routes = routes.map(({ method, path }) => ({ method, path: templateOf(path) }));
  }

  /**
   * Handles a request if its path matches a route.
   *
   * @returns Whether a route matches the path.
   */
  handle(context: RequestContext): boolean {
    const match = this.#find(context.path);
    if (match === undefined) return false;
    runHandler(match, context).catch((error) => this.#writeError(context.req, context.res, error));
    return true;
  }

  /**
   * Finds the route of a path. Paths match as in Express: case-insensitively, with an optional
   * trailing slash.
   */
  #find(path: string): Match | undefined {
    const exact = this.#literal.get(path);
    if (exact !== undefined) return { resource: exact, values: [] };
    const hasSlash = path.endsWith("/");
    const bare = hasSlash ? path.slice(0, -1) : path;
    const literal = this.#literal.get(bare.toLowerCase());
    if (literal !== undefined) {
      return hasSlash && literal.isStrict ? undefined : { resource: literal, values: [] };
    }
    const segments = bare.split("/");
    for (const resource of this.#templates.get(segments[1]?.toLowerCase() ?? "") ?? []) {
      const values = valuesOf(resource, segments);
      if (values !== undefined) return { resource, values };
    }
    return undefined;
  }
}

async function runHandler({ resource, values }: Match, context: RequestContext): Promise<void> {
  const { method = "" } = context.req;
  if (values.length > 0) {
    context.params = Object.fromEntries(
      values.map(([name, value]) => [name, decodeSegment(value)]),
    );
  }
  context.route = resource.template;
  await (resource.handlers.get(method) ?? resource.otherMethods)(context);
}

/**
 * Creates the handler that rejects methods which a path does not support.
 *
 * @param allow Value of the `Allow` header.
 */
const rejectMethod =
  (allow: string): Handler =>
  ({ req }) => {
    throw methodNotAllowedProblem(req.method, allow);
  };

function resourceOf(routes: readonly Route[]): Resource {
  const [{ path, isStrict = false, takesRest = false, otherMethods }] = routes as [Route];
  const handlers = new Map<string, Handler>(routes.map(({ method, handle }) => [method, handle]));
  const allow = allowHeader([...handlers.keys()]);
  const get = handlers.get("GET");
  if (get !== undefined) handlers.set("HEAD", get);
  return {
    template: templateOf(path),
    segments: templateOf(path).split("/"),
    handlers,
    isStrict,
    takesRest,
    otherMethods: otherMethods ?? rejectMethod(allow),
  };
}

const templateOf = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

const isTemplate = ({ template }: Resource): boolean => template.includes(":");

const bySpecificity = (a: Resource, b: Resource): number =>
  countVariables(a) - countVariables(b) || b.segments.length - a.segments.length;

const countVariables = ({ segments }: Resource): number =>
  segments.filter((segment) => segment.startsWith(":")).length;

/** The values of a template's variable segments; `undefined` if the path does not match. */
function valuesOf(
  { segments, takesRest }: Resource,
  given: readonly string[],
): Match["values"] | undefined {
  const last = segments.length - 1;
  const path = takesRest ? [...given.slice(0, last), given.slice(last).join("/")] : given;
  if (segments.length !== path.length) return undefined;
  const values: [string, string][] = [];
  for (const [at, segment] of segments.entries()) {
    const value = path[at] ?? "";
    if (segment.startsWith(":") && value !== "") values.push([segment.slice(1), value]);
    else if (segment !== value.toLowerCase()) return undefined;
  }
  return values;
}

/**
 * Decodes a segment of a path.
 *
 * @throws {Problem} `invalid_request` if its percent-encoding is malformed.
 */
function decodeSegment(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new Problem("invalid_request", {
      detail: "The request could not be read.",
      next: "Correct its URL, header or body; /docs/api describes each operation.",
    });
  }
}
