import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import type { Caller } from "../../auth/caller.ts";
import { Problem } from "../../problem.ts";
import { withinTraceOf } from "../../telemetry/traces.ts";
import { type Gate, isUnchanged } from "../authorize.ts";
import { HARDENED } from "../errors.ts";
import type { AnswerUsual } from "./fast-path.ts";
import { type Usual, usualRequest } from "./fast-request.ts";
import { isUsualBody, readBody, requireModest } from "./message-body.ts";
import { scopesOf } from "./required-scopes.ts";
import { authInfoOf, changing, ownNames } from "./server-factory.ts";

/** Where messages go to, spelled as clients spell it. */
export const MCP_PATH = "/mcp";

/** Whoever takes longer to send a body, in milliseconds, may have lost their rights meanwhile. */
const SLOW_BODY_MS = 500;

/** What the lane is made from. */
interface LaneOptions {
  readonly gate: Gate;
  readonly answer: AnswerUsual;
}

/** A usual message of somebody who may send it. */
interface UsualCall {
  readonly caller: Caller;
  readonly usual: Usual;
}

/** Messages on their way. */
export interface FastLane {
  /** Answers usual messages before Express does; all else goes on to it. */
  before(express: RequestListener): RequestListener;
  /** Lets callers in, within Express, as the gate does, but none for the second time. */
  readonly enter: RequestHandler;
}

/**
 * Answers the messages that agents send most without Express, which takes longer to find a route than
 * they take. What is not plainly usual, or not plainly allowed, goes on to the same route there, and
 * so does every refusal, to be worded: this lane only ever says yes.
 */
export function createFastLane({ gate, answer }: LaneOptions): FastLane {
  /** Requests that went on after they were counted, some with the reason that they are refused for. */
  const counted = new WeakMap<IncomingMessage, { readonly refusal?: unknown }>();

  /** Of a store that is silent Express is told: to ask it once more would take as long again. */
  const ifSilent = (req: IncomingMessage) => (error: unknown) => {
    if (error instanceof Problem && error.status === 503) counted.set(req, { refusal: error });
    return undefined;
  };

  /** @returns Whether there was an answer. */
  async function sendAnswer({ caller, usual }: UsualCall, res: ServerResponse): Promise<boolean> {
    const write = await withinTraceOf(usual.message, () => answer(usual, authInfoOf(caller)));
    if (write === undefined) return false;
    for (const [name, value] of HEADERS) res.setHeader(name, value);
    write(res);
    return true;
  }
  /** @returns Whether the request was answered. */
  async function serve(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const startedAt = performance.now();
    const caller = await gate.recognise(req).catch(ifSilent(req));
    if (caller === undefined) return false;
    const isStillIn = async () => isUnchanged(caller, await gate.recognise(req));
    // What is told of requests is found where Express would leave it.
    Object.assign(req, { route: { path: MCP_PATH } });
    Object.assign(res, { locals: { caller, isStillIn } });
    try {
      await gate.count(res, caller);
      counted.set(req, {});
      const call = await callIn(req, caller);
      // Express gets what is refused, and says why.
      if (call === undefined || performance.now() - startedAt > SLOW_BODY_MS) return false;
      return await sendAnswer(call, res);
    } catch (refusal) {
      counted.set(req, { refusal });
      return false;
    }
  }
  return {
    before: (express) => (req, res) => {
      if (!isPlain(req)) return express(req, res);
      serve(req, res).then((isAnswered) => {
        if (!isAnswered) express(req, res);
      });
    },
    enter(req, res, next) {
      const before = counted.get(req);
      return before === undefined ? gate.enter(req, res, next) : next(before.refusal);
    },
  };
}

/** A message that its caller may send and that changes nothing: of what changes something, the
 *  address is recorded that it came from, which Express finds. */
async function callIn(req: IncomingMessage, caller: Caller): Promise<UsualCall | undefined> {
  const body = await readBody(req);
  requireModest(body);
  const usual = usualRequest({ headers: req.headers, body }, ownNames);
  if (usual === undefined || changing.has(usual.message.params?.name)) return undefined;
  const isAllowed = scopesOf(usual.message).every((scope) => caller.scopes.has(scope));
  return isAllowed ? { caller, usual } : undefined;
}

const HEADERS = Object.entries(HARDENED);

/** Whether a request comes from a program, with a body in the usual form. */
const isPlain = ({ method, url, headers }: IncomingMessage): boolean =>
  method === "POST" && url === MCP_PATH && headers.origin === undefined && isUsualBody(headers);
