// The sample run in the hosted API's words.

import { Reply } from '../../api/call.ts';
import type { hostedSampleRunRoutes } from '../../api/hosted/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { renderSampleRun } from '../common/sample-run.ts';
import { idempotencyKeyOf, replayed } from './idempotency.ts';
import { principalOf } from './principal.ts';

export const hostedSampleRun: Handlers<typeof hostedSampleRunRoutes> = {
  async hostedSampleRun({ app }, _input, caller, request) {
    const key = idempotencyKeyOf(request);
    const reply = renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), request.count));
    // There is one for each workspace: a repeat, with a key or without, is answered with it.
    const headers = key !== null && reply.status === 200 ? { ...reply.headers, ...replayed } : reply.headers;
    return new Reply(reply.body, { headers, status: reply.status ?? 201 });
  },

  async hostedDeleteSampleRun({ app }, _input, caller, { count }) {
    await app.sampleRuns.remove(principalOf(caller), count);
    return { deleted: true };
  },
};
