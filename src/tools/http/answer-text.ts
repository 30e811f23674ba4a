const TEXT =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml)\b|application\/(?:x-)?(?:ndjson|javascript|x-www-form-urlencoded|graphql)\b)/;
const JSON_TYPE = /^application\/(?:[\w.+-]*\+)?json\b/;

/** True for a media type whose content is read as text, and which the model therefore sees. */
export function isText(contentType: string | null): boolean {
  return contentType !== null && TEXT.test(contentType.trim().toLowerCase());
}

export function isJson(contentType: string | null): boolean {
  return contentType !== null && JSON_TYPE.test(contentType.trim().toLowerCase());
}
