import { describe, expect, it } from "vitest";
import { lazyResource } from "../../../src/lib/lazy.ts";

/** A resource whose first `failures` attempts to open fail. */
function opening(failures: number) {
  const state = { opened: 0 };
  const thing = lazyResource(async () => {
    state.opened += 1;
    if (state.opened <= failures) throw new Error("too many open files");
    return { number: state.opened };
  });
  return { ...thing, state };
}

describe("a lazy resource", () => {
  it("is opened once for all callers", async () => {
    const { get, state } = opening(0);
    const [one, other] = await Promise.all([get(), get()]);
    expect(one).toBe(other);
    expect(await get()).toBe(one);
    expect(state.opened).toBe(1);
  });

  it("is opened again after a failure", async () => {
    const { get } = opening(1);
    await expect(get()).rejects.toThrow("too many open files");
    expect(await get()).toEqual({ number: 2 });
  });

  it("is closed when open or being opened, and is never opened just to be closed", async () => {
    const closed: number[] = [];
    const close = ({ number }: { readonly number: number }) => closed.push(number);
    const never = opening(0);
    await never.ifOpen(close);
    expect(never.state.opened).toBe(0);
    const failing = opening(1);
    const failed = failing.get().catch(() => "failed");
    await failing.ifOpen(close);
    expect(await failed).toBe("failed");
    const { get, ifOpen } = opening(0);
    void get();
    await ifOpen(close);
    expect(closed).toEqual([1]);
  });
});
