// Routes of session values: a tenant's key-value store for agents.
import { z } from 'zod';
import { sessionKeyPattern } from '../domain/ids.ts';
import { text } from './fields.ts';
import { routes } from './route.ts';

const key = z.string().min(1).max(256).regex(sessionKeyPattern);
const params = z.object({ key });

/** Bytes of a value as UTF-8. */
export const maxValue = 1_048_576;

export const sessionRoutes = routes({
  readSessions: {
    method: 'POST',
    path: '/api/v1/sessions/batch',
    auth: ['key'],
    tag: 'sessions',
    summary: 'Read up to 100 values of at most 4 MiB together; null for what does not exist',
    body: z.object({ keys: z.array(key).max(100) }),
    reads: true,
    status: 200,
    reply: z.object({ values: z.record(z.string(), z.string().nullable()) }),
    errors: ['response_too_large', 'validation_failed'],
  },
  getSession: {
    method: 'GET',
    path: '/api/v1/sessions/{key+}',
    auth: ['key'],
    tag: 'sessions',
    summary: 'Read a value; the key may hold slashes',
    params,
    status: 200,
    reply: z.object({ value: z.string().nullable() }),
    errors: ['not_found', 'validation_failed'],
  },
  setSession: {
    method: 'PUT',
    path: '/api/v1/sessions/{key+}',
    auth: ['key'],
    tag: 'sessions',
    summary: 'Write a value of at most 1 MiB; it expires 7 days after its last write',
    params,
    /** Bounded in bytes by the handler. */
    body: z.object({ value: text(6 * maxValue) }),
    // JSON writes a byte with up to six: every value that may be stored can be sent.
    bodyLimit: 6 * maxValue + 1024,
    status: 200,
    reply: z.object({ value: z.string() }),
    errors: ['payload_too_large', 'quota_exceeded', 'validation_failed', 'disk_full'],
  },
  incrementSession: {
    method: 'POST',
    path: '/api/v1/sessions/{key+}/increment',
    auth: ['key'],
    tag: 'sessions',
    summary: 'Add to a number in one atomic step; a missing value counts from 0',
    params,
    body: z.object({ amount: z.number().default(1) }),
    optionalBody: true,
    status: 200,
    reply: z.object({ value: z.number() }),
    errors: ['conflict', 'quota_exceeded', 'validation_failed'],
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/v1/sessions/{key+}',
    auth: ['key'],
    tag: 'sessions',
    summary: 'Remove a value, whether or not it exists',
    params,
    status: 200,
    reply: z.object({ value: z.null() }),
    errors: ['validation_failed'],
  },
});
