import { callerAddress } from "../../access/auditor.ts";
import type { Caller } from "../../access/caller.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { ownerKey } from "../alert.ts";

/**
 * Counts one change of an alert or watchlist.
 *
 * @throws {Problem} `rate_limited`.
 */
export const countAlertChange = (limits: Limits, caller: Caller): Promise<void> =>
  requireAdmission(limits, "changes", partyAt(callerAddress(), ownerKey(caller)));
