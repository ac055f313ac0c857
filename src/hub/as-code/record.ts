// The documents of a folder and of a plan, in the words of the console API; inside, their fields are camelCase.
import { z } from 'zod';
import { ruleRoutes } from '../../agent/console/rule-routes.ts';
import { compositionRoutes, item } from '../../composition/console/routes.ts';
import { contractRoutes } from '../../contract/console/routes.ts';
import { toolSettingRoutes } from '../../evaluation/console/tool-routes.ts';
import { bundleName, contractId, env } from '../../http/contract/fields.ts';
import { camelKeys, snakeKeys } from '../../shared/snake-keys.ts';

export const maxDeployments = 3_000;

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256: 64 hex characters');
const { contract_id: _id, ...contractShape } = contractRoutes.createContract.body.shape;
const {
  name: _name,
  contracts: _items,
  ...compositionShape
} = compositionRoutes.createComposition.body.shape;

export const contractFile = z
  .strictObject({ contract_id: contractId.optional(), ...contractShape })
  .transform(camelKeys);
const itemOfFile = z.strictObject({ ...item.shape, revision: hash.optional() }).transform(camelKeys);
export const compositionFile = z
  .strictObject({
    name: bundleName.optional(),
    ...compositionShape,
    contracts: z.array(itemOfFile).max(100).default([]),
  })
  .transform(camelKeys);
const rule = z.strictObject(ruleRoutes.createRule.body.shape).transform(camelKeys);
export const rulesFile = z.strictObject({ rules: z.array(rule).max(200) });
export const toolsFile = z.strictObject(toolSettingRoutes.putToolSettings.body.shape).transform(camelKeys);
export const deploymentsFile = z.strictObject({
  deployments: z
    .array(z.strictObject({ env, bundle: bundleName, revision: hash.optional() }))
    .max(maxDeployments),
});

/** A composition as files, the API and hashes write it. */
export const compositionForm = <I extends object, T extends object>({
  contracts,
  ...content
}: T & { readonly contracts: readonly I[] }) => ({
  ...snakeKeys(content),
  contracts: contracts.map(snakeKeys),
});

export const planFormat = 'reeve-plan-1';

const change = z
  .object({
    action: z.string(),
    thing: z.string(),
    after: z.string().nullable(),
    only_with_prune: z.boolean(),
  })
  .transform(camelKeys);

export const planFile = z
  .object({
    format: z.literal(planFormat),
    hub: z.string(),
    tenant_id: z.string(),
    /** Hash of the folder's contents. */
    folder: z.string(),
    /** Thing → hash. */
    saw: z.record(z.string(), z.string()),
    changes: z.array(change),
  })
  .transform(camelKeys);

export type Plan = z.output<typeof planFile>;

export const planForm = (plan: Plan) => snakeKeys({ ...plan, changes: plan.changes.map(snakeKeys) });
