// The sample run in the console's words.
import type { sampleRunRoutes } from '../../api/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { renderSampleRun } from '../common/sample-run.ts';
import { principalOf } from './principal.ts';

export const sampleRun: Handlers<typeof sampleRunRoutes> = {
  makeSampleRun: async ({ app }, _input, caller, { count }) =>
    renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), count)),

  async deleteSampleRun({ app }, _input, caller, { count }) {
    await app.sampleRuns.remove(principalOf(caller), count);
    return { deleted: true };
  },
};
