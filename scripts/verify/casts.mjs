const SEARCHED = /^src\/(?!platform\/db\/generated\/).*\.tsx?$/;
const ROUTES = /^src\/api\/routes\//;
const COMMENT = /^\s*(\/\/|\/?\*)/;

/**
 * Casts to `never`, which accept any value. In a route one would hide that a verb's answer differs from its schema;
 * elsewhere it needs its reason in a comment on the line before.
 * @param {import('./tracked.mjs').Files} files @returns {string[]}
 */
export function checkCasts(files) {
  const searched = [...files].filter(([path]) => SEARCHED.test(path));
  return searched.flatMap(([path, text]) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      if (COMMENT.test(line) || !/\bas never\b/.test(line)) return [];
      const where = `${path}:${index + 1}: \`as never\``;
      if (ROUTES.test(path))
        return [`${where} in a route: make the verb return the type of its schema in src/contract.`];
      if (COMMENT.test(lines[index - 1] ?? '')) return [];
      return [`${where} without a reason: use a type that fits, or say why none does in a comment on the line before.`];
    });
  });
}
