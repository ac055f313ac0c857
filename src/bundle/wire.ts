// Schemas of documents and deployments that several nouns share on both APIs.
import { z } from 'zod';
import { boolQuery, text } from '../http/contract/fields.ts';

export const count = z.number().int().min(0).max(1_000_000_000);

/** Something wrong with a document, or that a careful reader of it would ask about. */
export const lintFinding = z.object({
  /** An error stops a deploy, a warning can be solved, a notice only describes how other agents judge. */
  severity: z.enum(['error', 'warning', 'notice']),
  code: z.string(),
  contract: z.string().nullable(),
  path: z.string(),
  line: z.number().int(),
  column: z.number().int(),
  message: z.string(),
  suggestion: z.string().nullable(),
});

/** Number of connected agents that run a version; null if no recent deployment has their document. */
export const runningVersion = z.object({
  policy_version: z.string(),
  version: z.number().int().nullable(),
  agents: z.number().int(),
});

/** Findings about the document; errors among them stop a deploy. */
export const warnings = z.array(lintFinding);

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

/** Reason for the deployment: kept with it and in the audit chain, and sent to dashboards. */
export const deployReason = text(500);
