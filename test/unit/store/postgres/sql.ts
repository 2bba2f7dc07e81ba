import { Client } from "pg";

/** Runs SQL directly on a database, without the store. */
export async function sql(url: string, text: string): Promise<readonly object[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
