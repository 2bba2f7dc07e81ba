import { Router } from "express";
import { z } from "zod";
import { type ChannelSchedule, isTimeZone } from "../../alerts/channels/schedule.ts";
import { CHANNEL_KINDS } from "../../alerts/channels/targets.ts";
import { Label } from "../../lib/label.ts";
import { Problem } from "../../lib/problem.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { channelFieldId, MAX_CHANNEL_NAME_LENGTH, newChannelFieldId } from "./channels-section.ts";
import type { FieldErrors } from "./elements.ts";
import { formReader, submittedValue } from "./form.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import { showAccount } from "./show-account.ts";
import { createServeSignedIn, type SignedInVisit } from "./signed-in.ts";

const CHANNELS_PATH = `${ACCOUNT_PATH}/channels`;

/** Route path of one channel. */
const ONE = `${CHANNELS_PATH}/:id`;

const Kind = z.enum(CHANNEL_KINDS);

const Name = Label.refine(
  (name) => [...name].length <= MAX_CHANNEL_NAME_LENGTH,
  `has at most ${MAX_CHANNEL_NAME_LENGTH} characters`,
);

/** Matches a time of day (HH:MM) or an empty field. */
const TIME = /^(|([01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Handles a form of one channel.
 *
 * @returns Errors of the form; `undefined` if there are none.
 */
type Act = (visit: SignedInVisit, id: string) => Promise<FieldErrors | undefined>;

/** Routes that add, verify, change and remove the channels of a person. */
export function channelRoutes(options: PageContext): Router {
  const { channels } = options;
  const router = Router();
  const signedIn = createServeSignedIn(options);
  const mount = (path: string, act: (visit: SignedInVisit) => Promise<void>) =>
    router
      .route(path)
      .post(...formReader, signedIn("requireOwnForm", act))
      .all(rejectOtherMethods(["post"]));
  const mountAct = (path: string, act: Act) =>
    mount(`${ONE}/${path}`, async (visit) => {
      const errors = await act(visit, String(visit.req.params.id));
      if (errors !== undefined) return showAccount(visit, options, { errors });
      visit.res.redirect(303, `${ACCOUNT_PATH}#channels`);
    });
  mount(CHANNELS_PATH, (visit) => addChannel(visit, options));
  mountAct("verify", (visit, id) => enterCode(visit, id, options));
  mountAct("schedule", (visit, id) => saveSchedule(visit, id, options));
  const simple: Readonly<Record<string, (accountId: string, id: string) => Promise<void>>> = {
    code: (accountId, id) => channels.sendCode(accountId, id),
    test: (accountId, id) => channels.test(accountId, id),
    pause: (accountId, id) => channels.setPaused(accountId, id, true),
    resume: (accountId, id) => channels.setPaused(accountId, id, false),
    share: (accountId, id) => channels.setShared(accountId, id, true),
    unshare: (accountId, id) => channels.setShared(accountId, id, false),
    remove: (accountId, id) => channels.remove(accountId, id),
  };
  for (const [path, act] of Object.entries(simple)) {
    mountAct(path, async ({ account }, id) => {
      await act(account.id, id);
      return undefined;
    });
  }
  return router;
}

async function addChannel(visit: SignedInVisit, options: PageContext): Promise<void> {
  const { req, res, account } = visit;
  const kind = Kind.safeParse(submittedValue(req, "kind")).data ?? "email";
  const [name = "", to = "", token = ""] = (["name", "to", "token"] as const).map((part) =>
    submittedValue(req, newChannelFieldId(kind, part))?.trim(),
  );
  const refuse = (part: "name" | "to" | "token", text: string) =>
    showAccount(visit, options, {
      errors: [{ id: newChannelFieldId(kind, part), text }],
      enteredChannel: { kind, name, to },
    });
  const named = Name.safeParse(name);
  if (!named.success) return refuse("name", `The name ${named.error.issues[0]?.message}.`);
  try {
    const added = await options.channels.add(account.id, named.data, { kind, to, token });
    if (typeof added !== "string") return refuse(added.field, added.fault);
    return res.redirect(303, `${ACCOUNT_PATH}#${channelFieldId(added, "code")}`);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return refuse("name", `${error.detail} ${error.next}`);
  }
}

async function enterCode(
  { req, account }: SignedInVisit,
  channelId: string,
  { channels }: PageContext,
): Promise<FieldErrors | undefined> {
  const id = channelFieldId(channelId, "code");
  const isRight = await channels.verify(account.id, channelId, submittedValue(req, id) ?? "");
  return isRight ? undefined : [{ id, text: "That is not the code." }];
}

async function saveSchedule(
  { req, account }: SignedInVisit,
  channelId: string,
  { channels }: PageContext,
): Promise<FieldErrors | undefined> {
  const entered = (name: "from" | "until" | "digest" | "zone") =>
    submittedValue(req, channelFieldId(channelId, name))?.trim() ?? "";
  const [from, to, digest, timeZone] = [
    entered("from"),
    entered("until"),
    entered("digest"),
    entered("zone"),
  ];
  const error = (name: "from" | "until" | "digest" | "zone", text: string): FieldErrors => [
    { id: channelFieldId(channelId, name), text },
  ];
  if (![from, to, digest].every((time) => TIME.test(time))) {
    return error("from", "Enter times as 22:30, or leave them empty.");
  }
  if ((from === "") !== (to === "")) return error("until", "A quiet time has a start and an end.");
  if (from !== "" && from === to) return error("until", "The quiet time would never end.");
  if (!isTimeZone(timeZone)) return error("zone", "It is no time zone, such as Europe/Berlin.");
  const schedule: ChannelSchedule = {
    timeZone,
    quietHours: from === "" ? null : { from, to },
    digestAt: digest === "" ? null : digest,
  };
  await channels.setSchedule(account.id, channelId, schedule);
  return undefined;
}
