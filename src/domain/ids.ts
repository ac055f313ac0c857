// Names and identifiers: the patterns of the specification and the environments. No generation (ports/secrets makes ids).

export const environments = ['production', 'staging', 'development'] as const;
export type Env = (typeof environments)[number];

export const contractIdPattern = /^[a-z0-9][a-z0-9_-]*$/;
export const bundleNamePattern = /^[a-z0-9][a-z0-9._-]*$/;
export const sessionKeyPattern = /^[a-zA-Z0-9_.:/-]+$/;
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Names a bundle may not have, because routes use them as fixed words. */
export const reservedBundleNames: ReadonlySet<string> = new Set(['evaluate', 'current']);

export const isEnv = (value: unknown): value is Env =>
  typeof value === 'string' && (environments as readonly string[]).includes(value);

/** True when the text holds a control character (C0, DEL, C1, U+2028/9): such names could forge a stream frame or a log line. */
export function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || c === 0x2028 || c === 0x2029) return true;
  }
  return false;
}

/** True when every surrogate is paired, so that the text survives UTF-8. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** FNV-1a, 32 bits: spreads keys over shards and slots. Not for secrets. */
export function hash32(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return h >>> 0;
}

/** The number of shards that actors are spread over (design §3). */
export const shardCount = 256;

/** The shard of a tenant or tenant/env key. */
export const shardOf = (key: string): number => hash32(key) % shardCount;
