import type { Operation } from "../src/openapi/operation.ts";
import { alertOperations } from "../src/openapi/operations/alerts.ts";
import { applicationOperations } from "../src/openapi/operations/applications.ts";
import { claimOperations } from "../src/openapi/operations/claims.ts";
import { marketOperations } from "../src/openapi/operations/market.ts";
import { registrationOperations } from "../src/openapi/operations/registration.ts";
import { signalLogOperations } from "../src/openapi/operations/signal-log.ts";
import {
  authorizationOperations,
  tokenOperation,
  userInfoOperations,
} from "../src/openapi/operations/tokens.ts";
import { toolOperations } from "../src/openapi/operations/tools.ts";

/** Operations whose path is a URL as it stands, without parameters. */
const withFixedPath = (operations: readonly Operation[]): readonly Operation[] =>
  operations.filter(({ path }) => !path.includes("{"));

/**
 * The operations that discovery documents list, by what describes them: the table of operations has
 * them all, so a new one is listed without a second entry.
 */
export const endpoints = {
  tools: withFixedPath(toolOperations),
  /** REST operations that no tool has. */
  besideTools: withFixedPath([...marketOperations, ...alertOperations]),
  /** Applications and inquiries, which need no credential. */
  intake: withFixedPath(applicationOperations),
  log: withFixedPath(signalLogOperations),
  access: withFixedPath([
    ...registrationOperations,
    tokenOperation,
    ...claimOperations,
    ...authorizationOperations,
    ...userInfoOperations,
  ]),
} as const;

/** The paths of operations, each once. */
export const pathsOf = (operations: readonly Operation[]): readonly string[] => [
  ...new Set(operations.map(({ path }) => path)),
];
