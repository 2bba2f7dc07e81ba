import { describe, expect, it } from "vitest";
import { EmailAddress, emailGroup, mailboxOf } from "../../../src/mail/email-address.ts";

describe("an email address", () => {
  it.each([
    ["Ada@People.Example", "ada@people.example"],
    ["  ada@people.example ", "ada@people.example"],
    ["a.d+a_x-1'2@a-b.people.example", "a.d+a_x-1'2@a-b.people.example"],
    [`${"a".repeat(64)}@people.example`, `${"a".repeat(64)}@people.example`],
  ])("%j is normalized to %j", (text, address) => {
    expect(EmailAddress.parse(text)).toBe(address);
  });

  it.each([
    ...["", "ada", "ada@", "@people.example", "ada@people", "a@b@people.example"],
    ...[
      "ada@people.example\r\n",
      "\nada@people.example",
      "ada@people.example\r\nBcc: eve@x.example",
    ],
    ...["ada@people.example%0d%0aBcc:eve@x.example", "ada@people.example eve@x.example"],
    ...['"ada\r\nBcc: eve"@people.example', "=?utf-8?q?ada?=@people.example"],
    ...["ada@peo\u00ADple.example", "ada@\u202Epeople.example"],
    ...["ada@people.example\0", "a\tda@people.example", "ada@people.example\u2028"],
    ...["ada@people.example, eve@x.example", "ada@people.example;eve@x.example"],
    ...["Ada <ada@people.example>", "<ada@people.example>", '"a b"@people.example'],
    ...["ada@[127.0.0.1]", "ada(comment)@people.example", "a..da@people.example", ".ada@x.example"],
    // Letters that case folding or Unicode normalization would turn into ASCII.
    ...[
      "\u212Aate@people.example",
      "ada@people.example\u0301",
      "\uFF41da@people.example",
      "ädä@x.example",
    ],
    `${"a".repeat(65)}@people.example`,
    `a@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(63)}.example`,
    "a".repeat(100_000),
  ])("%j is invalid", (text) => {
    expect(EmailAddress.safeParse(text).success).toBe(false);
  });

  it.each([undefined, null, 1, ["ada@people.example"], {}])("%j is invalid", (value) => {
    expect(EmailAddress.safeParse(value).success).toBe(false);
  });

  it("has a record group whose name does not disclose the address", () => {
    expect(emailGroup("ada@people.example")).toMatch(/^email:[\w-]{43}$/);
    expect(emailGroup("ada@people.example")).not.toBe(emailGroup("bob@people.example"));
  });
});

it.each([
  ["a.b+c@example.com", "a.b@example.com"],
  ["+a@example.com", "+a@example.com"],
  ["vic.tim+x.y@gmail.com", "victim@gmail.com"],
  ["vict.im@googlemail.com", "victim@gmail.com"],
  ["v-ic.t_im+x@pm.me", "victim@proton.me"],
  ["victim@protonmail.com", "victim@proton.me"],
  ["_@proton.me", "_@proton.me"],
  ["vic.tim+x@mac.com", "vic.tim@icloud.com"],
  ["victim@me.com", "victim@icloud.com"],
  ["victim@ya.ru", "victim@yandex.ru"],
  ["shop@victim.fastmail.com", "victim@fastmail.com"],
  ["victim+x@fastmail.fm", "victim@fastmail.fm"],
  ["vic.tim+x@hotmail.com", "vic.tim@hotmail.com"],
  ["victim@outlook.com", "victim@outlook.com"],
])("the mailbox of %s is %s", (email, mailbox) => {
  expect(mailboxOf(email)).toBe(mailbox);
});
