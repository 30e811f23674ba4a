import type { JsonObject } from '../../../shared/json.js';
import { isTimeZone } from '../../values/index.js';
import { checked, listOf, mapOf } from '../list-readers.js';
import { nestedKeys } from '../nested-keys.js';
import { type KeyTable, key } from '../read-keys.js';
import { object, oneOf, type Reader, show, text, word } from '../reader.js';

/** What a notification can be about. */
export const NOTIFY_EVENTS = [
  'approval.waiting',
  'approval.reminder',
  'approval.timeout',
  'run.completed',
  'run.failed',
  'budget.warning',
  'budget.reached',
  'eval.failed',
  'deploy.refused',
  'connection.expired',
  'credit.low',
] as const;

const emails = checked(listOf(text), (list) => {
  const bad = list.find((email) => !/^[^\s@,]+@[^\s@,]+$/.test(email));
  return bad === undefined ? undefined : `${show(bad)} is no email address.`;
});

export const httpUrl = checked(text, (value) =>
  /^https?:\/\/[^\s/]+\S*$/.test(value)
    ? undefined
    : `This must be an address that begins with https://, not ${show(value)}.`,
);

const notifyTable = {
  url: key(httpUrl, 'Where notifications are posted.'),
  email: key(emails, 'Who gets them by mail.'),
  events: key(listOf(oneOf(NOTIFY_EVENTS)), 'Which ones; all when left out.'),
} satisfies KeyTable;

export const notify: Reader<JsonObject> = {
  type: 'map',
  read: (node, fail) => (nestedKeys(notifyTable, node, fail) === undefined ? undefined : (node.value as JsonObject)),
};

export const timezone = checked(text, (value) =>
  isTimeZone(value) ? undefined : `${show(value)} is no time zone; an example is \`Europe/Warsaw\`.`,
);

/** Host names, `*.` allowed in front, a port allowed behind. */
export const network = checked(listOf(text), (hosts) => {
  const bad = hosts.find((host) => !/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i.test(host));
  return bad === undefined ? undefined : `${show(bad)} is no host name; an example is \`api.example.com\`.`;
});

const runtimeTable = {
  python: key(word, 'Version of Python.'),
  node: key(word, 'Version of Node.js.'),
  packages: key(listOf(text), 'Packages that are installed.'),
} satisfies KeyTable;

/** Interpreters and packages; versions are texts, as they are spelled. */
export const runtime: Reader<JsonObject> = {
  type: 'map',
  read: (node, fail) => nestedKeys(runtimeTable, node, fail) as JsonObject | undefined,
};

export const modelAliases: Reader<Readonly<Record<string, readonly string[]>>> = mapOf(
  checked(listOf(text), (ids) => (ids.length === 0 ? 'Name at least one model.' : undefined)),
);

export const metadata = object;
