import type { Tool } from "../src/tool/tool.ts";
import { findInstruments } from "./find-instruments.ts";
import { getAlertEvents } from "./get-alert-events.ts";
import { getDarkpool } from "./get-darkpool.ts";
import { getFactors } from "./get-factors.ts";
import { getSignal } from "./get-signal.ts";
import { getTrackRecord } from "./get-track-record.ts";
import { listAlerts } from "./list-alerts.ts";
import { manageAlert } from "./manage-alert.ts";
import { manageWatchlist } from "./manage-watchlist.ts";
import { registerAlert } from "./register-alert.ts";
import { verifySignal } from "./verify-signal.ts";

/** The tools, in the order in which they are listed to clients. */
export const tools: readonly Tool[] = [
  getSignal,
  getFactors,
  getDarkpool,
  verifySignal,
  getTrackRecord,
  findInstruments,
  registerAlert,
  listAlerts,
  manageAlert,
  getAlertEvents,
  manageWatchlist,
];
