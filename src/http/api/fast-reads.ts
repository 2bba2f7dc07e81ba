import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { LRUCache } from "lru-cache";
import { tools } from "../../../tools/index.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Tool } from "../../tool.ts";
import type { Gate } from "../authorize.ts";
import { sendAnswer } from "../conditional-response.ts";
import { linkTo } from "../discovery/link-headers.ts";
import { HARDENED } from "../errors.ts";
import { queryOf } from "../query.ts";
import type { Answers } from "./answers.ts";
import { type Given, queryReader } from "./query-input.ts";

/** What reads are answered with. */
interface ReadsOptions {
  readonly answers: Answers;
  /** Of the base address. */
  readonly gate: Gate;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** Reads on their way. */
export interface Reads {
  /** Answers reads before Express does; all else goes on to it. */
  before(express: RequestListener): RequestListener;
  /** Hands on, within Express, why a read was refused. */
  readonly refuse: RequestHandler;
}

/** A tool whose answers are shared, at its address. */
interface Place {
  readonly tool: Tool;
  readonly path: string;
  readonly inputOf: (query: URLSearchParams) => Given;
}

/** What an address asks. */
interface Read {
  readonly place: Place;
  readonly input: Given;
}

const places: ReadonlyMap<string, Place> = new Map(
  tools
    .filter(({ isShared }) => isShared)
    .flatMap((tool) => {
      const inputOf = queryReader(tool);
      return tool.routes.map(({ path }) => [path, { tool, path, inputOf }] as const);
    }),
);

/** Characters of the addresses that are remembered with what they ask. */
const MAX_CHARACTERS = 1_000_000;

/** Longest address that is remembered, in characters: one symbol or fifty, with every filter. */
const MAX_KEPT_ADDRESS = 1_000;

/** An address counts as longer by this, in characters, for what it asks. */
const INPUT_CHARACTERS = 300;

/**
 * Answers the calls that agents make most without Express, which takes longer to find a route than
 * they take. What is not plainly a read, or not plainly allowed, goes on to the same route there
 * (`restRouter`), and so does every refusal, to be worded: this path only ever says yes.
 */
export function createReads(options: ReadsOptions): Reads {
  const refused = new WeakMap<IncomingMessage, unknown>();
  const readIn = createReader();
  const answer = answerer(options);
  return {
    before: (express) => (req, res) => {
      const read = readIn(req);
      if (read === undefined) return express(req, res);
      answer(read, req, res)
        .catch((error) => void refused.set(req, error))
        .then((isAnswered) => {
          if (!isAnswered) express(req, res);
        });
    },
    refuse: (req, _res, next) => next(refused.get(req)),
  };
}

/** Finds out what requests ask; agents ask the same again and again. */
function createReader(): (req: IncomingMessage) => Read | undefined {
  const known = new LRUCache<string, Read>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_read, url) => url.length + INPUT_CHARACTERS,
  });
  return (req) => {
    const { method, url = "" } = req;
    // What a page of another site may read is said in Express (CORS).
    if (method !== "GET" || req.headers.origin !== undefined) return undefined;
    const before = known.get(url);
    if (before !== undefined) return before;
    const end = url.indexOf("?");
    // An address in another spelling is left to Express.
    const place = places.get(end < 0 ? url : url.slice(0, end));
    if (place === undefined) return undefined;
    const read = { place, input: Object.freeze(place.inputOf(queryOf(req))) };
    // Of what is longer, little is known about how much memory it takes.
    if (url.length <= MAX_KEPT_ADDRESS) known.set(url, read);
    return read;
  };
}

const mayCall = ({ scopes }: Caller, tool: Pick<Tool, "scopes">): boolean =>
  tool.scopes.every((scope) => scopes.has(scope));

function answerer({ answers, gate, baseUrl }: ReadsOptions) {
  const harden = createHardener(baseUrl);
  /** @returns Whether it was answered; when it was not, nothing has happened. */
  return async (read: Read, req: IncomingMessage, res: ServerResponse): Promise<boolean> => {
    const { place, input } = read;
    const caller = await gate.recognise(req);
    if (caller === undefined || !mayCall(caller, place.tool)) return false;
    // What is told of requests is found where Express would leave it.
    (req as Request).route = place;
    (res as Response).locals = { caller };
    await gate.count(res, caller);
    const answer = await answers.of(place.tool, input, { caller, idempotencyKey: undefined });
    harden(res);
    sendAnswer(req, res, answer);
    return true;
  };
}

/** Sets what Express sets on every answer. One by one: V8 is slow at names that come from a list. */
function createHardener(baseUrl: string): (res: ServerResponse) => void {
  const link = linkTo(baseUrl);
  return (res) => {
    res.setHeader("x-content-type-options", HARDENED["x-content-type-options"]);
    res.setHeader("content-security-policy", HARDENED["content-security-policy"]);
    res.setHeader("referrer-policy", HARDENED["referrer-policy"]);
    res.setHeader("cache-control", HARDENED["cache-control"]);
    res.setHeader("link", link);
  };
}
