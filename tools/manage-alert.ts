import { z } from "zod";
import type { Caller } from "../src/access/caller.ts";
import type { InstrumentSelector } from "../src/alerts/alert.ts";
import type { AlertWithSecret } from "../src/alerts/api/alert-service.ts";
import type { AlertChanges, AlertRequest } from "../src/alerts/api/changes.ts";
import {
  DirectionAnswer,
  InstantAnswer,
  isoInstantOrNull,
  Provenance,
} from "../src/answers/shared-members.ts";
import { Problem } from "../src/lib/problem.ts";
import { AlertAnswer, alertAnswer, NextSteps, SigningSecretAnswer } from "../src/tool/alert.ts";
import {
  AlertFields,
  AlertIdInput,
  canonicalSymbols,
  normalizedAlertKinds,
  toUnixMs,
  WebhookUrlInput,
} from "../src/tool/alert-input.ts";
import { nextStepsOfRangeAlert } from "../src/tool/range-alert.ts";
import { nextStepsOfSignalAlert } from "../src/tool/signal-alert.ts";
import { nextStepsOfSteadinessAlert } from "../src/tool/steadiness-alert.ts";
import { defineTool, type ToolContext } from "../src/tool/tool.ts";
import { WatchlistNameInput, watchlistSelector } from "../src/tool/watchlist.ts";
import { DayOrInstantInput, rangeStartInstant } from "../src/tool/when.ts";

const ACTIONS = [
  "update",
  "pause",
  "resume",
  "snooze",
  "enable",
  "rotate_secret",
  "test",
  "redeliver",
  "delete",
] as const;

/** Description of a member that register_alert describes: a model reads both, so once is enough. */
const AS_REGISTERED = "As in register_alert.";

/** A member that `null` clears; register_alert describes the rest. */
const clearable = <S extends z.ZodType>(schema: S, cleared: string) =>
  schema.meta({ description: undefined }).nullable().optional().describe(cleared);

/** Schema of the members that an update can change. */
const Updates = z.strictObject({
  symbols: AlertFields.symbols.optional(),
  watchlist: WatchlistNameInput.optional().describe("Instead of symbols."),
  signal: DirectionAnswer.nullable().optional().describe("null: any."),
  kinds: AlertFields.kinds.describe(AS_REGISTERED).optional(),
  scoreMove: AlertFields.scoreMove.describe(AS_REGISTERED).optional(),
  volatilityZ: AlertFields.volatilityZ.describe(AS_REGISTERED).optional(),
  cooldownDays: clearable(AlertFields.cooldownDays, "null: the default."),
  reportSessions: AlertFields.reportSessions.describe(AS_REGISTERED).optional(),
  steadinessLevel: AlertFields.steadinessLevel.describe(AS_REGISTERED).optional(),
  url: WebhookUrlInput.optional().describe("It must answer a challenge again."),
  channel: z.string().max(100).nullable().optional().describe("null: polled."),
  label: clearable(AlertFields.label, "null: none."),
  expiresAt: clearable(AlertFields.expiresAt, "null: none."),
  snoozedUntil: clearable(AlertFields.snoozedUntil, "null: none."),
});

const Input = z.strictObject({
  id: AlertIdInput,
  action: z
    .enum(ACTIONS)
    .default("update")
    .describe(
      "update what is given; snooze until snoozedUntil; resume after pause or snooze; enable a disabled webhook; test: send an event; redeliver eventId, or what failed since.",
    ),
  ...Updates.shape,
  eventId: z.string().optional().describe("With redeliver."),
  since: DayOrInstantInput.optional().describe("With redeliver: failed since then."),
});

type ManageInput = z.output<typeof Input>;
type Action = ManageInput["action"];

/** The input members that each action accepts, and how many of them it requires. */
const PARAMETERS_BY_ACTION: Readonly<
  Record<Action, { readonly takes: readonly string[]; readonly needs: 0 | 1 | "some" }>
> = {
  update: { takes: Object.keys(Updates.shape), needs: "some" },
  pause: { takes: [], needs: 0 },
  resume: { takes: [], needs: 0 },
  snooze: { takes: ["snoozedUntil"], needs: 1 },
  enable: { takes: [], needs: 0 },
  rotate_secret: { takes: [], needs: 0 },
  test: { takes: [], needs: 0 },
  redeliver: { takes: ["eventId", "since"], needs: 1 },
  delete: { takes: [], needs: 0 },
};

/** Schema of the result of a test or a redelivery. */
const Sent = z.object({
  eventId: z.string().optional().describe("Id of the event that is sent."),
  queued: z.number().int().optional().describe("Events queued again."),
  nextSince: InstantAnswer.nullable()
    .optional()
    .describe("Value of since for the next redeliver; null: done."),
});

/** The tool that changes one alert of the caller. */
export const manageAlert = defineTool({
  name: "manage_alert",
  title: "Manage alert",
  description:
    "Update, pause, snooze or delete an alert, manage its webhook, or send events again.",
  scopes: ["alerts:write"],
  routes: [
    { method: "PATCH", path: "/api/alerts/{id}" },
    { method: "DELETE", path: "/api/alerts/{id}", with: { action: "delete" } },
    { method: "POST", path: "/api/alerts/{id}/test", with: { action: "test" } },
    { method: "POST", path: "/api/alerts/{id}/rotate", with: { action: "rotate_secret" } },
    { method: "POST", path: "/api/alerts/{id}/enable", with: { action: "enable" } },
    { method: "POST", path: "/api/alerts/{id}/redeliver", with: { action: "redeliver" } },
    {
      method: "POST",
      path: "/api/alerts/{id}/deliveries/{eventId}/redeliver",
      with: { action: "redeliver" },
    },
  ],
  effect: { isDestructive: true },
  input: Input,
  output: z.union([
    z.object({
      ...AlertAnswer.shape,
      market: Provenance.shape.market,
      secret: SigningSecretAnswer,
      ...Sent.shape,
      nextSteps: NextSteps,
    }),
    z.object({ id: z.string(), market: Provenance.shape.market, deleted: z.literal(true) }),
  ]),

  async run(input, context, { caller, version }) {
    checkMembers(input);
    const { id, action } = input;
    const target = { caller, alertId: id, version };
    const { mode: market } = context.market;
    if (action === "delete") {
      await context.alerts.remove(target);
      return { id, market, deleted: true as const };
    }
    const done = await actions[action]({ input, target, context });
    const { alert, status, url, channel, nextSteps, ...more } = done;
    const watched = await context.watchlists.resolve(alert.watched);
    return {
      ...more,
      ...alertAnswer({ id, alert, status, ...(url && { url }), ...(channel && { channel }) }),
      market,
      nextSteps: [
        ...nextSteps,
        ...(action === "update"
          ? [
              ...nextStepsOfSignalAlert({ ...alert, watched }, context),
              ...nextStepsOfRangeAlert({ ...alert, watched }, context.market),
              ...nextStepsOfSteadinessAlert({ ...alert, watched }, context.market),
            ]
          : []),
      ],
    };
  },
});

/** Input and context of an action. */
interface ActionInput {
  readonly input: ManageInput;
  readonly target: AlertRequest;
  readonly context: ToolContext;
}

type ActionResult = AlertWithSecret & Partial<z.input<typeof Sent>>;

/** The functions of all actions except `delete`, by action. */
const actions: Readonly<
  Record<Exclude<Action, "delete">, (task: ActionInput) => Promise<ActionResult>>
> = {
  update: async ({ input, target, context }) =>
    context.alerts.update(target, await changesOf(input, context, target.caller)),
  pause: ({ target, context }) => context.alerts.update(target, { isPaused: true }),
  resume: ({ target, context }) =>
    context.alerts.update(target, { isPaused: false, snoozedUntil: null }),
  snooze: ({ input, target, context }) =>
    context.alerts.update(target, { snoozedUntil: toUnixMs(input.snoozedUntil ?? null) }),
  enable: ({ target, context }) => context.alerts.enable(target),
  rotate_secret: ({ target, context }) => context.alerts.rotateSecret(target),
  test: ({ target, context }) => context.alerts.test(target),
  redeliver,
};

async function redeliver({ input, target, context }: ActionInput): Promise<ActionResult> {
  const { eventId, since } = input;
  if (eventId !== undefined) {
    return { ...(await context.alerts.redeliver(target, eventId)), eventId, queued: 1 };
  }
  const begin = since === undefined ? 0 : rangeStartInstant(since, context.market);
  const { next, ...done } = await context.alerts.redeliverSince(target, begin);
  return { ...done, nextSince: isoInstantOrNull(next ?? null) };
}

async function changesOf(
  wish: ManageInput,
  context: ToolContext,
  caller: Caller,
): Promise<AlertChanges> {
  const { kinds, scoreMove, volatilityZ, cooldownDays, reportSessions, steadinessLevel } = wish;
  const { url, channel, label } = wish;
  const [expiresAt, snoozedUntil] = [toUnixMs(wish.expiresAt), toUnixMs(wish.snoozedUntil)];
  return definedMembers({
    watched: await watchedOf(wish, context, caller),
    signal: wish.signal,
    kinds: kinds && normalizedAlertKinds(kinds),
    thresholds: definedMembers({
      scoreMove,
      volatilityZ,
      cooldownDays,
      reportSessions,
      steadinessLevel,
    }),
    url,
    channelId: typeof channel === "string" ? await context.channels.idOf(caller, channel) : channel,
    label,
    expiresAt,
    snoozedUntil,
  });
}

/**
 * The instruments that the alert will watch; `undefined` if they stay unchanged.
 * @throws {Problem} `invalid_request` for symbols together with a watchlist.
 */
async function watchedOf(
  { symbols, watchlist }: ManageInput,
  context: ToolContext,
  caller: Caller,
): Promise<InstrumentSelector | undefined> {
  if (symbols !== undefined && watchlist !== undefined) {
    rejectInput("symbols, watchlist: only one of the two may be given.");
  }
  if (watchlist !== undefined) return watchlistSelector(watchlist, context, caller);
  return symbols && { by: "symbols", symbols: canonicalSymbols(symbols, context) };
}

/** A copy of an object without its `undefined` members. */
function definedMembers<T extends object>(
  members: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/**
 * Rejects members that the action ignores, and requires the members that it needs.
 * @throws {Problem} `invalid_request`
 */
function checkMembers({ id: _, action, ...rest }: ManageInput): void {
  const { takes, needs } = PARAMETERS_BY_ACTION[action];
  const names = Object.keys(rest);
  const ignored = names.filter((name) => !takes.includes(name));
  if (ignored.length > 0) {
    rejectInput(`${ignored.join(", ")}: the action ${action} does not accept it.`);
  }
  const isEnough = needs === "some" ? names.length > 0 : names.length === needs;
  if (!isEnough) {
    rejectInput(
      `action: ${action} needs ${needs === 1 ? "one" : "at least one"} of ${takes.join(", ")}.`,
    );
  }
}

function rejectInput(detail: string): never {
  throw new Problem("invalid_request", {
    detail,
    next: "Correct the input and send the request again.",
  });
}
