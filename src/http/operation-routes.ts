import { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { Limits } from "../limits/limits.ts";
import type { JsonAnswer, Operation } from "../openapi/operation.ts";
import { parseInput } from "./api/parse.ts";
import { partyOf, routeOf } from "./mount.ts";
import type { ProtectedResource } from "./protected-resource.ts";
import { admitRequest } from "./rate-limits.ts";
import { queryParameters, type RequestContext } from "./request-context.ts";
import type { Route } from "./route-table.ts";
import { sendJson } from "./send-response.ts";

/** Access with the credentials of the tools. */
type ScopedAccess = Extract<Operation["access"], { readonly scopes: unknown }>;

/**
 * An operation that is public or takes the credentials of the tools. Where a credential is always
 * needed, requests count as `calls`, and a limit beside that is counted by the handler.
 */
type AdmittedOperation = Operation &
  (
    | { readonly access: "public" | (ScopedAccess & { readonly isPublicInSandbox: true }) }
    | { readonly access: ScopedAccess; readonly limit?: never }
  );

/** The caller of an operation; `undefined` if the operation is public. */
type CallerOf<O extends AdmittedOperation> = O["access"] extends {
  readonly isPublicInSandbox: true;
}
  ? Caller | undefined
  : O["access"] extends { readonly scopes: readonly unknown[] }
    ? Caller
    : undefined;

/**
 * Lets a request to an operation in: checks the credential and the scopes that the operation needs,
 * and counts the request.
 *
 * @throws {Problem} As `ProtectedResource.authorize`.
 */
export type Admit = <O extends AdmittedOperation>(
  operation: O,
  context: RequestContext,
) => Promise<CallerOf<O>>;

/** Dependencies of `createAdmission`. */
interface AdmissionOptions {
  readonly api: ProtectedResource;
  readonly limits: Limits;
  /** Whether the market is simulated, as that of the sandbox is. */
  readonly isSimulated: boolean;
}

/** Creates the function that lets requests in as the table of operations says. */
export function createAdmission({ api, limits, isSimulated }: AdmissionOptions): Admit {
  const admit = async ({ access, limit }: AdmittedOperation, context: RequestContext) => {
    const isPublic = access === "public" || (isSimulated && access.isPublicInSandbox === true);
    if (!isPublic) return api.authorize(context, access.scopes);
    if (limit) await admitRequest(limits, context, limit.name, partyOf(limit, context));
    return undefined;
  };
  return admit as Admit;
}

/** The schemas of an operation's path parameters. */
type PathShape<O extends Operation> = NonNullable<O["pathMembers"]>["shape"];

/** A request that has been let in. */
interface OperationRequest<O extends AdmittedOperation> {
  readonly context: RequestContext;
  readonly caller: CallerOf<O>;
  /**
   * A parameter of the path.
   *
   * @throws {Problem} `invalid_request`
   */
  readonly param: <N extends keyof PathShape<O>>(name: N) => z.output<PathShape<O>[N]>;
  /**
   * The parameters of the query.
   *
   * @throws {Problem} `invalid_request`
   */
  readonly query: () => z.output<NonNullable<O["query"]>>;
}

/** Answers an operation: returns the JSON answer, or sends an answer itself. */
type OperationHandler<O extends AdmittedOperation> = (
  request: OperationRequest<O>,
) => Promise<JsonAnswer<O> | undefined>;

/** Creates the route of an operation, whose requests `admit` lets in. */
export function operationRoute<O extends AdmittedOperation>(
  operation: O,
  admit: Admit,
  handle: OperationHandler<O>,
): Route {
  const { pathMembers = z.object(), query = z.object() }: Operation = operation;
  return routeOf(operation, async (context) => {
    const answer = await handle({
      context,
      caller: await admit(operation, context),
      param: (name) =>
        parseInput(
          pathMembers.shape[name as string] as PathShape<O>[typeof name],
          context.params[name as string],
        ),
      query: () =>
        parseInput(query, queryParameters(context.req)) as z.output<NonNullable<O["query"]>>,
    });
    if (answer !== undefined) sendJson(context.res, JSON.stringify(answer));
  });
}

/** Creates the routes of a family of operations, whose requests `admit` lets in. */
export function operationRoutes<O extends AdmittedOperation>(
  operations: readonly O[],
  admit: Admit,
  handlers: {
    readonly [Id in O["id"]]: OperationHandler<Extract<O, { readonly id: Id }>>;
  },
): readonly Route[] {
  return operations.map((operation) => {
    const handle = handlers[operation.id as O["id"]];
    return operationRoute(operation, admit, handle as OperationHandler<O>);
  });
}
