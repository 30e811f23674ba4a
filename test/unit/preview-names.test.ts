import { expect, test } from 'vitest';
import { previewNames } from '../../src/content/index.js';
import { isName } from '../../src/shared/ids.js';
import { fc } from '../support/properties.js';

const first = (workspace: string, branch: string): string => previewNames(workspace, branch).next().value;

test('a branch that is a plain word gives its preview the name that it promises', () => {
  expect(first('shop', 'feature-x')).toBe('shop-preview-feature-x');
  expect(first('shop', '2026')).toBe('shop-preview-2026');
});

test('security 14: branches that read alike have names of their own', () => {
  const branches = [
    'feature/x',
    'feature-x',
    'Feature/X',
    'FEATURE-X',
    'feature_x',
    'feature--x',
    '日本語',
    '日本',
    '…',
  ];
  const names = branches.map((branch) => first('shop', branch));
  expect(new Set(names).size).toBe(branches.length);
  expect(first('shop', '日本語')).toMatch(/^shop-preview-[0-9a-f]{8}$/);
  expect(first('shop', 'feature/x')).toMatch(/^shop-preview-feature-x-[0-9a-f]{8}$/);
});

const word = fc.stringMatching(/^[a-z0-9]{1,9}$/);
const workspace = fc
  .array(word, { minLength: 1, maxLength: 8 })
  .map((words) => words.join('-').slice(0, 64).replace(/-+$/, ''));
const branch = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 9 }).map((words) => words.join('-')),
  fc
    .array(fc.oneof(word, fc.constantFrom('/', '-', '_', '.', 'preview', 'É', '日')), { minLength: 1, maxLength: 12 })
    .map((parts) => parts.join('')),
  fc.string({ minLength: 1, maxLength: 250, unit: 'grapheme' }),
);

test('security 14: whatever is taken, every branch finds a name that is one, and no two the same', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(workspace, branch), { minLength: 1, maxLength: 30 }),
      fc.array(workspace),
      (pushes, real) => {
        const taken = new Set([...real, ...pushes.map(([name]) => name)]);
        const seen = new Set<string>();
        for (const [name, of] of pushes) {
          if (seen.has(JSON.stringify([name, of]))) continue;
          seen.add(JSON.stringify([name, of]));
          for (const wish of previewNames(name, of)) {
            expect(isName(wish), wish).toBe(true);
            expect(wish).toContain('-preview-');
            if (taken.has(wish)) continue;
            taken.add(wish);
            break;
          }
        }
        expect(taken.size).toBe(new Set([...real, ...pushes.map(([name]) => name)]).size + seen.size);
      },
    ),
  );
});
