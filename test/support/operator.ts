import type { CommandOutcome } from "../../src/cli/command.ts";
import { parseArguments } from "../../src/cli/command-line.ts";
import { storeCommands } from "../../src/cli/store-commands.ts";
import type { TestService } from "./test-service.ts";

/** What an operator's command needs of a service. */
interface OperatedService extends Pick<TestService, "clock"> {
  readonly service: {
    readonly state: Pick<TestService["service"]["state"], "store" | "keyring">;
  };
}

/** Runs an operator's command in a service, as `admin.sock` does. */
export const operatorOf =
  ({ service, clock }: OperatedService) =>
  async (name: string, args: object): Promise<CommandOutcome> => {
    const command = storeCommands.get(name);
    if (command === undefined) throw new Error(`there is no command ${name}`);
    const { state } = service;
    const context = {
      store: state.store,
      folder: "",
      keyring: async () => state.keyring,
      now: () => clock.now.getTime(),
      holder: "server" as const,
    };
    return command.run(parseArguments(command, args), context, () => undefined);
  };

/** The rows of a list in a command's result. */
export const rowsOf = ({ result }: CommandOutcome, name: string) =>
  result[name] as readonly Readonly<Record<string, unknown>>[];
