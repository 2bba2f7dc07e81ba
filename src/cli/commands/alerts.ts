import { z } from "zod";
import { ALERTS_TOPIC, type Alert, alertStatusAt, alerts } from "../../alerts/alert.ts";
import { readAll } from "../../store/port/read-all.ts";
import { readSetAside } from "../../store/set-aside.ts";
import { defineStoreCommand } from "../command.ts";
import { type Disabled, disable, enable } from "./disabling.ts";
import { leftOutNotes, listOptions, newest, sinceOf } from "./listing.ts";
import { isoOrNull } from "./shared.ts";

const alert: Disabled<Alert> = {
  noun: "alert",
  collection: alerts,
  action: "alert",
  topic: ALERTS_TOPIC,
};

const AlertArgument = z.string("name an alert").startsWith("alert_", "must start with alert_");

/** `alerts list`: lists the alerts of everybody. */
export const alertsListCommand = defineStoreCommand({
  summary: "Lists the alerts of everybody, the newest first.",
  notes: [
    "Labels are what owners wrote. Addresses of webhooks can hold secrets and are not shown.",
  ],
  options: {
    ...listOptions,
    owner: {
      value: "<id>",
      about: "only those of this account, agent, key or application",
      schema: z.string().optional(),
    },
    by: {
      value: "<way>",
      about: "only those that are sent by poll, webhook or channel",
      schema: z.enum(["poll", "webhook", "channel"], "must be poll, webhook or channel").optional(),
    },
    disabled: {
      about: "only those that an operator has disabled",
      schema: z.boolean().default(false),
    },
  },

  async run({ since, limit, owner, by, disabled }, { store: { records }, now }) {
    const facts = (one: ListedAlert) => alertFacts(one, now());
    const aside = await readSetAside(records, alerts);
    const active = disabled ? [] : await readAll(records, alerts);
    const found = [...active.map(facts), ...aside.map(facts)]
      .filter((one) => by === undefined || one.by === by)
      .filter((one) => owner === undefined || isOf(one, owner));
    const shown = newest(found, { since: sinceOf(since, now()), limit }, ({ at }) => at);
    const listed = shown.items.map(({ at, ...rest }) => rest);
    return {
      isGood: true,
      lines: listed.length === 0 ? ["There are no such alerts."] : listed.map(alertText),
      result: { alerts: listed, total: shown.total },
      notes: leftOutNotes(shown),
    };
  },
});

interface ListedAlert {
  readonly key: string;
  readonly value: Alert;
  /** When it was set aside; absent for an alert that is not. */
  readonly at?: number;
}

const alertFacts = ({ key, value, at }: ListedAlert, now: number) => ({
  id: key,
  ownerKind: value.owner.kind,
  owner: value.owner.id,
  account: value.owner.accountId ?? null,
  application: value.owner.clientId ?? null,
  by: value.way.by,
  kinds: value.kinds,
  status: alertStatusAt(value, now),
  label: value.label,
  createdAt: isoOrNull(value.createdAt),
  disabledAt: isoOrNull(at),
  at: value.createdAt,
});

type AlertFacts = Omit<ReturnType<typeof alertFacts>, "at">;

const isOf = ({ owner, account, application }: AlertFacts, wanted: string): boolean =>
  [owner, account, application].includes(wanted);

function alertText(one: AlertFacts): string {
  const { id, createdAt, ownerKind, owner, by, status, disabledAt, kinds, label } = one;
  const state = disabledAt === null ? status : `DISABLED ${disabledAt}`;
  return `${id}  ${createdAt}  ${ownerKind} ${owner}  ${by}  ${state}  ${kinds.join(" ")}  ${label ?? "-"}`;
}

/** `alerts disable`: ends an alert. */
export const alertsDisableCommand = defineStoreCommand({
  summary: "Ends an alert at once: it records and sends nothing, and its owner finds it no more.",
  notes: ["It can be undone by `admin alerts enable`. To stop its owner, disable the owner."],
  operands: { id: AlertArgument },
  run: ({ id }, context) => disable(alert, id, context),
});

/** `alerts enable`: undoes `alerts disable`. */
export const alertsEnableCommand = defineStoreCommand({
  summary: "Gives an owner a disabled alert back.",
  notes: [],
  operands: { id: AlertArgument },
  run: ({ id }, context) => enable(alert, id, context),
});
