// Previews of the changes that a deploy would make, in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { ComparedContract, ContractChange } from '../rules/impact.ts';
import type { impactRoutes } from './impact-routes.ts';

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
    const impact = await app.impacts.get(principalOf(caller), env, proposed);
    const { connected, running, unknown, versions } = impact.rollout;
    return {
      bundle_name: impact.bundleName,
      env,
      current_version: impact.current?.version ?? null,
      current_revision_hash: impact.current?.revisionHash ?? null,
      revision_hash: impact.revisionHash,
      comparable: impact.impact !== null,
      added: (impact.impact?.added ?? []).map(one),
      removed: (impact.impact?.removed ?? []).map(one),
      tightened: (impact.impact?.tightened ?? []).map(change),
      loosened: (impact.impact?.loosened ?? []).map(change),
      changed: (impact.impact?.changed ?? []).map(change),
      unchanged: impact.impact?.unchanged ?? 0,
      agents: {
        connected,
        running,
        unknown,
        versions: versions.map(({ policyVersion, agents }) => ({
          policy_version: policyVersion,
          version: impact.versionOf(policyVersion),
          agents,
        })),
      },
    };
  },
};
