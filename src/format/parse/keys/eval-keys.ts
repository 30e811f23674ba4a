import { checked, listOf, ref } from '../list-readers.js';
import { type KeyTable, key } from '../read-keys.js';
import { duration, flag, fraction, integer, money, oneOf, show, text, word } from '../reader.js';

export const EVAL_KEYS = {
  name: key(ref, 'The file’s name.'),
  description: key(text, 'What the cases are for.'),
  target: key(
    {
      ...checked(ref, ({ name }) =>
        /^(flows|agents)\/[^/]+$/.test(name)
          ? undefined
          : `This must be \`flows/<name>\` or \`agents/<name>\`, not ${show(name)}.`,
      ),
      type: '`flows/<name>` or `agents/<name>`',
    },
    'What is run.',
    { required: true },
  ),
  judge: key(ref, 'The model that grades statements.'),
  threshold: key(fraction(), 'Share of a case’s repeats that must pass; 1 when left out.'),
  budget: key(money, 'Most that one run of all cases may cost, in USD.'),
  repeat: key(integer(1, 100), 'How often each case runs.'),
  tags: key(listOf(word), 'Your own words for it.'),
  trigger: key(oneOf(['push', 'manual']), 'Whether a push to main runs it; `push` when left out.'),
  timeout: key(duration, 'Longest that a case may take.'),
  live: key(flag, '`true` lets calls without a canned result reach the world.'),
} satisfies KeyTable;

/** Options of one case, under its `##`. */
export const CASE_OPTIONS = {
  tags: EVAL_KEYS.tags,
  threshold: EVAL_KEYS.threshold,
  repeat: EVAL_KEYS.repeat,
  skip: key(flag, '`true` leaves the case out.'),
  timeout: EVAL_KEYS.timeout,
  live: EVAL_KEYS.live,
} satisfies KeyTable;
