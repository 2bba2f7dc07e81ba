import { isAbsolute } from "node:path";
import { z } from "zod";

/** The file of a command. A server would read a relative path from its own folder. */
export const FileArgument = z.string("name a file").refine(isAbsolute, "must be absolute");

/** Whether the operator has agreed in advance. */
export const YesArgument = z.boolean().default(false);

/** The option for `YesArgument`. */
export const yesOption = { about: "do it without asking" };
