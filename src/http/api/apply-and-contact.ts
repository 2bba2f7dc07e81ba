import express, { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import type { z } from "zod";
import { withCallerAddress } from "../../access/auditor.ts";
import { Problem, type ProblemCode } from "../../lib/problem.ts";
import type { Limits } from "../../limits/limits.ts";
import type { RateLimit } from "../../openapi/operation.ts";
import { applicationOperations, apply, contact } from "../../openapi/operations/applications.ts";
import { BODY_PROBLEMS } from "../../openapi/problems.ts";
import type { IntakeService, QueueTokenAccess } from "../../principals/applications/intake.ts";
import { requireShallowJson } from "../body-readers.ts";
import { mountOperations, partyOf } from "../mount.ts";
import { asBodyProblem, bodyBytes } from "../oauth/oauth-request.ts";
import { admitRequest } from "../rate-limits.ts";
import { parseInput } from "./parse.ts";

/** Maximum size of a body, in bytes. */
const MAX_BODY_BYTES = 16 * 1024;

/**
 * Part of every response to an application, so that it does not reveal whether the address had
 * applied before.
 */
const RESERVED =
  "Your seat in the queue is reserved. Keep the token: it is not shown again. data repeats this request. An address has one application, its first: if it had applied before and was not rejected, that application is kept as it was, with this one beside it, and this token stands for it.";

const IS_KEY =
  "It is an API key as well: credential says how to send it, what it allows and until when.";

/**
 * POST /api/apply and POST /api/contact, which require no credential. Input is validated before it
 * counts against a quota, so that a request with a typo does not count.
 *
 * A repeated application is idempotent, see `IntakeService.apply`; a repeated inquiry is stored
 * again.
 *
 * @throws {Problem} `invalid_request`, also for a body of another content type, coding or size,
 * because the API contract has 400 for every malformed payload; `rate_limited`,
 * `method_not_allowed`.
 */
export function intakeRouter(intake: IntakeService, limits: Limits): Router {
  const router = Router();
  mountOperations(router, applicationOperations, {
    apply: answering(apply, limits, async ({ name, email, focus }, sent) => {
      const { queueToken, registeredAt, key } = await intake.apply({ name, email, focus });
      return {
        success: true as const,
        message: key ? `${RESERVED} ${IS_KEY}` : RESERVED,
        data: {
          queueToken,
          name,
          // The API contract requires the address as submitted; internally, the normalized address
          // is the key.
          email: sent.email,
          focus,
          registeredAt: iso(registeredAt),
          credential: key && credentialOf(key),
        },
      };
    }),
    contact: answering(contact, limits, async (fields) => {
      const { reference, receivedAt } = await intake.contact(fields);
      // The API contract does not specify this body, so it has the structure of the response to an
      // application.
      return {
        success: true as const,
        message: "Your inquiry was recorded.",
        data: { reference, receivedAt: iso(receivedAt) },
      };
    }),
  });
  router.use(asInvalidRequest);
  return router;
}

const asInvalidRequest: ErrorRequestHandler = (error, _req, _res, next) => {
  const problem = asBodyProblem(error);
  const isOfBody = problem instanceof Problem && isBodyCode(problem.code);
  next(isOfBody ? new Problem("invalid_request", problem) : error);
};

const isBodyCode = (code: ProblemCode): boolean => BODY_PROBLEMS.some((known) => known === code);

/** An operation of this router, with the schemas of its body and its answer. */
interface IntakeOperation<B extends z.ZodType, A extends z.ZodType> {
  readonly body: { readonly schema: B };
  readonly limit: RateLimit;
  readonly answers: { readonly 200: { readonly content: readonly [{ readonly schema: A }] } };
}

/**
 * Answers an operation.
 *
 * @param answer Gets the validated body and the body as it was sent.
 */
function answering<B extends z.ZodType, A extends z.ZodType>(
  { body: { schema }, limit }: IntakeOperation<B, A>,
  limits: Limits,
  answer: (fields: z.output<B>, sent: { readonly email: string }) => Promise<z.input<A>>,
): readonly RequestHandler[] {
  return [
    onlyJson,
    express.raw({ limit: MAX_BODY_BYTES, inflate: false, type: () => true }),
    async (req, res) => {
      const sent = parseJson(bodyBytes(req));
      requireShallowJson(sent);
      const fields = parseInput(schema, sent);
      await admitRequest(limits, { res }, limit.name, partyOf(limit, req));
      res.json(
        await withCallerAddress(req.ip, () => answer(fields, sent as { readonly email: string })),
      );
    },
  ];
}

/** Response member that says how to use a queue token that is also an API key. */
const credentialOf = ({ scopes, expiresAt }: QueueTokenAccess) =>
  ({
    type: "api_key",
    header: "x-api-key",
    scope: scopes.join(" "),
    expiresAt: iso(expiresAt),
  }) as const;

/**
 * Rejects content types other than JSON. An empty body passes, so that validation rejects it as an
 * invalid request instead.
 */
const onlyJson: RequestHandler = (req, _res, next) => {
  const isEmpty = req.headers["content-length"] === "0";
  if (isEmpty || req.is("application/json") !== false) return next();
  throw new Problem("unsupported_media_type", {
    detail: "The body must be application/json.",
    next: "Send one JSON object with that content type.",
  });
};

/** Parses JSON as UTF-8, regardless of the charset parameter (RFC 8259 sections 8.1 and 11). */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Problem("invalid_request", {
      detail: "The body is not valid JSON.",
      next: "Send one JSON object (RFC 8259), encoded as UTF-8.",
    });
  }
}

const iso = (at: number): string => new Date(at).toISOString();
