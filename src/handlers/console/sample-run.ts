// The sample run in the console's words.
import type { sampleRunRoutes } from '../../api/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { renderSampleRun } from '../common/sample-run.ts';
import { principalOf } from './principal.ts';

export const sampleRun: Handlers<typeof sampleRunRoutes> = {
  makeSampleRun: async ({ app }, _input, caller, { limits }) =>
    renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), limits.count)),

  async deleteSampleRun({ app }, _input, caller, { limits }) {
    await app.sampleRuns.remove(principalOf(caller), limits.count);
    return { deleted: true };
  },
};
