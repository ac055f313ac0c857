// What a deploy would change, in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { ComparedContract, ContractChange } from '../rules/impact.ts';
import type { impactRoutes } from './routes.ts';

const one = ({ contractId, type }: ComparedContract) => ({ contract_id: contractId, type });
const change = ({ contractId, type, fields }: ContractChange) => ({
  contract_id: contractId,
  type,
  fields: [...fields],
});

export const impact: Handlers<typeof impactRoutes> = {
  async bundleImpact({ app }, { body }, caller) {
    const { yaml_content: yaml, composition = '', env } = body;
    const proposed = yaml === undefined ? { composition } : { yaml };
    const found = await app.impacts.of(principalOf(caller), env, proposed);
    const { connected, running, unknown, versions } = found.rollout;
    return {
      bundle_name: found.bundleName,
      env,
      current_version: found.current?.version ?? null,
      current_revision_hash: found.current?.revisionHash ?? null,
      revision_hash: found.revisionHash,
      comparable: found.impact !== null,
      added: (found.impact?.added ?? []).map(one),
      removed: (found.impact?.removed ?? []).map(one),
      tightened: (found.impact?.tightened ?? []).map(change),
      loosened: (found.impact?.loosened ?? []).map(change),
      changed: (found.impact?.changed ?? []).map(change),
      unchanged: found.impact?.unchanged ?? 0,
      agents: {
        connected,
        running,
        unknown,
        versions: versions.map(({ policyVersion, agents }) => ({
          policy_version: policyVersion,
          version: found.versionOf(policyVersion),
          agents,
        })),
      },
    };
  },
};
