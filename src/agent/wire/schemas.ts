// Schemas of agents that several nouns share on both APIs.
import { z } from 'zod';

/** Numbers of an agent's tools that a contract enforces, only observes, or none governs. */
export const coverageCounts = z.object({
  total_tools: z.number().int(),
  enforced: z.number().int(),
  observed: z.number().int(),
  ungoverned: z.number().int(),
  /** Whole percents that are enforced. */
  coverage_pct: z.number().int(),
});
