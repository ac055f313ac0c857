// Names and identifiers: the patterns of the specification and the environments. No generation (shared/ports/secrets
// makes ids).

export {
  bundleNamePattern,
  contractIdPattern,
  hasControl,
  isWellFormed,
  reservedBundleNames,
  sessionKeyPattern,
} from 'reeve-agent/rules';

export const environments = ['production', 'staging', 'development'] as const;
export type Env = (typeof environments)[number];
/** The environments of a list: one, some, or (null) all. */
export type EnvFilter = Env | readonly Env[] | null;

/** Agents in some environments. */
export interface AgentsIn {
  readonly agentIds: readonly string[];
  /** Null: every environment. */
  readonly env: EnvFilter;
}

export const isInFilter = (filter: EnvFilter, env: string): boolean =>
  filter === null || (typeof filter === 'string' ? filter === env : filter.some((one) => one === env));

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The identifier rule: agents of other ids are not registered any more. */
const agentIdPattern = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/;
export const isAgentId = (text: string): boolean => agentIdPattern.test(text);

export const isEnv = (value: unknown): value is Env =>
  typeof value === 'string' && (environments as readonly string[]).includes(value);

/** FNV-1a, 32 bits: spreads keys over shards and slots. Not for secrets. */
export function hash32(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return h >>> 0;
}

/** The number of shards that actors are spread over. */
export const shardCount = 256;

/** The shard of a tenant or tenant/env key. */
export const shardOf = (key: string): number => hash32(key) % shardCount;

/** A UUID of version 8 (RFC 9562) made of a SHA-256 in hex: the same for the same digest. */
export const uuidOfDigest = (hex: string): string =>
  [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
