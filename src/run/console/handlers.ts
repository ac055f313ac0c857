// The sample run in the console's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { sampleRunRoutes } from './routes.ts';
import { renderSampleRun } from './sample.ts';

export const sampleRun: Handlers<typeof sampleRunRoutes> = {
  makeSampleRun: async ({ app }, _input, caller, { limits }) =>
    renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), limits.count)),

  async deleteSampleRun({ app }, _input, caller, { limits }) {
    await app.sampleRuns.remove(principalOf(caller), limits.count);
    return { deleted: true };
  },
};
