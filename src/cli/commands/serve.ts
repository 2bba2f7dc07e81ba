import { defineLocalCommand } from "../command.ts";

/** Starts the service in this process. */
export const serveCommand = defineLocalCommand({
  summary: "Starts the service; the settings are environment variables.",
  notes: ["npm start does the same with the heap sized for throughput."],

  async run() {
    await import("../../main.ts");
    return { isGood: true, lines: [], result: {}, notes: [] };
  },
});
