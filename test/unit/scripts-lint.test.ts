import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runChild } from '../../scripts/lib/run-child.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A line that breaks a rule, where it breaks it, and what the linter must say. */
const BROKEN: Record<string, { line: string; says: string }> = {
  'src/runs/http.ts': { line: "import 'hono/cors';", says: 'HTTP lives in src/api' },
  'src/runs/temporal.ts': { line: "import '@temporalio/client';", says: 'use deps.workflows' },
  'src/runs/model.ts': { line: "import '@ai-sdk/openai';", says: 'use deps.models' },
  'src/runs/driver.ts': { line: "import 'pg';", says: 'use deps.db' },
  'src/runs/main.ts': { line: "import '../main.js';", says: 'main.ts only constructs' },
  'src/shared/up.ts': { line: "import '../runs/index.js';", says: 'src/shared is the floor' },
  'src/api/routes/db.ts': { line: "import '../../db/contract.js';", says: 'never touches the database' },
  'src/api/routes/engine.ts': { line: "import '../../temporal/index.js';", says: 'never touches Temporal' },
  'src/api/routes/door.ts': { line: "import '../../activities/index.js';", says: 'Activities are the other door' },
  'src/workflows/node.ts': { line: "import 'node:crypto';", says: 'run in a sandbox without Node' },
  'src/workflows/client.ts': { line: "import '@temporalio/client';", says: 'speaks @temporalio/workflow only' },
  'src/models/http.ts': { line: "import 'hono';", says: 'HTTP lives in src/api' },
  'src/runs/env.ts': { line: 'export const home = process.env.HOME;', says: 'noProcessEnv' },
  'src/runs/any.ts': { line: 'export const one: any = 1;', says: 'noExplicitAny' },
  'src/runs/bang.ts': { line: 'export const two = [1][0]!;', says: 'noNonNullAssertion' },
  'src/runs/default.ts': { line: 'export default 1;', says: 'noDefaultExport' },
  'src/runs/console.ts': { line: "console.log('x');", says: 'noConsole' },
  'src/runs/floating.ts': { line: 'export const go = () => { Promise.resolve(); };', says: 'noFloatingPromises' },
  'src/runs/badName.ts': { line: 'export const three = 3;', says: 'useFilenamingConvention' },
  'src/runs/loop-a.ts': { line: "export { b } from './loop-b.js'; export const a = 1;", says: 'noImportCycles' },
  'test/unit/only.test.ts': { line: `test${'.on'}ly('x', () => {});`, says: 'noFocusedTests' },
};

const FINE: Record<string, string> = {
  'src/api/http.ts': "import 'hono/cors';",
  'src/platform/temporal/client.ts': "import '@temporalio/client';",
  'src/workflows/workflow.ts': "import '@temporalio/workflow';",
  'src/models/sdk.ts': "import '@ai-sdk/openai';",
  'src/platform/db/driver.ts': "import 'pg';",
  'src/platform/config/env.ts': 'export const home = process.env.HOME;',
  'src/main.ts': "import 'hono';\nconsole.log('x');",
  'vitest.config.ts': 'export default 1;',
};

let folder: string;
let said: ReadonlyMap<string, string>;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-lint-')));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  };
  copyFileSync(join(root, 'biome.json'), join(folder, 'biome.json'));
  write('.gitignore', 'node_modules/');
  write('src/runs/loop-b.ts', "export { a } from './loop-a.js';\nexport const b = 1;");
  for (const [path, { line }] of Object.entries(BROKEN)) write(path, line);
  for (const [path, line] of Object.entries(FINE)) write(path, line);
  const args = ['lint', '--reporter=github', '--max-diagnostics=none', '.'];
  const { output } = await runChild(join(root, 'node_modules/.bin/biome'), args, { cwd: folder });
  const lines = output.split('\n').flatMap((line) => {
    const path = /file=([^,]+),/.exec(line)?.[1];
    return path ? [[relative(folder, path), line] as const] : [];
  });
  said = new Map(lines.map(([path]) => [path, lines.flatMap(([of, line]) => (of === path ? [line] : [])).join('\n')]));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(Object.entries(BROKEN))('the linter refuses %s', (path, { says }) => {
  expect(said.get(path)).toContain(says);
});

test.each(Object.keys(FINE))('the linter has nothing against %s', (path) => {
  expect(said.get(path)).toBeUndefined();
});
