import { type KeyTable, key } from '../read-keys.js';
import { money, text } from '../reader.js';
import { modelAliases, network, notify, runtime, timezone } from './common-keys.js';

/** Keys of AGENTS.md, of a workspace and of an account. */
export const WORKSPACE_KEYS = {
  name: key(text, 'A title for people.'),
  description: key(text, 'What the workspace is for.'),
  timezone: key(timezone, 'The time zone of schedules.'),
  budget: key(money, 'Most that a month may cost, in USD.'),
  notify: key(notify, 'Recipients and events of notifications.'),
  models: key(modelAliases, 'Names for models: `{ default: provider/model }`, or a list to try in order.'),
  runtime: key(runtime, 'Interpreters and packages of every agent’s sandbox.'),
  network: key(network, 'Hosts that every agent’s sandbox may reach.'),
} satisfies KeyTable;
