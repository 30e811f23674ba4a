import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { blobId, openRepository, treeId, writeTree } from '../../src/git/index.js';
import { fc, runs } from '../support/properties.js';

const home = mkdtempSync(join(tmpdir(), 'tree-id-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the id of a tree that is only computed is the one that git gives it when it is written', async () => {
  const repository = await openRepository(home, 'w');
  // Names that sort differently as a file and as a folder are what a tree's order is about.
  const name = fc.constantFrom('a', 'a-b', 'a.b', 'a0', 'A', 'b', 'ä', 'z z', '\uff5a', '😀');
  const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 3 }), {
    maxLength: 12,
    selector: (parts) => parts.join('/'),
  });
  await fc.assert(
    fc.asyncProperty(paths, async (all) => {
      const whole = all.map((parts) => parts.join('/'));
      const files = whole
        .filter((path) => !whole.some((other) => other.startsWith(`${path}/`)))
        .map((path) => ({ path, sha: blobId(Buffer.from(path)) }));
      expect(treeId(files)).toBe(await writeTree(repository, files));
    }),
    runs(60),
  );
});
