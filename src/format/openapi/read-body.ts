import { isRecord, type JsonObject } from '../../shared/json.js';
import type { ApiBody, ApiField, Style } from './api-operation.js';
import { mergeAllOf } from './merge-all-of.js';
import { originOf } from './origins.js';
import type { Part, References } from './references.js';
import { type SchemaRoom, toSchema } from './to-schema.js';

type Kind = ApiBody['kind'];

/** The kinds of bodies by media type. The first kind that a body offers is used. */
const KINDS: readonly (readonly [kind: Kind, pattern: RegExp])[] = [
  ['json', /^application\/(?:[\w.+-]*\+)?json\b|^\*\/\*$/],
  ['form', /^application\/x-www-form-urlencoded\b/],
  ['multipart', /^multipart\/form-data\b/],
  ['text', /^text\/|^application\/(?:[\w.+-]*\+)?(?:xml|yaml|graphql|sparql-query|sql)\b|^application\/x-ndjson\b/],
  ['file', /./],
];

const FILE_WORDS = 'The path of a file, like outputs/report.pdf or files/photo.png.';

export function readBody(entry: Part, refs: References, room: SchemaRoom): ApiBody | null {
  const reached = refs.follow(entry);
  if (reached === null || !isRecord(reached.value) || !isRecord(reached.value.content)) return null;
  const { content, required, description } = reached.value;
  const offered = content as Readonly<Record<string, unknown>>;
  for (const [kind, pattern] of KINDS) {
    const mediaType = Object.keys(offered).find((type) => pattern.test(type.toLowerCase()));
    const media = mediaType === undefined ? undefined : offered[mediaType];
    if (mediaType === undefined) continue;
    const at = reached.at;
    const form = kind === 'form' || kind === 'multipart';
    const fields = form ? fieldsOf(isRecord(media) ? media : {}, at, refs) : new Map<string, ApiField>();
    const schema = READ[kind]({ value: isRecord(media) ? media.schema : undefined, at }, { refs, room, open: [] });
    const words = typeof description === 'string' && schema.description === undefined ? { description } : {};
    return {
      mediaType: mediaType === '*/*' ? 'application/json' : mediaType,
      kind,
      required: required === true,
      schema: { ...withFiles(schema, fields), ...words },
      fields,
    };
  }
  return null;
}

type Read = typeof toSchema;

const object: Read = (part, place) => ({ ...toSchema(part, place), type: 'object' });
const READ: Readonly<Record<Kind, Read>> = {
  json: toSchema,
  form: object,
  multipart: object,
  text: () => ({ type: 'string' }),
  file: () => ({ type: 'string', description: FILE_WORDS }),
};

function fieldsOf(media: Readonly<Record<string, unknown>>, at: string, refs: References): Map<string, ApiField> {
  const reached = refs.follow({ value: media.schema, at });
  if (reached === null || !isRecord(reached.value)) return new Map();
  const { properties } = mergeAllOf(reached.value, reached.at, refs);
  const encoding = isRecord(media.encoding) ? media.encoding : {};
  return new Map(
    Object.entries(isRecord(properties) ? properties : {}).map(([name, property]) => {
      const how = Object.hasOwn(encoding, name) ? encoding[name] : undefined;
      const found = refs.follow({ value: property, at: originOf(property, reached.at) });
      return [
        name,
        fieldOf(
          isRecord(found?.value) ? found.value : {},
          isRecord(how) ? how : {},
          (value) => refs.follow({ value, at: reached.at })?.value,
        ),
      ];
    }),
  );
}

const STYLES: readonly Style[] = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];

function fieldOf(
  schema: Readonly<Record<string, unknown>>,
  how: Readonly<Record<string, unknown>>,
  follow: (value: unknown) => unknown,
): ApiField {
  const items = follow(schema.items);
  const contentType = typeof how.contentType === 'string' && !/[*,]/.test(how.contentType) ? how.contentType : null;
  const style = STYLES.find((one) => one === how.style) ?? 'form';
  const explode = typeof how.explode === 'boolean' ? how.explode : style === 'form' || style === 'deepObject';
  return { style, explode, file: isBinary(schema) || isBinary(items), contentType };
}

/** `format: binary` of 3.0; in 3.1 a media type without an encoding. */
function isBinary(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (schema.format === 'binary') return true;
  return (
    typeof schema.contentMediaType === 'string' && schema.contentEncoding === undefined && schema.type !== 'object'
  );
}

/** A field that is a file is given by its path. */
function withFiles(schema: JsonObject, fields: ReadonlyMap<string, ApiField>): JsonObject {
  if (!isRecord(schema.properties)) return schema;
  const properties = Object.entries(schema.properties).map(([name, property]): [string, JsonObject] => {
    const own = property as JsonObject;
    if (!fields.get(name)?.file) return [name, own];
    const words = [own.description, FILE_WORDS].filter((text) => typeof text === 'string').join(' ');
    const path = { type: 'string', description: words };
    const isList = own.type === 'array';
    return [name, isList ? { type: 'array', items: { type: 'string' }, description: words } : path];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}
