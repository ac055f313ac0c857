// The sample run in the hosted API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/hosted-principal.ts';
import { renderSampleRun } from '../console/sample.ts';
import type { hostedSampleRunRoutes } from './sample-routes.ts';

export const hostedSampleRun: Handlers<typeof hostedSampleRunRoutes> = {
  async hostedSampleRun({ app }, _input, caller, { limits }) {
    return renderSampleRun(await app.sampleRuns.ensure(principalOf(caller), limits.count));
  },

  async hostedDeleteSampleRun({ app }, _input, caller, { limits }) {
    await app.sampleRuns.remove(principalOf(caller), limits.count);
    return { deleted: true };
  },
};
