// Schema of the figures of coverage in replies: also of an agent in the list of the fleet.
import { coverageRecord } from '../record.ts';

export const coverageCounts = coverageRecord.reply('console', 'one');
