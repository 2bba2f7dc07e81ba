import { readFileSync } from "node:fs";

/** Style sheet of the plots. It needs the colors `--line`, `--field`, `--quiet` and `--text`. */
export const PLOT_STYLE: string = readFileSync(new URL("./plot.css", import.meta.url), "utf8");
