import { lockKeySql } from "./locks.ts";

/**
 * SQL that creates the archive table, partitioned by month (UTC); only months with rows have a
 * partition. Appends draw places under a lock that each of them holds until it has ended, so that
 * rows become readable in the order of their places. The index on subjects omits the id, because
 * three long names would exceed the maximum size of an index entry (2,704 bytes).
 */
export const archiveTablesSql = `
create sequence market_signal.place;

create table market_signal.archive (
  kind text collate "C" not null,
  at bigint not null,
  id text collate "C" not null,
  subject text collate "C",
  body json not null,
  place bigint not null default nextval('market_signal.place'),
  primary key (kind, at, id)
) partition by range (at);
create index archive_subject on market_signal.archive (kind, subject, at)
  where subject is not null;
create index archive_place on market_signal.archive (place);
`;

/**
 * SQL that creates the functions of the archive. Appends are serialized across all processes, so
 * that they do not deadlock or conflict when partitions are created or dropped.
 */
export const archiveFunctionsSql = `
/* Creates the partition of each month. A partition that was created apart is attached without
 *  waiting for readers; creating it in place would wait for them. */
create function market_signal.make_months(months timestamp[]) returns void
language plpgsql as $$
declare
  month timestamp;
  name text;
begin
  foreach month in array months loop
    name := 'archive_' || to_char(month, 'YYYYMM');
    continue when to_regclass('market_signal.' || name) is not null;
    execute format('create table market_signal.%I (like market_signal.archive including all)', name);
    execute format(
      'alter table market_signal.archive attach partition market_signal.%I
         for values from (%s) to (%s)',
      name,
      (extract(epoch from month) * 1000)::bigint,
      (extract(epoch from month + interval '1 month') * 1000)::bigint);
  end loop;
end $$;

/* Adds rows in order. Returns how many were new; null for none. */
create function market_signal.append(given json) returns json
language plpgsql as $$
declare
  added bigint;
begin
  perform market_signal.make_months(array(
    select distinct date_trunc('month', to_timestamp(at / 1000.0) at time zone 'UTC')
    from json_to_recordset(given) as one(at bigint)));
  insert into market_signal.archive (kind, at, id, subject, body)
    select kind, at, id, subject, text::json
    from rows from (
      json_to_recordset(given) as (kind text, at bigint, id text, subject text, text text)
    ) with ordinality as one(kind, at, id, subject, text, ordinal)
    order by ordinal
  on conflict do nothing;
  get diagnostics added = row_count;
  return to_json(nullif(added, 0));
end $$;

/* Drops the months that hold no other rows, and deletes at most "most" rows of the other months.
 *  Stops dropping as soon as a reader is in the way. Returns how many rows were removed. */
create function market_signal.prune(pruned text, before bigint, most int) returns bigint
language plpgsql as $$
declare
  name text;
  lowest text;
  highest text;
  rows bigint;
  gone bigint := 0;
begin
  perform pg_advisory_xact_lock(${lockKeySql("archive")});
  if not exists (select from market_signal.archive where kind = pruned and at < before) then
    return 0;
  end if;
  perform set_config('lock_timeout', '200', true);
  for name in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'market_signal.archive'::regclass
      and extract(epoch from to_date(right(relname, 6), 'YYYYMM') + interval '1 month') * 1000
        <= before
  loop
    execute format('select min(kind), max(kind) from market_signal.%I', name)
      into lowest, highest;
    continue when lowest <> pruned or highest <> pruned;
    begin
      execute format('select count(*) from market_signal.%I', name) into rows;
      execute format('drop table market_signal.%I', name);
      gone := gone + rows;
    exception when lock_not_available then
      exit;
    end;
  end loop;
  delete from market_signal.archive where (kind, at, id) in (
    select kind, at, id from market_signal.archive
    where kind = pruned and at < before limit most);
  get diagnostics rows = row_count;
  return gone + rows;
end $$;
`;

/** SQL that creates the function with which rows are read in the order of their commits. */
export const followFunctionSql = `
/* The first rows after a place, at most "most" of them; those of other kinds come without their
 *  bodies. The sequence tells at once when there is none, without a look at every partition. A plan
 *  for the given bounds would be no better, and takes longer to make than to run. */
create function market_signal.follow(kinds text[], after bigint, most int)
returns setof market_signal.archive
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  if (select last_value from market_signal.place) <= after then
    return;
  end if;
  return query
    select kind, at, id, subject, case when kind = any (kinds) then body end, place
    from market_signal.archive where place > after order by place limit most;
end $$;
`;
