import { Problem } from "../problem.ts";
import { allowOf, methodNotAllowed } from "./allowed-methods.ts";
import type { WriteError } from "./errors.ts";
import type { RequestContext } from "./request-context.ts";

/** Answers a request. What it throws is answered by the writer of errors. */
export type Handler = (context: RequestContext) => void | Promise<void>;

/** A method and a path with what answers them. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `{name}` for a segment that varies. */
  readonly path: string;
  readonly handle: Handler;
  /** Whether a slash at the end names another resource; absent: it makes no difference. */
  readonly isStrict?: true;
  /** What is answered to other methods; absent: `methodNotAllowed`. */
  readonly otherMethods?: Handler;
}

/** A path with its methods. */
interface Resource {
  /** As logs and metrics name it, with `:name` for a segment that varies. */
  readonly template: string;
  /** In lower case, of a template only: paths are matched without regard to case. */
  readonly segments: readonly string[];
  readonly handlers: Map<string, Handler>;
  readonly isStrict: boolean;
  readonly otherMethods: Handler;
}

/** A route of the table as lists name it. */
interface ListedRoute {
  readonly method: string;
  readonly path: string;
}

interface Match {
  readonly resource: Resource;
  /** Values of the variable segments, still encoded. */
  readonly values: readonly (readonly [name: string, value: string])[];
}

/**
 * The routes of programs: tools, MCP, tokens and what else needs no page. Each request is answered
 * here to its end, whether it succeeds or fails; Express takes only what has no route here.
 */
export class RouteTable {
  readonly routes: readonly ListedRoute[];
  readonly #writeError: WriteError;
  readonly #literal = new Map<string, Resource>();
  /** Those with the fewest variable segments first. */
  readonly #templates: readonly Resource[];

  constructor(routes: readonly Route[], writeError: WriteError) {
    this.#writeError = writeError;
    const resources = Object.values(Object.groupBy(routes, ({ path }) => path)).map((group = []) =>
      resourceOf(group),
    );
    for (const resource of resources.filter((one) => !isTemplate(one))) {
      this.#literal.set(resource.template, resource);
    }
    this.#templates = resources.filter(isTemplate).toSorted((a, b) => variables(a) - variables(b));
    this.routes = routes.map(({ method, path }) => ({ method, path: templateOf(path) }));
  }

  /** Answers a request. @returns Whether there is a route with its path. */
  handle(context: RequestContext): boolean {
    const match = this.#find(context.path);
    if (match === undefined) return false;
    answer(match, context).catch((error) => this.#writeError(context.req, context.res, error));
    return true;
  }

  /** Paths are matched as Express does it: without regard to case, and with an optional slash at the
   *  end. */
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
    for (const resource of this.#templates) {
      const values = valuesOf(resource, segments);
      if (values !== undefined) return { resource, values };
    }
    return undefined;
  }
}

async function answer({ resource, values }: Match, context: RequestContext): Promise<void> {
  const { method = "" } = context.req;
  if (values.length > 0) {
    context.params = Object.fromEntries(values.map(([name, value]) => [name, decoded(value)]));
  }
  context.route = resource.template;
  await (resource.handlers.get(method) ?? resource.otherMethods)(context);
}

/** Refuses every method but those that are allowed. */
const refuseMethod =
  (allow: string): Handler =>
  ({ req }) => {
    throw methodNotAllowed(req.method, allow);
  };

function resourceOf(routes: readonly Route[]): Resource {
  const [{ path, isStrict = false, otherMethods }] = routes as [Route];
  const handlers = new Map<string, Handler>(routes.map(({ method, handle }) => [method, handle]));
  const allow = allowOf([...handlers.keys()]);
  const get = handlers.get("GET");
  if (get !== undefined) handlers.set("HEAD", get);
  return {
    template: templateOf(path),
    segments: templateOf(path).split("/"),
    handlers,
    isStrict,
    otherMethods: otherMethods ?? refuseMethod(allow),
  };
}

const templateOf = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

const isTemplate = ({ template }: Resource): boolean => template.includes(":");

const variables = ({ segments }: Resource): number =>
  segments.filter((segment) => segment.startsWith(":")).length;

/** The values of a template's variable segments in a path; `undefined` when the path is another. */
function valuesOf({ segments }: Resource, path: readonly string[]): Match["values"] | undefined {
  if (segments.length !== path.length) return undefined;
  const values: [string, string][] = [];
  for (const [at, segment] of segments.entries()) {
    const value = path[at] ?? "";
    if (segment.startsWith(":") && value !== "") values.push([segment.slice(1), value]);
    else if (segment !== value.toLowerCase()) return undefined;
  }
  return values;
}

/** @throws {Problem} `invalid_request` when the percent encoding is broken. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new Problem("invalid_request", {
      detail: "The request could not be read.",
      next: "Correct its address, header or body; /docs/api describes each operation.",
    });
  }
}
