/** Untrusted text on one line of Markdown, with all markup escaped. */
export const escapeMarkdown = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>|#!~&]/g, "\\$&");
