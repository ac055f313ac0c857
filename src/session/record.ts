// A session value: an entry of a tenant's key-value store for agents.
import { z } from 'zod';
import { sessionKeyPattern } from '../shared/ids.ts';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { text } from '../shared/schemas.ts';

/** Bytes of one session value as UTF-8. */
export const maxSessionValue = 1_048_576;

const valueFields = {
  tenantId: field(z.string(), { wire: false }),
  /** Of the key that wrote it last, whose quota it counts in. Empty if none is stored. */
  env: field(z.string(), { wire: false }),
  key: field(z.string(), {
    wire: false,
    input: { schema: z.string().min(1).max(256).regex(sessionKeyPattern) },
  }),
  /** Bounded in bytes by the use case. JSON writes a byte with up to six. */
  value: field(z.string(), { input: { schema: text(6 * maxSessionValue) } }),
  expiresAt: field(instant, { wire: false }),
};

export type SessionValue = RecordOf<typeof valueFields>;

export const sessionValueRecord = record('session_values', valueFields);

export const sessionKeyInput = sessionValueRecord.input('console', ['key']);
export const sessionValueInput = sessionValueRecord.input('console', ['value']);
