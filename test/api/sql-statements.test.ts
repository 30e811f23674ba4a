import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../support/postgres.js';
import { SourceModule, trackedSources } from '../support/sql/source-modules.js';
import { type Statement, statementsOf } from '../support/sql/statements.js';

/** Files that send what they are given: the driver's own, and the library that counts attempts. */
const PASS_ON =
  /^src\/(?:platform\/db\/(?:create-db|listener|migrate|schema-engine|transaction)|people\/accounts\/limits)\.ts:/;

const { statements, faults } = statementsOf(trackedSources());
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: testDatabase() });
  await client.connect();
});

afterAll(() => client.end());

test('Postgres prepares every statement of the sources on the migrated schema', async () => {
  expect(faults.filter((each) => !PASS_ON.test(each))).toEqual([]);
  // All of these would be prepared just as well if the scan found none.
  expect(statements.length).toBeGreaterThan(400);
  expect(await refusedBy(client, statements)).toEqual([]);
});

test('a name is that of one statement', () => {
  const texts = new Map<string, Set<string>>();
  for (const { name, text } of statements) {
    if (name !== null) texts.set(name, (texts.get(name) ?? new Set()).add(text));
  }
  expect([...texts].filter(([, each]) => each.size > 1).map(([name]) => name)).toEqual([]);
});

test('a column that the schema does not have is found, with its place, in whichever way the text is put together', async () => {
  const source = `
    const COLUMNS = { a: 'id', b: 'nmae' } as const;
    const where = (open: boolean) => (open ? 'WHERE id = $1' : 'WHERE idd = $1');
    async function run(sql: Sql, key: keyof typeof COLUMNS, open: boolean) {
      await sql.query(\`SELECT \${COLUMNS[key]} FROM tenant\`);
      await sql.query({ name: 'x', text: \`SELECT id FROM tenant \${where(open)}\`, values: [key] });
    }
    async function deleteOf(sql: Sql, table: string) {
      await sql.query(\`DELETE FROM \${table}\`);
    }
    await deleteOf(sql, 'tenant');
    await deleteOf(sql, 'tenants');
    await sql.query(await textOfToday());`;
  const found = statementsOf([new SourceModule('src/some.ts', source)]);
  expect(found.faults).toEqual(['src/some.ts:13: the source does not say what `textOfToday` is']);
  expect(await refusedBy(client, found.statements)).toEqual([
    'src/some.ts:5: column "nmae" does not exist',
    'src/some.ts:6: column "idd" does not exist',
    'src/some.ts:9 by src/some.ts:12: relation "tenants" does not exist',
  ]);
});

/** The statements that Postgres does not prepare, each with its place and why. */
async function refusedBy(on: pg.Client, all: readonly Statement[]): Promise<string[]> {
  const refused: string[] = [];
  for (const { place, text } of all) {
    const error = await on.query(`PREPARE checked AS ${text}`).then(
      () => on.query('DEALLOCATE checked').then(() => null),
      (reason: Error) => reason,
    );
    if (error !== null) refused.push(`${place}: ${error.message}`);
  }
  return refused;
}
