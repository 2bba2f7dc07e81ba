import type { Site } from "../../src/answers/site.ts";
import type { SkillName } from "../../src/lib/paths.ts";

/** A skill (agentskills.io specification). */
export interface Skill {
  /** Also the name of the directory. */
  readonly name: SkillName;
  /** Purpose of the skill and when to use it, in at most 1,024 characters. */
  readonly description: (site: Site) => string;
  /** Markdown below the front matter. */
  readonly body: (site: Site) => string;
}

/** Renders SKILL.md. The front matter values are JSON strings, which are also YAML strings. */
export function skillMarkdown({ name, description, body }: Skill, site: Site): string {
  return `---
name: ${name}
description: ${JSON.stringify(description(site))}
metadata:
  version: ${JSON.stringify(site.version)}
---

${body(site)}
`;
}
