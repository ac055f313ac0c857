// Schemas of the sample run, which is the same on both APIs.
import { z } from 'zod';
import { sampleRunRecord } from '../record.ts';

export const sampleRunReply = sampleRunRecord.reply('console', 'one');
export const sampleRunRemoved = z.object({ deleted: z.literal(true) });
