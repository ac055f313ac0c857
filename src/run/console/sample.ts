// The answer of a request for the sample run, which is the same on both APIs.
import { Reply } from '../../http/contract/call.ts';
import { type SampleRun, sampleRunRecord } from '../record.ts';

/** 201 when it was made now. */
export const renderSampleRun = (run: SampleRun & { readonly created: boolean }) =>
  new Reply(sampleRunRecord.render('console', run), { status: run.created ? 201 : 200 });
