// The explanation of a stored call in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { isoOrNull } from '../../http/contract/render.ts';
import type { explainRoutes } from './explain-routes.ts';

export const explanations: Handlers<typeof explainRoutes> = {
  async explainEvent({ app }, { params, query }, caller) {
    const { env = null, since = null, until = null } = query;
    const explained = await app.explanations.explain(principalOf(caller), params.event_id, {
      env,
      since,
      until,
    });
    const { bundle, contract, now } = explained;
    return {
      source: explained.source,
      reason: explained.reason,
      bundle: bundle && {
        name: bundle.name,
        version: bundle.version,
        deployment_id: bundle.deployment?.id ?? null,
        at: isoOrNull(bundle.deployment?.createdAt ?? null),
        by: bundle.deployment?.deployedBy ?? null,
      },
      contract_id: explained.contractId,
      contract: contract && { id: contract.id, yaml: contract.yaml, first_line: contract.firstLine },
      conditions: explained.conditions.map((condition) => ({ ...condition })),
      uncertain: [...explained.uncertain],
      now: now && { version: now.version, same_text: now.sameText, verdict: now.verdict },
      similar: { ...explained.similar },
    };
  },
};
