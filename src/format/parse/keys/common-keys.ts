import { isEmail } from '../../../shared/email.js';
import type { JsonObject } from '../../../shared/json.js';
import { isInterpreterVersion, parsePackage } from '../../values/packages.js';
import { isTimeZone } from '../../values/time-zone.js';
import { checked, listOf, mapOf } from '../list-readers.js';
import { nestedKeys } from '../nested-keys.js';
import { type KeyTable, key } from '../read-keys.js';
import { object, oneOf, type Reader, show, text, word } from '../reader.js';

const NOTIFY_EVENTS = [
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
/** What `notify.events` can name. */
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

const emails = checked(listOf(text), (list) => {
  const bad = list.find((email) => !isEmail(email));
  return bad === undefined ? undefined : `${show(bad)} is not an e-mail address.`;
});

export const httpUrl = checked(text, (value) =>
  /^https?:\/\/[^\s/]+\S*$/.test(value)
    ? undefined
    : `This must be an address that begins with https://, not ${show(value)}.`,
);

/** A program name only: no shell interprets it. */
export const serverCommand = checked(text, (value) =>
  /^\S+$/.test(value)
    ? undefined
    : `This must be the name of a program, not ${show(value)}; its arguments go into \`args\`, one each.`,
);

const notifyTable = {
  url: key(httpUrl, 'Where notifications are posted.'),
  email: key(emails, 'Who gets them by mail.'),
  events: key(listOf(oneOf(NOTIFY_EVENTS)), 'Which ones; `approval.waiting` and `run.failed` when left out.'),
} satisfies KeyTable;

export const notify: Reader<JsonObject> = {
  type: 'map',
  read: (node, fail) => (nestedKeys(notifyTable, node, fail) === undefined ? undefined : (node.value as JsonObject)),
};

export const timezone = checked(text, (value) =>
  isTimeZone(value) ? undefined : `${show(value)} is not a time zone; an example is \`Europe/Warsaw\`.`,
);

/** Host names, with an optional `*.` in front and an optional port. */
export const network = checked(listOf(text), (hosts) => {
  const bad = hosts.find((host) => !/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i.test(host));
  return bad === undefined ? undefined : `${show(bad)} is not a host name; an example is \`api.example.com\`.`;
});

const version = checked(word, (value) =>
  isInterpreterVersion(value) ? undefined : `${show(value)} is not a version; an example is \`"3.12"\`.`,
);

const packages = checked(listOf(text), (names) => {
  const bad = names.find((name) => parsePackage(name) === null);
  return bad === undefined
    ? undefined
    : `${show(bad)} is not a package name: write \`requests==2.32.3\`, \`left-pad@1.3.0\`, or \`pip:\` or \`npm:\` before it.`;
});

const runtimeTable = {
  python: key(version, 'Version of Python.'),
  node: key(version, 'Version of Node.js.'),
  packages: key(packages, 'Packages that are installed: `requests==2.32.3`, `left-pad@1.3.0`, `pip:…`, `npm:…`.'),
} satisfies KeyTable;

/** Interpreters and packages. Versions are texts, as spelled. */
export const runtime: Reader<JsonObject> = {
  type: 'map',
  read: (node, fail) => nestedKeys(runtimeTable, node, fail) as JsonObject | undefined,
};

export const modelAliases: Reader<Readonly<Record<string, readonly string[]>>> = mapOf(
  checked(listOf(text), (ids) => (ids.length === 0 ? 'Name at least one model.' : undefined)),
);

export const metadata = object;
