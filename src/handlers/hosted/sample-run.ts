// The sample run in the hosted API's words.
import type { hostedSampleRunRoutes } from '../../api/hosted/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { renderSampleRun } from '../common/sample-run.ts';
import { principalOf } from './principal.ts';

export const hostedSampleRun: Handlers<typeof hostedSampleRunRoutes> = {
  hostedSampleRun: async ({ app }, _input, caller) =>
    renderSampleRun(await app.sampleRuns.ensure(principalOf(caller))),

  async hostedDeleteSampleRun({ app }, _input, caller) {
    await app.sampleRuns.remove(principalOf(caller));
    return { deleted: true };
  },
};
