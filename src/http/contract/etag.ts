// Entity tags of answers.

/**
 * True if an If-None-Match header contains the tag, or `*`. Tags are compared weakly (RFC 9110, 13.1.2), because
 * proxies that compress an answer weaken its tag.
 */
export const matchesEtag = (header: string | null | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((part) => ['*', etag].includes(part.trim().replace(/^W\//, '')));
