// @module-tag full

import { expect, it } from "vitest";
import { SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { simulatedRiskTable } from "../../method/risk-tables.ts";

/** Timeout in milliseconds for ten simulated markets on a busy machine. */
const TIMEOUT_MS = 120_000;

it("the risk table of the simulated market can be reproduced from that market", {
  timeout: TIMEOUT_MS,
}, () => {
  expect(simulatedRiskTable()).toEqual(SIMULATED_RISK_TABLE);
});
