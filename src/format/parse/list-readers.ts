import type { YamlNode } from '../yaml/read-yaml.js';
import { type Fail, type Reader, type Ref, show, word } from './reader.js';

/** One value or a list of them. */
export function listOf<T>(item: Reader<T>): Reader<readonly T[]> {
  return {
    type: `list of ${item.type}`,
    ...(item.values === undefined ? {} : { values: item.values }),
    read: (node, fail) => {
      const read = (node.items ?? [node]).map((entry) => item.read(entry, fail));
      const good = read.filter((value) => value !== undefined);
      return good.length === read.length ? good : undefined;
    },
  };
}

/** Words, in a list or in one string separated by commas (Claude Code's form), each with its offset. */
export const refs: Reader<readonly Ref[]> = {
  type: 'list of names',
  read: (node, fail) => {
    if (typeof node.value === 'string') return splitWords(node.value, node);
    if (node.items === undefined) return fail(node.offset, `This must be a list of names, not ${show(node.value)}.`);
    const names = node.items.map((item) => ({ name: word.read(item, fail), offset: item.offset }));
    return names.filter((ref): ref is Ref => ref.name !== undefined);
  },
};

function splitWords(text: string, { offset, source }: YamlNode): Ref[] {
  const quoted = source !== undefined && source !== text ? 0 : /^["']/.test(source ?? '') ? 1 : 0;
  return [...text.matchAll(/[^,]+/g)].flatMap(({ 0: part, index }) => {
    const name = part.trim();
    return name === '' ? [] : [{ name, offset: offset + quoted + index + part.indexOf(name) }];
  });
}

/** A map from words to what `value` reads. */
export function mapOf<T>(value: Reader<T>, keys = /^[^\s].*$/): Reader<Readonly<Record<string, T>>> {
  return {
    type: `map of ${value.type}`,
    read: (node, fail) => {
      if (node.entries === undefined) return fail(node.offset, `This must be a map, not ${show(node.value)}.`);
      const pairs: [string, T][] = [];
      for (const entry of node.entries.values()) {
        if (!keys.test(entry.key)) fail(entry.offset, `\`${entry.key}\` cannot be a name here.`);
        const read = value.read(entry.node, fail);
        if (read !== undefined) pairs.push([entry.key, read]);
      }
      return Object.fromEntries(pairs);
    },
  };
}

/** A word with its offset. */
export const ref: Reader<Ref> = {
  type: 'name',
  read: (node, fail) => {
    const name = word.read(node, fail);
    return name === undefined ? undefined : { name, offset: node.offset };
  },
};

/** A value with a further check, which returns a sentence for a fault. */
export function checked<T>(inner: Reader<T>, check: (value: T) => string | undefined): Reader<T> {
  return {
    ...inner,
    read: (node: YamlNode, fail: Fail) => {
      const value = inner.read(node, fail);
      const fault = value === undefined ? undefined : check(value);
      return fault === undefined ? value : fail(node.offset, fault);
    },
  };
}
