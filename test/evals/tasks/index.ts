import type { Task } from "../task.ts";
import { alertTasks } from "./alerts.ts";
import { darkPool } from "./dark-pool.ts";
import { gaps } from "./gaps.ts";
import { lists } from "./lists.ts";
import { lookups } from "./lookups.ts";
import { pasts } from "./past.ts";

const all: readonly Task[] = [...lookups, ...lists, ...pasts, ...gaps, ...darkPool, ...alertTasks];

/** Step width that visits each task once, because it shares no divisor with the number of tasks. */
const STRIDE = 37;

/**
 * The tasks in playing order, numbered from 1. Neighbors are of different kinds, so that the number
 * of a task does not hint at its answer.
 */
export const tasks: readonly Task[] = all.map((_, at) => all[(at * STRIDE) % all.length] as Task);
