// Schemas of session values, a tenant's key-value store for agents, and the parts of their routes that both APIs share.

import { z } from 'zod';
import type { RouteDeclaration } from '../../http/contract/route.ts';
import { maxSessionValue, sessionKeyInput, sessionValueInput, sessionValueRecord } from '../record.ts';

const params = z.object(sessionKeyInput.shape);

export const sessionBatch = z.object({ keys: z.array(sessionKeyInput.shape.key).max(100) });
export const sessionBatchReply = z.object({ values: z.record(z.string(), z.string().nullable()) });
export const sessionReply = z.object({ value: z.string().nullable() });
export const sessionWrite = z.object(sessionValueInput.shape);
export const sessionWritten = sessionValueRecord.reply('console', 'one');
export const sessionIncrement = z.object({ amount: z.number().default(1) });
export const sessionCount = z.object({ value: z.number() });
export const sessionRemoved = z.object({ value: z.null() });

/** Parts of the routes, by what they do; each API adds its paths, its sign-in and its tag. */
export const sessionParts = {
  readMany: {
    method: 'POST',
    role: 'viewer',
    envs: 'none',
    summary:
      'Read up to 100 values of at most 4 MiB together; null for absent keys. Signed-in people can read, too',
    body: sessionBatch,
    reads: true,
    status: 200,
    reply: sessionBatchReply,
    errors: ['response_too_large', 'validation_failed'],
  },
  read: {
    method: 'GET',
    role: 'agent',
    envs: 'none',
    summary: 'Read a value; the key may contain slashes',
    params,
    status: 200,
    reply: sessionReply,
    errors: ['not_found', 'validation_failed'],
  },
  write: {
    method: 'PUT',
    role: 'agent',
    envs: 'none',
    summary: 'Write a value of at most 1 MiB; it expires 7 days after its last write',
    params,
    body: sessionWrite,
    // JSON writes a byte with up to six: every value that may be stored can be sent.
    bodyLimit: 6 * maxSessionValue + 1024,
    status: 200,
    reply: sessionWritten,
    audit: 'Session values are working state of agents.',
    errors: ['payload_too_large', 'quota_exceeded', 'validation_failed', 'disk_full'],
  },
  increment: {
    method: 'POST',
    role: 'agent',
    envs: 'none',
    summary: 'Add to a number atomically; an absent value counts as 0',
    params,
    body: sessionIncrement,
    optionalBody: true,
    status: 200,
    reply: sessionCount,
    audit: 'Session values are working state of agents.',
    errors: ['conflict', 'quota_exceeded', 'validation_failed'],
  },
  remove: {
    method: 'DELETE',
    role: 'agent',
    envs: 'none',
    summary: 'Remove a value; safe to repeat',
    params,
    status: 200,
    reply: sessionRemoved,
    audit: 'Session values are working state of agents.',
    errors: ['validation_failed'],
  },
} as const satisfies { readonly [act: string]: Omit<RouteDeclaration, 'path' | 'auth' | 'tag'> };
