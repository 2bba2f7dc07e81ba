import type { Task } from "../task.ts";
import { alertTasks } from "./alerts.ts";
import { darkPool } from "./dark-pool.ts";
import { gaps } from "./gaps.ts";
import { lists } from "./lists.ts";
import { lookups } from "./lookups.ts";
import { pasts } from "./past.ts";

const all: readonly Task[] = [...lookups, ...lists, ...pasts, ...gaps, ...darkPool, ...alertTasks];

/** Step that visits each of `all` once, since it shares no divisor with their number. */
const STRIDE = 37;

/** The tasks in the order in which they are played, numbered from 1. Neighbors are of different kinds,
 *  so that a number says nothing of the answer. */
export const tasks: readonly Task[] = all.map((_, at) => all[(at * STRIDE) % all.length] as Task);
