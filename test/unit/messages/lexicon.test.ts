import { describe, expect, it } from "vitest";
import { expandEntries, listEntries } from "../../../src/messages/lexicon/entries.ts";
import { roleEntries, scaleEntries } from "../../../src/messages/lexicon/grammar.ts";
import { lexicon, lexiconTopics } from "../../../src/messages/lexicon.ts";
import { messagePolarity } from "../../../src/messages/polarity.ts";

const lists = lexiconTopics.flat().map(([, list]) => list);

describe("the lexicon", () => {
  it("has 1,500 to 2,000 entries", () => {
    const count = lists.flatMap(listEntries).length;
    expect(count).toBeGreaterThanOrEqual(1500);
    expect(count).toBeLessThanOrEqual(2000);
  });

  it("contains every word form only once", () => {
    const forms = lists.flatMap(expandEntries);
    expect(forms.filter((form, at) => forms.indexOf(form) !== at)).toEqual([]);
  });

  it("has only valences within [-3, 3]", () => {
    expect(Math.max(...lexiconTopics.flat().map(([valence]) => Math.abs(valence)))).toBe(3);
  });

  it("has only phrases that the tokenizer can produce: one to three lower-case words, or an emoji", () => {
    const listed = [...roleEntries, ...scaleEntries].map(([, list]) => list);
    const forms = [...lists, ...listed].flatMap(expandEntries);
    const unheard = forms.filter(
      (form) => !/^[a-z]+(?:_[a-z]+){0,2}$|^[\u2190-\u2bff\u{1f000}-\u{1faff}]$/u.test(form),
    );
    expect(unheard).toEqual([]);
  });

  it("contains only entries whose polarity in isolation has the sign of their valence", () => {
    const unheard = [...lexicon]
      .filter(([, { roles: own }]) => own.size === 0)
      .filter(([entry, { valence }]) => {
        return Math.sign(messagePolarity(entry.replaceAll("_", " "))) !== Math.sign(valence);
      });
    expect(unheard).toEqual([]);
  });

  it("keeps valence, role and scale together for an entry that has several of them", () => {
    expect(lexicon.get("falls")).toMatchObject({ valence: -2, roles: new Set(["fall"]) });
    expect(lexicon.get("less")).toMatchObject({ scale: 0.6, roles: new Set(["fall", "negation"]) });
    expect(lexicon.get("record")).toMatchObject({ valence: 1.5, scale: 1.3 });
  });
});

describe("an entry of the lexicon", () => {
  it.each([
    ["rally*", ["rally", "rallies", "rallied", "rallying"]],
    ["surge*", ["surge", "surges", "surged", "surging"]],
    ["drop*", ["drop", "drops", "dropped", "dropping"]],
    ["crash*", ["crash", "crashes", "crashed", "crashing"]],
    ["soar*", ["soar", "soars", "soared", "soaring"]],
    ["fix*", ["fix", "fixes", "fixed", "fixing"]],
    ["agree*", ["agree", "agrees", "agreed", "agreeing"]],
    ["quit*", ["quit", "quits", "quitting"]],
    ["enjoy*", ["enjoy", "enjoys", "enjoyed", "enjoying"]],
    ["fall*", ["fall", "falls", "fell", "fallen", "falling"]],
    ["cut*", ["cut", "cuts", "cutting"]],
    ["go*", ["go", "goes", "went", "gone", "going"]],
    ["beat*", ["beat", "beats", "beaten", "beating"]],
    ["loss", ["loss"]],
    ["penalty~", ["penalty", "penalties"]],
    ["bonus~", ["bonus", "bonuses"]],
    ["new/fresh_high", ["new_high", "fresh_high"]],
    ["pull*_back", ["pull_back", "pulls_back", "pulled_back", "pulling_back"]],
  ])("written as %j expands to %j", (entry, forms) => {
    expect(expandEntries(entry)).toEqual(forms);
  });
});
