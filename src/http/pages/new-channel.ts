import { z } from "zod";
import type { ChannelView } from "../../alerts/channels/channel-view.ts";
import { CHANNEL_KINDS, type ChannelKind, targetKinds } from "../../alerts/channels/targets.ts";
import { Label } from "../../lib/label.ts";
import { Problem } from "../../lib/problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { Account } from "../../principals/accounts/accounts.ts";
import {
  createForm,
  fieldId,
  formAt,
  type Refused,
  readForm,
  refuseForm,
  submittedValue,
} from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageContext } from "./page-context.ts";
import { ACCOUNT_PATH } from "./return-to.ts";
import type { ShowAccount, SignedInVisit } from "./signed-in.ts";

/** Maximum length of the name of a channel, in characters. */
const MAX_NAME_LENGTH = 40;

const Name = Label.refine(
  (name) => [...name].length <= MAX_NAME_LENGTH,
  `has at most ${MAX_NAME_LENGTH} characters`,
);

/** Schema of a field that the service of the channel validates. */
const Typed = z.string().trim().catch("");

/** The form that adds a channel of a kind. */
function newChannelFormOf(kind: ChannelKind) {
  const { to, token } = targetKinds[kind].form;
  const form = createForm({
    name: {
      control: "input",
      label: "Name",
      hint: "For you to know it by.",
      subject: "The name",
      type: "text",
      autocomplete: "off",
      isRequired: true,
      maxLength: MAX_NAME_LENGTH,
      schema: Name,
    },
    to: {
      control: "input",
      label: to.label,
      type: to.type,
      autocomplete: "off",
      isExact: true,
      isRequired: true,
      placeholder: to.example,
      schema: Typed,
    },
    token: {
      control: "input",
      label: token,
      type: "password",
      autocomplete: "off",
      isSecret: true,
      schema: Typed,
    },
  });
  return formAt(form, kind);
}

const newChannelForms = Object.fromEntries(
  CHANNEL_KINDS.map((kind) => [kind, newChannelFormOf(kind)]),
) as Readonly<Record<ChannelKind, ReturnType<typeof newChannelFormOf>>>;

const codeForm = createForm({
  code: {
    control: "input",
    label: "Code",
    hint: "The eight digits that were sent to it.",
    type: "text",
    inputMode: "numeric",
    autocomplete: "one-time-code",
    isRequired: true,
    isSecret: true,
    maxLength: 12,
    schema: z.string().catch(""),
  },
});

/** The form for the code of a channel. */
const codeFormOf = (id: string) => formAt(codeForm, id);

/** Adds a channel, which gets a code. */
export async function addChannel(
  visit: SignedInVisit,
  { channels }: PageContext,
  showAccount: ShowAccount,
): Promise<void> {
  const { req, res, account } = visit;
  const kind = CHANNEL_KINDS.find((one) => one === submittedValue(req, "kind")) ?? "email";
  const form = newChannelForms[kind];
  const { data, refused } = readForm(form, req);
  if (refused !== undefined) return showAccount(visit, refused);
  const { name, to, token } = data;
  try {
    const added = await channels.add(account.id, name, { kind, to, token });
    if (typeof added !== "string") {
      return showAccount(visit, refuseForm(form, req, { [added.field]: added.fault }));
    }
    return res.redirect(303, `${ACCOUNT_PATH}#${fieldId(codeFormOf(added), "code")}`);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    return showAccount(visit, refuseForm(form, req, { name: `${error.detail} ${error.next}` }));
  }
}

/** Confirms a channel with the code that was sent to it. */
export async function confirmChannel(
  { req, account }: SignedInVisit,
  id: string,
  { channels }: PageContext,
): Promise<Refused | undefined> {
  const form = codeFormOf(id);
  const { data, refused } = readForm(form, req);
  if (refused !== undefined) return refused;
  const isRight = await channels.verify(account.id, id, data.code);
  return isRight ? undefined : refuseForm(form, req, { code: "That is not the code." });
}

/** Data for the forms that add and confirm channels. */
export interface NewChannelView {
  readonly formToken: string;
  /** The person, whose email address is suggested for new email channels. */
  readonly account: Pick<Account, "email">;
  /** Channels, sorted by name. */
  readonly channels: readonly ChannelView[];
  readonly refused: Refused | undefined;
}

/** The form for the code that was sent to a channel. */
export const codeFormHtml = (
  { id }: ChannelView,
  action: string,
  { formToken, refused }: NewChannelView,
): Html =>
  showForm(
    codeFormOf(id),
    { action: `${action}/verify`, formToken, refused },
    html`<button>Verify</button>`,
  );

/** A default name for a new channel that no other channel of the person has. */
function freeName(kind: ChannelKind, channels: readonly ChannelView[]): string {
  const taken = new Set(channels.map(({ name }) => name.toLowerCase()));
  const names = [
    targetKinds[kind].name,
    ...channels.map((_, at) => `${targetKinds[kind].name} ${at + 2}`),
  ];
  return names.find((name) => !taken.has(name.toLowerCase())) ?? targetKinds[kind].name;
}

/** The forms that add a channel, one for each kind. */
export function newChannelsCard(view: NewChannelView): Html {
  return html`<div class="card"><h3>Add a channel</h3>${CHANNEL_KINDS.map((kind) => newChannelFormHtml(kind, view))}</div>`;
}

function newChannelFormHtml(
  kind: ChannelKind,
  { formToken, account, channels, refused }: NewChannelView,
): Html {
  const { about, token } = targetKinds[kind].form;
  const isFirstEmail = kind === "email" && !channels.some((one) => one.kind === "email");
  return html`<details${refused?.form === kind && html` open`}>
<summary>${targetKinds[kind].name}</summary>
<p>${about}</p>
${showForm(
  newChannelForms[kind],
  {
    action: `${ACCOUNT_PATH}/channels`,
    formToken,
    hidden: { kind },
    values: { name: freeName(kind, channels), to: isFirstEmail ? account.email : undefined },
    refused,
  },
  (field) =>
    html`${field("name")}${field("to")}${token !== undefined && field("token")}<button>Add and send a code</button>`,
)}
</details>`;
}
