// An API key's fields.

import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { env, instantInput, line, text, uuid } from '../shared/schemas.ts';

const markup = /<[a-z!/?]|javascript:|\bon[a-z]+\s*=/i;

const keyFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  /** `svk_<env>_<first 8 characters of the random part>`; without an environment the first 12 characters of the key. */
  prefix: field(z.string()),
  /** Null: a key of the whole workspace, created through the hosted API. */
  env: field(env.nullable(), { input: { console: { schema: env }, hosted: { schema: env.nullish() } } }),
  label: field(z.string().nullable(), {
    hosted: { name: 'name' },
    input: {
      console: {
        schema: text(255)
          .refine((value) => !markup.test(value), 'must not contain HTML or script')
          .nullable()
          .default(null),
      },
      hosted: {
        schema: text(400)
          .transform((value) => value.trim())
          .pipe(line(100)),
      },
    },
  }),
  /** Hex SHA-256 of the whole key. */
  hash: field(z.string(), { wire: false }),
  /**
   * The agents that may use it: an agent id, or a glob over agent ids; null: every agent. Requests of other agents are
   * refused with 403, and their events are listed in `rejected`.
   */
  agentPattern: field(z.string().nullable(), { input: { schema: line(255).nullish() } }),
  createdBy: field(z.string(), { console: false }),
  createdAt: field(instant),
  /** From then on it is refused, and its streams end; null: never. */
  expiresAt: field(instant.nullable(), { input: { schema: instantInput.nullish() } }),
  /** Lists alone show it. */
  lastUsedAt: field(instant.nullable(), { wire: false }),
  revokedAt: field(instant.nullable(), { wire: false }),
};

export type ApiKey = RecordOf<typeof keyFields>;

export const keyRecord = record('keys', keyFields);

/** The fields of a request that creates a key. */
export const consoleKeyRequest = keyRecord.input('console', ['env', 'label', 'agentPattern', 'expiresAt']);
export const hostedKeyRequest = keyRecord.input('hosted', ['label', 'env', 'agentPattern', 'expiresAt']);

export const isExpired = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean =>
  expiresAt !== null && expiresAt <= now;
