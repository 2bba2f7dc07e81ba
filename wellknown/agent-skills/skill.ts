import type { Site } from "../site.ts";

/** A skill (agentskills.io specification). */
export interface Skill {
  /** Name in lower-case words with hyphens; also that of the directory. */
  readonly name: string;
  /** What the skill is for and when to use it, in at most 1,024 characters. */
  readonly description: (site: Site) => string;
  /** Markdown below the front matter. */
  readonly body: (site: Site) => string;
}

/** Path of a skill. */
export const skillPath = ({ name }: Skill) => `/.well-known/agent-skills/${name}/SKILL.md` as const;

/** Renders SKILL.md. A JSON string is also a YAML string. */
export function skillMd({ name, description, body }: Skill, site: Site): string {
  return `---
name: ${name}
description: ${JSON.stringify(description(site))}
metadata:
  version: ${JSON.stringify(site.version)}
---

${body(site)}
`;
}
