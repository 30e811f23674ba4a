import { expect, test } from 'vitest';
import type { Plan } from '../../src/format/index.js';
import { renamedIds } from '../../src/runs/rerun/renamed-ids.js';

const plan = (...nodes: { id: string; title: string; oldId?: string }[]) =>
  ({ nodes: nodes.map((node) => ({ kind: 'agent', ...node })) }) as unknown as Plan;
const today = plan({ id: 'pruefen', title: 'Prüfen', oldId: 'prufen' });

test.each([
  ['the same step of an earlier version', plan({ id: 'prufen', title: 'Prüfen' }), [['prufen', 'pruefen']]],
  ['another step, whose own title gives that id', plan({ id: 'prufen', title: 'Prufen' }), []],
  ['a step that has the id of today', plan({ id: 'prufen', title: 'Prüfen' }, { id: 'pruefen', title: 'Pruefen' }), []],
  ['no such step', plan({ id: 'draft', title: 'Draft' }), []],
])('a rerun takes a step of the old run for one of today: %s', (_what, old, ids) => {
  expect([...renamedIds(old, today)]).toEqual(ids);
});
