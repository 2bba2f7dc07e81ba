import type { Operation } from "../operation.ts";
import { alertOperations } from "./alerts.ts";
import { applicationOperations } from "./applications.ts";
import { claimOperations } from "./claims.ts";
import { type DocumentRoute, documentOperations } from "./documents.ts";
import { marketOperations } from "./market.ts";
import { mcpOperations } from "./mcp.ts";
import { registrationOperations } from "./registration.ts";
import { serviceStatusOperations } from "./service-status.ts";
import { signalLogOperations } from "./signal-log.ts";
import { authorizationOperations, tokenOperation, userInfoOperations } from "./tokens.ts";
import { toolOperations } from "./tools.ts";

/** Every operation except pages for people, in display order. */
export const allOperations = (documents: readonly DocumentRoute[]): readonly Operation[] => [
  ...toolOperations,
  ...marketOperations,
  ...serviceStatusOperations,
  ...signalLogOperations,
  ...alertOperations,
  ...registrationOperations,
  ...userInfoOperations,
  tokenOperation,
  ...authorizationOperations,
  ...claimOperations,
  ...applicationOperations,
  ...documentOperations(documents),
  ...mcpOperations,
];
