import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type HtmlContent, html } from "../../../src/markup/html.ts";

const write = (content: HtmlContent) => html`<p title="${content}">${content}</p>`.toString();

describe("the html template tag", () => {
  it("outputs the literal parts of the template unchanged", () => {
    expect(html`<b class="x">a &amp; b</b>`.toString()).toBe('<b class="x">a &amp; b</b>');
    expect(html`\u2014 \\ ${""}`.toString()).toBe("\u2014 \\ ");
  });

  it.each([
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    ["</p><p>", "&lt;/p&gt;&lt;p&gt;"],
    ['" onclick="x', "&quot; onclick=&quot;x"],
    ["' onclick='x", "&#39; onclick=&#39;x"],
    ["a & b", "a &amp; b"],
    ["&lt;", "&amp;lt;"],
    ["&amp;amp;", "&amp;amp;amp;"],
    ["<!--", "&lt;!--"],
    ["$& $1", "$&amp; $1"],
    ["\u0000 \u2028 \u{1F600} ä", "\u0000 \u2028 \u{1F600} ä"],
    ["", ""],
  ])("escapes text between tags and in an attribute: %j", (text, written) => {
    expect(write(text)).toBe(`<p title="${written}">${written}</p>`);
  });

  it("escapes both kinds of quotes in an attribute", () => {
    expect(html`<a title='${"'>x"}'>`.toString()).toBe("<a title='&#39;&gt;x'>");
  });

  it.each([undefined, null, false] as const)("outputs nothing for %s", (content) => {
    expect(write(content)).toBe('<p title=""></p>');
  });

  it.each([0, -1, 1.5, Number.NaN])("outputs the number %s", (content) => {
    expect(write(content)).toBe(`<p title="${content}">${content}</p>`);
  });

  it("nests the results of other templates, and escapes text exactly once", () => {
    const inner = html`<i>${"<&>"}</i>`;
    const middle = html`<b>${inner}</b>`;
    expect(html`<p>${middle}</p>`.toString()).toBe("<p><b><i>&lt;&amp;&gt;</i></b></p>");
  });

  it("joins lists without separators, including nested lists", () => {
    const items: HtmlContent = ["<a>", html`<b>`, undefined, [1, ["'"], false]];
    expect(html`<p>${items}</p>`.toString()).toBe("<p>&lt;a&gt;<b>1&#39;</p>");
    expect(html`<p>${[]}</p>`.toString()).toBe("<p></p>");
  });

  it("does not treat an object that resembles markup as markup", () => {
    const forged = { toString: () => "<script>" } as unknown as HtmlContent;
    expect(html`${forged}`.toString()).toBe("&lt;script&gt;");
    const copied = Object.assign(Object.create(null), { text: "<b>", toString: () => "<b>" });
    expect(html`${copied as HtmlContent}`.toString()).toBe("&lt;b&gt;");
  });

  it("escapes every delimiter in any text, without losing a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const written = html`${text}`.toString();
        expect(written).not.toMatch(/[<>"']/);
        expect(written).not.toMatch(/&(?!(?:amp|lt|gt|quot|#39);)/);
        expect(read(written)).toBe(text);
      }),
    );
  });
});

const read = (written: string) =>
  written
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
