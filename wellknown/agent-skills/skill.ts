import type { Site } from "../site.ts";

/** Something that an agent can learn to do here (agentskills.io specification). */
export interface Skill {
  /** Lower-case words with hyphens; also the directory. */
  readonly name: string;
  /** What it is for and when to use it, in at most 1024 characters. */
  readonly description: (site: Site) => string;
  /** Markdown below the front matter. */
  readonly body: (site: Site) => string;
}

/** Where a skill is served. */
export const skillPath = ({ name }: Skill) => `/.well-known/agent-skills/${name}/SKILL.md` as const;

/** SKILL.md: a JSON string is a string in YAML too. */
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
