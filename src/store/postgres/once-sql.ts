import { lockKey } from "./locks.ts";

/** What was done, in case that the answer gets lost and the same is asked again. */
export const onceTables = `
create table market_signal.answered (
  id uuid primary key,
  answer json not null,
  at timestamptz not null default clock_timestamp()
);
`;

/** Work that is done once, in time, or never. */
export const onceFunctions = `
/* Milliseconds since the epoch: what a test gave, otherwise by the database's clock. */
create function market_signal.instant(given bigint, clock timestamptz) returns bigint
language sql stable return coalesce(given, floor(extract(epoch from clock) * 1000)::bigint);

/*
 * Does a work unless it was done before under the same id. "clock": the instant here. "isLate":
 * nothing was done, since by this clock the sender has given the work up. "answer": null when
 * nothing was changed.
 */
create function market_signal.once(
  asked uuid, work text, given json, now bigint, deadline bigint
)
returns json language plpgsql as $$
declare
  clock bigint;
  known json;
  late boolean;
begin
  if work = 'commit' then
    perform pg_advisory_xact_lock(${lockKey("records")});
  else
    perform pg_advisory_xact_lock(${lockKey("archive")});
  end if;
  clock := market_signal.instant(null, clock_timestamp());
  select answer into known from market_signal.answered where id = asked;
  late := not found and clock > deadline;
  if not found and not late then
    known := case work
      when 'commit' then market_signal.commit(given, coalesce(now, clock))
      when 'append' then market_signal.append(given)
    end;
    if known is not null then
      insert into market_signal.answered (id, answer) values (asked, known);
    end if;
  end if;
  return json_build_object('clock', clock, 'isLate', late, 'answer', known);
end $$;
`;
