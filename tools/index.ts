import type { Tool } from "../src/tool.ts";
import { findInstruments } from "./find-instruments.ts";
import { getDarkpool } from "./get-darkpool.ts";
import { getFactors } from "./get-factors.ts";
import { getSignal } from "./get-signal.ts";

/** What the service does, in the order in which it is published. */
export const tools: readonly Tool[] = [getSignal, getFactors, getDarkpool, findInstruments];
