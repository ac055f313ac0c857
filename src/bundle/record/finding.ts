// Schemas of documents that several nouns share on both APIs.
import { z } from 'zod';

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

/** Findings about the document; errors among them stop a deploy. */
export const warnings = z.array(lintFinding);
