// Schemas of the sample run, which is the same on both APIs.
import { z } from 'zod';

export const sampleRunReply = z.object({
  agent_id: z.string(),
  session_id: z.string(),
  run_id: z.string(),
  ruleset_name: z.string(),
  approval_id: z.string(),
});

export const sampleRunRemoved = z.object({ deleted: z.literal(true) });
