// The sample run in the hosted API's words.
import type { hostedSampleRunRoutes } from '../../api/hosted/sample-run.ts';
import type { Handlers } from '../common/hub.ts';
import { renderSampleRun } from '../common/sample-run.ts';
import { principalOf } from './principal.ts';

export const hostedSampleRun: Handlers<typeof hostedSampleRunRoutes> = {
  async hostedSampleRun({ app }, _input, caller, { limits }) {
    return renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), limits.count));
  },

  async hostedDeleteSampleRun({ app }, _input, caller, { limits }) {
    await app.sampleRuns.remove(principalOf(caller), limits.count);
    return { deleted: true };
  },
};
