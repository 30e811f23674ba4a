import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeFolder } from '../../src/sandbox/index.js';

test('several that remove one folder at once, deep and shut, all come to its end', async () => {
  const root = await mkdtemp(join(tmpdir(), 'signalbox-remove-'));
  for (let wide = 0; wide < 8; wide += 1) {
    let folder = join(root, `w${wide}`);
    for (let deep = 0; deep < 40; deep += 1) folder = join(folder, 'd'.repeat(90));
    await mkdir(join(root, `w${wide}`, 'shut'), { recursive: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(root, `w${wide}`, 'shut', 'file'), 'x');
    await chmod(join(root, `w${wide}`, 'shut'), 0);
  }
  await Promise.all(Array.from({ length: 4 }, () => removeFolder(root)));
  expect(existsSync(root)).toBe(false);
});
