import { OPERATOR_LINK_LIFETIME_MS, OperatorAccess } from "../../auth/operator-access.ts";
import { createKeyringVault } from "../../keys/keyring-vault.ts";
import { defineStoreCommand } from "../command.ts";

/** Prints a link to the operator page. */
export const setupCommand = defineStoreCommand({
  summary: "Prints a link to the page that says what is configured and what is missing.",
  notes: ["It works for ten minutes and then shows the page for an hour. Keep it to yourself."],

  async run(_args, { keyring, now, site }) {
    const access = new OperatorAccess(createKeyringVault(await keyring()), now);
    const path = `/operator?link=${access.newLink()}`;
    const isServed = site !== undefined;
    return {
      isGood: true,
      lines: [`${site?.baseUrl ?? ""}${path}`],
      result: {
        link: isServed ? site.baseUrl + path : null,
        path,
        expiresAt: new Date(now() + OPERATOR_LINK_LIFETIME_MS).toISOString(),
      },
      notes: isServed ? [] : ["No server answered: put the address of the service in front of it."],
    };
  },
});
