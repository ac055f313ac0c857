// Schemas of deployments that several nouns share.

import { z } from 'zod';
import { boolQuery } from '../../http/contract/fields.ts';
import { deploymentRecord } from '../record.ts';

export const deployment = deploymentRecord.reply('console', 'one');

/** Number of connected agents that run a version; null if no recent deployment has their document. */
export const runningVersion = z.object({
  policy_version: z.string(),
  version: z.number().int().nullable(),
  agents: z.number().int(),
});

/** Errors of a deployment through the console API. */
export const deployErrors = [
  'environment_protected',
  'not_found',
  'unprocessable',
  'validation_failed',
  'overloaded',
  'unavailable',
] as const;

/** Deploys a document with errors all the same; admins only. */
export const forceQuery = z.object({ force: boolQuery });
