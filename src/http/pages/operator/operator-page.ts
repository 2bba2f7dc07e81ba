import { type Html, html } from "../../../markup/html.ts";
import { copyButton } from "../copy.ts";
import { descriptionList } from "../elements.ts";
import type { PageAnswer } from "../page-answer.ts";
import { nextSetupItem, type SetupFacts, type SetupItem, setupItems } from "./setup-items.ts";

/** The command that prints a link to the operator's page. */
const COMMAND = "npx --no-install market-signal admin setup";

/** Labels of the states of setup items. */
const STATES: Readonly<Record<SetupItem["state"], string>> = {
  fault: "Fails",
  todo: "To do",
  advice: "Advised",
  done: "Done",
};

/** The operator's page: the state of the setup. */
export function setupPage(known: SetupFacts): PageAnswer {
  const items = setupItems(known);
  const next = nextSetupItem(items);
  const open = items.filter(({ state }) => state !== "done");
  const done = items.filter(({ state }) => state === "done");
  return {
    heading: "Set up this service",
    body: html`<p class="lead">${
      next === undefined
        ? "Everything is set up."
        : `${done.length} of ${items.length} things are done. Next: ${next.name.toLowerCase()}.`
    }</p>
<p class="quiet">Settings are environment variables, read at the start; docs/settings.md lists them. Only you see this page, for an hour after you opened the link.</p>
${
  open.length > 0 &&
  html`<section><h2>What is missing</h2>
<ul class="cards">${open.map((item) => itemCard(item, item === next))}</ul></section>`
}
<section><h2>What is configured</h2>
${
  done.length === 0
    ? html`<p class="empty">Nothing yet beyond the defaults.</p>`
    : descriptionList(
        done.map(({ name, is, command }) => [
          name,
          html`${is}${command && html` <code>${command}</code>`}`,
        ]),
      )
}</section>
<section><h2>How it is doing</h2>
${commandBlock("status", "npx --no-install market-signal admin status")}
${commandBlock("doctor", "npx --no-install market-signal doctor")}</section>
<p class="news" id="news" role="status"></p>`,
  };
}

const itemCard = ({ name, state, is, next, command }: SetupItem, isNext: boolean): Html =>
  html`<li class="card setup-${state}"><h3>${name} <span class="tag">${isNext ? "Next" : STATES[state]}</span></h3>
<p>${is}</p>
${next && html`<p>${next}</p>`}
${command && commandBlock(name.toLowerCase().replaceAll(/\W+/g, "-"), `npx ${command}`)}</li>`;

const commandBlock = (name: string, command: string): Html =>
  html`<div class="code-block"><pre><code id="command-${name}">${command}</code></pre>${copyButton(`command-${name}`, "the command")}</div>`;

/**
 * The page for a visitor without operator access. It shows the command that prints an access link.
 *
 * @param isExpired Whether the visitor came with a link that is not valid.
 */
export const operatorAccessNeededPage = ({
  isExpired,
}: {
  readonly isExpired: boolean;
}): PageAnswer => ({
  status: 403,
  heading: "For the operator of this service",
  body: html`${isExpired && html`<p class="note warning">This link has expired: links work for ten minutes.</p>`}
<p>On the machine of the service, with the same settings, this command prints a link to this page:</p>
${commandBlock("setup", COMMAND)}
<p class="news" id="news" role="status"></p>`,
});
