import { parseExact } from '../../shared/exact-numbers.js';
import { isRecord } from '../../shared/json.js';
import { jsonShapeFault } from '../../shared/json-shape.js';
import { errorMessage, Refusal } from '../../shared/refusal.js';

type Dict = Readonly<Record<string, unknown>>;

/** One mail of a posted JSON body: the provider's fields, and the raw mail if the provider sends it. */
export interface PostedMail {
  readonly fields: Dict;
  readonly raw: Uint8Array | null;
}

/** The maximum number of mails in a request, and of nested wrappers. */
const MAX_MAILS = 100;
const MAX_DEPTH = 6;

export function parseJson(text: string): unknown {
  const fault = jsonShapeFault(text);
  if (fault !== null) throw new Refusal('refused', `the body ${fault}`);
  try {
    // Numbers stay texts, so that an id with many digits is exact.
    return parseExact(text);
  } catch (error) {
    throw new Refusal('malformed', `the body is neither JSON nor a form: ${errorMessage(error)}`);
  }
}

/** The mails in what a provider posts: alone, in a wrapper of its own, or several in one request. */
export function postedMails(value: unknown): readonly PostedMail[] {
  const mails = unwrap(value, 0);
  if (mails.length <= MAX_MAILS) return mails;
  throw new Refusal('refused', `the body holds ${mails.length} mails, and at most ${MAX_MAILS} are taken at once`);
}

function unwrap(value: unknown, depth: number): readonly PostedMail[] {
  if (depth > MAX_DEPTH) throw notMail();
  if (Array.isArray(value)) return value.flatMap((one) => unwrap(one, depth + 1));
  if (!isRecord(value)) throw notMail();
  for (const wrapper of WRAPPERS) {
    const found = wrapper(value);
    if (found === undefined) continue;
    return 'fields' in found ? [found] : unwrap(found.inner, depth + 1);
  }
  return [{ fields: value, raw: null }];
}

function notMail(): Refusal {
  return new Refusal('refused', 'the body is not a mail: send an object with from, to, subject, text');
}

type Unwrapped = PostedMail | { readonly inner: unknown } | undefined;

/** Each unwraps the format of some providers, recognized by fields that no mail has. */
const WRAPPERS: readonly ((value: Dict) => Unwrapped)[] = [
  fromSns,
  fromSes,
  fromSparkPost,
  // Mandrill posts its events as a form's field, or as a list of them.
  ({ mandrill_events: events }) => (events === undefined ? undefined : { inner: parsedText(events) }),
  ({ event, msg }) => (event === 'inbound' && isRecord(msg) ? { inner: msg } : undefined),
  // Brevo.
  ({ items }) => (Array.isArray(items) && items.every(isRecord) ? { inner: items } : undefined),
  // Resend, MailerSend, and others: an event with its mail under `data`.
  ({ data }) => (isRecord(data) ? { inner: data } : undefined),
  ({ from, From: upper, mail, message }) => {
    const inner = isRecord(mail) ? mail : message;
    return from === undefined && upper === undefined && isRecord(inner) ? { inner } : undefined;
  },
];

/** Amazon SNS: the message is a JSON text in an envelope, unless raw delivery is on. */
function fromSns({ Type: type, TopicArn, Message: message, SubscribeURL: url, Subject }: Dict): Unwrapped {
  if (TopicArn === undefined || typeof type !== 'string') return undefined;
  if (type !== 'Notification') {
    const where = typeof url === 'string' ? `: open ${url} to confirm it` : '';
    throw new Refusal('refused', `it is a ${type} of Amazon SNS, not a mail${where}`);
  }
  if (typeof message === 'string' && message.trimStart().startsWith('{')) return { inner: parseJson(message) };
  return { fields: { subject: Subject, text: message }, raw: null };
}

/** Amazon SES, whose SNS action sends the mail itself under `content`; other actions send its headers alone. */
function fromSes({ notificationType, mail, content, receipt }: Dict): Unwrapped {
  if (typeof notificationType !== 'string' || !isRecord(mail)) return undefined;
  const { source, messageId, destination, headers } = mail;
  const common = isRecord(mail.commonHeaders) ? mail.commonHeaders : {};
  const action = isRecord(receipt) && isRecord(receipt.action) ? receipt.action : {};
  const isBase64 = typeof action.encoding === 'string' && action.encoding.toUpperCase() === 'BASE64';
  return {
    fields: {
      from: common.from ?? source,
      to: common.to ?? destination,
      subject: common.subject,
      headers,
      emailId: messageId,
      envelope: { from: source },
    },
    raw: rawOf(content, isBase64),
  };
}

/** SparkPost: a list of events, each with the mail itself. */
function fromSparkPost({ msys }: Dict): Unwrapped {
  if (!isRecord(msys)) return undefined;
  const message = msys.relay_message;
  // An empty one is sent when the webhook is made.
  if (!isRecord(message)) return { inner: [] };
  const content = isRecord(message.content) ? message.content : {};
  const { email_rfc822: raw, email_rfc822_is_base64: isBase64, ...fields } = content;
  const { friendly_from: from, rcpt_to: to, msg_from: bounces } = message;
  return {
    fields: { from, to, ...fields, envelope: { from: bounces } },
    raw: rawOf(raw, isBase64 === true),
  };
}

function rawOf(text: unknown, isBase64: boolean): Uint8Array | null {
  if (typeof text !== 'string' || text.trim() === '') return null;
  return new Uint8Array(Buffer.from(text, isBase64 ? 'base64' : 'utf8'));
}

function parsedText(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value;
}
