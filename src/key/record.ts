// An API key's fields.

import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { env, uuid } from '../shared/schemas.ts';

const keyFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  /** `svk_<env>_<first 8 characters of the random part>`; without an environment the first 12 characters of the key. */
  prefix: field(z.string()),
  /** Null: a key of the whole workspace, created through the hosted API. */
  env: field(env.nullable()),
  label: field(z.string().nullable(), { hosted: { name: 'name' } }),
  /** Hex SHA-256 of the whole key. */
  hash: field(z.string(), { wire: false }),
  /** The agents that may use it: an agent id, or a glob over agent ids; null: every agent. */
  agentPattern: field(z.string().nullable()),
  createdBy: field(z.string(), { console: false }),
  createdAt: field(instant),
  /** From then on it is refused, and its streams end; null: never. */
  expiresAt: field(instant.nullable()),
  /** Lists alone show it. */
  lastUsedAt: field(instant.nullable(), { wire: false }),
  revokedAt: field(instant.nullable(), { wire: false }),
};

export type ApiKey = RecordOf<typeof keyFields>;

export const keyRecord = record('keys', keyFields);

export const isExpired = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean =>
  expiresAt !== null && expiresAt <= now;
